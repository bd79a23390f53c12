//! Timestamps, stamps, transaction slots, and the rule of what a snapshot sees.
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

use crate::memory::atomic::{Acquire, AtomicU64, Relaxed};
use crate::memory::region::ALIGNMENT_MAX;
use crate::memory::{Cache, Memory, Ref};

/// Set in a stamp, never in a timestamp.
pub(crate) const IN_FLIGHT: u64 = 1 << 63;
const STAMP_SLOT_SHIFT: u32 = 48;
/// Most transaction slots a database can have.
pub(crate) const SLOTS_MAX: usize = 1 << 14;

/// The state words of a slot.
pub(crate) const SLOT_FREE: u64 = 0;
pub(crate) const SLOT_TAKEN: u64 = 1;
pub(crate) const SLOT_WRITES: u64 = 2;
const SLOT_SNAPSHOT_SHIFT: u32 = 2;

/// A transaction slot in the region: what a transaction shows to others.
#[repr(C, align(128))]
pub(crate) struct Slot {
    /// Free, or the published snapshot with flags. Holds back reclamation while it is not free.
    pub(crate) state: AtomicU64,
    /// The stamp of the slot's newest writing transaction.
    pub(crate) stamp: AtomicU64,
    /// Its timestamp from just before it is published until all its versions are stamped; else 0.
    pub(crate) committed: AtomicU64,
    /// The slot's cache; 0 until it first writes.
    pub(crate) cache: AtomicU64,
    /// The first chunk of the write set, kept from one transaction to the next.
    pub(crate) write_set: AtomicU64,
}

/// What a transaction sees: all that committed up to a timestamp, and its own changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) timestamp: u64,
    /// The transaction's own stamp; 0 if it only reads.
    pub(crate) own: u64,
}

/// Whose a version is.
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

    #[cold]
    fn sees_in_flight(&self, memory: &Memory, begin: &AtomicU64) -> bool {
        match resolve(memory, begin) {
            Begin::Committed(timestamp) => timestamp <= self.timestamp,
            Begin::InFlight(_) => false,
        }
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

/// The slot with this number.
#[inline]
pub(crate) fn slot(memory: &Memory, number: usize) -> &Slot {
    let slots = memory.header().slots.load(Relaxed);
    memory.get(Ref::new(slots + (number * size_of::<Slot>()) as u64))
}

/// The cache of a slot, if it ever wrote.
#[inline]
pub(crate) fn cache<'m>(memory: &'m Memory, slot: &Slot) -> Option<&'m Cache> {
    let at = slot.cache.load(Acquire);
    (at != 0).then(|| memory.get(Ref::new(at)))
}

/// The stamp that follows `stamp` in the slot with this number.
pub(crate) fn next_stamp(stamp: u64, number: usize) -> u64 {
    let sequence = (stamp + 1) & ((1 << STAMP_SLOT_SHIFT) - 1);
    IN_FLIGHT | (number as u64) << STAMP_SLOT_SHIFT | sequence
}

/// The state of a slot that holds a snapshot.
#[inline]
pub(crate) fn taken_state(timestamp: u64, writes: bool) -> u64 {
    timestamp << SLOT_SNAPSHOT_SHIFT | SLOT_TAKEN | if writes { SLOT_WRITES } else { 0 }
}

/// The snapshot in a slot's state.
#[inline]
pub(crate) fn snapshot_of_state(state: u64) -> u64 {
    state >> SLOT_SNAPSHOT_SHIFT
}

fn slot_of_stamp(stamp: u64) -> usize {
    ((stamp & !IN_FLIGHT) >> STAMP_SLOT_SHIFT) as usize
}

const _: () = assert!(SLOTS_MAX <= 1 << (63 - STAMP_SLOT_SHIFT));
const _: () = assert!(align_of::<Slot>() <= ALIGNMENT_MAX);
