//! The allocator by itself: blocks in a region, and no database around them.
//!
//! For measuring what a block costs. It is the allocator that databases use, through one slot's
//! cache: nothing here is made for the measurement but the door.

use super::account::Purpose;
use super::allocator::{AllocationClass, Allocator, Cache, Memory};
use super::region::{Ref, Region};
use crate::error::Result;

/// A region that blocks are taken from and given back to, by one thread.
#[derive(Debug)]
pub struct Blocks {
    memory: Memory,
    cache: Ref<Cache>,
}

impl Blocks {
    /// Reserves addresses for `bytes` of blocks, of which `ahead` are committed at once.
    ///
    /// # Errors
    /// `OutOfMachineMemory`, `BudgetReached` if `bytes` are too few for any block.
    pub fn reserve(bytes: u64, ahead: u64) -> Result<Self> {
        let memory = Memory::format(Region::reserve(bytes)?, bytes)?;
        memory.commit_ahead(ahead)?;
        let cache = memory.create_cache()?;
        Ok(Self { memory, cache })
    }

    /// A block of `size` bytes, as its offset; its content is arbitrary.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    #[inline]
    pub fn allocate(&self, size: usize) -> Result<u64> {
        self.allocator().allocate(size, Purpose::Internal, AllocationClass::Emergency)
    }

    /// Gives back a block that was allocated with this size and is given back once.
    #[inline]
    pub fn free(&self, block: u64, size: usize) {
        self.allocator().free(block, size, Purpose::Internal);
    }

    /// The bytes of a block that was allocated with this size.
    #[inline]
    pub fn bytes(&mut self, block: u64, size: usize) -> &mut [u8] {
        self.memory.region().fresh_bytes(block, size)
    }

    /// Forgets all blocks and keeps the memory, at a cost that does not depend on how many there
    /// were.
    ///
    /// # Errors
    /// None that occurred when it was reserved.
    pub fn reset(&mut self) -> Result<()> {
        self.memory.reset()?;
        self.cache = self.memory.create_cache()?;
        Ok(())
    }

    /// Bytes of pages that blocks lie in, and bytes that are committed.
    pub fn held_and_committed(&self) -> (u64, u64) {
        let usage = self.memory.usage(std::iter::empty());
        (usage.held, usage.committed)
    }

    #[inline]
    fn allocator(&self) -> Allocator<'_> {
        self.memory.allocator(self.memory.get(self.cache))
    }
}

#[cfg(test)]
mod tests;
