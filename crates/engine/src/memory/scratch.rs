//! Room to work in: words that one thread has for itself for a while, out of the budget.
//!
//! For work on many rows at once, which has to remember them and may not call the heap. It is asked
//! for before anything depends on it, and given back when it is dropped.

use super::account::Purpose;
use super::allocator::{Entitlement, Heap};
use crate::error::Result;

/// So many pairs of words.
pub(crate) struct Scratch<'m> {
    heap: Heap<'m>,
    at: u64,
    pairs: usize,
}

impl<'m> Scratch<'m> {
    /// Room for `pairs`, which are zeros.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    pub(crate) fn new(heap: Heap<'m>, pairs: usize) -> Result<Self> {
        let size = pairs * size_of::<[u64; 2]>();
        let at = heap.allocate(size, Purpose::Internal, Entitlement::Ordinary)?;
        heap.region().fresh_bytes(at, size).fill(0);
        Ok(Self { heap, at, pairs })
    }

    /// The pairs.
    pub(crate) fn pairs(&mut self) -> &mut [[u64; 2]] {
        let bytes = self.heap.region().fresh_bytes(self.at, self.pairs * size_of::<[u64; 2]>());
        // SAFETY: blocks start at multiples of 16, and any bytes are pairs of words; the block is
        // this one's alone until it is dropped.
        unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), self.pairs) }
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        self.heap.free(self.at, self.pairs * size_of::<[u64; 2]>(), Purpose::Internal);
    }
}
