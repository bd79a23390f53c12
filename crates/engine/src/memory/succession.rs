//! A place that holds one value after another, each of which stays as long as the place does.
//!
//! *Who writes:* whoever holds the lock of definitions, one at a time. *Who reads:* anybody, by one
//! load. A value that was succeeded may still be in a reader's hands, so all are freed together,
//! with the place: they are small, and follow one another seldom.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// The newest of a row of values.
pub(crate) struct Succession<T> {
    newest: AtomicPtr<T>,
    /// All of them, made by `Box::into_raw`.
    all: Mutex<Vec<*mut T>>,
}

// SAFETY: it owns its values, hands out shared references alone, and is changed under its lock.
unsafe impl<T: Send> Send for Succession<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Succession<T> {}

impl<T> Succession<T> {
    /// A place with no value.
    pub(crate) const fn new() -> Self {
        Self { newest: AtomicPtr::new(null_mut()), all: Mutex::new(Vec::new()) }
    }

    /// The newest value.
    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        // SAFETY: it is null or a value of `all`, none of which is freed or written to while `self`
        // can be borrowed; the load is after the store that came after it was made.
        unsafe { self.newest.load(Ordering::Acquire).as_ref() }
    }

    /// Puts a value in the place of the newest.
    pub(crate) fn put(&self, value: T) {
        let value = Box::into_raw(Box::new(value));
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push(value);
        self.newest.store(value, Ordering::Release);
    }
}

impl<T> Drop for Succession<T> {
    fn drop(&mut self) {
        for value in self.all.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // SAFETY: it came from `Box::into_raw`, and nobody else can refer to it any more.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Succession<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Succession").field(&self.get()).finish()
    }
}
