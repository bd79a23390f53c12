//! Room to work in: words that one thread has for itself for a while, out of the budget.
//!
//! For work on many rows at once, which has to remember them and may not call the heap. It is asked
//! for before anything depends on it, and given back when it is dropped.

use super::account::Purpose;
use super::allocator::{AllocationClass, Allocator};
use crate::error::Result;

/// So many pairs of words.
pub(crate) struct Scratch<'m> {
    alloc: Allocator<'m>,
    at: u64,
    pairs: usize,
}

impl<'m> Scratch<'m> {
    /// Room for `pairs`, which are zeros.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    pub(crate) fn new(alloc: Allocator<'m>, pairs: usize) -> Result<Self> {
        let size = pairs * size_of::<[u64; 2]>();
        let at = alloc.allocate(size, Purpose::Internal, AllocationClass::Normal)?;
        alloc.region().fresh_bytes(at, size).fill(0);
        Ok(Self { alloc, at, pairs })
    }

    /// The pairs.
    pub(crate) fn pairs(&mut self) -> &mut [[u64; 2]] {
        let bytes = self.alloc.region().fresh_bytes(self.at, self.pairs * size_of::<[u64; 2]>());
        // SAFETY: blocks start at multiples of 16, and any bytes are pairs of words; the block is
        // this one's alone until it is dropped.
        unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), self.pairs) }
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        self.alloc.free(self.at, self.pairs * size_of::<[u64; 2]>(), Purpose::Internal);
    }
}

/// A copy of `bytes` that begins where a block of columns may, in memory that is kept in `memory`.
#[cfg(test)]
pub(crate) fn aligned_copy<'m>(bytes: &[u8], memory: &'m mut Vec<u128>) -> &'m [u8] {
    memory.clear();
    memory.resize(bytes.len().div_ceil(16) + 4, 0);
    // SAFETY: any bytes are numbers, and the vector has so many.
    let all = unsafe {
        std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast::<u8>(), memory.len() * 16)
    };
    let skip = all.as_ptr().align_offset(64);
    all[skip..skip + bytes.len()].copy_from_slice(bytes);
    &all[skip..skip + bytes.len()]
}
