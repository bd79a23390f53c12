//! What the heap of the program holds, counted by its allocator.
//!
//! A statement takes memory in many places: its text's tree, plans, batches, values. A server has
//! an allocator that counts all of it, so that a budget is one for whatever takes part in it.
//! Threads count for themselves, and tell the sum when they have a little to tell.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering};

/// What a thread keeps to itself, at most.
const UNTOLD_BYTES: isize = 32 << 10;

/// Blocks are multiples of so many bytes.
const ROUNDED: usize = 16;

/// Bytes that all threads told of.
static LIVE: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    // Neither has a destructor: the allocator may use them at any moment of a thread's life.
    static OWN: Cell<isize> = const { Cell::new(0) };
    static TOLD: Cell<isize> = const { Cell::new(0) };
}

/// An allocator that counts what another one gives out.
///
/// A program that has it as its allocator keeps what statements take within the memory budget of
/// the database, whatever part of them takes it; without it, the parts that can grow large are
/// counted by themselves.
///
/// # Examples
/// ```
/// use std::alloc::System;
/// use remanent_sql::CountingAllocator;
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator<System> = CountingAllocator::new(System);
/// ```
pub struct CountingAllocator<A>(A);

impl<A> CountingAllocator<A> {
    /// An allocator that asks this one.
    pub const fn new(inner: A) -> Self {
        Self(inner)
    }

    /// A thread ends: what it has counted is told.
    pub fn thread_ends() {
        tell(OWN.get());
    }
}

// SAFETY: all is done by the allocator within; counting does not allocate, and does not fail.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    /// # Safety
    /// As of [`GlobalAlloc::alloc`].
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let block = unsafe { self.0.alloc(layout) };
        if !block.is_null() {
            count(taken_by(layout.size()));
        }
        block
    }

    /// # Safety
    /// As of [`GlobalAlloc::alloc_zeroed`].
    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        if !block.is_null() {
            count(taken_by(layout.size()));
        }
        block
    }

    /// # Safety
    /// As of [`GlobalAlloc::realloc`].
    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        let block = unsafe { self.0.realloc(block, layout, size) };
        if !block.is_null() {
            count(taken_by(size) - taken_by(layout.size()));
        }
        block
    }

    /// # Safety
    /// As of [`GlobalAlloc::dealloc`].
    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-taken_by(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { self.0.dealloc(block, layout) };
    }
}

/// What a block of so many bytes takes: allocators keep a word beside each, and round it up.
#[inline]
fn taken_by(size: usize) -> isize {
    (size + size_of::<usize>()).next_multiple_of(ROUNDED) as isize
}

#[inline]
fn count(bytes: isize) {
    let own = OWN.get() + bytes;
    OWN.set(own);
    if (own - TOLD.get()).abs() >= UNTOLD_BYTES {
        tell(own);
    }
}

#[cold]
fn tell(own: isize) {
    LIVE.fetch_add(own - TOLD.replace(own), Ordering::Relaxed);
}

/// What all threads hold; 0 where nobody counts.
pub(crate) fn live() -> usize {
    usize::try_from(LIVE.load(Ordering::Relaxed)).unwrap_or(0)
}

/// What this thread took and has not given back; 0 where nobody counts.
#[inline]
pub(crate) fn own() -> usize {
    usize::try_from(OWN.get()).unwrap_or(0)
}
