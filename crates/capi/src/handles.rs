//! Handles that any thread may use: tokens for databases and connections.
//!
//! A token is the number of a slot and the number of the handle that holds it, so one that was
//! closed, or never was, is distinguished from every other. Who uses a handle is known while it
//! does: a transaction names the handle in its slot, a short call counts itself in. Closing says
//! first that it is closing, then looks for users, and gives up if there is one; a user says first
//! that it is there, then looks whether the handle is closing, and waits for the decision. The two
//! halves of a fence (`asymmetric_fence.rs`) lie between these steps, so at least one sees the
//! other.

use std::cell::UnsafeCell;
use std::ops::Deref;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use crate::arena::{Arena, NUMBER_BITS};
use crate::asymmetric_fence;

/// All handles of one kind.
pub(crate) struct Handles<T: 'static> {
    arena: Arena<HandleSlot<T>>,
}

pub(crate) struct HandleSlot<T> {
    /// The token of the handle that is here; 0 for none.
    token: AtomicU64,
    /// Handles that were here.
    serial: AtomicU64,
    closing: AtomicBool,
    /// Short calls on their way.
    calls: AtomicU32,
    value: UnsafeCell<Option<T>>,
}

/// A handle's value for a short call.
pub(crate) struct Called<T: 'static> {
    slot: &'static HandleSlot<T>,
    value: &'static T,
}

/// Why a handle was not closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotClosed {
    Unknown,
    InUse,
}

// SAFETY: the value is written while the slot is nobody's, before the token is published, and
// taken after it was withdrawn and no user was left.
unsafe impl<T: Send + Sync> Sync for HandleSlot<T> {}

impl<T> Default for HandleSlot<T> {
    fn default() -> Self {
        Self {
            token: AtomicU64::new(0),
            serial: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            calls: AtomicU32::new(0),
            value: UnsafeCell::new(None),
        }
    }
}

impl<T: Send + Sync + 'static> Handles<T> {
    pub(crate) const fn new() -> Self {
        Self { arena: Arena::new() }
    }

    /// A new handle for this value; the value again if there are too many handles.
    pub(crate) fn add(&'static self, value: T) -> Result<u64, T> {
        asymmetric_fence::prepare();
        let Some((number, slot)) = self.arena.take() else { return Err(value) };
        let serial = slot.serial.load(SeqCst) + 1;
        slot.serial.store(serial, SeqCst);
        // SAFETY: the slot was taken from the arena and its token is 0: nobody else looks here.
        unsafe { *slot.value.get() = Some(value) };
        let token = serial << NUMBER_BITS | u64::from(number);
        slot.token.store(token, SeqCst);
        Ok(token)
    }

    /// The value, for a call during which the handle cannot be closed.
    pub(crate) fn call(&'static self, token: u64) -> Option<Called<T>> {
        let slot = self.arena.slot(token)?;
        slot.calls.fetch_add(1, SeqCst);
        if slot.is_open(token) {
            // SAFETY: this call counts among the users, so the value stays.
            if let Some(value) = unsafe { &*slot.value.get() } {
                return Some(Called { slot, value });
            }
        }
        slot.calls.fetch_sub(1, SeqCst);
        None
    }

    /// The value, for whoever says in `user` that it uses this handle.
    ///
    /// # Safety
    /// The reference is not used after `user` was set to something else, and `user` is one of
    /// those that `close` asks for.
    #[inline]
    pub(crate) unsafe fn pin(&'static self, token: u64, user: &AtomicU64) -> Option<&'static T> {
        let slot = self.arena.slot(token)?;
        user.store(token, Relaxed);
        asymmetric_fence::light();
        if slot.is_open(token) {
            // SAFETY: `user` names the handle, so the value stays until that changes.
            return unsafe { (*slot.value.get()).as_ref() };
        }
        user.store(0, SeqCst);
        None
    }

    /// Closes a handle and returns its value, unless it is used.
    pub(crate) fn close(
        &'static self,
        token: u64,
        is_used: impl FnOnce(&T) -> bool,
    ) -> Result<T, NotClosed> {
        let slot = self.arena.slot(token).ok_or(NotClosed::Unknown)?;
        if token == 0 || slot.closing.swap(true, SeqCst) {
            return Err(NotClosed::Unknown);
        }
        let closed = slot.withdraw(token, is_used);
        slot.closing.store(false, SeqCst);
        if closed.is_ok() {
            self.arena.give_back((token & ((1 << NUMBER_BITS) - 1)) as u32);
        }
        closed
    }
}

impl<T> HandleSlot<T> {
    /// Whether the token's handle is here, once a closing that is under way has been decided.
    #[inline]
    fn is_open(&self, token: u64) -> bool {
        while self.closing.load(SeqCst) {
            std::thread::yield_now();
        }
        self.token.load(SeqCst) == token && token != 0
    }

    fn withdraw(&self, token: u64, is_used: impl FnOnce(&T) -> bool) -> Result<T, NotClosed> {
        if self.token.load(SeqCst) != token {
            return Err(NotClosed::Unknown);
        }
        // SAFETY: only who closes changes the value, and that is one at a time.
        let value = unsafe { (*self.value.get()).as_ref() };
        if !asymmetric_fence::heavy() {
            return Err(NotClosed::InUse);
        }
        if self.calls.load(SeqCst) != 0 || value.is_none_or(is_used) {
            return Err(NotClosed::InUse);
        }
        self.token.store(0, SeqCst);
        // SAFETY: nobody uses the handle, and the token that leads here is gone.
        unsafe { (*self.value.get()).take() }.ok_or(NotClosed::Unknown)
    }
}

impl<T> Deref for Called<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> Drop for Called<T> {
    fn drop(&mut self) {
        self.slot.calls.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests;
