//! How much memory an index takes: gone through on request, a little with each reading call.
//!
//! Between two calls nothing is referred to (`nodes.rs`). What others change meanwhile is counted
//! as it was or as it is; while nobody writes, the sum is exact.

use std::ops::ControlFlow;

use super::hash::HashIndex;
use super::node::{Leaf, Node, size_of_kind};
use super::nodes::{Next, Visit, visit_nodes};
use super::ordered::OrderedIndex;
use crate::memory::Memory;
use crate::memory::class::occupied;

/// Nodes or chains that are gone through in one call; few for models.
const AT_ONCE: u64 = if cfg!(shuttle) { 2 } else { 1024 };

/// A sum in the making.
pub(crate) struct IndexSize {
    /// Bytes that were found so far.
    pub(crate) bytes: u64,
    /// Of a tree, the key bytes that lead to the node which comes next.
    path: Vec<u8>,
    /// Of a hash index, the chain that comes next.
    chain: u64,
    /// In that chain, the hash from which on its trees come next.
    hash: u32,
    /// Bytes that this call may still visit.
    left: u64,
}

impl IndexSize {
    /// Nothing was gone through yet.
    pub(crate) fn new() -> Self {
        Self { bytes: 0, path: Vec::new(), chain: 0, hash: 0, left: 0 }
    }

    /// Goes on with a tree; whether there is more. To be called while a reading call is under way.
    pub(crate) fn step_ordered(&mut self, memory: &Memory, tree: OrderedIndex<'_>) -> bool {
        self.left = AT_ONCE;
        self.nodes(memory, tree.root()).is_break()
    }

    /// Goes on with a hash index, as [`IndexSize::step_ordered`] with a tree.
    pub(crate) fn step_hash(&mut self, memory: &Memory, index: HashIndex<'_>) -> bool {
        if self.chain == 0 {
            self.bytes += index.fixed_bytes();
        }
        let chains = index.chains();
        self.left = AT_ONCE;
        while self.chain < chains && self.left > 0 {
            if self.trees_of_chain(memory, index).is_break() {
                return true;
            }
            self.bytes += index.overflow_bytes(self.chain);
            self.left = self.left.saturating_sub(1);
            (self.chain, self.hash) = (self.chain + 1, 0);
        }
        self.chain < chains
    }

    /// Goes on with the trees of a chain, in the order of their hashes.
    fn trees_of_chain(&mut self, memory: &Memory, index: HashIndex<'_>) -> ControlFlow<()> {
        let mut next = index.next_tree(self.chain, self.hash);
        while let Some((hash, postings)) = next {
            // The one that was being gone through may have been given up.
            if hash != self.hash {
                self.path.clear();
            }
            self.hash = hash;
            self.nodes(memory, postings.root())?;
            let Some(beyond) = hash.checked_add(1) else { break };
            self.hash = beyond;
            next = index.next_tree(self.chain, beyond);
        }
        ControlFlow::Continue(())
    }

    /// Goes on with the nodes of a tree from where the path leads.
    fn nodes(&mut self, memory: &Memory, root: Node<'_>) -> ControlFlow<()> {
        let mut counted = Counted { memory, bytes: 0, left: self.left };
        let more = visit_nodes(memory.region(), root, &mut self.path, &mut counted);
        self.bytes += counted.bytes;
        self.left = counted.left;
        if more { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The bytes of nodes, and how many may still be gone through.
struct Counted<'m> {
    memory: &'m Memory,
    bytes: u64,
    left: u64,
}

impl<'m> Visit<'m> for Counted<'_> {
    fn enter(&mut self, node: Node<'m>) {
        self.bytes += occupied(size_of_kind(node.kind())) as u64;
        self.left = self.left.saturating_sub(1);
    }

    fn leaf(&mut self, leaf: Leaf) {
        self.bytes += leaf.block().map_or(0, |block| self.memory.size_of_block(block)) as u64;
    }

    fn next(&mut self, _: (Node<'m>, u8), _: Node<'m>, is_new: bool) -> Next {
        if is_new && self.left == 0 { Next::Stop } else { Next::Enter }
    }
}
