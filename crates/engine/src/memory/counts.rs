//! What the holder of a slot has counted: words of the slot's cache.
//!
//! Only the holder writes them, with plain stores, so that counting costs no more than a load and a
//! store of a line that the holder has anyway. Whoever wants to know adds up those of all slots:
//! each word grows only, so a sum is never more than what has happened, nor less than what had
//! happened when adding up began.

use super::atomic::{AtomicU64, Relaxed};

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Counted {
    /// Transactions whose changes were committed.
    Commits = 0,
    /// Changes of rows in them.
    Changes = 1,
    /// Transactions that write which ended without a commit.
    Rollbacks = 2,
    /// Statements and commits refused for what others did.
    Conflicts = 3,
    /// Attempts after the first one, of work that is run until it commits.
    Retries = 4,
    /// Segments whose rows became columns.
    FrozenSegments = 5,
    /// Segments of row ids of which the first was given out.
    BegunSegments = 6,
}

/// How many kinds there are.
pub(crate) const COUNTED: usize = 7;

/// The words of one slot; part of its cache.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Counts([AtomicU64; COUNTED]);

impl Counts {
    /// Counts so many more; by the holder of the slot.
    #[inline]
    pub(crate) fn add(&self, what: Counted, count: u64) {
        let word = &self.0[what as usize];
        word.store(word.load(Relaxed).wrapping_add(count), Relaxed);
    }

    /// What was counted so far.
    pub(crate) fn get(&self, what: Counted) -> u64 {
        self.0[what as usize].load(Relaxed)
    }

    /// Begins anew; nobody else uses the database.
    pub(crate) fn forget(&self) {
        self.0.iter().for_each(|word| word.store(0, Relaxed));
    }
}
