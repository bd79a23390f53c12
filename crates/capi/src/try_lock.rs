//! A try-lock: a value that one thread at a time may have, and nobody waits for.
//!
//! Like a mutex that is only ever tried: taking it is one exchange, giving it back a plain store,
//! since no sleeper has to be woken. A d_-style call makes one of each.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

/// The value.
#[derive(Default)]
pub(crate) struct TryLock<T> {
    is_taken: AtomicBool,
    value: UnsafeCell<T>,
}

/// The value, taken until this is dropped.
pub(crate) struct TryLockGuard<'a, T>(&'a TryLock<T>);

// SAFETY: whoever gets at the value has taken it, and nobody else does until it is given back,
// which the next one to take it sees.
unsafe impl<T: Send> Sync for TryLock<T> {}

impl<T> TryLock<T> {
    /// Takes the value, unless somebody has it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<TryLockGuard<'_, T>> {
        if self.is_taken.swap(true, Acquire) { None } else { Some(TryLockGuard(self)) }
    }
}

impl<T> Deref for TryLockGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this has taken the value.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for TryLockGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this has taken the value.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for TryLockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.is_taken.store(false, Release);
    }
}
