//! The encoded texts of a column, each by itself: strings, or codes of symbols.
//!
//! One loop for all that looks at texts, compiled for each way of looking.

use std::ops::Range;

use remanent_engine::Ends;

use crate::rows::bits::RowBits;

/// The encoded texts of a column.
///
/// # Examples
/// See [`TextPattern`](crate::TextPattern).
#[derive(Debug)]
pub struct EncodedTexts<'t> {
    ends: Ends<'t>,
    bytes: &'t [u8],
}

impl<'t> EncodedTexts<'t> {
    pub(crate) fn new(ends: Ends<'t>, bytes: &'t [u8]) -> Self {
        Self { ends, bytes }
    }

    /// Where the bytes of a row begin among all.
    #[inline]
    pub(crate) fn start(&self, row: usize) -> usize {
        self.ends.start(row)
    }

    /// Where those of some rows that follow one another are.
    pub(crate) fn stretch(&self, rows: Range<usize>) -> Range<usize> {
        self.ends.start(rows.start)..self.ends.start(rows.end)
    }

    /// Some of the bytes.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &'t [u8] {
        &self.bytes[range]
    }

    /// The bytes of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> &'t [u8] {
        &self.bytes[self.ends.range(row)]
    }

    /// Leaves the rows of a stretch, which begins with row `first`, whose bytes meet a condition.
    #[inline]
    pub(crate) fn filter(
        &self,
        first: usize,
        rows: &mut RowBits,
        condition: impl Fn(&[u8]) -> bool,
    ) {
        rows.keep_each(|row| condition(self.get(first + row)));
    }
}
