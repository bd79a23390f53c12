//! The atomic words that live in the region.
//!
//! In a normal build these are the standard library's atomics. Under `--cfg shuttle` each
//! operation is preceded by a scheduling point, so that the model checker can interleave threads
//! between any two operations on the very code that ships. (Shuttle's own atomics carry identities
//! outside the word and so cannot lie in raw memory; the interleavings explored are the same, all
//! of them sequentially consistent. What weaker orderings add is ThreadSanitizer's part.)

#[cfg(not(shuttle))]
pub(crate) use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

pub(crate) use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

#[cfg(shuttle)]
pub(crate) use modelled::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// Waits a moment inside a spin loop; `turn` counts the waits so far.
#[inline]
pub(crate) fn pause(turn: u32) {
    #[cfg(shuttle)]
    {
        let _ = turn;
        shuttle::thread::yield_now();
    }
    #[cfg(not(shuttle))]
    if turn < 64 {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

/// A full barrier between the stores before it and the loads after it.
#[inline]
pub(crate) fn full_fence() {
    std::sync::atomic::fence(SeqCst);
}

/// An acquire barrier: the loads before it are done before the loads after it.
#[inline]
pub(crate) fn acquire_fence() {
    std::sync::atomic::fence(Acquire);
}

/// Asks the processor to fetch the cache line at `address`; harmless for any address.
#[inline]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast::<i8>()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks the processor to fetch the cache line at `address` to be written; harmless as well.
#[inline]
pub(crate) fn prefetch_to_write(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // SAFETY: a prefetch never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(address.cast::<i8>()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(shuttle)]
mod modelled {
    use std::sync::atomic::Ordering;

    fn step() {
        shuttle::thread::yield_now();
    }

    macro_rules! modelled_atomic {
        ($name:ident, $word:ty) => {
            /// The standard atomic of the same name with a scheduling point before each operation.
            #[repr(transparent)]
            #[derive(Default, Debug)]
            pub(crate) struct $name(std::sync::atomic::$name);

            #[expect(dead_code, reason = "one list of operations serves all widths")]
            impl $name {
                pub(crate) const fn new(word: $word) -> Self {
                    Self(std::sync::atomic::$name::new(word))
                }
                pub(crate) fn load(&self, order: Ordering) -> $word {
                    step();
                    self.0.load(order)
                }
                pub(crate) fn store(&self, word: $word, order: Ordering) {
                    step();
                    self.0.store(word, order)
                }
                pub(crate) fn compare_exchange(
                    &self,
                    old: $word,
                    new: $word,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$word, $word> {
                    step();
                    self.0.compare_exchange(old, new, success, failure)
                }
                pub(crate) fn fetch_add(&self, n: $word, order: Ordering) -> $word {
                    step();
                    self.0.fetch_add(n, order)
                }
                pub(crate) fn fetch_sub(&self, n: $word, order: Ordering) -> $word {
                    step();
                    self.0.fetch_sub(n, order)
                }
                pub(crate) fn fetch_max(&self, n: $word, order: Ordering) -> $word {
                    step();
                    self.0.fetch_max(n, order)
                }
            }
        };
    }

    modelled_atomic!(AtomicU8, u8);
    modelled_atomic!(AtomicU16, u16);
    modelled_atomic!(AtomicU32, u32);
    modelled_atomic!(AtomicU64, u64);
}
