//! How many threads the queries of a program may have beside those that ask.
//!
//! As many as the machine has cores: where others run already, a query does with fewer, or with
//! its own thread alone. So many clients at once are no slower than with a thread each.

use std::num::NonZero;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most threads that a query can ask for.
pub(crate) const THREADS_MAX: usize = 1024;

/// How many run.
static BUSY: AtomicUsize = AtomicUsize::new(0);

/// Cores that this program may use.
pub(crate) static CORES: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get));

/// Threads that may run until this is dropped.
pub(crate) struct Spare {
    threads: usize,
}

impl Spare {
    /// So many threads of a query that may have `threads` with its own, or fewer.
    pub(crate) fn take(wanted: usize, threads: usize) -> Self {
        // Whoever asks for more threads than there are cores is to have them.
        let most = threads.max(*CORES) - 1;
        let mut taken = 0;
        let take = |busy: usize| {
            taken = wanted.min(most.saturating_sub(busy));
            (taken > 0).then(|| busy + taken)
        };
        // The number orders nothing.
        let is_taken = BUSY.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        Self { threads: if is_taken { taken } else { 0 } }
    }

    /// How many.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        BUSY.fetch_sub(self.threads, Ordering::Relaxed);
    }
}
