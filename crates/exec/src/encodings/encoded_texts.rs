//! The encoded texts of a column, each by itself: strings, or codes of symbols.
//!
//! One loop for all that looks at texts, compiled for each way of looking.

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
