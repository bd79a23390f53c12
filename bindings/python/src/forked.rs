//! Processes that were forked from one that has a database open.
//!
//! Threads and locks of the parent are not there in the child, and two processes that write one
//! folder would ruin it. So what was opened before a fork is refused after it, by a number that
//! each fork changes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use pyo3::prelude::*;

use crate::error::InterfaceError;

static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process in which something was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process(u32);

impl Process {
    pub(crate) fn current() -> Self {
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Checks that this is still the same process.
    ///
    /// # Errors
    /// `InterfaceError`.
    pub(crate) fn check(self) -> PyResult<()> {
        match self.is_current() {
            true => Ok(()),
            false => Err(InterfaceError::new_err(
                "this was opened before the process forked: open the database in one process, \
                 or serve it with `remanent serve`",
            )),
        }
    }

    pub(crate) fn is_current(self) -> bool {
        self.0 == FORKS.load(Ordering::Relaxed)
    }
}

/// What was opened, until it is closed. In a process that was forked since it is neither used nor
/// dropped: what its end would do, the parent does, and whoever held its locks is not there.
pub(crate) struct Opened<T> {
    value: Mutex<Option<T>>,
    process: Process,
}

impl<T> Opened<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Mutex::new(Some(value)), process: Process::current() }
    }

    /// Checks that this is still the same process.
    ///
    /// # Errors
    /// `InterfaceError`.
    pub(crate) fn check(&self) -> PyResult<()> {
        self.process.check()
    }

    /// It, unless it was closed.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It, unless another thread has it now.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Option<T>>> {
        match self.value.try_lock() {
            Ok(value) => Some(value),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Takes it, so that it is closed; `None` if it was, or if the process was forked.
    pub(crate) fn take(&self) -> Option<T> {
        match self.process.is_current() {
            true => self.lock().take(),
            false => None,
        }
    }
}

impl<T> Drop for Opened<T> {
    fn drop(&mut self) {
        if !self.process.is_current() {
            let value = self.value.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(value.take());
        }
    }
}

/// What Python calls in a process that was forked.
#[pyfunction]
pub(crate) fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
