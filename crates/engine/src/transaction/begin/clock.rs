//! Beginning and ending a snapshot, and the horizon: what every active transaction has seen.
//!
//! The protocol between *transactions that begin* and *whoever reclaims*. A transaction publishes
//! the clock's value in its slot with one sequentially consistent exchange, which also takes the
//! slot, then reads the clock again; if that has moved on it publishes the new value, until both
//! agree: what is published is its snapshot. A reclaimer reads the clock, then all slots. If it
//! misses a slot, or finds an earlier value in it, the exchange came later in the one order of all
//! such operations, so the snapshot is no older than the reclaimer's reading of the clock. A slot
//! read too early or too late only makes the horizon smaller than need be.
//!
//! A transaction holds its slot until it ends, whatever thread that is; the thread-local number is
//! a hint where to look first, no more.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::gate;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::atomic::{Acquire, Relaxed, Release, SeqCst, full_fence};
use crate::memory::{Cache, Memory, Ref};
use crate::slot::{
    self, SLOT_FREE, SLOT_UNSTAMPED, SLOT_WRITES, SLOTS_PER_BLOCK, Slot, is_held, next_stamp, slot,
    snapshot_of_state, taken_state,
};
use crate::snapshot::Snapshot;

#[cfg(shuttle)]
use shuttle::thread_local;

thread_local! {
    static SLOT_HINT: Cell<usize> = const { Cell::new(0) };
}

/// A slot held by a transaction; given back when dropped.
pub(crate) struct HeldSlot<'m> {
    memory: &'m Memory,
    slot: &'m Slot,
    number: u32,
    /// Whether versions are left that carry the stamp of its transaction.
    unstamped: AtomicBool,
}

/// The limits up to which memory may be reclaimed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Horizon {
    /// Blocks retired with a stamp up to this may be freed.
    pub(crate) blocks: u64,
    /// Of each row, versions behind the newest one committed up to this may go.
    pub(crate) rows: u64,
}

/// Takes a slot and a snapshot for a transaction that only reads.
///
/// # Errors
/// `TooManyTransactions`.
#[inline]
pub(crate) fn begin_read(memory: &Memory, slots: usize) -> Result<(HeldSlot<'_>, Snapshot)> {
    let held = take_slot(memory, slots, false)?;
    let timestamp = held.publish_clock(false);
    Ok((held, Snapshot { timestamp, own: 0 }))
}

/// Takes a slot, a snapshot and a stamp for a transaction that writes. Waits while a change of
/// tables or indexes keeps writers out.
///
/// # Errors
/// `TooManyTransactions`, and memory for the slot's cache.
pub(crate) fn begin_write(
    memory: &Memory,
    slots: usize,
    timeout: Option<Duration>,
) -> Result<(HeldSlot<'_>, Snapshot)> {
    let mut held = take_slot(memory, slots, true)?;
    while !gate::is_open(memory) {
        drop(held);
        if !gate::wait_outside(memory, timeout) {
            return Err(Error::new(ErrorKind::TableBusy)
                .because("a transaction that changes tables has not ended"));
        }
        held = take_slot(memory, slots, true)?;
        if gate::may_be_ignored(memory) {
            break;
        }
    }
    held.prepare_to_write()
}

/// As [`begin_write`], whether the gate is closed or not: for who closes it.
pub(crate) fn begin_past_gate(memory: &Memory, slots: usize) -> Result<(HeldSlot<'_>, Snapshot)> {
    take_slot(memory, slots, true)?.prepare_to_write()
}

/// The horizon of all active transactions but the one in slot `own`.
pub(crate) fn horizon(memory: &Memory, own: usize) -> Horizon {
    full_fence();
    let header = memory.header();
    let clock = header.clock.0.load(SeqCst);
    let mut oldest = clock + 1;
    for number in 0..header.slots_used.load(SeqCst) as usize {
        let state = slot(memory, number).state.load(SeqCst);
        if number != own && is_held(state) {
            oldest = oldest.min(snapshot_of_state(state));
        }
    }
    Horizon { blocks: oldest, rows: oldest.min(clock) }
}

