//! Which rows of a segment are meant: a stretch of them, several runs, or those of a list.
//!
//! What is read of each row is read in one loop for a stretch, in one for each run, and in another
//! one for a list. Rows that are left by conditions are [`bits`] first, and a [`selection`] then.

pub(crate) mod bits;
pub(crate) mod selection;

use std::ops::Range;

/// Rows that are checked and decoded at once.
pub const BATCH_ROWS: usize = 8192;

/// Rows of a segment, by their index.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'r> {
    /// From the first up to the second.
    Stretch(usize, usize),
    /// Those of these runs, in their order.
    Runs {
        /// The runs.
        runs: &'r [Run],
        /// How many rows they have.
        len: usize,
    },
    /// These, in any order.
    List(&'r [u32]),
}

/// Rows that follow one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first.
    pub from: u32,
    /// The one behind the last.
    pub to: u32,
}

impl Run {
    /// The rows.
    pub fn range(self) -> Range<usize> {
        self.from as usize..self.to as usize
    }
}

impl Rows<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Stretch(from, to) => to - from,
            Self::Runs { len, .. } => *len,
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
            Self::Runs { runs, len } => {
                let mut values = Vec::with_capacity(len);
                for run in runs {
                    values.extend(entries[run.range()].iter().map(|&entry| value(entry)));
                }
                values
            }
            Self::List(rows) => rows.iter().map(|&row| value(entries[row as usize])).collect(),
        }
    }

    /// What `value` answers for each row.
    #[inline]
    pub fn map<T>(self, mut value: impl FnMut(usize) -> T) -> Vec<T> {
        match self {
            Self::Stretch(from, to) => (from..to).map(value).collect(),
            Self::Runs { runs, len } => {
                let mut values = Vec::with_capacity(len);
                runs.iter().for_each(|run| values.extend(run.range().map(&mut value)));
                values
            }
            Self::List(rows) => rows.iter().map(|&row| value(row as usize)).collect(),
        }
    }
}
