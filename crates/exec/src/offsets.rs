//! Offsets of numbers that are encoded by a frame of reference, whatever their width.
//!
//! Offsets of three bytes lie in two arrays; all others are entries of one. Loops over rows are
//! compiled for each of the two.

use remanent_engine::FrozenColumn;

use crate::rows::Rows;

/// Numbers that are kept as offsets, one for each row of a segment.
pub(crate) trait Offsets: Copy {
    /// What `value` answers for the offset of each row.
    fn gather<T>(self, rows: Rows<'_>, value: impl Fn(u32) -> T) -> Vec<T>;
}

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

    /// The offsets of so many rows from one on.
    #[inline]
    pub(crate) fn stretch(self, from: usize, len: usize) -> impl Iterator<Item = u32> {
        let parts = self.low[from..from + len].iter().zip(&self.high[from..from + len]);
        parts.map(|(low, high)| Self::offset(*low, *high))
    }

    #[inline]
    fn offset(low: [u8; 2], high: u8) -> u32 {
        u32::from(u16::from_le_bytes(low)) | u32::from(high) << 16
    }
}

impl Offsets for Parts<'_> {
    #[inline]
    fn gather<T>(self, rows: Rows<'_>, value: impl Fn(u32) -> T) -> Vec<T> {
        match rows {
            Rows::Stretch(from, to) => self.stretch(from, to - from).map(value).collect(),
            Rows::List(rows) => {
                let offset = |row: usize| Self::offset(self.low[row], self.high[row]);
                rows.iter().map(|&row| value(offset(row as usize))).collect()
            }
        }
    }
}
