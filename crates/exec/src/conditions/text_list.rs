//! Texts that a column is compared with for being equal, byte by byte.
//!
//! A short text is its view, so that one comparison of 16 bytes is all that it takes.

use crate::text_view::{INLINE_MAX, inline_view, view_of};

/// A list of texts: what IN, NOT IN, `=` and `<>` with constants ask for.
///
/// # Examples
/// ```
/// use remanent_exec::TextList;
/// let air = TextList::new(["AIR", "REG AIR"], false);
/// let other = TextList::new(["AIR", "REG AIR"], true);
/// assert!(air.meets(b"AIR") && !air.meets(b"RAIL"));
/// assert!(!other.meets(b"AIR") && other.meets(b"RAIL"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextList {
    /// Views of those that stand in them.
    short: Vec<u128>,
    long: Vec<Vec<u8>>,
    negated: bool,
}

impl TextList {
    /// These texts, or if `negated` all but these.
    pub fn new<'l>(texts: impl IntoIterator<Item = &'l str>, negated: bool) -> Self {
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for text in texts {
            match text.len() {
                ..=INLINE_MAX => short.push(view_of(text.as_bytes(), 0)),
                _ => long.push(text.as_bytes().to_vec()),
            }
        }
        Self { short, long, negated }
    }

    /// Whether a text, which is not NULL, meets it.
    pub fn meets(&self, text: &[u8]) -> bool {
        self.meets_within(text, 0, text.len())
    }

    /// The same of a text that lies from one place of a row up to another.
    #[inline]
    pub(crate) fn meets_within(&self, row: &[u8], start: usize, end: usize) -> bool {
        let is_one = match end - start {
            len @ ..=INLINE_MAX => {
                let view = inline_view(row, start, len);
                // Without a branch for each: they are few.
                self.short.iter().fold(false, |found, short| found | (*short == view))
            }
            _ => self.long.iter().any(|long| *long == row[start..end]),
        };
        is_one != self.negated
    }

    /// What either has, if both are lists or both what is not in a list: for `OR` between lists,
    /// and for `AND` between others.
    #[must_use]
    pub fn joined(mut self, other: Self) -> Option<Self> {
        self.short.extend(other.short);
        self.long.extend(other.long);
        (self.negated == other.negated).then_some(self)
    }

    /// Whether it has all texts but those of the list.
    pub fn is_negated(&self) -> bool {
        self.negated
    }
}
