//! The rows of one hash, where many have it: a tree of row ids.
//!
//! A posting tree, as inverted indexes have it: an ordered index whose entries are row ids and no
//! key. So an insert or removal costs the same however many rows have the hash, and a reader goes
//! through them with a cursor. Whoever changes a tree holds the latch of the chain that leads to
//! it; readers go by the tree's own protocol. A tree that is given up stays as it is until the last
//! reader who may have met it is gone.

use std::ops::ControlFlow;

use remanent_schema::KeyBuffer;

use super::cursor::{Direction, IndexCursor};
use super::hash::Entry;
use super::node::{Child, Leaf, Node};
use super::ordered::{OrderedIndex, Placement};
use super::{LeafKeys, ROWS_MAX, build};
use crate::error::Result;
use crate::memory::region::Region;
use crate::memory::{Allocator, Purpose};

/// Blocks start at multiples of so many bytes, as a power of two.
const ROOT_UNIT_SHIFT: u32 = 4;

/// A tree, by its root.
#[derive(Clone, Copy)]
pub(super) struct Postings<'m> {
    tree: OrderedIndex<'m>,
}

/// The entries left in a tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    One { row: u32, hint: u64 },
    More,
}

/// No entry has a key.
struct NoKeys;

impl<'m> Postings<'m> {
    /// A new, empty tree.
    pub(super) fn create(alloc: Allocator<'m>) -> Result<Self> {
        let root = OrderedIndex::create_root(alloc)?;
        Ok(Self { tree: OrderedIndex::at(alloc.region(), root) })
    }

    /// The tree of an entry that is of many rows. The root's offset has 40 bits: 8 of them are in
    /// the row id, which is none.
    pub(super) fn of_entry(region: &'m Region, entry: Entry) -> Self {
        let high = u64::from(entry.row - ROWS_MAX) << 32;
        let root = (high | u64::from(entry.hint)) << ROOT_UNIT_SHIFT;
        Self { tree: OrderedIndex::at(region, root) }
    }

    /// The entry that leads here.
    pub(super) fn entry(&self, hash: u32) -> Entry {
        let units = self.root().reference().offset() >> ROOT_UNIT_SHIFT;
        debug_assert!(units >> 40 == 0, "a region has at most 16 TiB");
        Entry { hash, row: ROWS_MAX + (units >> 32) as u32, hint: units as u32 }
    }

    /// The tree's root.
    pub(super) fn root(&self) -> Node<'m> {
        self.tree.root()
    }

    /// Adds a row whose newest version lies at `version`.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
    pub(super) fn insert(&self, alloc: Allocator<'m>, row: u32, version: u64) -> Result<Placement> {
        self.tree.insert(alloc, &NoKeys, &[], row, Leaf::plain(row, version))
    }

    /// Removes a row, if it is there.
    pub(super) fn remove(&self, alloc: Allocator<'m>, row: u32) -> bool {
        self.tree.remove(alloc, &[], row)
    }

    /// The entries that are left.
    pub(super) fn left(&self) -> Left {
        let region = self.tree.region();
        match (self.root().count(), self.root().child_from(region, 0)) {
            (0, _) => Left::Nothing,
            (1, Some((_, Child::Leaf(leaf)))) => {
                Left::One { row: self.tree.row_of(leaf), hint: leaf.hint() }
            }
            _ => Left::More,
        }
    }

    /// Frees the root after its last reader; nothing leads to the tree any more, and at most a leaf
    /// is in it. Room is reserved.
    pub(super) fn retire(&self, alloc: Allocator<'m>) {
        alloc.retire(self.root().reference().offset(), Purpose::Indexes);
    }

    /// Frees everything; nobody may use the tree any more.
    pub(super) fn destroy(&self, alloc: Allocator<'_>) {
        build::destroy(alloc, self.root().reference().offset());
    }

    /// Calls `visit` with every row but those that were `seen`, until it breaks.
    #[cold]
    pub(super) fn for_each<B>(
        &self,
        seen: &mut dyn FnMut(u32) -> bool,
        visit: &mut dyn FnMut(u32, u64) -> ControlFlow<B>,
    ) -> Option<B> {
        let mut cursor = IndexCursor::new(self.tree);
        let mut found = cursor.seek(&NoKeys, Direction::Forward, None);
        while let Some(leaf) = found {
            let row = self.tree.row_of(leaf);
            if !seen(row)
                && let ControlFlow::Break(broken) = visit(row, leaf.hint())
            {
                return Some(broken);
            }
            found = cursor.step_from(&NoKeys, Direction::Forward, |stood_at| {
                stood_at.push(&row.to_be_bytes()).is_ok()
            });
        }
        None
    }
}

impl LeafKeys for NoKeys {
    fn load_key(&self, _: u32, key: &mut KeyBuffer) -> bool {
        key.clear();
        true
    }
}
