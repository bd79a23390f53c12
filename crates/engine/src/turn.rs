//! A lock that its holder can keep for long, and let go on another thread.
//!
//! Who changes tables has it until its transaction has ended, wherever that is. Whoever wants it
//! too looks again and again, less and less often.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::memory::atomic::{Acquire, AtomicU8, Relaxed, Release, pause_or_sleep};

/// The lock.
#[derive(Clone, Debug)]
pub(crate) struct Turn(Arc<AtomicU8>);

/// The lock, taken until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldTurn(Turn);

impl Turn {
    /// A lock that nobody has.
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicU8::new(0)))
    }

    /// Takes it, if nobody has it.
    pub(crate) fn try_take(&self) -> Option<HeldTurn> {
        let taken = self.0.compare_exchange(0, 1, Acquire, Relaxed).is_ok();
        taken.then(|| HeldTurn(self.clone()))
    }

    /// Takes it, unless others have it for as long as that.
    pub(crate) fn take_within(&self, timeout: Duration) -> Option<HeldTurn> {
        let started = Instant::now();
        let mut turn = 0;
        loop {
            if let Some(held) = self.try_take() {
                return Some(held);
            }
            if started.elapsed() >= timeout {
                return None;
            }
            pause_or_sleep(turn);
            turn += 1;
        }
    }

    /// Whether somebody has it.
    pub(crate) fn is_taken(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}

impl Drop for HeldTurn {
    fn drop(&mut self) {
        self.0.0.store(0, Release);
    }
}
