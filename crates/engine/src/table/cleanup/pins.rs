//! Which snapshots are held, and which versions of a row they need.
//!
//! A version is needed by the snapshots from its own beginning on and before that of the next newer
//! one. The newest version that was committed when the snapshots were inspected stays in any case:
//! whoever begins later sees it, or a newer one. What is published in a slot is the snapshot itself
//! or an earlier one that is about to be replaced (`transaction/begin/clock.rs`).

use crate::memory::Memory;
use crate::memory::atomic::{Acquire, SeqCst, full_fence};
use crate::slot::{Slot, is_held, slot, snapshot_of_state};
use crate::table::read::read_set::was_handed_out;

/// Snapshots that are kept apart; of more, versions wait for all from the oldest to the newest.
const PINS_MAX: usize = 128;

/// One snapshot that is held.
#[derive(Clone, Copy)]
pub(crate) struct Pin {
    timestamp: u64,
    number: u32,
    /// Whether it has expired, and only what it was given stays.
    released: bool,
}

/// All snapshots that were held at one moment.
pub(crate) struct Pins<'m> {
    memory: &'m Memory,
    /// The clock before the slots were inspected.
    clock: u64,
    pins: [Pin; PINS_MAX],
    len: usize,
    /// The oldest and the newest of those that are not kept apart; no newest if a transaction
    /// retains all states since its own.
    others: Option<(u64, u64)>,
}

impl<'m> Pins<'m> {
    /// Inspects all slots but `own`.
    pub(crate) fn collect(memory: &'m Memory, own: usize) -> Self {
        full_fence();
        let clock = memory.header().clock.0.load(SeqCst);
        let none = Pin { timestamp: 0, number: 0, released: false };
        let mut pins = Self { memory, clock, pins: [none; PINS_MAX], len: 0, others: None };
        for number in 0..memory.header().slots_used.load(SeqCst) as usize {
            let slot = slot(memory, number);
            let state = slot.state.load(SeqCst);
            if number == own || !is_held(state) {
                continue;
            }
            let released = slot.released.load(Acquire) == slot.serial();
            let timestamp = snapshot_of_state(state);
            if slot.retains() {
                let oldest = pins.others.map_or(timestamp, |(oldest, _)| oldest.min(timestamp));
                pins.others = Some((oldest, u64::MAX));
            } else if pins.len == PINS_MAX {
                let (oldest, newest) = pins.others.unwrap_or((timestamp, timestamp));
                pins.others = Some((oldest.min(timestamp), newest.max(timestamp)));
            } else {
                pins.pins[pins.len] = Pin { timestamp, number: number as u32, released };
                pins.len += 1;
            }
        }
        pins
    }

    /// The clock before the slots were inspected.
    pub(crate) fn clock(&self) -> u64 {
        self.clock
    }

    /// Whether any snapshot needs the version of a row that begins at `begin`, the next newer one
    /// beginning at `end`.
    pub(crate) fn need(&self, table: u32, row: u32, begin: u64, end: u64) -> bool {
        if self.others.is_some_and(|(oldest, newest)| begin <= newest && oldest < end) {
            return true;
        }
        self.between(begin, end)
            .any(|pin| !pin.released || was_handed_out(self.memory, self.slot_of(pin), table, row))
    }

    /// Whether any snapshot sees what was committed at `low` and not what was at `high`.
    pub(crate) fn tell_apart(&self, low: u64, high: u64) -> bool {
        self.others.is_some_and(|(oldest, newest)| low <= newest && oldest < high)
            || self.between(low, high).next().is_some()
    }

    /// Counts the bytes of a version for every snapshot that needs it.
    pub(crate) fn count(&self, bytes: usize, begin: u64, end: u64) {
        for pin in self.between(begin, end) {
            let slot = self.slot_of(pin);
            slot.add_pinned(slot.serial(), bytes as u64);
        }
    }

    fn between(&self, begin: u64, end: u64) -> impl Iterator<Item = &Pin> {
        let pins = self.pins[..self.len].iter();
        pins.filter(move |pin| begin <= pin.timestamp && pin.timestamp < end)
    }

    fn slot_of(&self, pin: &Pin) -> &'m Slot {
        slot(self.memory, pin.number as usize)
    }
}
