//! How far a replica has come, and what keeps it.
//!
//! Counts since the database was opened, for those who look; and the word that it is about to be
//! closed, for those who wait.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use remanent_engine::{Applied, Error};

/// Counts of what was applied since the replica was opened.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    commits: AtomicU64,
    changes: AtomicU64,
    stalled: Mutex<Option<String>>,
    is_full: AtomicBool,
    is_ending: AtomicBool,
}

impl Progress {
    pub(crate) fn note(&self, applied: Applied) {
        self.commits.fetch_add(applied.commits, Ordering::Relaxed);
        self.changes.fetch_add(applied.changes, Ordering::Relaxed);
        self.is_full.store(false, Ordering::Release);
        if applied.commits > 0 {
            *self.lock() = None;
        }
    }

    /// Notes what keeps it from applying more; whether that is news.
    pub(crate) fn note_stalled(&self, error: &Error) -> bool {
        self.is_full.store(error.is_out_of_memory(), Ordering::Release);
        self.lock().replace(error.to_string()).is_none()
    }

    /// Commits and row changes that were applied.
    pub(crate) fn applied(&self) -> (u64, u64) {
        (self.commits.load(Ordering::Relaxed), self.changes.load(Ordering::Relaxed))
    }

    /// What keeps it from applying more.
    pub(crate) fn stalled(&self) -> Option<String> {
        self.lock().clone()
    }

    /// Whether there is no memory for what comes next.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Acquire)
    }

    /// It is about to end: nothing waits any more.
    pub(crate) fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.stalled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
