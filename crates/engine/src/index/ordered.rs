//! The ordered index: an adaptive radix tree under optimistic lock coupling.
//!
//! Keys are order-preserving bytes with the row id behind them, so that every entry is different
//! and a unique index is the same structure; a leaf hangs at the first byte that distinguishes its
//! entry from all others, so a key that is unique costs no byte of its row id. The root is a
//! permanent node of 256 children. Look-ups write nothing. A change locks the one to three nodes
//! that it changes, after it has allocated what it needs: it happens whole or not at all. Removal
//! never needs memory: if there is none to shrink a node with, the node stays large.

use remanent_schema::KeyBuffer;

use super::key_block::KeyBlock;
use super::node::{
    Child, Kind, Leaf, Node, NodeHeader, PREFIX_MAX, Parent, ReadNode, Restart, larger,
    size_of_kind, smaller,
};
use super::pack::unpack;
use super::{EntryKey, LeafKeys};
use crate::error::Result;
use crate::memory::atomic::Relaxed;
use crate::memory::region::Region;
use crate::memory::{AllocationClass, Allocator, Ref};

/// Entries of the retire queue that one change may need.
pub(crate) const RETIRED_PER_CHANGE: u64 = 4;

/// A tree, by its root.
#[derive(Clone, Copy)]
pub(crate) struct OrderedIndex<'m> {
    region: &'m Region,
    root: Ref<NodeHeader>,
}

/// Result of a look-up of a whole key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found {
    /// No entry has this key.
    None,
    /// At most this entry has the key; `exact` if the path has proved that it does.
    One { leaf: Leaf, exact: bool },
    /// Several entries have it: use a cursor.
    Many,
}

/// The place of a new entry among those of its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// No other entry has the same key.
    Alone,
    /// Other entries with the same key were there.
    Shared,
    /// One other entry with the same key was there, that of this row.
    SharedWith(u32),
    /// This very entry was there already.
    Present,
}

/// Why one attempt at a change ended without it.
enum Stop {
    Restart,
    Failed(crate::error::Error),
}

/// The node at which a new entry leaves the path of those that are there.
struct Fork<'m> {
    parent: Option<Parent<'m>>,
    at: ReadNode<'m>,
    /// Bytes of the key up to there.
    depth: usize,
}

/// The way to an entry: its node, and the byte and the child there, which is its leaf or the bundle
/// that it is in.
struct FoundEntry<'m> {
    parent: Option<Parent<'m>>,
    at: ReadNode<'m>,
    byte: u8,
    child: Child,
}

impl<'m> OrderedIndex<'m> {
    /// The tree with this root.
    #[inline]
    pub(crate) fn at(region: &'m Region, root: u64) -> Self {
        Self { region, root: Ref::new(root) }
    }

    /// The root of a new, empty tree.
    pub(crate) fn create_root(alloc: Allocator<'m>) -> Result<u64> {
        Ok(Node::create(alloc, Kind::Node256, &[])?.reference().offset())
    }

