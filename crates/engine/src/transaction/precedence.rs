//! Who yields where two transactions want the same row, and how one waits for the other.
//!
//! Precedence is one word, the smaller goes first: priority, then the earlier deadline, then the
//! older first attempt. A transaction that meets a row in flight fails at once, unless it was told
//! to wait, or is of higher priority or has the earlier deadline: then it tells the other to yield,
//! which the other does with its next statement or its commit, and waits.
//!
//! *Deadlock.* Whoever waits first says for whom, in its slot, in the one order of all such
//! stores, and then follows the chain of who waits for whom. Of those that close a circle the last
//! finds it whole; the one that goes last in the circle is told to yield, and looks at that word
//! while it waits.

use std::time::{Duration, Instant};

use super::options::TransactionOptions;
use super::reading::ReadTransaction;
use crate::error::{Error, ErrorKind, Result};
use crate::instance::Instance;
use crate::memory::Memory;
use crate::memory::atomic::{Acquire, Relaxed, Release, SeqCst, pause};
use crate::slot::{Slot, slot, slot_of_stamp};

/// How long whoever goes first waits for the one that it told to yield, unless it says otherwise.
const PATIENCE: Duration = Duration::from_millis(100);
const PRIORITY_SHIFT: u32 = 60;
/// Set in the precedence of a transaction without a deadline.
const NO_DEADLINE: u64 = 1 << 59;
/// Turns of waiting that spin or yield before the thread sleeps.
const TURNS_AWAKE: u32 = 80;
const SLEEP_US_MAX: u64 = 200;

/// What a transaction says of its own urgency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    word: u64,
    deadline: Option<Instant>,
    wait: Option<Duration>,
}

/// A statement that waits for another transaction.
pub(crate) struct Waiting<'t> {
    transaction: &'t ReadTransaction<'t>,
    standing: Standing,
    since: Instant,
    turn: u32,
}

impl Standing {
    /// The standing of a transaction whose first attempt had a snapshot of timestamp `age`.
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
    /// `Conflict` if it was told to yield, `DeadlineReached`.
    #[inline]
    pub(crate) fn check(&self, slot: &Slot, own: u64) -> Result<()> {
        if slot.told_to_yield.load(Relaxed) == own {
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
    fn outranks(&self, other: u64) -> bool {
        let higher = self.word >> PRIORITY_SHIFT < other >> PRIORITY_SHIFT;
        higher || self.word & NO_DEADLINE == 0 && self.word < other
    }
}

impl<'t> Waiting<'t> {
    /// A statement of this transaction begins to wait.
    pub(crate) fn begin(transaction: &'t ReadTransaction<'t>, standing: Standing) -> Self {
        Self { transaction, standing, since: Instant::now(), turn: 0 }
    }

    /// Waits a moment for the transaction with stamp `holder`, which `conflict` is about.
    ///
    /// # Errors
    /// `conflict` itself if this transaction does not wait, or no longer; `Conflict` if it is to
    /// yield; `DeadlineReached`.
    pub(crate) fn turn(&mut self, holder: u64, conflict: Error) -> Result<()> {
        let memory = self.transaction.memory();
        let (own_slot, own) = (self.transaction.held.slot(), self.transaction.snapshot.get().own);
        let other = slot(memory, slot_of_stamp(holder));
        let outranks = self.standing.outranks(other.precedence.load(Acquire));
        let patience = self.standing.wait.or(outranks.then_some(PATIENCE));
        if patience.is_none_or(|patience| self.since.elapsed() >= patience) {
            return Err(conflict);
        }
        if outranks {
            other.told_to_yield.store(holder, Release);
        }
        own_slot.waits_for.store(holder, SeqCst);
        if let Some(last) = last_in_circle(memory, own, holder) {
            slot(memory, slot_of_stamp(last)).told_to_yield.store(last, Release);
        }
        self.standing.check(own_slot, own).map_err(|error| match error.kind() {
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

/// The stamp of who goes last among those that wait for each other, if following whom `holder`
/// waits for leads back to `own`.
fn last_in_circle(memory: &Memory, own: u64, holder: u64) -> Option<u64> {
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
