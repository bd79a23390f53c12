//! Offsets of numbers that are encoded by a frame of reference, whatever their width.
//!
//! Offsets of three bytes lie in two arrays; all others are entries of one. Loops over rows are
//! compiled for each of the two.

use std::ops::Range;

use remanent_engine::FrozenColumn;

use crate::rows::Rows;
use crate::rows::bits::{RowBits, packed, word_of};

/// Numbers that are kept as offsets, one for each row of a segment.
pub(crate) trait Offsets: Copy {
    /// What `value` answers for the offset of each row.
    fn gather<T>(self, rows: Rows<'_>, value: impl Fn(u32) -> T) -> Vec<T>;

    /// The offset of a row.
    fn get(self, row: usize) -> u32;

    /// Puts what `value` answers for the offset of each row of a stretch in its place.
    fn load<T>(self, rows: Range<usize>, into: &mut [T], value: impl Fn(u32) -> T);

    /// Puts what `value` answers for what is there and the offset of each row of a stretch in its
    /// place.
    fn merge<T: Copy>(self, rows: Range<usize>, into: &mut [T], value: impl Fn(T, u32) -> T);

    /// A bit for each of up to 64 rows whose offset meets something.
    fn word(self, rows: Range<usize>, meets: impl Fn(u32) -> bool) -> u64;

    /// Leaves the rows of a stretch whose offset meets something; it begins at row `first`.
    #[inline]
    fn filter(self, first: usize, rows: &mut RowBits, meets: impl Fn(u32) -> bool) {
        let word_of = |rows: Range<usize>| self.word(first + rows.start..first + rows.end, &meets);
        rows.keep(|row| meets(self.get(first + row)), word_of);
    }
}

/// Evaluates an expression with the offsets of so many bytes each; it is compiled for each width.
macro_rules! with_offsets {
    ($bytes:expr, $width:expr, |$offsets:ident| $value:expr) => {{
        use $crate::encodings::offsets::{Entries, Parts};
        let bytes: &[u8] = $bytes;
        match $width {
            1 => {
                let $offsets = Entries { entries: bytes, read: u32::from };
                $value
            }
            2 => {
                let read = |two| u32::from(u16::from_le_bytes(two));
                let $offsets = Entries { entries: bytes.as_chunks().0, read };
                $value
            }
            3 => {
                let $offsets = Parts::of(bytes);
                $value
            }
            _ => {
                let $offsets = Entries { entries: bytes.as_chunks().0, read: u32::from_le_bytes };
                $value
            }
        }
    }};
}
pub(crate) use with_offsets;

/// Entries, and how one of them is read.
#[derive(Clone, Copy)]
pub(crate) struct Entries<'e, E, F> {
    pub(crate) entries: &'e [E],
    pub(crate) read: F,
}

impl<E: Copy, F: Fn(E) -> u32 + Copy> Offsets for Entries<'_, E, F> {
    #[inline]
    fn gather<T>(self, rows: Rows<'_>, value: impl Fn(u32) -> T) -> Vec<T> {
        rows.gather(self.entries, |entry| value((self.read)(entry)))
    }

    #[inline(always)]
    fn get(self, row: usize) -> u32 {
        (self.read)(self.entries[row])
    }

    #[inline(always)]
    fn load<T>(self, rows: Range<usize>, into: &mut [T], value: impl Fn(u32) -> T) {
        let entries = into.iter_mut().zip(&self.entries[rows]);
        entries.for_each(|(to, entry)| *to = value((self.read)(*entry)));
    }

    #[inline(always)]
    fn merge<T: Copy>(self, rows: Range<usize>, into: &mut [T], value: impl Fn(T, u32) -> T) {
        let entries = into.iter_mut().zip(&self.entries[rows]);
        entries.for_each(|(to, entry)| *to = value(*to, (self.read)(*entry)));
    }

    #[inline]
    fn word(self, rows: Range<usize>, meets: impl Fn(u32) -> bool) -> u64 {
        word_of(&self.entries[rows], |entry| meets((self.read)(entry)))
    }
}

/// The parts of offsets of three bytes.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'e> {
    low: &'e [[u8; 2]],
    high: &'e [u8],
}

impl<'e> Parts<'e> {
    pub(crate) fn of(bytes: &'e [u8]) -> Self {
        let (low, high) = FrozenColumn::offset_parts(bytes);
        Self { low, high }
    }

    /// The offsets of a stretch of rows.
    #[inline(always)]
    fn stretch(self, rows: Range<usize>) -> impl Iterator<Item = u32> {
        let parts = self.low[rows.clone()].iter().zip(&self.high[rows]);
        parts.map(|(low, high)| Self::offset(*low, *high))
    }

    #[inline(always)]
    fn offset(low: [u8; 2], high: u8) -> u32 {
        u32::from(u16::from_le_bytes(low)) | u32::from(high) << 16
    }
}

impl Offsets for Parts<'_> {
    #[inline]
    fn gather<T>(self, rows: Rows<'_>, value: impl Fn(u32) -> T) -> Vec<T> {
        match rows {
            Rows::Stretch(from, to) => self.stretch(from..to).map(value).collect(),
            Rows::Runs { runs, len } => {
                let mut values = Vec::with_capacity(len);
                for run in runs {
                    values.extend(self.stretch(run.range()).map(&value));
                }
                values
            }
            Rows::List(rows) => rows.iter().map(|&row| value(self.get(row as usize))).collect(),
        }
    }

    #[inline(always)]
    fn get(self, row: usize) -> u32 {
        Self::offset(self.low[row], self.high[row])
    }

    #[inline(always)]
    fn load<T>(self, rows: Range<usize>, into: &mut [T], value: impl Fn(u32) -> T) {
        into.iter_mut().zip(self.stretch(rows)).for_each(|(to, offset)| *to = value(offset));
    }

    #[inline(always)]
    fn merge<T: Copy>(self, rows: Range<usize>, into: &mut [T], value: impl Fn(T, u32) -> T) {
        let offsets = into.iter_mut().zip(self.stretch(rows));
        offsets.for_each(|(to, offset)| *to = value(*to, offset));
    }

    #[inline]
    fn word(self, rows: Range<usize>, meets: impl Fn(u32) -> bool) -> u64 {
        let mut truths = [0; 64];
        let (low, high) = (&self.low[rows.clone()], &self.high[rows]);
        match (low.first_chunk::<64>(), high.first_chunk::<64>()) {
            // The number of rows is known when this is compiled.
            (Some(low), Some(high)) => {
                for ((truth, low), high) in truths.iter_mut().zip(low).zip(high) {
                    *truth = meets(Self::offset(*low, *high)).into();
                }
            }
            _ => {
                for ((truth, low), high) in truths.iter_mut().zip(low).zip(high) {
                    *truth = meets(Self::offset(*low, *high)).into();
                }
            }
        }
        packed(&truths)
    }
}
