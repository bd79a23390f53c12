//! Places that exist for ever once made, found by number.
//!
//! Tokens that C holds are turned into slots here; since no slot is ever freed, a token that is
//! wrong or old finds a slot that says so, or none. Made a chunk at a time, never moved. What a
//! slot holds and who may look at it is for `handles.rs` and `slots.rs` to say.

use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Mutex, PoisonError};

const CHUNK: usize = 64;
const CHUNKS: usize = 1 << 10;
/// The bits of a token that are the number of its slot.
pub(crate) const NUMBER_BITS: u32 = 16;

pub(crate) struct Arena<C: 'static> {
    /// Of `CHUNK` slots each; null until it is needed, then there for ever.
    chunks: [AtomicPtr<C>; CHUNKS],
    /// Numbers that nobody has.
    free: Mutex<Free>,
}

struct Free {
    returned: Vec<u32>,
    unused: u32,
}

impl<C: Default + Sync + 'static> Arena<C> {
    pub(crate) const fn new() -> Self {
        let free = Free { returned: Vec::new(), unused: 0 };
        Self { chunks: [const { AtomicPtr::new(null_mut()) }; CHUNKS], free: Mutex::new(free) }
    }

    /// The slot of a token, if there is one.
    #[inline]
    pub(crate) fn slot(&'static self, token: u64) -> Option<&'static C> {
        let number = token as usize & ((1 << NUMBER_BITS) - 1);
        self.chunk(number / CHUNK).map(|chunk| &chunk[number % CHUNK])
    }

    /// A slot that is the caller's until given back, with its number; none when all are taken.
    pub(crate) fn take(&'static self) -> Option<(u32, &'static C)> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let number = match free.returned.pop() {
            Some(number) => number,
            None if free.unused as usize == CHUNK * CHUNKS => return None,
            None => {
                free.unused += 1;
                free.unused - 1
            }
        };
        let chunk = match self.chunk(number as usize / CHUNK) {
            Some(chunk) => chunk,
            None => {
                let chunk: Box<[C]> = (0..CHUNK).map(|_| C::default()).collect();
                let chunk = Box::leak(chunk).as_mut_ptr();
                // One at a time comes here: `free` is locked.
                self.chunks[number as usize / CHUNK].store(chunk, Release);
                self.chunk(number as usize / CHUNK)?
            }
        };
        Some((number, &chunk[number as usize % CHUNK]))
    }

    pub(crate) fn give_back(&self, number: u32) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).returned.push(number);
    }

    /// Every slot that was made.
    pub(crate) fn items(&'static self) -> impl Iterator<Item = &'static C> {
        (0..CHUNKS).map_while(|chunk| self.chunk(chunk)).flatten()
    }

    #[inline]
    fn chunk(&'static self, number: usize) -> Option<&'static [C; CHUNK]> {
        let chunk = self.chunks[number].load(Acquire).cast::<[C; CHUNK]>();
        // SAFETY: null, or what `take` has leaked, which is so many slots that nobody changes.
        unsafe { chunk.as_ref() }
    }
}

const _: () = assert!(CHUNK * CHUNKS == 1 << NUMBER_BITS);