/// Whether any transaction but the one in slot `own` is writing.
pub(crate) fn others_write(memory: &Memory, own: usize) -> bool {
    full_fence();
    (0..memory.header().slots_used.load(SeqCst) as usize)
        .any(|number| number != own && slot(memory, number).state.load(SeqCst) & SLOT_WRITES != 0)
}

/// Takes the slot with this number if it is free, to reclaim what it left behind. As a writer: it
/// goes through indexes, so it must not count as quiescent.
pub(crate) fn adopt_slot(memory: &Memory, number: usize) -> Option<HeldSlot<'_>> {
    let state = taken_state(memory.header().clock.0.load(SeqCst), true);
    let taken = slot(memory, number).state.compare_exchange(SLOT_FREE, state, SeqCst, Relaxed);
    // Lazily: a guard that is made and dropped would free the slot of whoever holds it.
    taken.is_ok().then(|| HeldSlot::new(memory, slot(memory, number), number, true))
}

/// Takes the slot with this number if versions of its last transaction are still to be stamped.
/// As a writer, for the same reason.
pub(crate) fn adopt_unstamped(memory: &Memory, number: usize) -> Option<HeldSlot<'_>> {
    let state = taken_state(memory.header().clock.0.load(SeqCst), true);
    let word = &slot(memory, number).state;
    word.compare_exchange(SLOT_UNSTAMPED, state, SeqCst, Relaxed).ok()?;
    let held = HeldSlot::new(memory, slot(memory, number), number, true);
    held.leave_unstamped(true);
    Some(held)
}

#[inline]
fn take_slot(memory: &Memory, slots: usize, writes: bool) -> Result<HeldSlot<'_>> {
    let hint = SLOT_HINT.with(Cell::get);
    if hint < slots
        && let Some(slot) = slot::made(memory, hint)
        && let Some(held) = try_take(memory, slot, hint, writes)
    {
        return Ok(held);
    }
    take_other_slot(memory, slots, hint, writes)
}

#[cold]
fn take_other_slot(
    memory: &Memory,
    slots: usize,
    hint: usize,
    writes: bool,
) -> Result<HeldSlot<'_>> {
    let take = |number: usize| {
        let held = try_take(memory, slot(memory, number), number, writes)?;
        SLOT_HINT.with(|hint| hint.set(number));
        Some(held)
    };
    let made =
        (0..slots).step_by(SLOTS_PER_BLOCK).find(|&number| slot::made(memory, number).is_none());
    let made = made.unwrap_or(slots);
    let first = if hint < made { hint } else { 0 };
    if let Some(held) = (first..made).chain(0..first).find_map(take) {
        return Ok(held);
    }
    for number in made..slots {
        if let Err(error) = slot::make(memory, number) {
            return Err(Error::new(ErrorKind::TooManyTransactions)
                .because(format!("all {number} transaction slots are taken, and {error}")));
        }
        if let Some(held) = take(number) {
            return Ok(held);
        }
    }
    Err(Error::new(ErrorKind::TooManyTransactions)
        .because(format!("all {slots} transaction slots are taken")))
}

#[inline]
fn try_take<'m>(
    memory: &'m Memory,
    slot: &'m Slot,
    number: usize,
    writes: bool,
) -> Option<HeldSlot<'m>> {
    let header = memory.header();
    if slot.state.load(Relaxed) != SLOT_FREE {
        return None;
    }
    if number >= header.slots_used.load(Relaxed) as usize {
        header.slots_used.fetch_max(number as u32 + 1, SeqCst);
    }
    let state = taken_state(header.clock.0.load(Acquire), writes);
    let taken = slot.state.compare_exchange(SLOT_FREE, state, SeqCst, Relaxed);
    taken.is_ok().then(|| HeldSlot::new(memory, slot, number, writes))
}

