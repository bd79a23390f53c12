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
use super::node::{Child, Leaf, NODE_LEAVES_MAX, Node, NodeHeader, Restart, State};
use super::ordered::OrderedIndex;
use super::{EntryKey, LeafKeys};
use crate::memory::Ref;

/// Which way a cursor moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// The start of a search: at the entries that begin with `bytes` if `inclusive`, else beyond them.
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
        let walk = Walk { index: self.index, keys, direction };
        loop {
            let hit = match walk.find(bound, &mut self.path) {
                Ok(Found::Hit(hit)) => Some(hit),
                Ok(Found::Nothing) => None,
                Ok(Found::Further) => self.seek_further(&walk),
                Err(Restart) => continue,
            };
            self.position = hit.map(|(position, _)| position);
            return hit.map(|(_, leaf)| leaf);
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

    /// Goes on beyond the path, whose nodes above were forgotten.
    #[cold]
    fn seek_further(&mut self, walk: &Walk<'_, 'm>) -> Option<Hit<'m>> {
        loop {
            let passed = std::mem::take(&mut self.path);
            let bound = Some(Bound { bytes: passed.as_slice(), inclusive: false });
            let found = loop {
                if let Ok(found) = walk.find(bound, &mut self.path) {
                    break found;
                }
            };
            match found {
                Found::Hit(hit) => return Some(hit),
                Found::Nothing => return None,
                Found::Further => {}
            }
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
            return self.step_in_bundle(walk, node, version, bundle, byte);
        }
        Ok(walk.go(node, version, walk.beyond(byte), None, &mut self.path)?.hit())
    }

    /// As [`IndexCursor::step_in_node`], from the entry under `byte` of a bundle that hangs at a
    /// node.
    fn step_in_bundle(
        &mut self,
        walk: Walk<'_, 'm>,
        node: Node<'m>,
        version: State,
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
        let found = walk.go(node, version, walk.beyond(under), None, &mut self.path);
        if found.is_err() {
            // The walk that follows begins beyond this bundle.
            self.path.truncate(depth);
            self.path.push(&[under]).map_err(|_| Restart)?;
            self.path.push(&prefix[..len]).map_err(|_| Restart)?;
        }
        Ok(found?.hit())
    }
}

/// The end of a walk.
enum Found<'m> {
    Hit(Hit<'m>),
    /// There is nothing below where the walk began; the path leads there.
    Nothing,
    /// There is nothing below the path, and the nodes above it are not remembered.
    Further,
}

/// The next step at a node.
enum Below<'m, 'k> {
    Hit(Hit<'m>),
    /// A node under this byte, with the bound if it is one for it.
    Node {
        byte: u8,
        at: Ref<NodeHeader>,
        limit: Option<Bound<'k>>,
    },
    Nothing,
}

/// The last few nodes on the way down, and how many bytes lead to each, its prefix included.
struct Above {
    last: [Option<(Ref<NodeHeader>, State, usize)>; ABOVE_MAX],
    /// Nodes on the way, and how many of them are remembered.
    count: usize,
    kept: usize,
}

/// Nodes above that are remembered; few for tests.
const ABOVE_MAX: usize = if cfg!(any(shuttle, test)) { 2 } else { 8 };

impl Above {
    #[inline]
    fn new() -> Self {
        Self { last: [None; ABOVE_MAX], count: 0, kept: 0 }
    }

    #[inline]
    fn push(&mut self, node: (Ref<NodeHeader>, State, usize)) {
        self.last[self.count % ABOVE_MAX] = Some(node);
        self.count += 1;
        self.kept = (self.kept + 1).min(ABOVE_MAX);
    }

    #[inline]
    fn pop(&mut self) -> Option<(Ref<NodeHeader>, State, usize)> {
        self.kept = self.kept.checked_sub(1)?;
        self.count -= 1;
        self.last[self.count % ABOVE_MAX]
    }

    /// Whether there were more.
    fn forgot(&self) -> bool {
        self.count > 0
    }
}

impl<'m> Found<'m> {
    /// The entry, if one was found. Where the walk came to an end, the path says from where on the
    /// search goes on.
    #[inline]
    fn hit(self) -> Option<Hit<'m>> {
        match self {
            Self::Hit(hit) => Some(hit),
            Self::Nothing | Self::Further => None,
        }
    }
}

/// One walk down the tree.
struct Walk<'w, 'm> {
    index: OrderedIndex<'m>,
    keys: &'w dyn LeafKeys,
    direction: Direction,
}

