//! One thread at a time, which may enter again: a reentrant lock.
//!
//! A word has who is inside, and a count how often. Whoever is inside enters again with a load and
//! an addition; another thread waits until the first has left as often as it came.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;

use crate::memory::atomic::{Acquire, AtomicU64, Relaxed, Release, pause_or_sleep};

/// The lock.
pub(crate) struct Entry {
    /// The thread inside; 0 is none.
    thread: AtomicU64,
    /// How often it is inside; only it looks.
    depth: Cell<u32>,
}

// SAFETY: the count is touched only by the thread that the word names.
unsafe impl Sync for Entry {}

/// Being inside, until this is dropped. It stays on its thread.
pub(crate) struct Entered<'e> {
    entry: &'e Entry,
    _on_this_thread: PhantomData<*const ()>,
}

#[cfg(not(shuttle))]
use std::thread_local;

#[cfg(shuttle)]
use shuttle::thread_local;

thread_local! {
    /// Its address is another one in each thread that lives.
    static HERE: u8 = const { 0 };
}

impl Entry {
    /// Nobody is inside.
    pub(crate) fn new() -> Self {
        Self { thread: AtomicU64::new(0), depth: Cell::new(0) }
    }

    /// Waits while another thread is inside.
    #[inline]
    pub(crate) fn enter(&self) -> Entered<'_> {
        let here = HERE.with(|here| ptr::from_ref(here).addr() as u64);
        // Relaxed: only this thread writes its own name there.
        if self.thread.load(Relaxed) != here {
            let mut turn = 0;
            while self.thread.compare_exchange(0, here, Acquire, Relaxed).is_err() {
                pause_or_sleep(turn);
                turn += 1;
            }
        }
        self.depth.set(self.depth.get() + 1);
        Entered { entry: self, _on_this_thread: PhantomData }
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        let depth = self.entry.depth.get() - 1;
        self.entry.depth.set(depth);
        if depth == 0 {
            self.entry.thread.store(0, Release);
        }
    }
}