impl<'m> HeldSlot<'m> {
    #[inline]
    fn new(memory: &'m Memory, slot: &'m Slot, number: usize, writes: bool) -> Self {
        if writes {
            slot.enter_writing(memory);
        }
        Self { memory, slot, number: number as u32, unstamped: AtomicBool::new(false) }
    }

    /// Leaves the slot held, by nobody, until [`HeldSlot::of_kept`] is called with its number.
    pub(crate) fn keep(self) -> usize {
        let number = self.number();
        std::mem::forget(self);
        number
    }

    /// The slot of a transaction that reads, which was kept.
    pub(crate) fn of_kept(memory: &'m Memory, number: usize) -> Self {
        Self::new(memory, slot(memory, number), number, false)
    }

    /// Says whether versions are left to be stamped by others when the slot is let go.
    pub(crate) fn leave_unstamped(&self, unstamped: bool) {
        self.unstamped.store(unstamped, Relaxed);
    }

    /// Whether versions are left.
    pub(crate) fn is_unstamped(&self) -> bool {
        self.unstamped.load(Relaxed)
    }

    /// The slot's number.
    #[inline]
    pub(crate) fn number(&self) -> usize {
        self.number as usize
    }

    /// The slot.
    #[inline]
    pub(crate) fn slot(&self) -> &'m Slot {
        self.slot
    }

    /// The slot's cache; a slot that writes has one.
    pub(crate) fn cache(&self) -> &'m Cache {
        self.memory.get(Ref::new(self.slot().cache.load(Relaxed)))
    }

    /// Makes sure that there is a cache, and draws the transaction's stamp.
    #[inline]
    fn prepare_to_write(self) -> Result<(Self, Snapshot)> {
        self.make_cache()?;
        let slot = self.slot();
        let own = next_stamp(slot.stamp.load(Relaxed), self.number());
        slot.stamp.store(own, Release);
        let timestamp = self.publish_clock(true);
        Ok((self, Snapshot { timestamp, own }))
    }

    /// The slot's cache, made if there is none.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    pub(crate) fn make_cache(&self) -> Result<&'m Cache> {
        slot::make_cache(self.memory, self.slot())
    }

    /// Retains all states from now on, and gives the timestamp of the first.
    ///
    /// Whoever reclaims and does not see that it is retained has read the clock before this call
    /// reads it: what that one takes away had ended by then, and no snapshot from here on sees it.
    pub(crate) fn retain(&self) -> u64 {
        self.slot().retain();
        self.publish_clock(false)
    }

    /// Publishes a snapshot that another slot publishes too, as long as this call takes.
    pub(crate) fn publish(&self, timestamp: u64) {
        self.slot().state.store(taken_state(timestamp, true), SeqCst);
    }

    /// For a transaction that has done nothing yet: is a reader until it publishes the clock again.
    pub(crate) fn step_aside(&self) {
        let clock = self.memory.header().clock.0.load(SeqCst);
        self.slot().state.store(taken_state(clock, false), SeqCst);
    }

    /// Ends [`HeldSlot::step_aside`], and gives the snapshot that the transaction has from now on.
    pub(crate) fn step_in(&self) -> u64 {
        let state = &self.slot().state;
        state.store(taken_state(snapshot_of_state(state.load(Relaxed)), true), SeqCst);
        self.publish_clock(true)
    }

    /// Publishes the clock until it stands still meanwhile, and gives what was published last.
    #[inline]
    pub(crate) fn publish_clock(&self, writes: bool) -> u64 {
        let state = &self.slot().state;
        let mut published = snapshot_of_state(state.load(Relaxed));
        loop {
            let clock = self.memory.header().clock.0.load(SeqCst);
            if clock == published {
                return clock;
            }
            state.store(taken_state(clock, writes), SeqCst);
            published = clock;
        }
    }
}

impl Drop for HeldSlot<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.unstamped.load(Relaxed) {
            self.slot().leave_unstamped();
        } else {
            self.slot().give_back();
        }
    }
}
