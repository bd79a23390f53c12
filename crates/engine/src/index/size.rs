//! How much memory an index takes: gone through on request, a little with each reading call.
//!
//! Between two calls nothing is referred to: of a tree, the key bytes are kept that lead to the
//! node which comes next, and the way there is gone again from the root. What others change
//! meanwhile is counted as it was or as it is, and a subtree that moves may be missed or met twice;
//! while nobody writes, the sum is exact. Nothing is validated as look-ups do: a node that is being
//! changed leads to no wild place, and its number of children is not of interest.

use std::ops::ControlFlow;

use super::hash::HashIndex;
use super::node::{Child, Node, size_of_kind};
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
    /// How much may still be gone through in this call.
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
        let lower = std::mem::take(&mut self.path);
        self.below(memory, tree.root(), &lower).is_break()
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
            let lower = std::mem::take(&mut self.path);
            // The one that was being gone through may have been given up.
            let lower = if hash == self.hash { lower } else { Vec::new() };
            self.hash = hash;
            self.below(memory, postings.root(), &lower)?;
            self.path.clear();
            let Some(beyond) = hash.checked_add(1) else { break };
            self.hash = beyond;
            next = index.next_tree(self.chain, beyond);
        }
        ControlFlow::Continue(())
    }

    /// Goes through a node and what is below it, from the key bytes `lower` on, which are relative
    /// to the node. If there are none, all of it is new.
    fn below(&mut self, memory: &Memory, node: Node<'_>, lower: &[u8]) -> ControlFlow<()> {
        let region = memory.region();
        let (prefix, len) = node.prefix();
        let prefix = &prefix[..len];
        let common = len.min(lower.len());
        let (mut from, mut rest) = (0, None);
        match prefix[..common].cmp(&lower[..common]) {
            std::cmp::Ordering::Less => return ControlFlow::Continue(()),
            std::cmp::Ordering::Equal if lower.len() > len => {
                (from, rest) = (lower[len] as usize, Some(&lower[len + 1..]));
            }
            _ => {
                self.bytes += occupied(size_of_kind(node.kind())) as u64;
                self.left = self.left.saturating_sub(1);
            }
        }
        let depth = self.path.len();
        self.path.extend_from_slice(prefix);
        while let Some((byte, child)) = node.child_from(region, from) {
            let lower = rest.take().filter(|_| byte as usize == from).unwrap_or(&[]);
            match child {
                Child::Node(at) => {
                    self.path.push(byte);
                    if lower.is_empty() && self.left == 0 {
                        return ControlFlow::Break(());
                    }
                    self.below(memory, Node::at(region, at), lower)?;
                    self.path.pop();
                }
                Child::Leaf(leaf) => {
                    let block = leaf.block().map_or(0, |block| memory.size_of_block(block));
                    self.bytes += block as u64;
                }
                Child::Bundle(_) | Child::None => {}
            }
            // The byte of a node that is being changed may be any.
            from = (byte as usize + 1).max(from + 1);
        }
        self.path.truncate(depth);
        ControlFlow::Continue(())
    }
}
