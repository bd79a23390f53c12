//! Timestamps, stamps, and the rule of what a snapshot sees.
//!
//! A version begins at a timestamp, or, while its transaction is in flight, carries the *stamp* of
//! that transaction: which slot, and which of the slot's transactions. Commit is published by one
//! store of the clock; versions are stamped with their timestamp afterwards. In between, a reader
//! who meets the stamp asks the slot.
//!
//! *Order of writing*, by the slot's holder: `committed` := timestamp, clock := timestamp, every
//! version := timestamp, `committed` := 0; a later transaction sets `stamp` anew. *Order of
//! reading*: version, `stamp`, `committed`, `stamp`, version again. If the version is unchanged and
//! `stamp` was its own both times, `committed` is its answer; a snapshot that began before the
//! clock was set finds a larger timestamp or none, and either way does not see the version.

use std::cell::Cell;

use crate::memory::Memory;
use crate::memory::atomic::{Acquire, AtomicU64};
use crate::slot::{IN_FLIGHT, slot, slot_of_stamp};

/// What a transaction sees: all that committed up to a timestamp, and its own changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) timestamp: u64,
    /// The transaction's own stamp; 0 if it only reads.
    pub(crate) own: u64,
}

/// The stamp that the versions of a transaction carry, and the timestamp that they get for it when
/// it has committed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FinalStamp {
    pub(crate) own: u64,
    pub(crate) timestamp: u64,
}

/// The commit state of a version: committed at a timestamp, or still owned by a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Committed at this timestamp.
    Committed(u64),
    /// Written by the transaction with this stamp, which has not committed.
    InFlight(u64),
}

impl Snapshot {
    /// Whether a version that begins so is seen.
    #[inline]
    pub(crate) fn sees(&self, memory: &Memory, begin: &AtomicU64) -> bool {
        let word = begin.load(Acquire);
        if word <= self.timestamp {
            return true;
        }
        if word & IN_FLIGHT == 0 {
            return false;
        }
        word == self.own || self.sees_in_flight(memory, begin)
    }

    /// Whether this transaction may overwrite a version with this begin word.
    ///
    /// # Errors
    /// Who holds it, if that is in flight; none if it was committed too late to be seen.
    #[inline]
    pub(crate) fn may_follow(&self, begin: Begin) -> Result<(), Option<u64>> {
        match begin {
            Begin::InFlight(stamp) if stamp != self.own => Err(Some(stamp)),
            Begin::Committed(timestamp) if timestamp > self.timestamp => Err(None),
            _ => Ok(()),
        }
    }

    #[cold]
    fn sees_in_flight(&self, memory: &Memory, begin: &AtomicU64) -> bool {
        match resolve(memory, begin) {
            Begin::Committed(timestamp) => timestamp <= self.timestamp,
            Begin::InFlight(_) => false,
        }
    }
}

/// A snapshot for whoever asks it of many versions: those of a large transaction that has committed
/// carry its stamp until a later writer exchanges it, and to ask the slot takes longer than that.
///
/// What was found of a stamp stays true: a transaction is seen from the start or never, since its
/// slot gives the same answer until every version has its timestamp.
#[derive(Debug)]
pub(crate) struct SnapshotOfMany {
    snapshot: Snapshot,
    /// The stamp that was met last, and whether it is seen; 0 for none.
    met: Cell<(u64, bool)>,
}

impl SnapshotOfMany {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Self { snapshot, met: Cell::new((0, false)) }
    }

    /// Whether a version that begins so is seen.
    #[inline]
    pub(crate) fn sees(&self, memory: &Memory, begin: &AtomicU64) -> bool {
        let word = begin.load(Acquire);
        if word <= self.snapshot.timestamp {
            return true;
        }
        let (stamp, is_seen) = self.met.get();
        if word == stamp { is_seen } else { self.asks(memory, begin, word) }
    }

    #[cold]
    fn asks(&self, memory: &Memory, begin: &AtomicU64, word: u64) -> bool {
        let is_seen = self.snapshot.sees(memory, begin);
        // What is a timestamp by now says nothing of the stamp that it replaced.
        if word & IN_FLIGHT != 0 && begin.load(Acquire) == word {
            self.met.set((word, is_seen));
        }
        is_seen
    }
}

/// Whose a version is that begins so. See the module's text for the order of reading.
pub(crate) fn resolve(memory: &Memory, begin: &AtomicU64) -> Begin {
    let mut word = begin.load(Acquire);
    loop {
        if word & IN_FLIGHT == 0 {
            return Begin::Committed(word);
        }
        let slot = slot(memory, slot_of_stamp(word));
        let before = slot.stamp.load(Acquire);
        let committed = slot.committed.load(Acquire);
        let after = slot.stamp.load(Acquire);
        let now = begin.load(Acquire);
        if now != word {
            word = now;
            continue;
        }
        if before == word && after == word && committed != 0 {
            return Begin::Committed(committed);
        }
        return Begin::InFlight(word);
    }
}
