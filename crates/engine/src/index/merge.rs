//! Adding a sorted run of entries to an ordered index, in one walk.
//!
//! Where the tree has nothing, the subtree of all entries that belong there is built bottom up,
//! each node once and at the size it needs, and hung in with one change; where it has something,
//! the walk goes on below, with all entries that go there. So a run of keys beyond all others costs
//! next to nothing for each, and one that is spread over the tree goes through it in order, nodes
//! being asked for ahead. What the walk cannot decide is left to the caller, entry by entry: a
//! place where a leaf is already, keys that differ in no byte known here, a node that is full or
//! that others are changing.
//!
//! An entry is two words: eight bytes of its key, from where the keys of the run begin to differ,
//! in the order of numbers; and its leaf.

use super::EntryKey;
use super::build::discard_below;
use super::bundle::Bundle;
use super::node::{Child, Leaf, Node, PREFIX_MAX, kind_for};
use super::ordered::OrderedIndex;
use crate::error::Result;
use crate::memory::Allocator;

/// An entry of a run: bytes of its key, and its leaf.
pub(crate) type RunEntry = [u64; 2];

/// The common part of a run's entries.
#[derive(Clone, Copy)]
pub(crate) struct RunKeys<'k> {
    /// A key of the run; all others begin with its first `skip` bytes.
    pub(crate) first: &'k [u8],
    pub(crate) skip: usize,
    /// Bytes that every key has.
    pub(crate) shortest: usize,
}

/// Children of a node that are prefetched.
const CHILDREN_AHEAD: usize = 8;

/// Adds the entries that the walk leaves, one by one.
pub(crate) trait AddOne {
    /// Adds an entry by itself.
    ///
    /// # Errors
    /// The error of the index.
    fn add_one(&mut self, entry: RunEntry) -> Result<()>;
}

/// Adds the entries, which are sorted by their first word; those that `add` is given come in no
/// particular order.
///
/// # Errors
/// The error of `add`, and memory for nodes; then some entries are in the index and some not.
pub(crate) fn merge<'m>(
    index: OrderedIndex<'m>,
    alloc: Allocator<'m>,
    keys: RunKeys<'_>,
    entries: &mut [RunEntry],
    add: &mut dyn AddOne,
) -> Result<()> {
    let window = keys.shortest.saturating_sub(keys.skip).min(8);
    if window == 0 {
        return entries.iter().try_for_each(|entry| add.add_one(*entry));
    }
    let different = separate(entries, window, add)?;
    let mut merge = Merge { index, alloc, keys, limit: keys.skip + window, add };
    let mut rest = &entries[..different];
    while !rest.is_empty() {
        let (top, depth) = merge.top(rest);
        let done = merge.below(top, depth, rest)?;
        rest = &rest[merge.at_least_one(done, rest)?..];
    }
    Ok(())
}

/// Moves the entries that differ in their known bytes to the front, in order, and adds the others;
/// how many differ.
fn separate(entries: &mut [RunEntry], window: usize, add: &mut dyn AddOne) -> Result<usize> {
    let known = |entry: &RunEntry| entry[0] >> (64 - 8 * window);
    let mut different = 0;
    for i in 0..entries.len() {
        if different > 0 && known(&entries[different - 1]) == known(&entries[i]) {
            add.add_one(entries[i])?;
        } else {
            entries[different] = entries[i];
            different += 1;
        }
    }
    Ok(different)
}

struct Merge<'r, 'm> {
    index: OrderedIndex<'m>,
    alloc: Allocator<'m>,
    keys: RunKeys<'r>,
    /// Bytes of a key that are known here.
    limit: usize,
    add: &'r mut dyn AddOne,
}

