//! The atomic words that live in the region.
//!
//! In a normal build these are the standard library's atomics. Under `--cfg shuttle` they are those
//! of `modelled.rs`, on which the model checker interleaves threads between any two operations of
//! the very code that ships.

#[cfg(not(shuttle))]
pub(crate) use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

pub(crate) use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

/// The lock of whoever changes tables: held for long, and while words of the region are read. Under
/// the model checker a waiting thread must not stop the one thread that all of them run on.
#[cfg(not(shuttle))]
pub(crate) use std::sync::Mutex;

#[cfg(shuttle)]
pub(crate) use shuttle::sync::Mutex;

#[cfg(shuttle)]
pub(crate) use super::modelled::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// Waits a moment inside a spin loop; `turn` counts the waits so far.
#[inline]
pub(crate) fn pause(turn: u32) {
    #[cfg(shuttle)]
    {
        let _ = turn;
        super::modelled::spin();
    }
    #[cfg(not(shuttle))]
    if turn < 64 {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

/// As [`pause`], where the wait may be a long one: the thread sleeps then, the longer the longer.
pub(crate) fn pause_or_sleep(turn: u32) {
    const TURNS_AWAKE: u32 = 256;
    const SLEEP_US_MAX: u32 = 500;
    if cfg!(shuttle) || turn < TURNS_AWAKE {
        return pause(turn);
    }
    let pause = (turn - TURNS_AWAKE).min(SLEEP_US_MAX);
    std::thread::sleep(std::time::Duration::from_micros(u64::from(pause)));
}

/// A full barrier between the stores before it and the loads after it.
#[inline]
pub(crate) fn full_fence() {
    #[cfg(shuttle)]
    super::modelled::full_fence();
    std::sync::atomic::fence(SeqCst);
}

/// An acquire barrier: the loads before it are done before the loads after it.
#[inline]
pub(crate) fn acquire_fence() {
    std::sync::atomic::fence(Acquire);
}

/// A release barrier: the stores before it are seen before the stores after it.
#[inline]
pub(crate) fn release_fence() {
    std::sync::atomic::fence(Release);
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
