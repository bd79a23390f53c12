//! A spin latch for short critical sections in the region.
//!
//! One word: 0 free, 1 held. Held for tens of nanoseconds by the page allocator, a size class, a
//! table's directory and the commit sequence; never across a call to the system except when the
//! region grows. It lies in the region, so that it works for any process that maps it. The latch of
//! the index nodes is another one (`index/node.rs`): readers of nodes take none.

use super::atomic::{Acquire, AtomicU32, Relaxed, Release, pause};

/// The latch word. All zero bytes is a free latch.
#[repr(transparent)]
#[derive(Default, Debug)]
pub(crate) struct Latch(AtomicU32);

/// Releases the latch when dropped.
pub(crate) struct Latched<'a>(&'a Latch);

impl Latch {
    /// Waits until the latch is free and takes it.
    #[inline]
    pub(crate) fn lock(&self) -> Latched<'_> {
        let mut turn = 0;
        while self.0.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            pause(turn);
            turn += 1;
        }
        Latched(self)
    }

    /// Takes the latch if it is free at once.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<Latched<'_>> {
        let taken = self.0.compare_exchange(0, 1, Acquire, Relaxed).is_ok();
        // Lazily: a guard that is made and dropped would release the latch of whoever holds it.
        taken.then(|| Latched(self))
    }
}

impl Drop for Latched<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.0.store(0, Release);
    }
}
