//! Processes that were forked from one that has a database open.
//!
//! Threads and locks of the parent are not there in the child, and two processes that write one
//! folder would ruin it. So what was opened before a fork is refused after it, by a number that
//! each fork changes.

use std::sync::atomic::{AtomicU32, Ordering};

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

/// What Python calls in a process that was forked.
#[pyfunction]
pub(crate) fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