impl<'m> Merge<'_, 'm> {
    /// The node that all entries lead to and at which they part, or one above it, with how many
    /// bytes lead there. Below it the way is as long as the bytes that tell entries apart.
    fn top(&self, entries: &[RunEntry]) -> (Node<'m>, usize) {
        let region = self.index.region();
        let (first, last) = (&entries[0], &entries[entries.len() - 1]);
        let (mut node, mut depth) = (self.index.root(), 0);
        loop {
            let Ok(state) = node.read() else { return (node, depth) };
            let (prefix, len) = node.prefix();
            let fork = depth + len;
            let shared = |i: usize| self.byte(first, i) == self.byte(last, i);
            if fork >= self.keys.skip
                || !(0..len).all(|i| prefix[i] == self.byte(first, depth + i))
                || !shared(fork)
            {
                return (node, depth);
            }
            let child = node.child_in(region, state, self.byte(first, fork));
            let Child::Node(at) = child else { return (node, depth) };
            if node.validate(state).is_err() {
                return (node, depth);
            }
            (node, depth) = (Node::at(region, at), fork + 1);
        }
    }

    /// Adds entries below a node that `depth` bytes lead to, and says how many: fewer than all if
    /// the node has no room, or is no longer what it was.
    fn below(&mut self, node: Node<'m>, depth: usize, entries: &[RunEntry]) -> Result<usize> {
        let Ok(state) = node.read() else { return Ok(0) };
        let (prefix, len) = node.prefix();
        let depth = depth + len;
        let known = depth < self.limit;
        let fits = |entry| (0..len).all(|i| prefix[i] == self.byte(entry, depth - len + i));
        // Sorted, so what first and last share all share.
        let fits = known && fits(&entries[0]) && fits(&entries[entries.len() - 1]);
        if node.validate(state).is_err() {
            return Ok(0);
        }
        if !fits {
            // The node is in the way of some or all: a change of shape, which one entry makes.
            return Ok(0);
        }
        let mut ahead = entries;
        (0..CHILDREN_AHEAD).for_each(|_| self.ask_for_child(node, depth, &mut ahead));
        let mut done = 0;
        while done < entries.len() {
            self.ask_for_child(node, depth, &mut ahead);
            let group = self.group(&entries[done..], depth);
            let added = self.group_below(node, depth, group)?;
            done += added;
            if added < group.len() {
                return Ok(done);
            }
        }
        Ok(done)
    }

    /// Adds entries that have the same byte at `depth` below a node; how many.
    fn group_below(&mut self, node: Node<'m>, depth: usize, group: &[RunEntry]) -> Result<usize> {
        let region = self.index.region();
        let byte = self.byte(&group[0], depth);
        let mut done = 0;
        while done < group.len() {
            let rest = &group[done..];
            let Ok(state) = node.read() else { return Ok(done) };
            let child = node.child_in(region, state, byte);
            if node.validate(state).is_err() {
                return Ok(done);
            }
            match child {
                Child::Node(at) => {
                    let added = self.below(Node::at(region, at), depth + 1, rest)?;
                    done += self.at_least_one(added, rest)?;
                }
                Child::None if !state.is_full() => {
                    let subtree = self.build(rest, depth + 1)?;
                    if node.lock(state).is_err() {
                        self.discard(subtree);
                        return Ok(done);
                    }
                    node.add_child(region, byte, subtree);
                    node.unlock();
                    return Ok(group.len());
                }
                // A full node is replaced by a larger one.
                Child::None => return Ok(done),
                Child::Leaf(_) | Child::Bundle(_) => {
                    self.add.add_one(rest[0])?;
                    done += 1;
                }
            }
        }
        Ok(done)
    }

    /// Adds the first of `entries` by itself if none was; how many are then.
    fn at_least_one(&mut self, added: usize, entries: &[RunEntry]) -> Result<usize> {
        if added == 0 {
            self.add.add_one(entries[0])?;
        }
        Ok(added.max(1))
    }

    /// The subtree of entries that agree in their first `depth` bytes.
    fn build(&self, entries: &[RunEntry], depth: usize) -> Result<Child> {
        if let [entry] = entries {
            return Ok(Child::Leaf(Leaf::of_word(entry[1])));
        }
        let (first, last) = (&entries[0], &entries[entries.len() - 1]);
        let mut fork = depth;
        while self.byte(first, fork) == self.byte(last, fork) && fork - depth < PREFIX_MAX {
            fork += 1;
        }
        let mut prefix = [0; PREFIX_MAX];
        for (i, byte) in prefix.iter_mut().enumerate().take(fork - depth) {
            *byte = self.byte(first, depth + i);
        }
        if let Some(bundle) = self.bundle_of(&prefix[..fork - depth], entries, fork) {
            return Ok(Child::Bundle(bundle));
        }
        let groups = entries.chunk_by(|a, b| self.byte(a, fork) == self.byte(b, fork));
        let node = Node::create(self.alloc, kind_for(groups.count()), &prefix[..fork - depth])?;
        let mut rest = entries;
        while !rest.is_empty() {
            let group = self.group(rest, fork);
            let child = self.build(group, fork + 1).inspect_err(|_| {
                self.discard(Child::Node(node.reference()));
            })?;
            node.add_child(self.index.region(), self.byte(&group[0], fork), child);
            rest = &rest[group.len()..];
        }
        Ok(Child::Node(node.reference()))
    }

    /// The bundle that entries can be which have the same bytes before `fork`.
    fn bundle_of(&self, prefix: &[u8], entries: &[RunEntry], fork: usize) -> Option<Bundle> {
        let entries = entries.iter().map(|entry| {
            let row = Leaf::of_word(entry[1]).row_without_hint()?;
            Some((self.byte(entry, fork), row))
        });
        Bundle::of(prefix, entries)
    }

    /// Frees a subtree that was not hung in.
    fn discard(&self, subtree: Child) {
        let Child::Node(at) = subtree else { return };
        discard_below(self.alloc, Node::at(self.index.region(), at), |_| ());
    }

    /// Asks the processor for the node that the next entries of `ahead` go to, which are then taken
    /// off its front.
    fn ask_for_child(&self, node: Node<'m>, depth: usize, ahead: &mut &[RunEntry]) {
        let Some(first) = ahead.first() else { return };
        if let Child::Node(at) = node.child(self.index.region(), self.byte(first, depth)) {
            let next = (depth + 1 < self.limit).then(|| self.byte(first, depth + 1));
            Node::prefetch(self.index.region(), at, next);
        }
        *ahead = &ahead[self.group(ahead, depth).len()..];
    }

    /// The entries at the front that have the same byte at `depth`.
    fn group<'e>(&self, entries: &'e [RunEntry], depth: usize) -> &'e [RunEntry] {
        let byte = self.byte(&entries[0], depth);
        // Most groups are either short or all there is.
        if self.byte(&entries[entries.len() - 1], depth) == byte {
            return entries;
        }
        let len = entries.iter().take_while(|entry| self.byte(entry, depth) == byte).count();
        &entries[..len]
    }

    /// Byte `i` of an entry's key, `i` being less than the limit.
    #[inline]
    fn byte(&self, entry: &RunEntry, i: usize) -> u8 {
        match i.checked_sub(self.keys.skip) {
            None => self.keys.first[i],
            Some(place) if place < 8 => (entry[0] >> (56 - 8 * place)) as u8,
            Some(_) => 0,
        }
    }
}

/// Eight bytes of a key and its row id from `skip` on, as a number.
#[inline]
pub(crate) fn word_of_key(key: &[u8], row: u32, skip: usize) -> u64 {
    if let Some(bytes) = key.get(skip..).and_then(|rest| rest.first_chunk::<8>()) {
        return u64::from_be_bytes(*bytes);
    }
    let entry = EntryKey::new(key, row);
    (0..8).fold(0, |word, i| word << 8 | u64::from(entry.byte(skip + i)))
}
