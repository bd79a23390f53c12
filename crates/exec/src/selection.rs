//! The rows of a segment that are left: a stretch as long as none is missing, else a list.
//!
//! Stretches are decoded in loops without a look at a list, several values at once.

use crate::rows::Rows;

/// Rows of a segment that are left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selection {
    /// From the first up to the second.
    Stretch(usize, usize),
    /// These, in ascending order.
    List(Vec<u32>),
}

impl Selection {
    /// The rows that meet something, from row `first` on.
    pub(crate) fn of(meets: &[bool], first: usize) -> Self {
        let count = meets.iter().filter(|meet| **meet).count();
        if count == meets.len() {
            return Self::Stretch(first, first + meets.len());
        }
        Self::List(list_of(meets, first as u32))
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
            Self::List(list) => indexes.map(|at| list[at]).collect(),
        };
        *self = Self::List(list);
    }
}

/// The rows that meet something, from row `first` on, as a list.
fn list_of(meets: &[bool], first: u32) -> Vec<u32> {
    // Each row is written, and the place moves on behind those that count: without a branch, for
    // none could be foretold where half of the rows count.
    let mut list = vec![0; meets.len()];
    let mut count = 0;
    for (eight, first) in meets.chunks(8).zip((first..).step_by(8)) {
        if eight == [false; 8] {
            continue;
        }
        for (row, meet) in (first..).zip(eight) {
            list[count] = row;
            count += usize::from(*meet);
        }
    }
    list.truncate(count);
    list
}
