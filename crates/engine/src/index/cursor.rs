//! Moving over an ordered index in either direction.
//!
//! A position is a place in key space, not in the tree: the bytes of the path to a node, and the
//! byte of a leaf in it. A step looks in the same node first; when that node is exhausted, or
//! somebody changed it, the tree is walked again from the root for the nearest entry beyond the
//! position. So a cursor needs no stack, holds no lock, and survives any change; entries that were
//! there all the time are met once each, in order.

use std::cmp::Ordering;

use remanent_schema::KeyBuffer;

use super::bundle::Bundle;
use super::node::{Child, Leaf, NODE_LEAVES_MAX, Node, Restart, State};
use super::ordered::OrderedIndex;
use super::{EntryKey, LeafKeys};

/// Which way a cursor moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// Where a search starts: at the entries that begin with `bytes` if `inclusive`, else beyond them.
#[derive(Clone, Copy)]
pub(crate) struct Bound<'k> {
    pub(crate) bytes: &'k [u8],
    pub(crate) inclusive: bool,
}

/// A position in an ordered index.
pub(crate) struct IndexCursor<'m> {
    index: OrderedIndex<'m>,
    /// The bytes from the root to `node`, its prefix included.
    path: KeyBuffer,
    position: Option<Position<'m>>,
    /// Whether the position's node may be gone, and only its place in key space counts.
    forgotten: bool,
}

#[derive(Clone, Copy)]
struct Position<'m> {
    node: Node<'m>,
    version: State,
    /// The bundle that the entry is in, which hangs at the node; the path then leads to it, its
    /// prefix included.
    bundle: Option<Bundle>,
    byte: u8,
}

type Hit<'m> = (Position<'m>, Leaf);

impl<'m> IndexCursor<'m> {
    /// A cursor that stands nowhere yet.
    pub(crate) fn new(index: OrderedIndex<'m>) -> Self {
        Self { index, path: KeyBuffer::new(), position: None, forgotten: false }
    }

    /// Moves to the first entry at or beyond `bound`; without a bound to the very first.
    pub(crate) fn seek(
        &mut self,
        keys: &dyn LeafKeys,
        direction: Direction,
        bound: Option<Bound<'_>>,
    ) -> Option<Leaf> {
        self.forgotten = false;
        loop {
            let root = self.index.root();
            let walk = Walk { index: self.index, keys, direction };
            let found = root
                .read()
                .and_then(|version| walk.descend((root, version), 0, bound, &mut self.path));
            if let Ok(hit) = found {
                self.position = hit.map(|(position, _)| position);
                return hit.map(|(_, leaf)| leaf);
            }
        }
    }

    /// Gives the node up: it may have been freed since the last step.
    pub(crate) fn forget_node(&mut self) {
        self.forgotten = true;
    }

    /// Moves to the next entry in `direction`.
    pub(crate) fn step(&mut self, keys: &dyn LeafKeys, direction: Direction) -> Option<Leaf> {
        self.step_from(keys, direction, |_| false)
    }

    /// As [`IndexCursor::step`]; where the node was changed, `entry` may say which entry the cursor
    /// stood at. Without it, what has come to lie under the entry's leaf is passed over.
    pub(crate) fn step_from(
        &mut self,
        keys: &dyn LeafKeys,
        direction: Direction,
        entry: impl FnOnce(&mut KeyBuffer) -> bool,
    ) -> Option<Leaf> {
        let position = self.position?;
        let depth = self.path.len();
        let stepped = if self.forgotten {
            self.forgotten = false;
            Err(Restart)
        } else {
            self.step_in_node(keys, direction, position)
        };
        match stepped {
            Ok(Some((position, leaf))) => {
                self.position = Some(position);
                Some(leaf)
            }
            Ok(None) => {
                if self.path.is_empty() {
                    self.position = None;
                    return None;
                }
                self.seek_beyond_path(keys, direction)
            }
            Err(Restart) => {
                let mut stood_at = KeyBuffer::new();
                if entry(&mut stood_at) {
                    let bytes = stood_at.as_slice();
                    return self.seek(keys, direction, Some(Bound { bytes, inclusive: false }));
                }
                self.path.truncate(depth);
                if self.path.push(&[position.byte]).is_err() {
                    return None;
                }
                self.seek_beyond_path(keys, direction)
            }
        }
    }

    /// Takes the leaves that follow at the same node, forwards, and stands at the last of them; 0
    /// if there are none, or the node was changed: then a step goes on.
    pub(crate) fn take_leaves(&mut self, out: &mut [u64; NODE_LEAVES_MAX]) -> usize {
        let Some(position) = self.position.filter(|_| !self.forgotten) else { return 0 };
        let Position { node, version, bundle, byte } = position;
        let (count, last) = match bundle {
            Some(bundle) => bundle.leaves_beyond(byte, out),
            None => node.leaves_beyond(self.index.region(), byte, out),
        };
        if node.validate(version).is_err() {
            return 0;
        }
        self.position = Some(Position { byte: last, ..position });
        count
    }

