//! Finalizing commits: exchanging stamps for timestamps once a commit is published, at once or by
//! those that come later (the postprocessing of Hekaton: Larson et al., VLDB 2011).
//!
//! A commit is published by one store of the clock; that its versions carry the timestamp instead
//! of the transaction's stamp only saves readers a look at the slot. So a transaction that changed
//! much leaves that to others: its slot is *unstamped* when it has ended, which holds no snapshot,
//! keeps stamp and timestamp to be read (`snapshot.rs`), and is not reused for a new transaction.
//! Each writer stamps a few of its versions when it ends; one that finds all slots taken, or
//! changes tables, stamps all. Whoever stamps holds the slot like a writer, so the rows and
//! versions that it walks over stay.

use super::changes;
use crate::error::{ErrorKind, Result};
use crate::instance::Instance;
use crate::memory::Memory;
use crate::memory::atomic::{Acquire, Relaxed, Release, SeqCst};
use crate::snapshot::FinalStamp;
use crate::transaction::begin::clock::{self, HeldSlot};
use crate::transaction::write::write_set::WriteSet;

/// Changes that a transaction stamps itself; with more it leaves all of them.
const IMMEDIATE_MAX: u64 = if cfg!(shuttle) { 1 } else { 16 << 10 };

/// Changes that a writer stamps for others at its end.
const DRAIN_MAX: u32 = if cfg!(shuttle) { 1 } else { 256 };

/// Stamps the versions of a published transaction, or leaves that to others.
#[inline]
pub(crate) fn stamp_or_defer(
    db: &Instance,
    held: &HeldSlot<'_>,
    writes: &WriteSet<'_>,
    stamp: FinalStamp,
) {
    if writes.len() > IMMEDIATE_MAX {
        writes.leave(&held.cache().unstamped);
        held.leave_unstamped(true);
        db.memory().header().unstamped.fetch_add(1, SeqCst);
        return;
    }
    writes.each(|table, written| changes::stamp(db, table, written, stamp, true));
    held.slot().committed.store(0, Release);
}

/// Called by each writer at its end: stamps a few, if something is left.
#[inline]
pub(crate) fn drain_some(db: &Instance) {
    if db.memory().header().unstamped.load(Relaxed) > 0 {
        each_slot(db, |held| stamp_rest(db, held, DRAIN_MAX));
    }
}

/// Stamps all that is left, and says whether there was anything.
pub(crate) fn drain_all(db: &Instance) -> bool {
    if db.memory().header().unstamped.load(Acquire) == 0 {
        return false;
    }
    each_slot(db, |held| {
        while held.is_unstamped() {
            stamp_rest(db, held, u32::MAX)
        }
    });
    true
}

/// Begins a transaction by `begin`; where all slots are taken, those that are left unstamped are
/// made free, and that of a checkpoint between two of its parts.
///
/// # Errors
/// The error of `begin`.
#[inline]
pub(crate) fn with_free_slot<'db, T>(
    db: &'db Instance,
    begin: impl Fn(&'db Memory, usize) -> Result<T>,
) -> Result<T> {
    match begin(db.memory(), db.slots()) {
        Err(error) if error.kind() == ErrorKind::TooManyTransactions && make_slots(db) => {
            begin(db.memory(), db.slots())
        }
        begun => begun,
    }
}

/// Whether slots may have become free.
#[cold]
fn make_slots(db: &Instance) -> bool {
    drain_all(db) | db.end_checkpoint()
}

#[cold]
fn each_slot(db: &Instance, visit: impl Fn(&HeldSlot<'_>)) {
    let memory = db.memory();
    for number in 0..memory.header().slots_used.load(SeqCst) as usize {
        if let Some(held) = clock::adopt_unstamped(memory, number) {
            visit(&held);
        }
    }
}

/// Stamps at most so many changes of what the slot's last transaction has left.
fn stamp_rest(db: &Instance, held: &HeldSlot<'_>, most: u32) {
    let (slot, cache) = (held.slot(), held.cache());
    let writes = WriteSet::resume(db.memory().allocator(cache), slot, &cache.unstamped);
    let stamp =
        FinalStamp { own: slot.stamp.load(Relaxed), timestamp: slot.committed.load(Relaxed) };
    let mut left = u64::from(most);
    while left > 0
        && let Some((table, written)) = writes.pop_some(left as u32)
    {
        changes::stamp(db, table, written, stamp, false);
        left = left.saturating_sub(written.len());
    }
    writes.leave(&cache.unstamped);
    if writes.len() == 0 {
        slot.committed.store(0, Release);
        db.memory().header().unstamped.fetch_sub(1, SeqCst);
        held.leave_unstamped(false);
    }
}
