//! Remanent's region as an allocator of blocks, without a database around it.
//!
//! The plain setting commits memory as blocks come; `ahead` commits all of it when it opens. A
//! block is its offset in the region.

use lab_harness::Outcome;
use lab_harness::blocks::{BlockStore, Kept, Source};
use lab_harness::{Medium, Promise, Setting, Tier};
use remanent::Blocks;

pub(crate) const SETTINGS: &[Setting] = &[
    setting("", "a region of its own: Blocks::allocate, Blocks::free"),
    setting("ahead", "as the plain one, all memory committed at open"),
];

const fn setting(variant: &'static str, note: &'static str) -> Setting {
    Setting { variant, promise: Promise::None, medium: Medium::Memory, tier: Tier::Always, note }
}

/// What a region has beside its blocks, at the least.
const BESIDE_BLOCKS: u64 = 16 << 20;

struct Region {
    blocks: Blocks,
    block_bytes: usize,
}

/// A block that was allocated, as its offset.
struct Offset(u64);

/// Opens a region for so many blocks.
pub(crate) fn open(
    setting: &Setting,
    count: u64,
    block_bytes: usize,
) -> Outcome<Box<dyn BlockStore>> {
    let bytes = count * (block_bytes as u64).next_multiple_of(16);
    // An eighth for size classes and pages that are not full.
    let reserved = bytes + bytes / 8 + BESIDE_BLOCKS;
    let ahead = if setting.variant == "ahead" { bytes + bytes / 32 } else { 0 };
    let region = Region { blocks: Blocks::reserve(reserved, ahead)?, block_bytes };
    Ok(Box::new(Kept::new(region, usize::try_from(count)?)))
}

impl Source for Region {
    type Block = Offset;

    fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    #[inline]
    fn allocate(&mut self) -> Outcome<Offset> {
        Ok(Offset(self.blocks.allocate(self.block_bytes)?))
    }

    #[inline]
    fn free(&mut self, block: Offset) -> Outcome<()> {
        self.blocks.free(block.0, self.block_bytes);
        Ok(())
    }

    fn start(&self, block: &Offset) -> u64 {
        block.0
    }

    #[inline]
    fn write(&mut self, block: &mut Offset, offset: usize, word: u64) {
        let bytes = self.blocks.bytes(block.0, self.block_bytes);
        bytes[offset..offset + 8].copy_from_slice(&word.to_ne_bytes());
    }

    fn read(&mut self, block: &mut Offset, offset: usize) -> u64 {
        let bytes = self.blocks.bytes(block.0, self.block_bytes);
        bytes[offset..].first_chunk().map_or(0, |word| u64::from_ne_bytes(*word))
    }

    fn reset(&mut self) -> Outcome<bool> {
        self.blocks.reset()?;
        Ok(true)
    }
}