    /// Whether the current entry's key begins with `prefix`; `None` if the path is too short to
    /// tell.
    pub(crate) fn path_begins_with(&self, prefix: &[u8]) -> Option<bool> {
        let position = self.position?;
        let path = self.path.as_slice();
        let known = path.len().min(prefix.len());
        if path[..known] != prefix[..known] {
            return Some(false);
        }
        match prefix.get(path.len()) {
            None => Some(true),
            Some(byte) if *byte != position.byte => Some(false),
            Some(_) => (prefix.len() == path.len() + 1).then_some(true),
        }
    }

    fn seek_beyond_path(&mut self, keys: &dyn LeafKeys, direction: Direction) -> Option<Leaf> {
        let mut path = KeyBuffer::new();
        std::mem::swap(&mut path, &mut self.path);
        self.seek(keys, direction, Some(Bound { bytes: path.as_slice(), inclusive: false }))
    }

    fn step_in_node(
        &mut self,
        keys: &dyn LeafKeys,
        direction: Direction,
        position: Position<'m>,
    ) -> Result<Option<Hit<'m>>, Restart> {
        let Position { node, version, bundle, byte } = position;
        node.validate(version)?;
        let walk = Walk { index: self.index, keys, direction };
        if let Some(bundle) = bundle {
            return self.step_in_bundle(walk, (node, version), bundle, byte);
        }
        let depth = self.path.len();
        let Some(from) = walk.beyond(byte) else { return Ok(None) };
        walk.next_child((node, version), from, depth, None, &mut self.path)
    }

    /// As [`IndexCursor::step_in_node`], from the entry under `byte` of a bundle that hangs at a
    /// node.
    fn step_in_bundle(
        &mut self,
        walk: Walk<'_, 'm>,
        (node, version): (Node<'m>, State),
        bundle: Bundle,
        byte: u8,
    ) -> Result<Option<Hit<'m>>, Restart> {
        if let Some(from) = walk.beyond(byte)
            && let Some((byte, leaf)) = walk.leaf_from(bundle, from)
        {
            return Ok(Some((Position { node, version, bundle: Some(bundle), byte }, leaf)));
        }
        let (prefix, len) = bundle.prefix();
        let Some(depth) = self.path.len().checked_sub(len + 1) else { return Err(Restart) };
        let under = self.path.as_slice()[depth];
        self.path.truncate(depth);
        let Some(from) = walk.beyond(under) else { return Ok(None) };
        let hit = walk.next_child((node, version), from, depth, None, &mut self.path);
        if hit.is_err() {
            // The walk that follows begins beyond this bundle.
            self.path.truncate(depth);
            self.path.push(&[under]).map_err(|_| Restart)?;
            self.path.push(&prefix[..len]).map_err(|_| Restart)?;
        }
        hit
    }
}

/// One walk down the tree.
struct Walk<'w, 'm> {
    index: OrderedIndex<'m>,
    keys: &'w dyn LeafKeys,
    direction: Direction,
}

