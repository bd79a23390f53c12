//! Who yields where two transactions want the same row, and how one waits for the other.
//!
//! Precedence is one word, the smaller goes first: priority, then the earlier deadline, then the
//! older first attempt. A transaction that meets a row in flight fails at once, unless its options
//! have it wait, or it is of higher priority or has the earlier deadline: then it wounds the other
//! and waits (wound-wait: Rosenkrantz, Stearns, Lewis, TODS 1978). A wounded transaction fails with
//! its next statement or its commit.
//!
//! *Deadlock.* Whoever waits first says for whom, in its slot, in the one order of all such
//! stores, and then follows the chain of who waits for whom. So whoever closes a wait-for cycle
//! detects it; the member that goes last is the victim. It is wounded, and looks for that while it
//! waits.

use std::time::{Duration, Instant};

use super::options::TransactionOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::instance::Instance;
use crate::memory::Memory;
use crate::memory::atomic::{Acquire, Relaxed, Release, SeqCst, pause};
use crate::slot::{Slot, slot, slot_of_stamp};
use crate::transaction::read::reading::ReadTransaction;

/// How long a transaction waits for the one that it wounded, unless its options say otherwise.
const WOUND_TIMEOUT: Duration = Duration::from_millis(100);
const PRIORITY_SHIFT: u32 = 60;
/// Set in the precedence of a transaction without a deadline.
const NO_DEADLINE: u64 = 1 << 59;
/// Turns of waiting that spin or yield before the thread sleeps.
const TURNS_AWAKE: u32 = 80;
const SLEEP_US_MAX: u64 = 200;

/// Who goes first, and how long a statement waits, as a transaction's options say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Precedence {
    word: u64,
    deadline: Option<Instant>,
    wait: Option<Duration>,
}

/// A statement that waits for another transaction.
pub(crate) struct Waiting<'t> {
    transaction: &'t ReadTransaction<'t>,
    precedence: Precedence,
    since: Instant,
    turn: u32,
}

impl Precedence {
    /// The precedence of a transaction whose first attempt had a snapshot of timestamp `age`.
    #[inline]
    pub(crate) fn new(db: &Instance, options: &TransactionOptions, age: u64) -> Self {
        let priority = (4 - options.priority as u64) << PRIORITY_SHIFT;
        let within = match options.deadline {
            Some(deadline) => db.nanoseconds_of(deadline).min(NO_DEADLINE - 1),
            None => NO_DEADLINE | age.min(NO_DEADLINE - 1),
        };
        Self { word: priority | within, deadline: options.deadline, wait: options.wait }
    }

    /// The word that others compare.
    pub(crate) fn word(&self) -> u64 {
        self.word
    }

    /// Whether the transaction with this slot and stamp may go on.
    ///
    /// # Errors
    /// `Conflict` if it was wounded, `DeadlineReached`.
    #[inline]
    pub(crate) fn check(&self, slot: &Slot, own: u64) -> Result<()> {
        if slot.wounded.load(Relaxed) == own {
            return Err(Error::new(ErrorKind::Conflict).because(
                "it yielded to a transaction that goes first or that it deadlocked with",
            ));
        }
        match self.deadline {
            Some(deadline) => check_deadline(deadline),
            None => Ok(()),
        }
    }

    /// Whether it goes before a transaction of precedence `other` that has changed a row first.
    fn precedes(&self, other: u64) -> bool {
        let higher = self.word >> PRIORITY_SHIFT < other >> PRIORITY_SHIFT;
        higher || self.word & NO_DEADLINE == 0 && self.word < other
    }
}

impl<'t> Waiting<'t> {
    /// A statement of this transaction begins to wait.
    pub(crate) fn begin(transaction: &'t ReadTransaction<'t>, precedence: Precedence) -> Self {
        Self { transaction, precedence, since: Instant::now(), turn: 0 }
    }

    /// Waits a moment for the transaction with stamp `holder`, which `conflict` is about.
    ///
    /// # Errors
    /// `conflict` itself if this transaction does not wait, or no longer; `Conflict` if it was
    /// wounded; `DeadlineReached`.
    pub(crate) fn turn(&mut self, holder: u64, conflict: Error) -> Result<()> {
        let memory = self.transaction.memory();
        let (own_slot, own) = (self.transaction.held.slot(), self.transaction.snapshot.get().own);
        let other = slot(memory, slot_of_stamp(holder));
        let precedes = self.precedence.precedes(other.precedence.load(Acquire));
        let timeout = self.precedence.wait.or(precedes.then_some(WOUND_TIMEOUT));
        if timeout.is_none_or(|timeout| self.since.elapsed() >= timeout) {
            return Err(conflict);
        }
        if precedes {
            other.wounded.store(holder, Release);
        }
        own_slot.waits_for.store(holder, SeqCst);
        if let Some(last) = deadlock_victim(memory, own, holder) {
            slot(memory, slot_of_stamp(last)).wounded.store(last, Release);
        }
        self.precedence.check(own_slot, own).map_err(|error| match error.kind() {
            ErrorKind::DeadlineReached => error.because(format!("while waiting: {conflict}")),
            _ => error,
        })?;
        self.pause();
        Ok(())
    }

    fn pause(&mut self) {
        self.turn += 1;
        if cfg!(shuttle) || self.turn < TURNS_AWAKE {
            return pause(self.turn);
        }
        let pause = u64::from(self.turn - TURNS_AWAKE + 10).min(SLEEP_US_MAX);
        std::thread::sleep(Duration::from_micros(pause));
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.transaction.held.slot().waits_for.store(0, Release);
    }
}

/// The victim of a deadlock: the stamp of who goes last in the wait-for cycle, if following whom
/// `holder` waits for leads back to `own`.
fn deadlock_victim(memory: &Memory, own: u64, holder: u64) -> Option<u64> {
    let precedence = |stamp: u64| slot(memory, slot_of_stamp(stamp)).precedence.load(Acquire);
    let mut last = own;
    let mut at = holder;
    for _ in 0..memory.header().slots_used.load(Relaxed) {
        let slot = slot(memory, slot_of_stamp(at));
        let next = slot.waits_for.load(SeqCst);
        if slot.stamp.load(Acquire) != at || next == 0 {
            return None;
        }
        // Of equals the greater stamp, so that all who look find the same.
        if (precedence(at), at) > (precedence(last), last) {
            last = at;
        }
        if next == own {
            return Some(last);
        }
        at = next;
    }
    None
}

#[cold]
fn check_deadline(deadline: Instant) -> Result<()> {
    if Instant::now() < deadline {
        return Ok(());
    }
    Err(Error::new(ErrorKind::DeadlineReached))
}
