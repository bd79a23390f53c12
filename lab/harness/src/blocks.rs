//! The interface of the workload about memory: blocks of one size, allocated, touched, freed.
//!
//! An allocator is a `Source` of blocks of the size with which it was opened; `Kept` holds the
//! blocks that it gave and is compiled together with it, so that the workload makes one call for
//! many blocks. A block is owned: it is freed once or never. Places for all blocks are there, and
//! touched, before the first is allocated. A word that names the block is written into each page of
//! it and at its end, so that blocks which overlap are noticed.

use crate::setting::{Outcome, Setting};

/// How far apart the words are that a touch writes: a page of the operating system.
pub const PAGE_BYTES: usize = 4096;

const WORD_BYTES: usize = size_of::<u64>();

/// In which order blocks are freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeOrder {
    /// The one in which they were allocated.
    Same,
    /// The other way round.
    Reverse,
}

/// Makes an allocator of so many blocks of this size, a multiple of eight; fails with whatever it
/// reports.
pub type OpenBlocks = fn(&Setting, u64, usize) -> Outcome<Box<dyn BlockStore>>;

/// An allocator, as the workload calls it.
pub trait BlockStore {
    /// Makes a place for each block, which is no part of the allocator's work; called once.
    fn prepare(&mut self);

    /// Allocates a block for each place.
    ///
    /// # Errors
    ///
    /// When it gives none; the blocks before stay allocated.
    fn allocate(&mut self) -> Outcome<()>;

    /// Writes a word into each page of each block, at least one into each.
    fn touch(&mut self);

    /// Writes a word at the end of each block, then counts the blocks whose words are not those
    /// that were written, or which overlap another one.
    fn wrong(&mut self) -> u64;

    /// Frees every block.
    ///
    /// # Errors
    ///
    /// Whatever the allocator reports.
    fn free(&mut self, order: FreeOrder) -> Outcome<()>;

    /// Gives the blocks up without freeing them, before [`BlockStore::reset`] or the end.
    fn forget(&mut self);

    /// Makes the allocator forget all blocks at once and keep the memory; false when it cannot.
    ///
    /// # Errors
    ///
    /// Whatever the allocator reports.
    fn reset(&mut self) -> Outcome<bool>;

    /// Drops the allocator with all blocks in it.
    fn close(self: Box<Self>);
}

/// An allocator of blocks of one size, a multiple of eight.
pub trait Source {
    /// A block that was allocated and not freed. Blocks of one source never meet another source.
    type Block;

    /// Bytes of a block.
    fn block_bytes(&self) -> usize;

    /// A block; its content is arbitrary.
    ///
    /// # Errors
    ///
    /// When there is none.
    fn allocate(&mut self) -> Outcome<Self::Block>;

    /// Frees a block.
    ///
    /// # Errors
    ///
    /// Whatever the allocator reports.
    fn free(&mut self, block: Self::Block) -> Outcome<()>;

    /// Where a block begins.
    fn start(&self, block: &Self::Block) -> u64;

    /// Writes a word `offset` bytes into a block, at a multiple of eight.
    fn write(&mut self, block: &mut Self::Block, offset: usize, word: u64);

    /// Reads a word that was written.
    fn read(&mut self, block: &mut Self::Block, offset: usize) -> u64;

    /// As [`BlockStore::reset`]; all blocks were given up.
    ///
    /// # Errors
    ///
    /// Whatever the allocator reports.
    fn reset(&mut self) -> Outcome<bool> {
        Ok(false)
    }
}

/// A source and the blocks that it gave.
#[derive(Debug)]
pub struct Kept<S: Source> {
    source: S,
    count: usize,
    places: Vec<Option<S::Block>>,
}

impl<S: Source> Kept<S> {
    /// For so many blocks.
    pub fn new(source: S, count: usize) -> Self {
        Self { source, count, places: Vec::new() }
    }

    /// Whether two blocks share a byte.
    fn overlaps(&self) -> u64 {
        let blocks = self.places.iter().flatten();
        let mut starts: Vec<u64> = blocks.map(|block| self.source.start(block)).collect();
        starts.sort_unstable();
        let bytes = self.source.block_bytes() as u64;
        starts.windows(2).filter(|pair| pair[1] - pair[0] < bytes).count() as u64
    }
}

/// The word that names a block, and a place in it.
#[inline]
fn word(number: usize, offset: usize) -> u64 {
    (number as u64) << 20 | offset as u64
}

impl<S: Source> BlockStore for Kept<S> {
    fn prepare(&mut self) {
        self.places = (0..self.count).map(|_| None).collect();
    }

    fn allocate(&mut self) -> Outcome<()> {
        for place in &mut self.places {
            *place = Some(self.source.allocate()?);
        }
        Ok(())
    }

    fn touch(&mut self) {
        let bytes = self.source.block_bytes();
        for (number, place) in self.places.iter_mut().enumerate() {
            let Some(block) = place else { continue };
            for offset in (0..bytes).step_by(PAGE_BYTES) {
                self.source.write(block, offset, word(number, offset));
            }
        }
    }

    fn wrong(&mut self) -> u64 {
        let last = self.source.block_bytes() - WORD_BYTES;
        let mut wrong = self.overlaps();
        // Blocks that are shorter than a page have their first word only, and get their last.
        for (number, place) in self.places.iter_mut().enumerate() {
            match place {
                Some(block) if last > 0 => self.source.write(block, last, word(number, last)),
                _ => {}
            }
        }
        for (number, place) in self.places.iter_mut().enumerate() {
            let Some(block) = place else {
                wrong += 1;
                continue;
            };
            let pages = (0..last).step_by(PAGE_BYTES).chain([last]);
            let all = pages.map(|offset| (offset, self.source.read(block, offset)));
            wrong += u64::from(!all.into_iter().all(|(at, found)| found == word(number, at)));
        }
        wrong
    }

    fn free(&mut self, order: FreeOrder) -> Outcome<()> {
        let free = |place: &mut Option<S::Block>| match place.take() {
            Some(block) => self.source.free(block),
            None => Ok(()),
        };
        match order {
            FreeOrder::Same => self.places.iter_mut().try_for_each(free),
            FreeOrder::Reverse => self.places.iter_mut().rev().try_for_each(free),
        }
    }

    fn forget(&mut self) {
        self.places = Vec::new();
        self.prepare();
    }

    fn reset(&mut self) -> Outcome<bool> {
        self.source.reset()
    }

    fn close(self: Box<Self>) {}
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
