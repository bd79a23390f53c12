//! Conditions on encoded offsets: that they are in a range, or that a bit stands for them.
//!
//! Each is a loop over 64 rows at once, for the widest instructions that the processor has; where
//! hardly a row is left, or there are none of 64 bytes, rows are compared by plain loops. All say
//! the same of each row.

#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
use crate::conditions::blocks::{self, Blocks, Table};
use crate::encodings::offsets::{Offsets, with_offsets};
use crate::rows::bits::RowBits;
use crate::simd::vectorized;

/// Codes or offsets from the least to the greatest, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OffsetRange {
    pub(crate) low: u32,
    pub(crate) high: u32,
}

/// A bit for each of some offsets: bit `first + o` for offset `o`, none where that is less than 0
/// or not less than `len`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OffsetBits<'b> {
    pub(crate) bits: &'b [u64],
    pub(crate) len: usize,
    pub(crate) first: i128,
}

/// The offsets of a column, of so many bytes each.
#[derive(Clone, Copy)]
pub(crate) struct EncodedOffsets<'e> {
    pub(crate) bytes: &'e [u8],
    pub(crate) width: usize,
}

impl OffsetRange {
    #[inline]
    pub(crate) fn has(self, offset: u32) -> bool {
        // What is less than the least wraps around to more than the greatest.
        offset.wrapping_sub(self.low) <= self.high - self.low
    }
}

impl OffsetBits<'_> {
    #[inline]
    fn has(self, offset: u32) -> bool {
        // What is less than 0 wraps around to more than the last.
        let at = (self.first as usize).wrapping_add(offset as usize);
        at < self.len && self.bits[at / 64] >> (at % 64) & 1 == 1
    }
}

impl EncodedOffsets<'_> {
    /// Leaves the rows of a stretch whose offsets are in a range; it begins at row `first`.
    pub(crate) fn keep_between(self, range: OffsetRange, first: usize, rows: &mut RowBits) {
        #[cfg(target_arch = "x86_64")]
        {
            let blocks = Blocks::new(self, first, rows.len());
            if blocks::keep_between(range, blocks, rows.words_mut()) {
                return;
            }
        }
        keep_between(range, self, first, rows);
    }

    /// Leaves the rows of a stretch that have a bit by their offsets; it begins at row `first`.
    pub(crate) fn keep_with_bit(self, bits: OffsetBits<'_>, first: usize, rows: &mut RowBits) {
        #[cfg(target_arch = "x86_64")]
        if let Some(table) = Table::new(bits) {
            let blocks = Blocks::new(self, first, rows.len());
            if blocks::keep_with_bit(table, blocks, rows.words_mut()) {
                return;
            }
        }
        keep_with_bit(bits, self, first, rows);
    }
}

vectorized! {
    /// One and two bytes are compared as they are: the fewer bytes, the more of them at once.
    fn keep_between(
        range: OffsetRange,
        offsets: EncodedOffsets<'_>,
        first: usize,
        rows: &mut RowBits,
    ) {
        let OffsetRange { low, high } = range;
        let EncodedOffsets { bytes, width } = offsets;
        match width {
            1 => {
                let (low, len) = (low as u8, (high - low) as u8);
                rows.keep_entries(first, bytes, |byte| byte.wrapping_sub(low) <= len);
            }
            2 => {
                let (low, len) = (low as u16, (high - low) as u16);
                let offset = |two| u16::from_le_bytes(two).wrapping_sub(low);
                rows.keep_entries(first, bytes.as_chunks().0, |two| offset(two) <= len);
            }
            _ => with_offsets!(bytes, width, |offsets| {
                offsets.filter(first, rows, |offset| range.has(offset));
            }),
        }
    }
}

vectorized! {
    fn keep_with_bit(
        bits: OffsetBits<'_>,
        offsets: EncodedOffsets<'_>,
        first: usize,
        rows: &mut RowBits,
    ) {
        with_offsets!(offsets.bytes, offsets.width, |offsets| {
            rows.keep(|row| bits.has(offsets.get(first + row)), |stretch| {
                let mut loaded = [0; 64];
                let loaded = &mut loaded[..stretch.len()];
                offsets.load(first + stretch.start..first + stretch.end, loaded, |offset| offset);
                let met = loaded.iter().enumerate();
                met.fold(0, |word, (row, offset)| word | u64::from(bits.has(*offset)) << row)
            });
        });
    }
}
