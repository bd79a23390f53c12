//! Taking the entries of many rows out of an ordered index, in one walk over all of it.
//!
//! Each node is locked once: its leaves of those rows go, then the nodes below it are gone through,
//! and those that are left without an entry, or with a single leaf, are taken out. A node that
//! others change in between is left to them: what is missed is known from the count.

use std::ops::Range;

use super::key_block::KeyBlock;
use super::node::{Child, NODE_LEAVES_MAX, Node, Parent, ReadNode, Restart};
use super::ordered::OrderedIndex;
use crate::memory::{AllocationClass, Allocator};

/// Removes the entries of the rows, and says how many that were.
pub(crate) fn remove_rows(index: OrderedIndex<'_>, alloc: Allocator<'_>, rows: &Range<u32>) -> u64 {
    let mut sweep = Sweep { index, alloc, rows, removed: 0 };
    // A node that was changed by others is left as it is.
    let _ = sweep.clear(index.root());
    sweep.removed
}

struct Sweep<'s, 'm> {
    index: OrderedIndex<'m>,
    alloc: Allocator<'m>,
    rows: &'s Range<u32>,
    removed: u64,
}

/// A node on the way.
struct Level<'m> {
    node: Node<'m>,
    /// The bytes of its children that are nodes and have not been gone through.
    below: [u64; NODE_LEAVES_MAX / 64],
    /// The one that is gone through.
    byte: u8,
}

impl Level<'_> {
    fn next_byte(&mut self) -> Option<u8> {
        let (i, word) = self.below.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
        self.byte = (i * 64) as u8 + word.trailing_zeros() as u8;
        *word &= *word - 1;
        Some(self.byte)
    }
}

impl<'m> Sweep<'_, 'm> {
    /// Goes through a tree; the way down is on the heap, for it may be as long as keys are.
    fn clear(&mut self, root: Node<'m>) -> Result<(), Restart> {
        let region = self.index.region();
        let mut levels = vec![self.level(root)?];
        while let Some(level) = levels.last_mut() {
            if let Some(byte) = level.next_byte() {
                let Child::Node(at) = level.node.child(region, byte) else { continue };
                // What is missed below is missed; the other children are not.
                if let Ok(below) = self.level(Node::at(region, at)) {
                    levels.push(below);
                }
                continue;
            }
            let node = level.node;
            levels.pop();
            if let Some(above) = levels.last()
                && node.count() <= 1
            {
                let _ = self.take_out(above.node, above.byte);
            }
        }
        Ok(())
    }

    fn level(&mut self, node: Node<'m>) -> Result<Level<'m>, Restart> {
        let mut below = [0; NODE_LEAVES_MAX / 64];
        self.clear_leaves(node, &mut below)?;
        Ok(Level { node, below, byte: 0 })
    }

    /// Removes a node's leaves of the rows, and marks the bytes of its children that are nodes.
    fn clear_leaves(&mut self, node: Node<'m>, below: &mut [u64; 4]) -> Result<(), Restart> {
        let (region, index) = (self.index.region(), self.index);
        node.lock(node.read()?)?;
        let before = node.count();
        let mut from = 0;
        while let Some((byte, child)) = node.child_from(region, from) {
            match child {
                Child::Leaf(leaf) if self.rows.contains(&index.row_of(leaf)) => {
                    node.remove_child(region, byte);
                    self.removed += 1;
                    KeyBlock::retire(self.alloc, leaf);
                }
                Child::Node(_) => below[usize::from(byte / 64)] |= 1 << (byte % 64),
                // Runs are of rows that have been frozen; who takes rows out finds them missed.
                Child::Leaf(_) | Child::Bundle(_) | Child::None => {}
            }
            from = usize::from(byte) + 1;
        }
        if node.count() == before {
            node.unlock_unchanged();
        } else {
            node.unlock();
        }
        Ok(())
    }

    /// Takes the node below `byte` out if at most a leaf is left in it.
    fn take_out(&self, node: Node<'m>, byte: u8) -> Result<(), Restart> {
        let region = self.index.region();
        let state = node.read()?;
        let Child::Node(at) = node.child(region, byte) else { return Ok(()) };
        let child = Node::at(region, at);
        let child_state = child.read()?;
        let last = child.child_from(region, 0);
        let count = child.count();
        child.validate(child_state)?;
        node.validate(state)?;
        let leaf = count == 1 && matches!(last, Some((_, Child::Leaf(_))));
        if (count == 0 || leaf) && self.make_room() {
            let above = ReadNode { node, version: state };
            let child = ReadNode { node: child, version: child_state };
            self.index.take_out(self.alloc, Parent { above, byte }, child)?;
        }
        Ok(())
    }

    fn make_room(&self) -> bool {
        self.alloc.cache.retired.make_room(self.alloc, 1, AllocationClass::Emergency).is_ok()
    }
}
