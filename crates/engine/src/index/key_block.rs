//! The block that holds the key of a keyed leaf of the ordered index.
//!
//! A leaf is keyed while the versions of its row differ in the key: its row cannot be asked then.
//! The block is freed after its last reader.

use super::node::Leaf;
use crate::error::Result;
use crate::memory::atomic::{AtomicU32, Relaxed};
use crate::memory::region::Region;
use crate::memory::{AllocationClass, Allocator, Purpose, Ref};

/// The key of a keyed leaf, in the region: row id, length, bytes.
#[repr(C)]
pub(crate) struct KeyBlock {
    pub(crate) row: AtomicU32,
    len: AtomicU32,
}

impl KeyBlock {
    /// A block that holds `key` for a keyed leaf of `row`.
    pub(crate) fn create(alloc: Allocator<'_>, key: &[u8], row: u32) -> Result<Leaf> {
        let size = size_of::<Self>() + key.len();
        let at = alloc.allocate(size, Purpose::Indexes, AllocationClass::Normal)?;
        let head = alloc.region().get(Ref::<Self>::new(at));
        head.row.store(row, Relaxed);
        head.len.store(key.len() as u32, Relaxed);
        let bytes = at + size_of::<Self>() as u64;
        alloc.region().fresh_bytes(bytes, key.len()).copy_from_slice(key);
        Ok(Leaf::keyed(at))
    }

    /// Frees the key block of a leaf that no index refers to any more, after its last reader.
    /// Whoever removes entries has reserved room for it or, where there is no memory, has some
    /// apart.
    pub(crate) fn retire(alloc: Allocator<'_>, leaf: Leaf) {
        let Some(block) = leaf.block() else { return };
        let queue = &alloc.cache.retired;
        let room = || queue.make_room(alloc, 1, AllocationClass::Emergency).is_ok();
        if queue.release_keyed() || room() {
            return alloc.retire(block, Purpose::Indexes);
        }
        if !queue.is_pressed() {
            let pressed = queue.press();
            if room() {
                alloc.retire(block, Purpose::Indexes);
            }
            queue.relax(pressed);
        }
    }

    /// The bytes of the key in the block at an offset.
    #[inline]
    pub(super) fn key(region: &Region, block: u64) -> &[u8] {
        let len = region.get(Ref::<Self>::new(block)).len.load(Relaxed) as usize;
        region.bytes(block + size_of::<Self>() as u64, len)
    }
}
