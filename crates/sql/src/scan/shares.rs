//! The segments of a table, shared out among the threads that read it.
//!
//! Where rows are to come out in the order of the table, each thread takes the next segment that
//! nobody has taken. Where they are not, each has a stretch of its own: what lies together in the
//! table, as keys that ascend do, comes together to one thread. Whoever is through with its stretch
//! takes the second half of the longest that is left.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use remanent_engine::SEGMENT_ROWS;

/// How segments are shared out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sharing {
    /// One thread reads all of them.
    Alone,
    /// By turns, in the order of the table.
    ByTurns,
    /// Each thread reads a stretch.
    ByStretches,
}

/// A segment that a reader has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    /// Its number.
    pub(crate) segment: u64,
    /// Whether it does not follow the one that this reader took before, but begins what was left
    /// to another one.
    pub(crate) is_of_other: bool,
}

/// The segments of a table, of which several readers take one after the other.
pub(crate) struct Shares {
    /// Those that are left of each stretch: the number of the first, and the end.
    left: Vec<AtomicU64>,
}

impl Shares {
    /// How many segments so many rows are.
    pub(crate) fn segments(rows: usize) -> usize {
        rows.div_ceil(SEGMENT_ROWS)
    }

    /// The segments with these numbers for so many readers.
    pub(crate) fn new(segments: Range<usize>, readers: usize, sharing: Sharing) -> Self {
        let stretches = match sharing {
            Sharing::ByStretches => readers.max(1),
            Sharing::Alone | Sharing::ByTurns => 1,
        };
        let bound = |stretch: usize| (segments.start + segments.len() * stretch / stretches) as u32;
        let stretch = |at: usize| AtomicU64::new(packed(bound(at), bound(at + 1)));
        Self { left: (0..stretches).map(stretch).collect() }
    }

    /// The next segment that a reader takes, if one is left.
    pub(crate) fn take(&self, reader: usize) -> Option<Taken> {
        let own = &self.left[reader.min(self.left.len() - 1)];
        loop {
            // The numbers order nothing: whatever is read lies in a snapshot.
            let taken = own.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                let (first, end) = unpacked(left);
                (first < end).then(|| packed(first + 1, end))
            });
            if let Ok(left) = taken {
                return Some(Taken { segment: unpacked(left).0.into(), is_of_other: false });
            }
            let (stretch, left) = self.longest()?;
            let (first, end) = unpacked(left);
            let middle = first + (end - first) / 2;
            let rest = packed(first, middle);
            let cut = stretch.compare_exchange(left, rest, Ordering::Relaxed, Ordering::Relaxed);
            if cut.is_ok() {
                // Nobody cuts a stretch of which nothing is left, as this reader's own.
                own.store(packed(middle + 1, end), Ordering::Relaxed);
                return Some(Taken { segment: middle.into(), is_of_other: true });
            }
        }
    }

    /// The stretch of which most is left, and what that is.
    fn longest(&self) -> Option<(&AtomicU64, u64)> {
        let left = self.left.iter().map(|stretch| (stretch, stretch.load(Ordering::Relaxed)));
        let length = |left: u64| {
            let (first, end) = unpacked(left);
            end - first
        };
        left.filter(|(_, left)| length(*left) > 0).max_by_key(|(_, left)| length(*left))
    }
}

fn packed(first: u32, end: u32) -> u64 {
    u64::from(first) << 32 | u64::from(end)
}

fn unpacked(left: u64) -> (u32, u32) {
    ((left >> 32) as u32, left as u32)
}

#[cfg(test)]
mod tests;
