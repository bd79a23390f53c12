//! Locks on record types, shared by the tasks of a process.
//!
//! A lock is a word: how many read, whether one writes, whether somebody waits. Where nobody waits,
//! taking and freeing it is one compare-and-swap each. Who cannot have it at once enters a queue
//! and sets the waiting bit; from then on everybody enters the queue, which is served in order, so
//! neither readers who come and go nor writers can keep the others out. Who frees a lock and finds
//! the bit set wakes the queue; a waiter sets the bit before it looks at the word again, so one of
//! the two sees the other.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::status::{Outcome, Status};

const WAITING: u64 = 1;
const WRITER: u64 = 2;
const READER: u64 = 4;

/// How a record type is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    Read,
    Write,
    /// To write, by a task that reads.
    Upgrade,
}

/// How long a task waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patience {
    Until(Duration),
    Forever,
}

/// The lock of one record type.
#[derive(Debug, Default)]
pub(crate) struct RecordLock {
    state: AtomicU64,
    queue: Mutex<Queue>,
    turn: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiters: VecDeque<(u64, Want)>,
    next: u64,
}

impl RecordLock {
    /// Takes the lock.
    ///
    /// # Errors
    /// `UNAVAILABLE` when the time is over, or at once if another task waits to upgrade: of two,
    /// neither could.
    #[inline]
    pub(crate) fn take(&self, want: Want, patience: Patience) -> Outcome {
        let state = self.state.load(Relaxed);
        let taken = state & WAITING == 0
            && allowed(state, want)
            && self.state.compare_exchange(state, after(state, want), Acquire, Relaxed).is_ok();
        if taken { Ok(()) } else { self.wait(want, patience) }
    }

    /// Frees what was taken to read.
    #[inline]
    pub(crate) fn free_read(&self) {
        let before = self.state.fetch_sub(READER, SeqCst);
        self.wake(before);
    }

    /// Frees what was taken to write.
    #[inline]
    pub(crate) fn free_write(&self) {
        let before = self.state.fetch_and(!WRITER, SeqCst);
        self.wake(before);
    }

    /// Goes on reading after writing.
    pub(crate) fn downgrade(&self) {
        let before = self.state.fetch_add(READER - WRITER, SeqCst);
        self.wake(before);
    }

    #[inline]
    fn wake(&self, before: u64) {
        if before & WAITING != 0 {
            // Whoever holds the queue is about to look at the word or to wait.
            drop(self.lock_queue());
            self.turn.notify_all();
        }
    }

    #[cold]
    fn wait(&self, want: Want, patience: Patience) -> Outcome {
        let start = Instant::now();
        let mut queue = self.lock_queue();
        let ticket = queue.enter(want)?;
        self.state.fetch_or(WAITING, SeqCst);
        loop {
            if queue.is_served(ticket) && self.try_take(want) {
                self.leave(&mut queue, ticket);
                return Ok(());
            }
            let left = match patience {
                Patience::Forever => None,
                Patience::Until(time) => match time.checked_sub(start.elapsed()) {
                    Some(left) if !left.is_zero() => Some(left),
                    _ => {
                        self.leave(&mut queue, ticket);
                        return Err(Status::UNAVAILABLE.because("the record type is locked"));
                    }
                },
            };
            queue = match left {
                None => self.turn.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    self.turn.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn try_take(&self, want: Want) -> bool {
        let mut state = self.state.load(SeqCst);
        while allowed(state, want) {
            match self.state.compare_exchange(state, after(state, want), SeqCst, SeqCst) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Others may be next now: those behind, or all if nobody waits any more.
    fn leave(&self, queue: &mut MutexGuard<'_, Queue>, ticket: u64) {
        queue.waiters.retain(|(waiter, _)| *waiter != ticket);
        if queue.waiters.is_empty() {
            self.state.fetch_and(!WAITING, Release);
        } else {
            self.turn.notify_all();
        }
    }

    fn lock_queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn enter(&mut self, want: Want) -> Outcome<u64> {
        self.next += 1;
        let ticket = self.next;
        if want != Want::Upgrade {
            self.waiters.push_back((ticket, want));
            return Ok(ticket);
        }
        if self.waiters.iter().any(|(_, other)| *other == Want::Upgrade) {
            return Err(Status::UNAVAILABLE.because("another task waits to write what it reads"));
        }
        // It holds what those before it wait for.
        self.waiters.push_front((ticket, want));
        Ok(ticket)
    }

    /// Whether only readers stand before a reader, or nobody before a writer.
    fn is_served(&self, ticket: u64) -> bool {
        for (waiter, want) in &self.waiters {
            if *waiter == ticket {
                return true;
            }
            if *want != Want::Read {
                return false;
            }
        }
        false
    }
}

#[inline]
fn allowed(state: u64, want: Want) -> bool {
    match want {
        Want::Read => state & WRITER == 0,
        Want::Write => state & !WAITING == 0,
        Want::Upgrade => state & !WAITING == READER,
    }
}

#[inline]
fn after(state: u64, want: Want) -> u64 {
    match want {
        Want::Read => state + READER,
        Want::Write => state | WRITER,
        Want::Upgrade => (state - READER) | WRITER,
    }
}

#[cfg(test)]
mod tests;
