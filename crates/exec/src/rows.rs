//! Which rows of a segment are meant: a stretch of them, several runs, or those of a list.
//!
//! What is read of each row is read in one loop for a stretch, in one for each run, and in another
//! one for a list. Rows that are left by conditions are [`bits`] first, and a [`selection`] then.

pub(crate) mod bits;
mod list;
pub(crate) mod selection;

use std::ops::Range;

/// Rows that are checked and decoded at once.
pub const BATCH_ROWS: usize = 8192;

/// Rows of a tile, at most: so many are compared, computed and added up at once that what is made
/// of them stays in the processor's first caches.
pub const TILE_ROWS: usize = 1024;

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

    /// One of them, by which of them it is; they have to be a stretch or a list.
    #[inline]
    pub(crate) fn row(self, at: usize) -> usize {
        match self {
            Self::Stretch(from, _) => from + at,
            Self::List(rows) => rows[at] as usize,
            Self::Runs { .. } => unreachable!("rows of a join are no runs"),
        }
    }

    /// Some of them, by which of them they are; they have to be a stretch or a list.
    pub(crate) fn part(self, of: Range<usize>) -> Self {
        match self {
            Self::Stretch(from, _) => Self::Stretch(from + of.start, from + of.end),
            Self::List(rows) => Self::List(&rows[of]),
            Self::Runs { .. } => unreachable!("rows of a join are no runs"),
        }
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

    /// Puts what `value` answers for the entry of each row in its place.
    #[inline(always)]
    pub(crate) fn load_entries<E: Copy, T>(
        self,
        entries: &[E],
        into: &mut [T],
        value: impl Fn(E) -> T,
    ) {
        let stretch = |rows: Range<usize>, into: &mut [T]| {
            into.iter_mut().zip(&entries[rows]).for_each(|(to, entry)| *to = value(*entry));
        };
        self.load(into, stretch, |row| value(entries[row]));
    }

    /// Puts something of each row in its place: `stretch` loads rows that follow one another, `get`
    /// one row of a list.
    #[inline(always)]
    pub(crate) fn load<T>(
        self,
        into: &mut [T],
        stretch: impl FnMut(Range<usize>, &mut [T]),
        get: impl Fn(usize) -> T,
    ) {
        match self {
            Self::List(rows) => {
                into.iter_mut().zip(rows).for_each(|(to, row)| *to = get(*row as usize));
            }
            rows => rows.stretches(into, stretch),
        }
    }

    /// Calls `each` with the rows that follow one another and their places, of rows that are no
    /// list.
    #[inline(always)]
    pub(crate) fn stretches<T>(self, into: &mut [T], mut each: impl FnMut(Range<usize>, &mut [T])) {
        match self {
            Self::Stretch(from, to) => each(from..to, into),
            Self::Runs { runs, .. } => {
                let mut rest = into;
                for run in runs {
                    let (now, later) = rest.split_at_mut(run.range().len());
                    each(run.range(), now);
                    rest = later;
                }
            }
            Self::List(_) => {}
        }
    }

    /// Calls `each` with each row and which of them it is, up to the first error.
    ///
    /// # Errors
    /// Those of `each`.
    pub(crate) fn try_each<E>(
        self,
        mut each: impl FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Stretch(from, to) => {
                (from..to).enumerate().try_for_each(|(at, row)| each(at, row))
            }
            Self::Runs { runs, .. } => {
                let mut rows = runs.iter().flat_map(|run| run.range()).enumerate();
                rows.try_for_each(|(at, row)| each(at, row))
            }
            Self::List(rows) => {
                let mut rows = rows.iter().enumerate();
                rows.try_for_each(|(at, row)| each(at, *row as usize))
            }
        }
    }

    /// Calls `each` with each row, and which of them it is.
    #[inline]
    pub(crate) fn each(self, mut each: impl FnMut(usize, usize)) {
        let each: Result<(), std::convert::Infallible> = self.try_each(|at, row| {
            each(at, row);
            Ok(())
        });
        let Ok(()) = each;
    }

    /// Calls `each` with so many rows at a time, from the first to the last, and how many came
    /// before them.
    ///
    /// # Errors
    /// Those of `each`.
    pub(crate) fn tiles<E>(
        self,
        size: usize,
        mut each: impl FnMut(Rows<'_>, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.len() <= size {
            return if self.is_empty() { Ok(()) } else { each(self, 0) };
        }
        match self {
            Self::Stretch(from, to) => (from..to).step_by(size).try_for_each(|first| {
                each(Rows::Stretch(first, to.min(first + size)), first - from)
            }),
            Self::List(rows) => {
                let tiles = rows.chunks(size).zip((0..).step_by(size));
                tiles.into_iter().try_for_each(|(rows, before)| each(Rows::List(rows), before))
            }
            Self::Runs { runs, .. } => {
                let (mut tile, mut len, mut before) = (Vec::new(), 0, 0);
                for run in runs {
                    let mut from = run.from;
                    while from < run.to {
                        let to = run.to.min(from + (size - len) as u32);
                        tile.push(Run { from, to });
                        len += (to - from) as usize;
                        from = to;
                        if len == size {
                            each(Rows::Runs { runs: &tile, len }, before)?;
                            before += std::mem::take(&mut len);
                            tile.clear();
                        }
                    }
                }
                if len > 0 { each(Rows::Runs { runs: &tile, len }, before) } else { Ok(()) }
            }
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
