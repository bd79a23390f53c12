//! What a cursor does when the tree changes at the worst moment, made to happen in one thread: the
//! change is made while the cursor asks for a key.

use std::cell::Cell;

use super::*;
use crate::index::key_block::KeyBlock;
use crate::memory::region::Region;
use crate::memory::{AllocationClass, Allocator, Memory};

/// A row whose key is changed by another transaction just when somebody asks for it.
struct Moving<'m> {
    alloc: Allocator<'m>,
    tree: OrderedIndex<'m>,
    moved: Cell<bool>,
}

const ROW: u32 = 7;
const OLD: [u8; 4] = [0, 0, 0, 5];
const NEW: [u8; 4] = [0, 0, 0, 1];

impl LeafKeys for Moving<'_> {
    fn load_key(&self, row: u32, key: &mut KeyBuffer) -> bool {
        assert_eq!(row, ROW);
        if !self.moved.replace(true) {
            // As an update does: the old entry gets its key, the new one is added, and only then
            // the new version is put first.
            let room = self.alloc.cache.retired.make_room(self.alloc, 8, AllocationClass::Normal);
            room.expect("memory is there");
            let block = |key| KeyBlock::create(self.alloc, key, ROW).expect("memory is there");
            let replaced = self.tree.replace(self.alloc, &OLD, ROW, block(&OLD));
            assert!(replaced.expect("memory is there"));
            let inserted = self.tree.insert(self.alloc, self, &NEW, ROW, block(&NEW));
            inserted.expect("memory is there");
        }
        key.clear();
        key.push(&NEW).is_ok()
    }
}

/// A reader whose snapshot has the row under its old key looks for that key. The leaf it finds does
/// not spell the key, so it asks the row, and hears the new one, which is not the one it looks for.
#[test]
fn a_row_is_found_under_the_key_it_had_when_its_leaf_was_read() {
    for direction in [Direction::Forward, Direction::Backward] {
        let region = Region::reserve(2 << 20).expect("addresses");
        let memory = Memory::format(region, 2 << 20).expect("room for the page table");
        let cache = memory.create_cache().expect("room");
        let alloc = memory.allocator(memory.get(cache));
        let root = OrderedIndex::create_root(alloc).expect("room");
        let tree = OrderedIndex::at(alloc.region(), root);
        let keys = Moving { alloc, tree, moved: Cell::new(false) };
        tree.insert(alloc, &keys, &OLD, ROW, Leaf::plain(ROW, 0)).expect("memory is there");
        let mut cursor = IndexCursor::new(tree);
        // From just before the old key, as seen in the direction of the search.
        let bound = if direction == Direction::Forward { [0, 0, 0, 4] } else { [0, 0, 0, 6] };
        let bound = Bound { bytes: &bound, inclusive: true };
        let mut leaf = cursor.seek(&keys, direction, Some(bound));
        let mut found = Vec::new();
        while let Some(here) = leaf {
            found.extend(tree.key_of(here).map(<[u8]>::to_vec));
            leaf = cursor.step(&keys, direction);
        }
        assert!(keys.moved.get(), "the key was asked for");
        assert!(found.contains(&OLD.to_vec()), "{direction:?}: {found:?}");
    }
}
