//! The gate: how writers are kept out, by a change of tables or by a transaction that must win.
//!
//! A writer takes its slot, then looks at the gate; whoever closes the gate does so first and looks
//! at the slots then. So of a writer and a closer at least one sees the other. A definition keeps
//! the gate closed until it is done; one that runs in *exclusive* mode only for so long, after
//! which writers go in all the same: it may be one of them that it waits for.

use std::time::{Duration, Instant};

use super::clock::others_write;
use crate::memory::Memory;
use crate::memory::atomic::{Relaxed, SeqCst, pause_or_sleep};

/// The gate's word: open, closed by a definition, or by a transaction for as many milliseconds as
/// it exceeds this by.
const OPEN: u32 = 0;
const CLOSED: u32 = 1;

/// The gate, closed until this is dropped.
pub(crate) struct ClosedGate<'m>(&'m Memory);

/// Waits until the gate lets a writer in; whether it does within that time, if there is a limit.
#[cold]
pub(crate) fn wait_outside(memory: &Memory, timeout: Option<Duration>) -> bool {
    let gate = &memory.header().gate;
    let started = Instant::now();
    let mut turn = 0;
    loop {
        let word = gate.load(Relaxed);
        let for_so_long = Duration::from_millis(u64::from(word.saturating_sub(CLOSED)));
        if word == OPEN || word > CLOSED && started.elapsed() >= for_so_long {
            return true;
        }
        if timeout.is_some_and(|timeout| started.elapsed() >= timeout) {
            return false;
        }
        pause_or_sleep(turn);
        turn += 1;
    }
}

/// Whether a writer that has taken its slot may go on.
#[inline]
pub(crate) fn is_open(memory: &Memory) -> bool {
    memory.header().gate.load(SeqCst) == OPEN
}

/// Whether the gate is closed for a limited time only, which a writer has waited for.
pub(crate) fn may_be_ignored(memory: &Memory) -> bool {
    memory.header().gate.load(SeqCst) > CLOSED
}

/// Whether a definition has closed the gate, and keeps it closed for as long as it takes.
pub(crate) fn is_closed(memory: &Memory) -> bool {
    memory.header().gate.load(SeqCst) == CLOSED
}

/// Closes the gate for a definition, which holds slot `own`, once all writers have ended;
/// `None` if that takes longer than `timeout`.
pub(crate) fn close(memory: &Memory, own: usize, timeout: Duration) -> Option<ClosedGate<'_>> {
    let started = Instant::now();
    let mut turn = 0;
    while memory.header().gate.compare_exchange(OPEN, CLOSED, SeqCst, Relaxed).is_err() {
        if started.elapsed() >= timeout {
            return None;
        }
        pause_or_sleep(turn);
        turn += 1;
    }
    let gate = ClosedGate(memory);
    others_end(memory, own, started, timeout).then_some(gate)
}

impl<'m> ClosedGate<'m> {
    /// The gate that a transaction has left closed with [`ClosedGate::leave_closed`].
    pub(crate) fn left(memory: &'m Memory) -> Self {
        Self(memory)
    }

    /// Leaves it closed, for the transaction that remembers it.
    pub(crate) fn leave_closed(self) {
        std::mem::forget(self);
    }

    /// Keeps a gate closed for a definition that was closed for a transaction, as [`close`] does.
    pub(crate) fn keep(self, own: usize, timeout: Duration) -> Option<Self> {
        self.0.header().gate.store(CLOSED, SeqCst);
        others_end(self.0, own, Instant::now(), timeout).then_some(self)
    }
}

/// The result of closing the gate for a transaction.
pub(crate) enum Closed<'m> {
    /// No other writer is left.
    Exclusive(ClosedGate<'m>),
    /// Others did not end in time, and the gate is open again.
    InVain,
    /// Somebody else has closed it.
    ByAnother,
}

/// Closes the gate for a transaction, which holds slot `own`, and waits at most as long for the
/// writers that are inside.
pub(crate) fn close_for_exclusive(memory: &Memory, own: usize, time: Duration) -> Closed<'_> {
    let word = CLOSED + (time.as_millis() as u32).max(1);
    if memory.header().gate.compare_exchange(OPEN, word, SeqCst, Relaxed).is_err() {
        return Closed::ByAnother;
    }
    let gate = ClosedGate(memory);
    if others_end(memory, own, Instant::now(), time) {
        Closed::Exclusive(gate)
    } else {
        Closed::InVain
    }
}

fn others_end(memory: &Memory, own: usize, started: Instant, timeout: Duration) -> bool {
    let mut turn = 0;
    while others_write(memory, own) {
        if started.elapsed() >= timeout {
            return false;
        }
        pause_or_sleep(turn);
        turn += 1;
    }
    true
}

impl Drop for ClosedGate<'_> {
    fn drop(&mut self) {
        self.0.header().gate.store(OPEN, SeqCst);
    }
}