impl<'m> Walk<'_, 'm> {
    /// The first entry at or beyond `bound` in the subtree of a node that `depth` bytes lead to.
    fn descend(
        &self,
        (node, version): (Node<'m>, State),
        depth: usize,
        bound: Option<Bound<'_>>,
        path: &mut KeyBuffer,
    ) -> Result<Option<Hit<'m>>, Restart> {
        path.truncate(depth);
        let (prefix, len) = node.prefix();
        node.validate(version)?;
        let Some((from, bound)) = self.enter(&prefix[..len], depth, bound) else { return Ok(None) };
        path.push(&prefix[..len]).map_err(|_| Restart)?;
        self.next_child((node, version), from, depth + len, bound, path)
    }

    /// As [`Walk::descend`], in a bundle that hangs at a node and that `depth` bytes lead to.
    fn descend_bundle(
        &self,
        (node, version): (Node<'m>, State),
        bundle: Bundle,
        depth: usize,
        bound: Option<Bound<'_>>,
        path: &mut KeyBuffer,
    ) -> Result<Option<Hit<'m>>, Restart> {
        let (prefix, len) = bundle.prefix();
        let Some((first, bound)) = self.enter(&prefix[..len], depth, bound) else {
            return Ok(None);
        };
        path.push(&prefix[..len]).map_err(|_| Restart)?;
        let depth = depth + len;
        let mut from = Some(first);
        while let Some((byte, leaf)) = from.and_then(|from| self.leaf_from(bundle, from)) {
            let below = bound.filter(|limit| limit.bytes[depth] == byte);
            let accepted = self.accepts(leaf, depth, below)?;
            // The leaf's key was its row's only if the bundle is still there.
            node.validate(version)?;
            if accepted {
                return Ok(Some((Position { node, version, bundle: Some(bundle), byte }, leaf)));
            }
            from = self.beyond(byte);
        }
        Ok(None)
    }

    /// The byte from which on children with this prefix before them are at or beyond `bound`, and
    /// the bound if it is one for that byte's child; `None` if all are before it.
    fn enter<'k>(
        &self,
        prefix: &[u8],
        depth: usize,
        bound: Option<Bound<'k>>,
    ) -> Option<(u8, Option<Bound<'k>>)> {
        let Some(limit) = bound else { return Some((self.first_byte(), None)) };
        match self.compare(prefix, depth, limit) {
            Ordering::Less => return None,
            Ordering::Greater => return Some((self.first_byte(), None)),
            Ordering::Equal => {}
        }
        match limit.bytes.get(depth + prefix.len()) {
            Some(byte) => Some((*byte, bound)),
            None => limit.inclusive.then(|| (self.first_byte(), None)),
        }
    }

    /// The nearest leaf of a bundle from byte `from` on.
    fn leaf_from(&self, bundle: Bundle, from: u8) -> Option<(u8, Leaf)> {
        match self.direction {
            Direction::Forward => bundle.leaf_from(from as usize),
            Direction::Backward => bundle.leaf_to(from as isize),
        }
    }

    /// The first entry at or beyond `bound` under the children of a node from byte `from` on.
    fn next_child(
        &self,
        (node, version): (Node<'m>, State),
        from: u8,
        depth: usize,
        bound: Option<Bound<'_>>,
        path: &mut KeyBuffer,
    ) -> Result<Option<Hit<'m>>, Restart> {
        let region = self.index.region();
        let mut from = from;
        loop {
            let found = match self.direction {
                Direction::Forward => node.child_from(region, from as usize),
                Direction::Backward => node.child_to(region, from as isize),
            };
            node.validate(version)?;
            let Some((byte, child)) = found else { return Ok(None) };
            let below = bound.filter(|limit| limit.bytes[depth] == byte);
            match child {
                Child::Leaf(leaf) => {
                    let accepted = self.accepts(leaf, depth, below)?;
                    // The leaf's key was its row's only if the leaf is still there.
                    node.validate(version)?;
                    if accepted {
                        path.truncate(depth);
                        return Ok(Some((Position { node, version, bundle: None, byte }, leaf)));
                    }
                }
                Child::Bundle(bundle) => {
                    path.truncate(depth);
                    path.push(&[byte]).map_err(|_| Restart)?;
                    let hit =
                        self.descend_bundle((node, version), bundle, depth + 1, below, path)?;
                    if hit.is_some() {
                        return Ok(hit);
                    }
                }
                Child::Node(at) => {
                    let child = Node::at(region, at);
                    let child_version = child.read()?;
                    node.validate(version)?;
                    path.truncate(depth);
                    path.push(&[byte]).map_err(|_| Restart)?;
                    let hit = self.descend((child, child_version), depth + 1, below, path)?;
                    if hit.is_some() {
                        return Ok(hit);
                    }
                }
                Child::None => {}
            }
            match self.beyond(byte) {
                Some(next) => from = next,
                None => break,
            }
        }
        path.truncate(depth);
        Ok(None)
    }

    /// How the bytes at `depth` stand to the bound: `Less` is before it, `Greater` is beyond it.
    fn compare(&self, bytes: &[u8], depth: usize, bound: Bound<'_>) -> Ordering {
        for (i, byte) in bytes.iter().enumerate() {
            let Some(limit) = bound.bytes.get(depth + i) else {
                return if bound.inclusive { Ordering::Greater } else { Ordering::Less };
            };
            let ordering = match self.direction {
                Direction::Forward => byte.cmp(limit),
                Direction::Backward => limit.cmp(byte),
            };
            if ordering.is_ne() {
                return ordering;
            }
        }
        Ordering::Equal
    }

    /// Whether a leaf under the bound's own path is at or beyond the bound.
    fn accepts(&self, leaf: Leaf, depth: usize, bound: Option<Bound<'_>>) -> Result<bool, Restart> {
        let Some(bound) = bound else { return Ok(true) };
        if depth + 1 >= bound.bytes.len() {
            return Ok(bound.inclusive);
        }
        let mut key = KeyBuffer::new();
        if !self.index.load_leaf_key(self.keys, leaf, &mut key) {
            return Err(Restart);
        }
        let entry = EntryKey::new(key.as_slice(), self.index.row_of(leaf));
        for (i, limit) in bound.bytes.iter().enumerate() {
            let ordering = match self.direction {
                Direction::Forward => entry.byte(i).cmp(limit),
                Direction::Backward => limit.cmp(&entry.byte(i)),
            };
            if ordering.is_ne() {
                return Ok(ordering.is_gt());
            }
        }
        Ok(bound.inclusive)
    }

    fn first_byte(&self) -> u8 {
        match self.direction {
            Direction::Forward => 0,
            Direction::Backward => 255,
        }
    }

    fn beyond(&self, byte: u8) -> Option<u8> {
        match self.direction {
            Direction::Forward => byte.checked_add(1),
            Direction::Backward => byte.checked_sub(1),
        }
    }
}

#[cfg(test)]
mod tests;