impl<'m> Walk<'_, 'm> {
    /// The first entry at or beyond `bound` in the whole tree.
    fn find(&self, bound: Option<Bound<'_>>, path: &mut KeyBuffer) -> Result<Found<'m>, Restart> {
        let root = self.index.root();
        let version = root.read()?;
        path.clear();
        let (from, limit) = match self.enter(&[], 0, bound) {
            Some((from, limit)) => (Some(from), limit),
            None => (None, None),
        };
        self.go(root, version, from, limit, path)
    }

    /// The first entry at or beyond `bound` under the children of a node from byte `from` on, to
    /// which the path leads, or below the nodes above that were passed on the way.
    ///
    /// A tree may be as deep as keys are long, so the way back up is not on the stack: the last few
    /// nodes above are remembered, which is enough but for keys that are nested in each other.
    fn go(
        &self,
        mut node: Node<'m>,
        mut version: State,
        mut from: Option<u8>,
        mut bound: Option<Bound<'_>>,
        path: &mut KeyBuffer,
    ) -> Result<Found<'m>, Restart> {
        let region = self.index.region();
        let mut above = Above::new();
        let mut depth = path.len();
        loop {
            let found = match from {
                Some(from) => self.next_child(node, version, from, depth, bound, path)?,
                None => Below::Nothing,
            };
            if let Below::Node { byte, at, limit } = found {
                let child = Node::at(region, at);
                let child_version = child.read()?;
                node.validate(version)?;
                path.push(&[byte]).map_err(|_| Restart)?;
                above.push((node.reference(), version, depth));
                (node, version) = (child, child_version);
                let (prefix, len) = node.prefix();
                node.validate(version)?;
                match self.enter(&prefix[..len], depth + 1, limit) {
                    Some((first, limit)) => {
                        path.push(&prefix[..len]).map_err(|_| Restart)?;
                        (from, bound) = (Some(first), limit);
                    }
                    None => from = None,
                }
                depth = path.len();
                continue;
            }
            if let Below::Hit(hit) = found {
                return Ok(Found::Hit(hit));
            }
            let Some((at, version_above, depth_above)) = above.pop() else {
                path.truncate(depth);
                return Ok(if above.forgot() { Found::Further } else { Found::Nothing });
            };
            (node, version, depth) = (Node::at(region, at), version_above, depth_above);
            let byte = path.as_slice()[depth];
            path.truncate(depth);
            // What is beyond the byte is beyond the bound.
            (from, bound) = (self.beyond(byte), None);
        }
    }

    /// The first entry at or beyond `bound` in a bundle that hangs at a node and that `depth` bytes
    /// lead to.
    fn descend_bundle(
        &self,
        node: Node<'m>,
        version: State,
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

    /// The first entry at or beyond `bound` that hangs at a node from byte `from` on, or the first
    /// node that may have it.
    #[inline]
    fn next_child<'k>(
        &self,
        node: Node<'m>,
        version: State,
        from: u8,
        depth: usize,
        bound: Option<Bound<'k>>,
        path: &mut KeyBuffer,
    ) -> Result<Below<'m, 'k>, Restart> {
        let region = self.index.region();
        let mut from = from;
        loop {
            let found = match self.direction {
                Direction::Forward => node.child_from(region, from as usize),
                Direction::Backward => node.child_to(region, from as isize),
            };
            node.validate(version)?;
            let Some((byte, child)) = found else { return Ok(Below::Nothing) };
            let limit = bound.filter(|limit| limit.bytes[depth] == byte);
            match child {
                Child::Leaf(leaf) => {
                    let accepted = self.accepts(leaf, depth, limit)?;
                    // The leaf's key was its row's only if the leaf is still there.
                    node.validate(version)?;
                    if accepted {
                        let position = Position { node, version, bundle: None, byte };
                        return Ok(Below::Hit((position, leaf)));
                    }
                }
                Child::Bundle(bundle) => {
                    path.push(&[byte]).map_err(|_| Restart)?;
                    let hit = self.descend_bundle(node, version, bundle, depth + 1, limit, path)?;
                    if let Some(hit) = hit {
                        return Ok(Below::Hit(hit));
                    }
                    path.truncate(depth);
                }
                Child::Node(at) => return Ok(Below::Node { byte, at, limit }),
                Child::None => {}
            }
            match self.beyond(byte) {
                Some(next) => from = next,
                None => return Ok(Below::Nothing),
            }
        }
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