    /// The region that the tree lies in.
    #[inline]
    pub(crate) fn region(&self) -> &'m Region {
        self.region
    }

    /// The root.
    #[inline]
    pub(crate) fn root(&self) -> Node<'m> {
        Node::at(self.region, self.root)
    }

    /// The entry or entries with exactly this key.
    #[inline]
    pub(crate) fn lookup(&self, key: &[u8]) -> Found {
        loop {
            if let Ok(found) = self.try_lookup(key) {
                return found;
            }
        }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
    pub(crate) fn insert(
        &self,
        alloc: Allocator<'m>,
        keys: &dyn LeafKeys,
        key: &[u8],
        row: u32,
        leaf: Leaf,
    ) -> Result<Placement> {
        alloc.cache.retired.make_room(alloc, RETIRED_PER_CHANGE, AllocationClass::Normal)?;
        if let Ok(true) = self.try_add(key, leaf) {
            return Ok(Placement::Alone);
        }
        let entry = EntryKey::new(key, row);
        loop {
            match self.try_insert(alloc, keys, entry, leaf) {
                Ok(placement) => return Ok(placement),
                Err(Stop::Restart) => {}
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
    }

    /// Removes the entry of `row` under `key`, if it is there.
    pub(crate) fn remove(&self, alloc: Allocator<'m>, key: &[u8], row: u32) -> bool {
        let entry = EntryKey::new(key, row);
        loop {
            if let Ok(removed) = self.try_remove(alloc, entry) {
                return removed;
            }
        }
    }

    /// Replaces the leaf of `row` under `key`; `false` if there is none.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`, if `leaf` is a keyed one; then nothing changed.
    pub(crate) fn replace(
        &self,
        alloc: Allocator<'m>,
        key: &[u8],
        row: u32,
        leaf: Leaf,
    ) -> Result<bool> {
        let entry = EntryKey::new(key, row);
        loop {
            match self.try_replace(alloc, entry, leaf) {
                Ok(replaced) => return Ok(replaced),
                Err(Stop::Restart) => {}
                Err(Stop::Failed(error)) => return Err(error),
            }
        }
    }

    /// The row of a leaf.
    #[inline]
    pub(crate) fn row_of(&self, leaf: Leaf) -> u32 {
        match (leaf.plain_row(), leaf.block()) {
            (Some(row), _) => row,
            (None, Some(block)) => self.region.get(Ref::<KeyBlock>::new(block)).row.load(Relaxed),
            (None, None) => u32::MAX,
        }
    }

    /// The key bytes of a keyed leaf.
    pub(crate) fn key_of(&self, leaf: Leaf) -> Option<&'m [u8]> {
        let block = leaf.block()?;
        Some(KeyBlock::key(self.region, block))
    }

    /// Writes the key of a leaf to `out`; `false` if its row is gone.
    pub(crate) fn load_leaf_key(
        &self,
        keys: &dyn LeafKeys,
        leaf: Leaf,
        out: &mut KeyBuffer,
    ) -> bool {
        out.clear();
        match (self.key_of(leaf), leaf.plain_row()) {
            (Some(key), _) => out.push(key).is_ok(),
            (None, Some(row)) => keys.load_key(row, out),
            (None, None) => false,
        }
    }

    #[inline]
    fn try_lookup(&self, key: &[u8]) -> Result<Found, Restart> {
        let mut node = self.root();
        let mut state = node.read()?;
        let mut depth = 0;
        loop {
            let matched = node.matching_prefix(state, &key[depth..]);
            depth += matched;
            if depth == key.len() || matched < state.prefix_len() {
                node.validate(state)?;
                return Ok(if depth == key.len() { Found::Many } else { Found::None });
            }
            match node.child_in(self.region, state, key[depth]) {
                Child::Node(at) => {
                    let child = Node::at(self.region, at);
                    let child_state = child.read()?;
                    node.validate(state)?;
                    (node, state) = (child, child_state);
                    depth += 1;
                }
                Child::Leaf(leaf) => {
                    node.validate(state)?;
                    return Ok(Found::One { leaf, exact: depth + 1 == key.len() });
                }
                Child::Bundle(bundle) => {
                    node.validate(state)?;
                    return Ok(bundle.lookup(&key[depth + 1..]));
                }
                Child::None => {
                    node.validate(state)?;
                    return Ok(Found::None);
                }
            }
        }
    }

    /// Adds a leaf where the key alone leads to a node with room and no child for it, which is
    /// where most entries go; `false` if the tree must change shape.
    #[inline]
    fn try_add(&self, key: &[u8], leaf: Leaf) -> Result<bool, Restart> {
        let mut node = self.root();
        let mut state = node.read()?;
        let mut depth = 0;
        loop {
            let matched = node.matching_prefix(state, &key[depth..]);
            depth += matched;
            if depth == key.len() || matched < state.prefix_len() {
                return Ok(false);
            }
            match node.child_in(self.region, state, key[depth]) {
                Child::Node(at) => {
                    let child = Node::at(self.region, at);
                    let child_state = child.read()?;
                    node.validate(state)?;
                    (node, state) = (child, child_state);
                    depth += 1;
                }
                Child::None if !state.is_full() => {
                    node.lock(state)?;
                    node.add_child(self.region, key[depth], Child::Leaf(leaf));
                    node.unlock();
                    return Ok(true);
                }
                Child::None | Child::Leaf(_) | Child::Bundle(_) => return Ok(false),
            }
        }
    }

    fn try_insert(
        &self,
        alloc: Allocator<'m>,
        keys: &dyn LeafKeys,
        entry: EntryKey<'_>,
        leaf: Leaf,
    ) -> Result<Placement, Stop> {
        let mut parent: Option<Parent<'m>> = None;
        let mut node = self.root();
        let mut version = node.read()?;
        let mut depth = 0;
        loop {
            let matched = matching_prefix(node, entry, depth);
            if matched < node.prefix_len() {
                let fork = Fork { parent, at: ReadNode { node, version }, depth };
                self.split_prefix(alloc, fork, matched, entry, leaf)?;
                return Ok(placed(entry, depth + matched));
            }
            depth += matched;
            let byte = entry.byte(depth);
            let child = node.child(self.region, byte);
            node.validate(version)?;
            match child {
                Child::None => {
                    self.add_to(alloc, parent, ReadNode { node, version }, byte, leaf)?;
                    return Ok(placed(entry, depth));
                }
                Child::Leaf(other) => {
                    let fork = Fork { parent, at: ReadNode { node, version }, depth };
                    return self.split_leaf(alloc, keys, fork, other, entry, leaf);
                }
                Child::Bundle(bundle) => {
                    unpack(alloc, node, version, byte, bundle)?;
                    return Err(Stop::Restart);
                }
                Child::Node(at) => {
                    let above = ReadNode { node, version };
                    parent = Some(Parent { above, byte });
                    node = Node::at(self.region, at);
                    let child_version = node.read()?;
                    above.node.validate(above.version)?;
                    version = child_version;
                    depth += 1;
                }
            }
        }
    }

    /// Puts a new node above `node`, whose prefix the entry leaves after `matched` bytes.
    fn split_prefix(
        &self,
        alloc: Allocator<'m>,
        place: Fork<'m>,
        matched: usize,
        entry: EntryKey<'_>,
        leaf: Leaf,
    ) -> Result<(), Stop> {
        let Fork { parent, at: ReadNode { node, version }, depth } = place;
        let Some(Parent { above: ReadNode { node: above, version: above_version }, byte }) = parent
        else {
            return Err(Stop::Restart);
        };
        let (prefix, len) = node.prefix();
        node.validate(version)?;
        let fork = Node::create(alloc, Kind::Node4, &prefix[..matched])?;
        if above.lock(above_version).is_err() {
            fork.discard(alloc);
            return Err(Stop::Restart);
        }
        if node.lock(version).is_err() {
            above.unlock_unchanged();
            fork.discard(alloc);
            return Err(Stop::Restart);
        }
        fork.add_child(self.region, prefix[matched], Child::Node(node.reference()));
        fork.add_child(self.region, entry.byte(depth + matched), Child::Leaf(leaf));
        node.set_prefix(&prefix[matched + 1..len]);
        above.replace_child(self.region, byte, Child::Node(fork.reference()));
        node.unlock();
        above.unlock();
        Ok(())
    }

    /// Adds a leaf to a node that has none under `byte`, growing the node if it is full.
    fn add_to(
        &self,
        alloc: Allocator<'m>,
        parent: Option<Parent<'m>>,
        at: ReadNode<'m>,
        byte: u8,
        leaf: Leaf,
    ) -> Result<(), Stop> {
        let ReadNode { node, version } = at;
        if !node.is_full() {
            node.lock(version)?;
            node.add_child(self.region, byte, Child::Leaf(leaf));
            node.unlock();
            return Ok(());
        }
        let Some(Parent { above, byte: above_byte }) = parent else {
            return Err(Stop::Restart);
        };
        let ReadNode { node: above, version: above_version } = above;
        let kind = larger(node.kind());
        node.validate(version)?;
        alloc.stock(size_of_kind(kind), AllocationClass::Normal)?;
        above.lock(above_version)?;
        if node.lock(version).is_err() {
            above.unlock_unchanged();
            return Err(Stop::Restart);
        }
        match node.copy_as(alloc, kind) {
            Ok(grown) => {
                grown.add_child(self.region, byte, Child::Leaf(leaf));
                above.replace_child(self.region, above_byte, Child::Node(grown.reference()));
                node.unlock_obsolete(alloc);
                above.unlock();
                Ok(())
            }
            Err(error) => {
                node.unlock_unchanged();
                above.unlock_unchanged();
                Err(Stop::Failed(error))
            }
        }
    }

    /// Replaces the leaf `other` by nodes that tell it and the new entry apart.
    fn split_leaf(
        &self,
        alloc: Allocator<'m>,
        keys: &dyn LeafKeys,
        place: Fork<'m>,
        other: Leaf,
        entry: EntryKey<'_>,
        leaf: Leaf,
    ) -> Result<Placement, Stop> {
        let Fork { at: ReadNode { node, version }, depth, .. } = place;
        let byte = entry.byte(depth);
        let mut other_key = KeyBuffer::new();
        let loaded = self.load_leaf_key(keys, other, &mut other_key);
        node.validate(version)?;
        if !loaded {
            return Err(Stop::Restart);
        }
        let other_entry = EntryKey::new(other_key.as_slice(), self.row_of(other));
        let mut fork = depth + 1;
        while fork < entry.len() && entry.byte(fork) == other_entry.byte(fork) {
            fork += 1;
        }
        if fork >= entry.len() {
            return Ok(Placement::Present);
        }
        let (top, bottom) = create_path(alloc, entry, depth + 1, fork)?;
        bottom.add_child(self.region, other_entry.byte(fork), Child::Leaf(other));
        bottom.add_child(self.region, entry.byte(fork), Child::Leaf(leaf));
        if node.lock(version).is_err() {
            discard_path(alloc, top, bottom);
            return Err(Stop::Restart);
        }
        node.replace_child(self.region, byte, Child::Node(top.reference()));
        node.unlock();
        Ok(match placed(entry, fork) {
            // It hung on a byte of the key, so it was alone with it.
            Placement::Shared if depth < entry.key_len() => {
                Placement::SharedWith(self.row_of(other))
            }
            placement => placement,
        })
    }

    /// Walks to the leaf of `entry`.
    fn find_entry(&self, entry: EntryKey<'_>) -> Result<Option<FoundEntry<'m>>, Restart> {
        let mut parent: Option<Parent<'m>> = None;
        let mut node = self.root();
        let mut version = node.read()?;
        let mut depth = 0;
        loop {
            let matched = matching_prefix(node, entry, depth);
            if matched < node.prefix_len() {
                node.validate(version)?;
                return Ok(None);
            }
            depth += matched;
            let byte = entry.byte(depth);
            let child = node.child(self.region, byte);
            node.validate(version)?;
            match child {
                Child::None => return Ok(None),
                Child::Leaf(leaf) => {
                    let row = self.row_of(leaf);
                    let same_key = self.key_of(leaf).is_none_or(|key| key == entry.key);
                    node.validate(version)?;
                    let found = row.to_be_bytes() == entry.row && same_key;
                    let at = ReadNode { node, version };
                    return Ok(found.then_some(FoundEntry { parent, at, byte, child }));
                }
                Child::Bundle(bundle) => {
                    let leaf = bundle.leaf_of(entry, depth + 1);
                    let row = leaf.map(|leaf| self.row_of(leaf).to_be_bytes());
                    let found = row == Some(entry.row);
                    let at = ReadNode { node, version };
                    return Ok(found.then_some(FoundEntry { parent, at, byte, child }));
                }
                Child::Node(at) => {
                    let child = Node::at(self.region, at);
                    let child_version = child.read()?;
                    node.validate(version)?;
                    parent = Some(Parent { above: ReadNode { node, version }, byte });
                    (node, version) = (child, child_version);
                    depth += 1;
                }
            }
        }
    }

    fn try_replace(
        &self,
        alloc: Allocator<'m>,
        entry: EntryKey<'_>,
        leaf: Leaf,
    ) -> Result<bool, Stop> {
        let Some(found) = self.find_entry(entry)? else { return Ok(false) };
        let FoundEntry { at: ReadNode { node, version }, byte, child, .. } = found;
        let old = match child {
            Child::Leaf(old) => old,
            // Its leaves are plain as they are.
            Child::Bundle(_) if leaf.block().is_none() => return Ok(true),
            Child::Bundle(bundle) => {
                unpack(alloc, node, version, byte, bundle)?;
                return Err(Stop::Restart);
            }
            Child::Node(_) | Child::None => return Ok(false),
        };
        node.lock(version)?;
        node.replace_child(self.region, byte, Child::Leaf(leaf));
        node.unlock();
        KeyBlock::retire(alloc, old);
        Ok(true)
    }

    fn try_remove(&self, alloc: Allocator<'m>, entry: EntryKey<'_>) -> Result<bool, Restart> {
        let Some(found) = self.find_entry(entry)? else { return Ok(false) };
        let FoundEntry { parent, at, byte, child } = found;
        let ReadNode { node, version } = at;
        let leaf = match child {
            Child::Leaf(leaf) => leaf,
            Child::Bundle(bundle) => {
                node.lock(version)?;
                node.replace_child(
                    self.region,
                    byte,
                    bundle.without_row(u32::from_be_bytes(entry.row)),
                );
                node.unlock();
                return Ok(true);
            }
            Child::Node(_) | Child::None => return Ok(false),
        };
        let count = node.count();
        let is_root = node.reference() == self.root;
        // A large node gets here too, if there was no memory for a smaller one.
        let merges = count <= 2;
        let shrinks = smaller(node.kind(), count - 1).is_some();
        let room = alloc
            .cache
            .retired
            .make_room(alloc, RETIRED_PER_CHANGE, AllocationClass::Emergency)
            .is_ok();
        let mut thin = false;
        match parent {
            Some(parent) if !is_root && room && merges => {
                self.merge(alloc, parent, at, byte)?;
                let above = parent.above.node;
                thin = above.reference() != self.root && above.count() <= 1;
            }
            Some(parent) if !is_root && room && shrinks => {
                self.shrink(alloc, parent, at, byte)?;
            }
            _ => {
                node.lock(version)?;
                node.remove_child(self.region, byte);
                node.unlock();
            }
        }
        KeyBlock::retire(alloc, leaf);
        while thin {
            thin = self.try_collapse(alloc, entry).unwrap_or(true);
        }
        Ok(true)
    }

    /// Takes the uppermost node with no child, or with a single leaf, out of the path of `entry`,
    /// where removing it has left a chain of nodes with one child each; `false` if there is none.
    fn try_collapse(&self, alloc: Allocator<'m>, entry: EntryKey<'_>) -> Result<bool, Restart> {
        let mut node = self.root();
        let mut version = node.read()?;
        let mut depth = 0;
        loop {
            let matched = matching_prefix(node, entry, depth);
            let whole = matched == node.prefix_len();
            depth += matched;
            let byte = entry.byte(depth);
            let child = node.child(self.region, byte);
            node.validate(version)?;
            let Child::Node(at) = child else { return Ok(false) };
            if !whole
                || alloc.cache.retired.make_room(alloc, 1, AllocationClass::Emergency).is_err()
            {
                return Ok(false);
            }
            let child = Node::at(self.region, at);
            let child_version = child.read()?;
            let last = child.child_from(self.region, 0);
            let count = child.count();
            child.validate(child_version)?;
            node.validate(version)?;
            if count == 0 || (count == 1 && matches!(last, Some((_, Child::Leaf(_))))) {
                let parent = Parent { above: ReadNode { node, version }, byte };
                let child = ReadNode { node: child, version: child_version };
                self.take_out(alloc, parent, child)?;
                return Ok(true);
            }
            (node, version) = (child, child_version);
            depth += 1;
        }
    }

    /// Puts what is left in a node with at most one child, a leaf, in the node's place.
    pub(super) fn take_out(
        &self,
        alloc: Allocator<'m>,
        parent: Parent<'m>,
        at: ReadNode<'m>,
    ) -> Result<(), Restart> {
        let Parent { above, byte: above_byte } = parent;
        let ReadNode { node: above, version: above_version } = above;
        let ReadNode { node, version } = at;
        above.lock(above_version)?;
        if let Err(restart) = node.lock(version) {
            above.unlock_unchanged();
            return Err(restart);
        }
        match node.child_from(self.region, 0) {
            Some((_, leaf)) => above.replace_child(self.region, above_byte, leaf),
            None => above.remove_child(self.region, above_byte),
        }
        node.unlock_obsolete(alloc);
        above.unlock();
        Ok(())
    }

    /// Removes the child under `byte` and puts the one that remains in the node's place.
    fn merge(
        &self,
        alloc: Allocator<'m>,
        parent: Parent<'m>,
        at: ReadNode<'m>,
        byte: u8,
    ) -> Result<(), Restart> {
        let Parent { above, byte: above_byte } = parent;
        let ReadNode { node: above, version: above_version } = above;
        let ReadNode { node, version } = at;
        above.lock(above_version)?;
        if let Err(restart) = node.lock(version) {
            above.unlock_unchanged();
            return Err(restart);
        }
        node.remove_child(self.region, byte);
        match node.child_from(self.region, 0) {
            Some((last, Child::Node(at))) => {
                let child = Node::at(self.region, at);
                if !self.pull_up(node, last, child) {
                    node.unlock();
                    above.unlock_unchanged();
                    return Ok(());
                }
                above.replace_child(self.region, above_byte, Child::Node(at));
            }
            Some((last, Child::Bundle(bundle))) => {
                let (prefix, len) = node.prefix();
                let Some(bundle) = bundle.under(&[&prefix[..len], &[last]].concat()) else {
                    node.unlock();
                    above.unlock_unchanged();
                    return Ok(());
                };
                above.replace_child(self.region, above_byte, Child::Bundle(bundle));
            }
            Some((_, leaf)) => above.replace_child(self.region, above_byte, leaf),
            None => above.remove_child(self.region, above_byte),
        }
        node.unlock_obsolete(alloc);
        above.unlock();
        Ok(())
    }

    /// Moves the prefix of `node` and the byte `last` into `child`; `false` if they do not fit or
    /// somebody is changing the child.
    fn pull_up(&self, node: Node<'m>, last: u8, child: Node<'m>) -> bool {
        let (mut prefix, len) = node.prefix();
        let Ok(child_version) = child.read() else { return false };
        let (below, below_len) = child.prefix();
        let total = len + 1 + below_len;
        if total > PREFIX_MAX || child.lock(child_version).is_err() {
            return false;
        }
        prefix[len] = last;
        prefix[len + 1..total].copy_from_slice(&below[..below_len]);
        child.set_prefix(&prefix[..total]);
        child.unlock();
        true
    }

    /// Removes the child under `byte` and replaces the node by a smaller one, memory permitting.
    fn shrink(
        &self,
        alloc: Allocator<'m>,
        parent: Parent<'m>,
        at: ReadNode<'m>,
        byte: u8,
    ) -> Result<(), Restart> {
        let Parent { above, byte: above_byte } = parent;
        let ReadNode { node: above, version: above_version } = above;
        let ReadNode { node, version } = at;
        if let Some(kind) = smaller(node.kind(), node.count().saturating_sub(1)) {
            // Where there is none, the node stays as large as it is.
            let _ = alloc.stock(size_of_kind(kind), AllocationClass::Normal);
        }
        above.lock(above_version)?;
        if let Err(restart) = node.lock(version) {
            above.unlock_unchanged();
            return Err(restart);
        }
        node.remove_child(self.region, byte);
        let kind = smaller(node.kind(), node.count()).unwrap_or(node.kind());
        match node.copy_as(alloc, kind) {
            Ok(copy) => {
                above.replace_child(self.region, above_byte, Child::Node(copy.reference()));
                node.unlock_obsolete(alloc);
                above.unlock();
            }
            Err(_) => {
                node.unlock();
                above.unlock_unchanged();
            }
        }
        Ok(())
    }
}

/// Bytes of the node's prefix that the entry has at `depth`.
#[inline]
fn matching_prefix(node: Node<'_>, entry: EntryKey<'_>, depth: usize) -> usize {
    let len = node.prefix_len();
    (0..len).find(|&i| node.prefix_byte(i) != entry.byte(depth + i)).unwrap_or(len)
}

/// Whether the byte at `depth`, where the new entry left all others, belongs to its key.
fn placed(entry: EntryKey<'_>, depth: usize) -> Placement {
    if depth < entry.key_len() { Placement::Alone } else { Placement::Shared }
}

/// Fresh nodes that spell the entry's bytes from `from` to `to`; the last one branches at `to`.
fn create_path<'m>(
    alloc: Allocator<'m>,
    entry: EntryKey<'_>,
    from: usize,
    to: usize,
) -> Result<(Node<'m>, Node<'m>)> {
    let mut spelled = [0; PREFIX_MAX];
    let mut at = from;
    let mut top: Option<Node<'m>> = None;
    let mut bottom: Option<(Node<'m>, u8)> = None;
    loop {
        let len = (to - at).min(PREFIX_MAX);
        for (i, byte) in spelled[..len].iter_mut().enumerate() {
            *byte = entry.byte(at + i);
        }
        let node = match Node::create(alloc, Kind::Node4, &spelled[..len]) {
            Ok(node) => node,
            Err(error) => {
                if let (Some(top), Some((bottom, _))) = (top, bottom) {
                    discard_path(alloc, top, bottom);
                }
                return Err(error);
            }
        };
        if let Some((above, byte)) = bottom {
            above.add_child(alloc.region(), byte, Child::Node(node.reference()));
        }
        at += len;
        let top_node = *top.get_or_insert(node);
        if at == to {
            return Ok((top_node, node));
        }
        bottom = Some((node, entry.byte(at)));
        at += 1;
    }
}

/// Frees the unpublished nodes from `top` down to `bottom`.
fn discard_path<'m>(alloc: Allocator<'m>, top: Node<'m>, bottom: Node<'m>) {
    let mut node = top;
    while node.reference() != bottom.reference() {
        let below = node.child_from(alloc.region(), 0);
        node.discard(alloc);
        match below {
            Some((_, Child::Node(at))) => node = Node::at(alloc.region(), at),
            _ => return,
        }
    }
    node.discard(alloc);
}

impl From<Restart> for Stop {
    fn from(_: Restart) -> Self {
        Self::Restart
    }
}

impl From<crate::error::Error> for Stop {
    fn from(error: crate::error::Error) -> Self {
        Self::Failed(error)
    }
}

#[cfg(test)]
mod tests;
