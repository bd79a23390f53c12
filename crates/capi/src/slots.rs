//! Slots: what a transaction of a C program lives in, and the tokens that lead to them.
//!
//! A slot belongs to one thread from when that thread first needs it until the thread ends; only
//! that thread looks inside. A token is the slot's number and how many transactions there were
//! before, so the tokens of ended transactions, and any other number, are distinguished from live
//! ones. A slot is made once and used again: beginning a transaction allocates nothing.
//!
//! `token` and `owner` are written by the owning thread alone and read by all. Another thread that
//! reads stale ones is refused as it would be with fresh ones: neither is its own.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::thread::LocalKey;

use crate::arena::{Arena, NUMBER_BITS};

/// The state that a slot of one interface holds.
pub(crate) trait SlotState: Default + 'static {
    fn slots() -> &'static Slots<Self>;
    fn pool() -> &'static LocalKey<Pool<Self>>;
    /// Where a thread keeps its first slot, which is nearly always the one that is idle: without
    /// a destructor, reaching it costs nothing.
    fn first() -> &'static LocalKey<First<Self>>;
    /// Ends the transaction of a thread that ended without doing so.
    fn abandon(slot: &'static Slot<Self>);
}

/// All slots of one interface.
pub(crate) struct Slots<T: 'static> {
    arena: Arena<Slot<T>>,
}

/// Room for one transaction at a time.
pub(crate) struct Slot<T> {
    /// The token of the transaction that is here; 0 for none.
    token: AtomicU64,
    /// The thread that this slot belongs to; 0 for none.
    owner: AtomicUsize,
    /// The handle that the transaction uses, for `Handles::pin`.
    pub(crate) user: AtomicU64,
    serial: Cell<u64>,
    number: Cell<u32>,
    /// Whether it is its thread's first one.
    is_first: Cell<bool>,
    /// Whether the first one is taken; the others are idle while they are in the pool.
    is_taken: Cell<bool>,
    state: T,
}

/// The slots of one thread.
pub(crate) struct Pool<T: SlotState> {
    idle: RefCell<Vec<&'static Slot<T>>>,
    all: RefCell<Vec<&'static Slot<T>>>,
}

/// The slot that a thread tries first.
pub(crate) type First<T> = Cell<Option<&'static Slot<T>>>;

/// A transaction that is hidden while this lives.
#[must_use = "it does nothing by itself"]
pub(crate) struct Hidden<'s> {
    word: &'s AtomicU64,
    token: u64,
}

/// Why a token is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenError {
    /// No transaction has it, or not any more.
    Unknown,
    /// Its transaction belongs to another thread.
    OtherThread,
}

// SAFETY: what is not atomic is reached through `find` and `take` alone, which hand a slot to the
// thread that owns it and to nobody else.
unsafe impl<T> Sync for Slot<T> {}
// SAFETY: slots are never moved or dropped; the arena only wants to be sure.
unsafe impl<T> Send for Slot<T> {}

