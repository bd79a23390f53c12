//! Whether a text begins with one of some others, where it lies.
//!
//! The first two bytes of a text have a bit, which is all that is asked where the others have two
//! bytes each, as the codes that a number or a name begins with often have.

use crate::conditions::pattern::{PatternParts, TextPattern};
use crate::encodings::encoded_texts::EncodedTexts;
use crate::row_bytes::place::Place;
use crate::row_bytes::tile::RowTile;
use crate::rows::bits::RowBits;

/// Words of a bit for each pair of bytes.
const PAIR_WORDS: usize = (1 << 16) / 64;

/// Beginnings of texts, of which a text has to have one, or none.
///
/// # Examples
/// ```
/// use remanent_exec::Prefixes;
/// let prefixes = Prefixes::new(["13", "r"], false);
/// assert!(prefixes.meets(b"13-761") && prefixes.meets(b"remanent") && prefixes.meets(b"r"));
/// assert!(!prefixes.meets(b"1") && !prefixes.meets(b"31-13") && !prefixes.meets(b""));
/// let others = Prefixes::new(["13", "r"], true);
/// assert!(others.meets(b"31-13") && !others.meets(b"13"));
/// ```
#[derive(Debug)]
pub struct Prefixes {
    list: Vec<Vec<u8>>,
    /// The first two bytes of texts that may have one.
    pairs: Box<[u64; PAIR_WORDS]>,
    /// Whether these say all of texts that have two bytes.
    are_pairs: bool,
    negated: bool,
}

impl Prefixes {
    /// These beginnings, or if `negated` all others.
    pub fn new<'p>(prefixes: impl IntoIterator<Item = &'p str>, negated: bool) -> Self {
        let list: Vec<Vec<u8>> = prefixes.into_iter().map(|it| it.as_bytes().to_vec()).collect();
        let mut pairs = Box::new([0; PAIR_WORDS]);
        let mut set = |first: u8, second: u8| {
            let pair = u16::from_le_bytes([first, second]);
            pairs[usize::from(pair) / 64] |= 1_u64 << (pair % 64);
        };
        for prefix in &list {
            match prefix.as_slice() {
                [first, second, ..] => set(*first, *second),
                [first] => (0..=u8::MAX).for_each(|second| set(*first, second)),
                [] => (0..=u16::MAX).for_each(|pair| set(pair as u8, (pair >> 8) as u8)),
            }
        }
        let are_pairs = list.iter().all(|prefix| prefix.len() <= 2);
        Self { list, pairs, are_pairs, negated }
    }

    /// Whether a text, which is not NULL, meets it.
    #[inline]
    pub fn meets(&self, text: &[u8]) -> bool {
        let has_one = match text.first_chunk::<2>() {
            Some(pair) => {
                let pair = u16::from_le_bytes(*pair);
                let may_have = self.pairs[usize::from(pair) / 64] >> (pair % 64) & 1 == 1;
                may_have && (self.are_pairs || self.has_one(text))
            }
            None => self.has_one(text),
        };
        has_one != self.negated
    }

    fn has_one(&self, text: &[u8]) -> bool {
        self.list.iter().any(|prefix| text.starts_with(prefix))
    }
}

impl TextPattern for Prefixes {
    fn parts(&self) -> Option<&PatternParts> {
        None
    }

    fn filter(&self, texts: &EncodedTexts<'_>, first: usize, rows: &mut RowBits) {
        texts.filter(first, rows, |text| self.meets(text));
    }

    fn filter_rows(&self, tile: &mut RowTile<'_, '_>, place: &Place) {
        tile.keep_texts(place, |text| self.meets(text));
    }
}
