//! Building an ordered index from sorted entries, bottom up.
//!
//! Each node is made once, at the size it needs, without locks: the tree is not published yet.
//! Used when an index is created on a table with rows. Either the whole tree is there afterwards
//! or, when memory is out, nothing of it.

use super::EntryKey;
use super::bundle::Bundle;
use super::node::{Child, Kind, Leaf, Node, PREFIX_MAX, kind_for};
use super::ordered::OrderedIndex;
use crate::error::Result;
use crate::memory::Heap;

/// An entry to build from.
pub(crate) struct BuildEntry {
    pub(crate) key: Vec<u8>,
    pub(crate) row: u32,
    pub(crate) leaf: Leaf,
}

/// The root of a tree of `entries`, which must be sorted by key and row id and all different.
pub(crate) fn build<'m>(heap: Heap<'m>, entries: &[BuildEntry]) -> Result<u64> {
    let mut builder = Builder { heap, made: Vec::new() };
    match builder.root(entries) {
        Ok(root) => Ok(root),
        Err(error) => {
            for node in builder.made {
                node.discard(heap);
            }
            Err(error)
        }
    }
}

/// Frees all nodes of a tree that nobody may use any more; key blocks too.
pub(crate) fn destroy(heap: Heap<'_>, root: u64) {
    let tree = OrderedIndex::at(heap.region(), root);
    destroy_below(heap, tree.root());
}

struct Builder<'m> {
    heap: Heap<'m>,
    made: Vec<Node<'m>>,
}

impl<'m> Builder<'m> {
    fn root(&mut self, entries: &[BuildEntry]) -> Result<u64> {
        let root = self.node(Kind::Node256, &[])?;
        for group in groups(entries, 0) {
            let child = self.subtree(group, 1)?;
            root.add_child(self.heap.region(), byte_at(&group[0], 0), child);
        }
        Ok(root.reference().offset())
    }

    /// The subtree of entries that agree in their first `depth` bytes.
    fn subtree(&mut self, entries: &[BuildEntry], depth: usize) -> Result<Child> {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return Ok(Child::None);
        };
        if entries.len() == 1 {
            return Ok(Child::Leaf(first.leaf));
        }
        let mut fork = depth;
        while byte_at(first, fork) == byte_at(last, fork) && fork - depth < PREFIX_MAX {
            fork += 1;
        }
        let prefix: Vec<u8> = (depth..fork).map(|i| byte_at(first, i)).collect();
        let of_bundle =
            |entry: &BuildEntry| Some((byte_at(entry, fork), entry.leaf.row_without_hint()?));
        if let Some(bundle) = Bundle::of(&prefix, entries.iter().map(of_bundle)) {
            return Ok(Child::Bundle(bundle));
        }
        let kind = kind_for(groups(entries, fork).count());
        let node = self.node(kind, &prefix)?;
        for group in groups(entries, fork) {
            let child = self.subtree(group, fork + 1)?;
            node.add_child(self.heap.region(), byte_at(&group[0], fork), child);
        }
        Ok(Child::Node(node.reference()))
    }

    fn node(&mut self, kind: Kind, prefix: &[u8]) -> Result<Node<'m>> {
        let node = Node::create(self.heap, kind, prefix)?;
        self.made.push(node);
        Ok(node)
    }
}

fn destroy_below(heap: Heap<'_>, node: Node<'_>) {
    let mut from = 0;
    while let Some((byte, child)) = node.child_from(heap.region(), from) {
        match child {
            Child::Node(at) => destroy_below(heap, Node::at(heap.region(), at)),
            Child::Leaf(leaf) => {
                if let Some(block) = leaf.block() {
                    heap.free_block(block, crate::memory::Purpose::Indexes);
                }
            }
            Child::Bundle(_) | Child::None => {}
        }
        from = byte as usize + 1;
    }
    node.discard(heap);
}

fn byte_at(entry: &BuildEntry, i: usize) -> u8 {
    EntryKey::new(&entry.key, entry.row).byte(i)
}

/// Runs of entries with the same byte at `depth`.
fn groups(entries: &[BuildEntry], depth: usize) -> impl Iterator<Item = &[BuildEntry]> {
    entries.chunk_by(move |a, b| byte_at(a, depth) == byte_at(b, depth))
}