impl<T: SlotState> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { arena: Arena::new() }
    }

    /// The transaction with this token, if it is this thread's.
    #[inline]
    pub(crate) fn find(&'static self, token: u64) -> Result<&'static Slot<T>, TokenError> {
        match self.arena.slot(token) {
            Some(slot) if token != 0 && slot.token.load(Relaxed) == token => {
                if slot.owner.load(Relaxed) == thread() {
                    Ok(slot)
                } else {
                    Err(TokenError::OtherThread)
                }
            }
            _ => Err(TokenError::Unknown),
        }
    }

    /// A slot of this thread's without a transaction. It is idle again after `put_back`.
    #[inline]
    pub(crate) fn take(&'static self) -> Option<&'static Slot<T>> {
        if let Some(slot) = T::first().get()
            && slot.owner.load(Relaxed) == thread()
            && !slot.is_taken.replace(true)
        {
            return Some(slot);
        }
        self.take_other()
    }

    #[cold]
    fn take_other(&'static self) -> Option<&'static Slot<T>> {
        let idle = T::pool().try_with(|pool| pool.idle.borrow_mut().pop()).ok()?;
        idle.or_else(|| self.adopt())
    }

    #[inline]
    pub(crate) fn put_back(&'static self, slot: &'static Slot<T>) {
        slot.token.store(0, Relaxed);
        // What the transaction did with the handle comes before whoever closes it sees this.
        slot.user.store(0, std::sync::atomic::Ordering::Release);
        if slot.is_first.get() {
            slot.is_taken.set(false);
        } else {
            let _ = T::pool().try_with(|pool| pool.idle.borrow_mut().push(slot));
        }
    }

    /// Whether a transaction uses this handle.
    pub(crate) fn is_used(&'static self, handle: u64) -> bool {
        self.arena.items().any(|slot| slot.user.load(SeqCst) == handle)
    }

    /// All slots, of any thread.
    pub(crate) fn all(&'static self) -> impl Iterator<Item = &'static Slot<T>> {
        self.arena.items()
    }

    /// This thread's slots.
    pub(crate) fn own(&'static self) -> impl Iterator<Item = &'static Slot<T>> {
        self.arena.items().filter(|slot| slot.owner.load(Relaxed) == thread())
    }

    #[cold]
    fn adopt(&'static self) -> Option<&'static Slot<T>> {
        let (number, slot) = self.arena.take()?;
        slot.number.set(number);
        slot.owner.store(thread(), Relaxed);
        if T::pool().try_with(|pool| pool.all.borrow_mut().push(slot)).is_err() {
            slot.owner.store(0, Relaxed);
            self.arena.give_back(number);
            return None;
        }
        if T::first().get().is_none() {
            slot.is_first.set(true);
            slot.is_taken.set(true);
            T::first().set(Some(slot));
        }
        Some(slot)
    }
}

impl<T> Slot<T> {
    /// Gives the transaction that was just begun here its token.
    #[inline]
    pub(crate) fn open(&self) -> u64 {
        let serial = self.serial.get() + 1;
        self.serial.set(serial);
        let token = serial << NUMBER_BITS | u64::from(self.number.get());
        self.token.store(token, Relaxed);
        token
    }

    #[inline]
    pub(crate) fn token(&self) -> u64 {
        self.token.load(Relaxed)
    }

    /// Hides the transaction until what is returned is dropped: its token leads nowhere, so that
    /// functions of the program which are called meanwhile cannot end it.
    #[inline]
    pub(crate) fn hide(&self) -> Hidden<'_> {
        let token = self.token.load(Relaxed);
        self.token.store(0, Relaxed);
        Hidden { word: &self.token, token }
    }
}

impl Drop for Hidden<'_> {
    #[inline]
    fn drop(&mut self) {
        self.word.store(self.token, Relaxed);
    }
}

impl<T> Default for Slot<T>
where
    T: Default,
{
    fn default() -> Self {
        Self {
            token: AtomicU64::new(0),
            owner: AtomicUsize::new(0),
            user: AtomicU64::new(0),
            serial: Cell::new(0),
            number: Cell::new(0),
            is_first: Cell::new(false),
            is_taken: Cell::new(false),
            state: T::default(),
        }
    }
}

impl<T> Deref for Slot<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.state
    }
}

impl<T: SlotState> Pool<T> {
    pub(crate) const fn new() -> Self {
        Self { idle: RefCell::new(Vec::new()), all: RefCell::new(Vec::new()) }
    }
}

impl<T: SlotState> Drop for Pool<T> {
    fn drop(&mut self) {
        // The first thread ends when the program does: its memory may be gone already.
        if is_first_thread() {
            return;
        }
        T::first().set(None);
        for slot in self.all.get_mut().drain(..) {
            slot.is_first.set(false);
            if slot.token() != 0 {
                T::abandon(slot);
                slot.token.store(0, Relaxed);
                slot.user.store(0, SeqCst);
            }
            slot.owner.store(0, SeqCst);
            T::slots().arena.give_back(slot.number.get());
        }
    }
}

fn is_first_thread() -> bool {
    // SAFETY: neither call has any requirement.
    unsafe { libc::syscall(libc::SYS_gettid) == i64::from(libc::getpid()) }
}

/// A number that no other living thread has.
#[inline(always)]
fn thread() -> usize {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    {
        let own: usize;
        // SAFETY: the thread pointer's first word is its own address (x86-64 psABI); a
        // thread-local variable of a shared library would cost a call each time.
        unsafe {
            std::arch::asm!("mov {}, fs:0", out(reg) own, options(nostack, pure, readonly));
        }
        own
    }
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    {
        thread_local! {
            static HERE: u8 = const { 0 };
        }
        HERE.with(|here| std::ptr::from_ref(here) as usize)
    }
}
