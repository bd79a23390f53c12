//! Which rows of a segment are meant: a stretch of them, or those of a list.
//!
//! What is read of each row is read in one loop for a stretch and in another one for a list.

/// Rows that are checked and decoded at once.
pub const BATCH_ROWS: usize = 8192;

/// Rows of a segment, by their index.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'r> {
    /// From the first up to the second.
    Stretch(usize, usize),
    /// These, in any order.
    List(&'r [u32]),
}

impl Rows<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Stretch(from, to) => to - from,
            Self::List(rows) => rows.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What `value` answers for the entry of each row in an array that has one for all rows.
    #[inline]
    pub(crate) fn gather<E: Copy, T>(self, entries: &[E], value: impl Fn(E) -> T) -> Vec<T> {
        match self {
            // Without a check for each row, so that several are converted at once.
            Self::Stretch(from, to) => {
                entries[from..to].iter().map(|&entry| value(entry)).collect()
            }
            Self::List(rows) => rows.iter().map(|&row| value(entries[row as usize])).collect(),
        }
    }

    /// What `value` answers for each row.
    #[inline]
    pub(crate) fn map<T>(self, mut value: impl FnMut(usize) -> T) -> Vec<T> {
        match self {
            Self::Stretch(from, to) => (from..to).map(value).collect(),
            Self::List(rows) => rows.iter().map(|&row| value(row as usize)).collect(),
        }
    }
}
