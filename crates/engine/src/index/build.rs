//! Building an ordered index from sorted entries, top down.
//!
//! Each node is made once, at the size it needs, without locks: the tree is not published yet.
//! Used when an index is created on a table with rows. Either the whole tree is there afterwards
//! or, when memory is out, nothing of it.

use super::EntryKey;
use super::bundle::Bundle;
use super::node::{Child, Kind, Leaf, Node, PREFIX_MAX, kind_for};
use super::ordered::OrderedIndex;
use crate::error::Result;
use crate::memory::Allocator;

/// An entry to build from.
pub(crate) struct BuildEntry {
    pub(crate) key: Vec<u8>,
    pub(crate) row: u32,
    pub(crate) leaf: Leaf,
}

/// The root of a tree of `entries`, which must be sorted by key and row id and all different.
pub(crate) fn build<'m>(alloc: Allocator<'m>, entries: &[BuildEntry]) -> Result<u64> {
    let mut builder = Builder { alloc, made: Vec::new() };
    match builder.root(entries) {
        Ok(root) => Ok(root),
        Err(error) => {
            for node in builder.made {
                node.discard(alloc);
            }
            Err(error)
        }
    }
}

/// Frees all nodes of a tree that nobody may use any more; key blocks too.
pub(crate) fn destroy(alloc: Allocator<'_>, root: u64) {
    let tree = OrderedIndex::at(alloc.region(), root);
    discard_below(alloc, tree.root(), |leaf| {
        if let Some(block) = leaf.block() {
            alloc.free_block(block, crate::memory::Purpose::Indexes);
        }
    });
}

/// Entries of which a subtree is to be made that hangs at a node, `depth` bytes down.
struct Part<'e, 'm> {
    above: Node<'m>,
    entries: &'e [BuildEntry],
    depth: usize,
}

struct Builder<'m> {
    alloc: Allocator<'m>,
    made: Vec<Node<'m>>,
}

impl<'m> Builder<'m> {
    fn root(&mut self, entries: &[BuildEntry]) -> Result<u64> {
        let root = self.node(Kind::Node256, &[])?;
        let mut parts = Vec::new();
        note_parts(&mut parts, root, entries, 0);
        while let Some(Part { above, entries, depth }) = parts.pop() {
            let child = self.subtree(&mut parts, entries, depth)?;
            above.add_child(self.alloc.region(), byte_at(&entries[0], depth - 1), child);
        }
        Ok(root.reference().offset())
    }

    /// The subtree of entries that agree in their first `depth` bytes; of a node the top alone,
    /// with what hangs at it noted.
    fn subtree<'e>(
        &mut self,
        parts: &mut Vec<Part<'e, 'm>>,
        entries: &'e [BuildEntry],
        depth: usize,
    ) -> Result<Child> {
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
        note_parts(parts, node, entries, fork);
        Ok(Child::Node(node.reference()))
    }

    fn node(&mut self, kind: Kind, prefix: &[u8]) -> Result<Node<'m>> {
        let node = Node::create(self.alloc, kind, prefix)?;
        self.made.push(node);
        Ok(node)
    }
}

/// Notes the entries that hang at a node, those with the least byte last: they come next.
fn note_parts<'e, 'm>(
    parts: &mut Vec<Part<'e, 'm>>,
    above: Node<'m>,
    entries: &'e [BuildEntry],
    fork: usize,
) {
    let noted = parts.len();
    parts.extend(groups(entries, fork).map(|entries| Part { above, entries, depth: fork + 1 }));
    parts[noted..].reverse();
}

/// Frees a node and all below it, which nobody else knows of, and lets go of the leaves.
pub(super) fn discard_below(alloc: Allocator<'_>, top: Node<'_>, let_go: impl Fn(Leaf)) {
    // Not by recursion: a tree may be as deep as keys are long.
    let mut nodes = vec![top];
    while let Some(node) = nodes.pop() {
        let mut from = 0;
        while let Some((byte, child)) = node.child_from(alloc.region(), from) {
            match child {
                Child::Node(at) => nodes.push(Node::at(alloc.region(), at)),
                Child::Leaf(leaf) => let_go(leaf),
                Child::Bundle(_) | Child::None => {}
            }
            from = byte as usize + 1;
        }
        node.discard(alloc);
    }
}

fn byte_at(entry: &BuildEntry, i: usize) -> u8 {
    EntryKey::new(&entry.key, entry.row).byte(i)
}

/// Runs of entries with the same byte at `depth`.
fn groups(entries: &[BuildEntry], depth: usize) -> impl Iterator<Item = &[BuildEntry]> {
    entries.chunk_by(move |a, b| byte_at(a, depth) == byte_at(b, depth))
}
