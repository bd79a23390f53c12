//! The encoded texts of a column, each by itself: strings, or codes of symbols.
//!
//! One loop for all that looks at texts, compiled for each way of looking.

use remanent_engine::{Ends, FrozenColumn};

/// The encoded texts of a column.
///
/// # Examples
/// See [`TextPattern`](crate::TextPattern).
#[derive(Debug)]
pub struct EncodedTexts<'t> {
    nulls: Option<&'t [u64]>,
    ends: Ends<'t>,
    bytes: &'t [u8],
}

impl<'t> EncodedTexts<'t> {
    pub(crate) fn new(column: &FrozenColumn<'t>, ends: Ends<'t>, bytes: &'t [u8]) -> Self {
        Self { nulls: column.nulls(), ends, bytes }
    }

    /// Takes the rows out of `meets`, which begins with row `from`, that are null or whose bytes do
    /// not meet a condition.
    #[inline]
    pub(crate) fn filter(
        &self,
        from: usize,
        meets: &mut [bool],
        condition: impl Fn(&[u8]) -> bool,
    ) {
        let is_null =
            |row: usize| self.nulls.is_some_and(|nulls| nulls[row / 64] >> (row % 64) & 1 == 1);
        for (row, meet) in (from..).zip(meets) {
            *meet = *meet && !is_null(row) && condition(&self.bytes[self.ends.range(row)]);
        }
    }
}
