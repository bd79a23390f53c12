//! Allocators of programs, called as Rust calls them and installed nowhere.
//!
//! `unsafe` for the calls of `GlobalAlloc`. The program's own heap stays the standard library's;
//! glibc's malloc is measured as that heap, the others beside it. A `HeapBlock` is made by a call
//! that succeeded and is not copied, so that it is freed once, by the source that gave it.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::NonNull;

use lab_harness::Outcome;
use lab_harness::blocks::Source;

/// Blocks are aligned as malloc aligns them.
const ALIGNMENT: usize = 16;

pub(crate) struct Heap<A> {
    allocator: A,
    layout: Layout,
}

pub(crate) struct HeapBlock(NonNull<u8>);

impl<A: GlobalAlloc> Heap<A> {
    pub(crate) fn new(allocator: A, block_bytes: usize) -> Outcome<Self> {
        if block_bytes == 0 {
            return Err("a block has at least a word".into());
        }
        Ok(Self { allocator, layout: Layout::from_size_align(block_bytes, ALIGNMENT)? })
    }

    fn at(&self, block: &HeapBlock, offset: usize) -> NonNull<u64> {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.layout.size());
        // SAFETY: the place lies within the block, as asserted.
        unsafe { block.0.add(offset).cast() }
    }
}

impl<A: GlobalAlloc> Source for Heap<A> {
    type Block = HeapBlock;

    fn block_bytes(&self) -> usize {
        self.layout.size()
    }

    #[inline]
    fn allocate(&mut self) -> Outcome<HeapBlock> {
        // SAFETY: the layout has a size, as `new` made sure.
        let start = unsafe { self.allocator.alloc(self.layout) };
        match NonNull::new(start) {
            Some(start) => Ok(HeapBlock(start)),
            None => Err("it has no more memory".into()),
        }
    }

    #[inline]
    fn free(&mut self, block: HeapBlock) -> Outcome<()> {
        // SAFETY: this source allocated the block with this layout, and nobody has it any more.
        unsafe { self.allocator.dealloc(block.0.as_ptr(), self.layout) };
        Ok(())
    }

    fn start(&self, block: &HeapBlock) -> u64 {
        block.0.addr().get() as u64
    }

    #[inline]
    fn write(&mut self, block: &mut HeapBlock, offset: usize, word: u64) {
        // SAFETY: the place is within a block that is borrowed alone, aligned as the block is.
        unsafe { self.at(block, offset).write(word) };
    }

    fn read(&mut self, block: &mut HeapBlock, offset: usize) -> u64 {
        // SAFETY: as for writing; the word was written before, as the trait demands.
        unsafe { self.at(block, offset).read() }
    }
}
