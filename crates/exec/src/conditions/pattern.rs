//! LIKE on text as it lies in frozen segments, without decoding it.
//!
//! A pattern whose only wildcard is `%` is a start, an end, and what comes between them in order;
//! each part is searched for by itself, by what the caller brings for it. In text that is written
//! in symbols an [`Automaton`](super::automaton) goes from code to code. Patterns with `_` or an
//! escape are left to the caller.

use std::fmt::Debug;

use crate::conditions::text_bound::TextBound;
use crate::encodings::encoded_texts::EncodedTexts;
use crate::row_bytes::place::Place;
use crate::row_bytes::tile::RowTile;
use crate::rows::bits::RowBits;

/// Finds one string of bytes within others: how is the caller's choice, who may have a library for
/// it that goes by as many bytes at once as the machine can.
///
/// # Examples
/// See [`Pattern::parse`].
pub trait Find: Debug + Send + Sync {
    /// Where the string first occurs in a text.
    fn find(&self, text: &[u8]) -> Option<usize>;
}

/// A pattern, whatever finds its parts: filters choose between loops once for each batch of texts,
/// not for each text.
///
/// # Examples
/// See [`Pattern::parse`].
pub trait TextPattern: Debug + Send + Sync {
    /// What it is made of, if it is a LIKE.
    fn parts(&self) -> Option<&PatternParts>;

    /// The text that others are compared with, if that is what it asks.
    fn bound(&self) -> Option<&TextBound> {
        None
    }

    /// Leaves the rows of a stretch, which begins with row `first`, whose texts meet it.
    fn filter(&self, texts: &EncodedTexts<'_>, first: usize, rows: &mut RowBits);

    /// Leaves the rows of a tile whose texts, which lie there and are not null, meet it.
    fn filter_rows(&self, tile: &mut RowTile<'_, '_>, place: &Place);
}

/// What a LIKE without `_` asks of a text.
#[derive(Debug)]
pub struct Pattern<F> {
    parts: PatternParts,
    /// What finds each of the parts between start and end.
    finders: Vec<F>,
}

/// What a pattern is made of.
#[derive(Debug)]
pub struct PatternParts {
    pub(crate) start: Vec<u8>,
    /// What stands between two `%`, in this order, none within another; never empty.
    pub(crate) between: Vec<Vec<u8>>,
    pub(crate) end: Vec<u8>,
    pub(crate) negated: bool,
}

impl<F: Find> Pattern<F> {
    /// The pattern of a LIKE, or of a NOT LIKE; `None` if it has `_` or an escape, or no `%`.
    /// `finder` makes what finds a part.
    ///
    /// # Examples
    /// ```
    /// use remanent_exec::{Find, Pattern};
    /// #[derive(Debug)]
    /// struct ByWindows(Vec<u8>);
    /// impl Find for ByWindows {
    ///     fn find(&self, text: &[u8]) -> Option<usize> {
    ///         text.windows(self.0.len()).position(|window| window == self.0)
    ///     }
    /// }
    /// let parse = |text| Pattern::parse(text, false, |part| ByWindows(part.to_vec()));
    /// let pattern = parse("re%an%t").expect("it has no wildcard but %");
    /// assert!(pattern.meets(b"remanent") && !pattern.meets(b"reman"));
    /// assert!(parse("re_").is_none() && parse("re\\%%").is_none() && parse("re").is_none());
    /// ```
    pub fn parse(text: &str, negated: bool, finder: impl Fn(&[u8]) -> F) -> Option<Self> {
        if text.contains(['_', '\\']) {
            return None;
        }
        let (start, rest) = text.split_once('%')?;
        let (between, end) = rest.rsplit_once('%').unwrap_or(("", rest));
        let between = between.split('%').filter(|part| !part.is_empty());
        let between: Vec<Vec<u8>> = between.map(Vec::from).collect();
        let finders = between.iter().map(|part| finder(part)).collect();
        let parts = PatternParts { start: start.into(), between, end: end.into(), negated };
        Some(Self { parts, finders })
    }

    /// Whether a text, which is not NULL, meets it.
    pub fn meets(&self, text: &[u8]) -> bool {
        self.is_like(text) != self.parts.negated
    }

    fn is_like(&self, text: &[u8]) -> bool {
        let PatternParts { start, between, end, .. } = &self.parts;
        // An empty list lies nowhere: to compare nothing with it, some processors take 200 ns.
        let mut rest = text;
        if !start.is_empty() {
            let Some(behind) = rest.strip_prefix(start.as_slice()) else { return false };
            rest = behind;
        }
        if !end.is_empty() {
            let Some(before) = rest.strip_suffix(end.as_slice()) else { return false };
            rest = before;
        }
        // The first place of a part leaves most for those behind it.
        between.iter().zip(&self.finders).all(|(part, finder)| match finder.find(rest) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    }
}

impl<F: Find> TextPattern for Pattern<F> {
    fn parts(&self) -> Option<&PatternParts> {
        Some(&self.parts)
    }

    fn filter(&self, texts: &EncodedTexts<'_>, first: usize, rows: &mut RowBits) {
        texts.filter(first, rows, |text| self.meets(text));
    }

    fn filter_rows(&self, tile: &mut RowTile<'_, '_>, place: &Place) {
        tile.keep_texts(place, |text| self.meets(text));
    }
}
