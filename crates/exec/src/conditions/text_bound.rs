//! Whether a text comes before another one, or behind it, where it lies.
//!
//! The order is that of bytes. Of text that is written in symbols the first code says it nearly
//! always; where it does not, symbols are compared one after the other.

use std::cmp::Ordering;

use remanent_engine::Symbols;

use crate::conditions::pattern::{PatternParts, TextPattern};
use crate::encodings::encoded_texts::EncodedTexts;
use crate::row_bytes::place::Place;
use crate::row_bytes::tile::RowTile;
use crate::rows::bits::RowBits;

/// A text that others are compared with.
///
/// # Examples
/// ```
/// use std::cmp::Ordering;
/// use remanent_exec::TextBound;
/// // `<= 'm'`
/// let bound = TextBound::new("m", Ordering::Less, true);
/// assert!(bound.meets(b"m") && bound.meets(b"lz") && bound.meets(b""));
/// assert!(!bound.meets(b"ma") && !bound.meets(b"n"));
/// // `> 'm'`
/// let bound = TextBound::new("m", Ordering::Greater, false);
/// assert!(bound.meets(b"ma") && !bound.meets(b"m") && !bound.meets(b"l"));
/// ```
#[derive(Clone, Debug)]
pub struct TextBound {
    text: Vec<u8>,
    /// How texts that meet it stand to it.
    wanted: Ordering,
    /// Whether the same text meets it, too.
    inclusive: bool,
}

impl TextBound {
    /// Texts that stand so to another one, and if `inclusive` that one.
    pub fn new(text: &str, wanted: Ordering, inclusive: bool) -> Self {
        Self { text: text.as_bytes().to_vec(), wanted, inclusive }
    }

    /// Whether a text, which is not NULL, meets it.
    #[inline]
    pub fn meets(&self, text: &[u8]) -> bool {
        self.is_met_by(text.cmp(&self.text))
    }

    #[inline]
    fn is_met_by(&self, order: Ordering) -> bool {
        order == self.wanted || (self.inclusive && order == Ordering::Equal)
    }
}

impl TextPattern for TextBound {
    fn parts(&self) -> Option<&PatternParts> {
        None
    }

    fn bound(&self) -> Option<&TextBound> {
        Some(self)
    }

    fn filter(&self, texts: &EncodedTexts<'_>, first: usize, rows: &mut RowBits) {
        texts.filter(first, rows, |text| self.meets(text));
    }

    fn filter_rows(&self, tile: &mut RowTile<'_, '_>, place: &Place) {
        tile.keep_texts(place, |text| self.meets(text));
    }
}

/// A bound, and the symbols of one column.
#[derive(Debug)]
pub(crate) struct BoundOnCodes {
    bound: TextBound,
    /// The bytes of each code; none of one that stands before a byte itself.
    symbols: Vec<Vec<u8>>,
    /// How a text stands to the bound that begins with a code; equal if that does not say it.
    by_first: [Ordering; 256],
}

impl BoundOnCodes {
    pub(crate) fn new(bound: &TextBound, symbols: &Symbols<'_>) -> Self {
        let writer = symbols.writer();
        let symbols = (0..=u8::MAX).map(|code| {
            let mut text = Vec::new();
            if code != Symbols::ESCAPE {
                writer.append(&[code], &mut text);
            }
            text
        });
        let symbols: Vec<Vec<u8>> = symbols.collect();
        let mut by_first = [Ordering::Equal; 256];
        for (order, symbol) in by_first.iter_mut().zip(&symbols) {
            *order = beginning(symbol, &bound.text);
        }
        Self { bound: bound.clone(), symbols, by_first }
    }

    /// Leaves the rows of a stretch, which begins with row `first`, whose texts meet it; none is
    /// null.
    pub(crate) fn filter(&self, texts: &EncodedTexts<'_>, first: usize, rows: &mut RowBits) {
        texts.filter(first, rows, |codes| {
            let order = codes.first().map(|code| self.by_first[usize::from(*code)]);
            self.bound.is_met_by(match order {
                Some(order) if order.is_ne() => order,
                _ => self.compare(codes),
            })
        });
    }

    /// How the text with these codes stands to the bound.
    fn compare(&self, codes: &[u8]) -> Ordering {
        let mut rest = self.bound.text.as_slice();
        let mut codes = codes.iter();
        while let Some(code) = codes.next() {
            let symbol = match *code {
                Symbols::ESCAPE => codes.as_slice().get(..1).unwrap_or_default(),
                code => &self.symbols[usize::from(code)],
            };
            if *code == Symbols::ESCAPE {
                codes.next();
            }
            let order = beginning(symbol, rest);
            if order.is_ne() {
                return order;
            }
            rest = &rest[symbol.len()..];
        }
        if rest.is_empty() { Ordering::Equal } else { Ordering::Less }
    }
}

/// How a text that begins so stands to another one; equal if that one begins so, too.
fn beginning(start: &[u8], text: &[u8]) -> Ordering {
    let common = start.len().min(text.len());
    let order = start[..common].cmp(&text[..common]);
    // More of it than the other one has.
    if order.is_eq() && start.len() > common { Ordering::Greater } else { order }
}
