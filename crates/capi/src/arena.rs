//! Places that exist for ever once made, found by number.
//!
//! Tokens that C holds are turned into places here; since no place is ever freed, a token that is
//! wrong or old finds a place that says so, or none. Made a chunk at a time, never moved. What a
//! place holds and who may look at it is for `handles.rs` and `slots.rs` to say.

use std::sync::OnceLock;
use std::sync::{Mutex, PoisonError};

const CHUNK: usize = 64;
const CHUNKS: usize = 1 << 10;
/// The bits of a token that are the number of its place.
pub(crate) const NUMBER_BITS: u32 = 16;

pub(crate) struct Arena<C: 'static> {
    chunks: [OnceLock<Box<[C]>>; CHUNKS],
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
        Self { chunks: [const { OnceLock::new() }; CHUNKS], free: Mutex::new(free) }
    }

    /// The place of a token, if there is one.
    #[inline]
    pub(crate) fn place(&'static self, token: u64) -> Option<&'static C> {
        let number = token as usize & ((1 << NUMBER_BITS) - 1);
        self.chunks[number / CHUNK].get().map(|chunk| &chunk[number % CHUNK])
    }

    /// A place that is the caller's until given back, with its number; none when all are taken.
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
        let chunk = self.chunks[number as usize / CHUNK]
            .get_or_init(|| (0..CHUNK).map(|_| C::default()).collect());
        Some((number, &chunk[number as usize % CHUNK]))
    }

    pub(crate) fn give_back(&self, number: u32) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).returned.push(number);
    }

    /// Every place that was made.
    pub(crate) fn places(&'static self) -> impl Iterator<Item = &'static C> {
        self.chunks.iter().map_while(OnceLock::get).flat_map(|chunk| chunk.iter())
    }
}

const _: () = assert!(CHUNK * CHUNKS == 1 << NUMBER_BITS);
