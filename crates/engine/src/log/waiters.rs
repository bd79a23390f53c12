//! Threads that wait for a majority of the group to have the log.
//!
//! Each says up to which position; who hears of a majority wakes those that it is enough for, and
//! of the others one whose commit is not written yet: what came together meanwhile can go on its
//! way then. All at one condition variable would wake each other for nothing, and get the mutex one
//! after the other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// The threads that wait.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Mutex<Vec<Waiter>>);

#[derive(Debug)]
struct Waiter {
    wanted: Wanted,
    thread: Thread,
    /// It is not in the list any more.
    is_woken: Arc<AtomicBool>,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) position: u64,
    /// Whether on disks, or in memory.
    pub(crate) on_disk: bool,
    /// Whether what it waits for is still to be written.
    pub(crate) is_to_write: bool,
}

impl Waiters {
    /// Waits until somebody says that it is enough, or that this thread may write, but not longer
    /// than this, and not if `is_done` says so by the time that others know of the thread.
    pub(crate) fn wait(&self, wanted: Wanted, time: Duration, is_done: impl FnOnce() -> bool) {
        let is_woken = Arc::new(AtomicBool::new(false));
        let thread = std::thread::current();
        self.list().push(Waiter { wanted, thread, is_woken: Arc::clone(&is_woken) });
        if !is_done() {
            std::thread::park_timeout(time);
        }
        if !is_woken.load(Ordering::Acquire) {
            self.list().retain(|waiter| !Arc::ptr_eq(&waiter.is_woken, &is_woken));
        }
    }

    /// Wakes those for whom a majority has enough, and one that may write.
    pub(crate) fn wake(&self, in_memory: u64, on_disk: u64) {
        let mut list = self.list();
        let mut one_writes = false;
        let woken = list.extract_if(.., |Waiter { wanted, .. }| {
            let reached = if wanted.on_disk { on_disk } else { in_memory };
            let may_write = wanted.is_to_write && !one_writes;
            one_writes |= may_write && wanted.position > reached;
            wanted.position <= reached || may_write
        });
        let woken: Vec<Waiter> = woken.collect();
        drop(list);
        woken.into_iter().for_each(Waiter::wake);
    }

    /// Wakes all.
    pub(crate) fn wake_all(&self) {
        let woken = std::mem::take(&mut *self.list());
        woken.into_iter().for_each(Waiter::wake);
    }

    fn list(&self) -> MutexGuard<'_, Vec<Waiter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter {
    fn wake(self) {
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

#[cfg(test)]
mod tests;
