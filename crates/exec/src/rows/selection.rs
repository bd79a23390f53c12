//! The rows of a segment that are left: a stretch as long as none is missing, else runs or a list.
//!
//! Stretches and runs are decoded in loops without a look at a list, several values at once. Where
//! few rows are missing, as those that were deleted, or do not meet a predicate that most meet, the
//! others are runs.

#[cfg(test)]
mod tests;

use crate::rows::bits::RowBits;
use crate::rows::list::list_of;
use crate::rows::{Rows, Run};

/// Rows of a run, on average, that are worth a loop of their own.
const RUN_MIN: usize = 16;

/// Rows of a segment that are left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selection {
    /// From the first up to the second.
    Stretch(usize, usize),
    /// Those of these runs, in ascending order.
    Runs {
        /// The runs.
        runs: Vec<Run>,
        /// How many rows they have.
        len: usize,
    },
    /// These, in ascending order.
    List(Vec<u32>),
}

impl Selection {
    /// The rows that are left of a stretch that begins with row `first`.
    pub(crate) fn of(left: &RowBits, first: usize) -> Self {
        let count = left.count();
        if count == left.len() {
            return Self::Stretch(first, first + count);
        }
        if count >= RUN_MIN * runs_in(left.words()) {
            return Self::Runs { runs: runs_of(left.words(), first as u32), len: count };
        }
        Self::List(list_of(left.words(), first as u32, count))
    }

    /// How many rows are left.
    pub fn len(&self) -> usize {
        self.rows().len()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows.
    pub fn rows(&self) -> Rows<'_> {
        match self {
            Self::Stretch(from, to) => Rows::Stretch(*from, *to),
            Self::Runs { runs, len } => Rows::Runs { runs, len: *len },
            Self::List(list) => Rows::List(list),
        }
    }

    /// Leaves the rows with these indexes among those that are left, which ascend.
    ///
    /// # Panics
    /// If there are not so many.
    ///
    /// # Examples
    /// ```
    /// use remanent_exec::Selection;
    /// let mut rows = Selection::Stretch(100, 200);
    /// rows.keep([0, 7, 9].into_iter());
    /// rows.keep([1, 2].into_iter());
    /// assert_eq!(rows, Selection::List(vec![107, 109]));
    /// ```
    pub fn keep(&mut self, indexes: impl Iterator<Item = usize>) {
        let list = match &*self {
            Self::Stretch(from, to) => {
                let len = to - from;
                let row = |at: usize| {
                    assert!(at < len, "row {at} of {len} rows");
                    (from + at) as u32
                };
                indexes.map(row).collect()
            }
            Self::Runs { runs, .. } => kept_of(runs, indexes),
            Self::List(list) => indexes.map(|at| list[at]).collect(),
        };
        *self = Self::List(list);
    }
}

/// The rows with these indexes among those of runs.
fn kept_of(runs: &[Run], indexes: impl Iterator<Item = usize>) -> Vec<u32> {
    let (mut rest, mut before) = (runs.iter(), 0);
    let mut run = Run { from: 0, to: 0 };
    let row = |at: usize| {
        while at - before >= run.range().len() {
            before += run.range().len();
            run = *rest.next().expect("as many rows as there are indexes");
        }
        run.from + (at - before) as u32
    };
    indexes.map(row).collect()
}

/// How many runs of bits there are.
fn runs_in(words: &[u64]) -> usize {
    let mut before = 0;
    let starts = words.iter().map(|word| {
        let starts = word & !(word << 1 | before);
        before = word >> 63;
        starts.count_ones() as usize
    });
    starts.sum()
}

/// The runs of bits, the first of which is that of row `first`.
fn runs_of(words: &[u64], first: u32) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::with_capacity(runs_in(words));
    for (mut word, at) in words.iter().copied().zip((first..).step_by(64)) {
        let mut at = at;
        while word != 0 {
            let skipped = word.trailing_zeros();
            word >>= skipped;
            let len = word.trailing_ones();
            let (from, to) = (at + skipped, at + skipped + len);
            match runs.last_mut() {
                Some(last) if last.to == from => last.to = to,
                _ => runs.push(Run { from, to }),
            }
            word = word.checked_shr(len).unwrap_or_default();
            at = to;
        }
    }
    runs
}
