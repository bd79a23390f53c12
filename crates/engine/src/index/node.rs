//! Nodes of the ordered index: layouts, the version latch, and changes to a single node.
//!
//! Seven sizes (after Leis, Kemper, Neumann: The Adaptive Radix Tree, ICDE 2013): sorted nodes of
//! 4, 8 and 16 children, ranked ones of 32, 64 and 128 (`ranked.rs`), a direct one of 256. Up to 16
//! bytes that all keys below share are kept in the node.
//!
//! The version latch (Leis, Scheibner, Kemper, Neumann: The ART of Practical Synchronization, DaMoN
//! 2016) shares a word with the node's kind and counts. *Writers* lock, change, and count up when
//! they unlock. *Readers* write nothing: they remember the word, read, and look whether it is still
//! the same; if not, what they read is forgotten. A reader may see a half-made change, never a wild
//! pointer: every word is an atomic that holds 0, a leaf, a bundle, or the offset of a node that
//! stays readable for its grace period. So staleness costs a retry and nothing else.

use super::bundle::Bundle;
use super::ranked::{Present, Ranked, RankedHead};
use crate::error::Result;
use crate::memory::atomic::{Acquire, AtomicU64, Relaxed, Release, acquire_fence, pause};
use crate::memory::region::Region;
use crate::memory::{AllocationClass, Allocator, Purpose, Ref};

/// Bytes of shared prefix that a node holds at most.
pub(crate) const PREFIX_MAX: usize = 16;

/// The most leaves that hang at one node.
pub(crate) const NODE_LEAVES_MAX: usize = 256;

const OBSOLETE: u64 = 1;
const LOCKED: u64 = 2;
/// One change, in the count of them that fills bits 2 to 31.
const CHANGE: u64 = 4;
const CHANGES_MASK: u64 = 0xffff_fffc;
const KIND_SHIFT: u32 = 32;
const PREFIX_LEN_SHIFT: u32 = 40;
const COUNT_SHIFT: u32 = 48;

/// The word of a node that is neither locked nor obsolete: its version, kind, prefix length and
/// count of children, all of one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct State(u64);

/// The tree must be walked again from the root: somebody changed what was being read.
#[derive(Debug)]
pub(crate) struct Restart;

/// A child word: nothing, a node, a leaf, or a bundle of leaves (`bundle.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Child {
    None,
    Node(Ref<NodeHeader>),
    Leaf(Leaf),
    Bundle(Bundle),
}

/// A leaf word.
///
/// A *plain* leaf holds a row id and a hint where the row's newest version lay when the leaf was
/// made: an address to prefetch, of no other meaning. All versions of a plain leaf's row have the
/// leaf's key. A *keyed* leaf refers to a block with row id and key bytes of its own; a row has
/// such leaves while its versions differ in this index's key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Leaf(u64);

/// The header of every node.
#[repr(C)]
pub(crate) struct NodeHeader {
    state: AtomicU64,
    prefix: [AtomicU64; PREFIX_MAX / 8],
}

/// Sorted by key byte; the bytes are packed eight to a word.
#[repr(C)]
struct Sorted<const WORDS: usize, const CHILDREN: usize> {
    header: NodeHeader,
    keys: [AtomicU64; WORDS],
    children: [AtomicU64; CHILDREN],
}

type Node4 = Sorted<1, 4>;
type Node8 = Sorted<1, 8>;
type Node16 = Sorted<2, 16>;

#[repr(C)]
struct Node256 {
    header: NodeHeader,
    present: Present,
    children: [AtomicU64; 256],
}

const _: () = assert!(size_of::<NodeHeader>() == 24);
const _: () = assert!(size_of::<Node4>() == 64);
const _: () = assert!(size_of::<Node8>() == 96);
const _: () = assert!(size_of::<Node16>() == 168);
const _: () = assert!(size_of::<Node256>() == 2104);

/// The kinds of node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    Node4 = 1,
    Node8 = 2,
    Node16 = 3,
    Node32 = 4,
    Node64 = 5,
    Node128 = 6,
    Node256 = 7,
}

/// A node, read in place. Copying it copies the reference only.
#[derive(Clone, Copy)]
pub(crate) struct Node<'m> {
    header: &'m NodeHeader,
    at: Ref<NodeHeader>,
}

impl Leaf {
    const PLAIN: u64 = 1;
    const KEYED: u64 = 3;
    const HINT_UNIT_SHIFT: u32 = 6;
    const HINT_BITS: u32 = 30;

    /// A leaf for a row whose newest version lies at `version`.
    pub(crate) fn plain(row: u32, version: u64) -> Self {
        let hint = (version >> Self::HINT_UNIT_SHIFT) & ((1 << Self::HINT_BITS) - 1);
        Self(hint << 34 | u64::from(row) << 2 | Self::PLAIN)
    }

    /// The leaf that a child's word is.
    #[inline]
    pub(crate) fn of_word(word: u64) -> Self {
        debug_assert!(word & 1 == 1);
        Self(word)
    }

    /// The word that a child with this leaf is.
    #[inline]
    pub(crate) fn to_word(self) -> u64 {
        self.0
    }

    /// A leaf whose key stands in the block at `block`.
    pub(crate) fn keyed(block: u64) -> Self {
        Self(block | Self::KEYED)
    }

    /// The block of a keyed leaf.
    #[inline]
    pub(crate) fn block(self) -> Option<u64> {
        (self.0 & 3 == Self::KEYED).then_some(self.0 & !3)
    }

    /// The row of a plain leaf.
    #[inline]
    pub(crate) fn plain_row(self) -> Option<u32> {
        (self.0 & 3 == Self::PLAIN).then_some((self.0 >> 2) as u32)
    }

    /// The row of a plain leaf that says nothing of where its version lies.
    #[inline]
    pub(super) fn row_without_hint(self) -> Option<u32> {
        self.plain_row().filter(|_| self.hint() == 0)
    }

    /// An offset near which the row's newest version probably lies.
    #[inline]
    pub(crate) fn hint(self) -> u64 {
        (self.0 >> 34) << Self::HINT_UNIT_SHIFT
    }
}

impl Child {
    #[inline]
    pub(super) fn from_word(word: u64) -> Self {
        if word & 1 == 1 {
            Self::Leaf(Leaf(word))
        } else if word == 0 {
            Self::None
        } else if let Some(bundle) = Bundle::of_word(word) {
            Self::Bundle(bundle)
        } else {
            Self::Node(Ref::new(word))
        }
    }

    fn to_word(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Node(node) => node.offset(),
            Self::Leaf(leaf) => leaf.0,
            Self::Bundle(bundle) => bundle.to_word(),
        }
    }
}

impl NodeHeader {
    #[inline]
    pub(super) fn state(&self) -> State {
        State(self.state.load(Relaxed))
    }
}

impl<'m> Node<'m> {
    /// The node at `at`.
    #[inline]
    pub(crate) fn at(region: &'m Region, at: Ref<NodeHeader>) -> Self {
        Self { header: region.get(at), at }
    }

    /// A new node with no children.
    pub(crate) fn create(alloc: Allocator<'m>, kind: Kind, prefix: &[u8]) -> Result<Self> {
        let size = size_of_kind(kind);
        let at = alloc.allocate(size, Purpose::Indexes, AllocationClass::Normal)?;
        alloc.region().fresh_bytes(at, size).fill(0);
        let node = Self::at(alloc.region(), Ref::new(at));
        node.header.state.store((kind as u64) << KIND_SHIFT, Relaxed);
        node.set_prefix(prefix);
        Ok(node)
    }

    /// Frees a node that was never published.
    pub(crate) fn discard(self, alloc: Allocator<'_>) {
        alloc.free(self.at.offset(), size_of_kind(self.kind()), Purpose::Indexes);
    }

    /// The reference to this node.
    pub(crate) fn reference(self) -> Ref<NodeHeader> {
        self.at
    }

    /// The kind of this node.
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        State(self.header.state.load(Relaxed)).kind()
    }

    /// The number of children.
    #[inline]
    pub(crate) fn count(self) -> usize {
        State(self.header.state.load(Relaxed)).count()
    }

    /// Whether another child needs a larger node.
    pub(crate) fn is_full(self) -> bool {
        State(self.header.state.load(Relaxed)).is_full()
    }

    /// The state to read under; waits while the node is locked.
    #[inline]
    pub(crate) fn read(self) -> Result<State, Restart> {
        let state = self.header.state.load(Acquire);
        if state & (OBSOLETE | LOCKED) == 0 {
            return Ok(State(state));
        }
        self.read_later()
    }

    #[cold]
    fn read_later(self) -> Result<State, Restart> {
        let mut turn = 0;
        loop {
            let state = self.header.state.load(Acquire);
            if state & OBSOLETE != 0 {
                return Err(Restart);
            }
            if state & LOCKED == 0 {
                return Ok(State(state));
            }
            pause(turn);
            turn += 1;
        }
    }

    /// Whether nothing changed since `state` was read.
    #[inline]
    pub(crate) fn validate(self, state: State) -> Result<(), Restart> {
        acquire_fence();
        if self.header.state.load(Relaxed) == state.0 { Ok(()) } else { Err(Restart) }
    }

    /// Locks the node if nothing changed since `state` was read.
    #[inline]
    pub(crate) fn lock(self, state: State) -> Result<(), Restart> {
        let word = &self.header.state;
        let locked = word.compare_exchange(state.0, state.0 | LOCKED, Acquire, Relaxed);
        std::sync::atomic::fence(Release);
        locked.map(|_| ()).map_err(|_| Restart)
    }

    /// Ends a change.
    #[inline]
    pub(crate) fn unlock(self) {
        let state = self.header.state.load(Relaxed);
        self.header.state.store(changed(state) & !LOCKED, Release);
    }

    /// Ends a lock under which nothing was changed.
    pub(crate) fn unlock_unchanged(self) {
        let state = self.header.state.load(Relaxed);
        self.header.state.store(state & !LOCKED, Release);
    }

    /// Unlocks a node that is no longer part of the tree and frees it after its last reader.
    pub(crate) fn unlock_obsolete(self, alloc: Allocator<'_>) {
        let state = self.header.state.load(Relaxed);
        self.header.state.store((changed(state) & !LOCKED) | OBSOLETE, Release);
        alloc.retire(self.at.offset(), Purpose::Indexes);
    }

    /// Length of the shared prefix.
    #[inline]
    pub(crate) fn prefix_len(self) -> usize {
        State(self.header.state.load(Relaxed)).prefix_len()
    }

    /// Bytes of the prefix that `key` begins with.
    #[inline]
    pub(crate) fn matching_prefix(self, state: State, key: &[u8]) -> usize {
        let len = state.prefix_len();
        if len == 0 {
            return 0;
        }
        if len <= 8
            && let Some(head) = key.first_chunk::<8>()
        {
            let differing = u64::from_le_bytes(*head) ^ self.header.prefix[0].load(Relaxed);
            return (differing.trailing_zeros() as usize / 8).min(len);
        }
        let known = len.min(key.len());
        (0..known).find(|&i| self.prefix_byte(i) != key[i]).unwrap_or(known)
    }

    /// Byte `i` of the shared prefix.
    #[inline]
    pub(crate) fn prefix_byte(self, i: usize) -> u8 {
        byte_of(&self.header.prefix, i)
    }

    /// The shared prefix.
    pub(crate) fn prefix(self) -> ([u8; PREFIX_MAX], usize) {
        let mut bytes = [0; PREFIX_MAX];
        for (half, word) in bytes.chunks_exact_mut(8).zip(&self.header.prefix) {
            half.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        (bytes, self.prefix_len())
    }

    /// Sets the shared prefix; the node is locked or fresh.
    pub(crate) fn set_prefix(self, prefix: &[u8]) {
        debug_assert!(prefix.len() <= PREFIX_MAX);
        let mut bytes = [0; PREFIX_MAX];
        bytes[..prefix.len()].copy_from_slice(prefix);
        for (half, word) in bytes.as_chunks::<8>().0.iter().zip(&self.header.prefix) {
            word.store(u64::from_le_bytes(*half), Relaxed);
        }
        let state = self.header.state.load(Relaxed) & !(0xff << PREFIX_LEN_SHIFT);
        self.header.state.store(state | (prefix.len() as u64) << PREFIX_LEN_SHIFT, Relaxed);
    }

    /// The child under `byte`.
    #[inline]
    pub(crate) fn child(self, region: &'m Region, byte: u8) -> Child {
        self.child_in(region, State(self.header.state.load(Relaxed)), byte)
    }

    /// The child under `byte` of a node in this state.
    #[inline(always)]
    pub(crate) fn child_in(self, region: &'m Region, state: State, byte: u8) -> Child {
        // A chain of well predicted branches; a jump table would be one hard to predict.
        let kind = state.kind();
        if kind == Kind::Node256 {
            Child::from_word(self.node256(region).children[byte as usize].load(Acquire))
        } else if kind == Kind::Node4 {
            self.node4(region).child(state.count(), byte)
        } else if kind == Kind::Node8 {
            self.node8(region).child(state.count(), byte)
        } else if kind == Kind::Node16 {
            self.node16(region).child(state.count(), byte)
        } else {
            self.ranked(region, kind).child(byte)
        }
    }

    /// Asks the processor for a node's first line, and for the line of the child under `byte` as if
    /// it were a node of 256.
    #[inline]
    pub(crate) fn prefetch(region: &Region, at: Ref<NodeHeader>, byte: Option<u8>) {
        region.prefetch(at.offset());
        if let Some(byte) = byte {
            let children = at.offset() + (size_of::<NodeHeader>() + size_of::<Present>()) as u64;
            region.prefetch(children + u64::from(byte) * 8);
        }
    }

    /// The first child under a byte of at least `from`.
    pub(crate) fn child_from(self, region: &'m Region, from: usize) -> Option<(u8, Child)> {
        match self.kind() {
            Kind::Node4 => self.node4(region).child_from(from),
            Kind::Node8 => self.node8(region).child_from(from),
            Kind::Node16 => self.node16(region).child_from(from),
            Kind::Node256 => self.node256(region).child_from(from),
            kind => self.ranked(region, kind).child_from(from),
        }
    }

    /// The leaves that follow `byte` before the next child that is none, in order; how many there
    /// are, and the byte of the last. Each word may be passed to [`Leaf::of_word`].
    pub(crate) fn leaves_beyond(
        self,
        region: &'m Region,
        byte: u8,
        out: &mut [u64; NODE_LEAVES_MAX],
    ) -> (usize, u8) {
        let (mut count, mut last) = (0, byte);
        if self.kind() == Kind::Node256 {
            let children = &self.node256(region).children;
            for (i, child) in children.iter().enumerate().skip(byte as usize + 1) {
                let word = child.load(Acquire);
                if word & 1 == 1 {
                    out[count % NODE_LEAVES_MAX] = word;
                    (count, last) = (count + 1, i as u8);
                } else if word != 0 {
                    break;
                }
            }
            return (count, last);
        }
        while let Some((next, Child::Leaf(leaf))) = self.child_from(region, last as usize + 1) {
            // A node that is changed meanwhile may seem to have no end.
            let Some(word) = out.get_mut(count) else { break };
            *word = leaf.0;
            (count, last) = (count + 1, next);
        }
        (count, last)
    }

    /// The last child under a byte of at most `to`; `to` may be -1.
    pub(crate) fn child_to(self, region: &'m Region, to: isize) -> Option<(u8, Child)> {
        match self.kind() {
            Kind::Node4 => self.node4(region).child_to(to),
            Kind::Node8 => self.node8(region).child_to(to),
            Kind::Node16 => self.node16(region).child_to(to),
            Kind::Node256 => self.node256(region).child_to(to),
            kind => self.ranked(region, kind).child_to(to),
        }
    }

    /// Replaces the child under `byte`, which exists; the node is locked.
    pub(crate) fn replace_child(self, region: &'m Region, byte: u8, child: Child) {
        let word = child.to_word();
        match self.kind() {
            Kind::Node4 => self.node4(region).replace_child(byte, word),
            Kind::Node8 => self.node8(region).replace_child(byte, word),
            Kind::Node16 => self.node16(region).replace_child(byte, word),
            Kind::Node256 => {
                self.node256(region).children[byte as usize].store(word, Release);
            }
            kind => self.ranked(region, kind).replace_child(byte, word),
        }
    }

    /// Adds a child under `byte`, which has none; the node is locked or fresh, and not full.
    pub(crate) fn add_child(self, region: &'m Region, byte: u8, child: Child) {
        debug_assert!(!self.is_full());
        let word = child.to_word();
        match self.kind() {
            Kind::Node4 => self.node4(region).add_child(byte, word),
            Kind::Node8 => self.node8(region).add_child(byte, word),
            Kind::Node16 => self.node16(region).add_child(byte, word),
            Kind::Node256 => {
                let node = self.node256(region);
                node.children[byte as usize].store(word, Release);
                node.present.set(byte);
            }
            kind => self.ranked(region, kind).add_child(byte, word),
        }
        let state = self.header.state.load(Relaxed);
        self.header.state.store(state + (1 << COUNT_SHIFT), Relaxed);
    }

    /// Removes the child under `byte`, which exists; the node is locked.
    pub(crate) fn remove_child(self, region: &'m Region, byte: u8) {
        match self.kind() {
            Kind::Node4 => self.node4(region).remove_child(byte),
            Kind::Node8 => self.node8(region).remove_child(byte),
            Kind::Node16 => self.node16(region).remove_child(byte),
            Kind::Node256 => {
                let node = self.node256(region);
                node.present.clear(byte);
                node.children[byte as usize].store(0, Release);
            }
            kind => self.ranked(region, kind).remove_child(byte),
        }
        let state = self.header.state.load(Relaxed);
        self.header.state.store(state - (1 << COUNT_SHIFT), Relaxed);
    }

    /// A fresh copy of this locked node as another kind, which must have room.
    pub(crate) fn copy_as(self, alloc: Allocator<'m>, kind: Kind) -> Result<Self> {
        let (prefix, len) = self.prefix();
        let copy = Self::create(alloc, kind, &prefix[..len])?;
        let region = alloc.region();
        let mut from = 0;
        while let Some((byte, child)) = self.child_from(region, from) {
            copy.add_child(region, byte, child);
            from = byte as usize + 1;
        }
        Ok(copy)
    }

    #[inline]
    fn node4(self, region: &'m Region) -> &'m Node4 {
        region.get(Ref::new(self.at.offset()))
    }

    #[inline]
    fn node8(self, region: &'m Region) -> &'m Node8 {
        region.get(Ref::new(self.at.offset()))
    }

    #[inline]
    fn node16(self, region: &'m Region) -> &'m Node16 {
        region.get(Ref::new(self.at.offset()))
    }

    #[inline]
    fn ranked(self, region: &'m Region, kind: Kind) -> Ranked<'m> {
        let at = self.at.offset();
        let children = at + size_of::<RankedHead>() as u64;
        Ranked::new(region.get(Ref::new(at)), region.words(children, capacity_of(kind)))
    }

    #[inline]
    fn node256(self, region: &'m Region) -> &'m Node256 {
        region.get(Ref::new(self.at.offset()))
    }
}

/// A node and the version under which it is being read.
#[derive(Clone, Copy)]
pub(super) struct ReadNode<'m> {
    pub(super) node: Node<'m>,
    pub(super) version: State,
}

/// Where a node hangs: the node above it, and the byte there.
#[derive(Clone, Copy)]
pub(super) struct Parent<'m> {
    pub(super) above: ReadNode<'m>,
    pub(super) byte: u8,
}

impl State {
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        match (self.0 >> KIND_SHIFT) as u8 {
            1 => Kind::Node4,
            2 => Kind::Node8,
            3 => Kind::Node16,
            4 => Kind::Node32,
            5 => Kind::Node64,
            6 => Kind::Node128,
            _ => Kind::Node256,
        }
    }

    #[inline]
    pub(crate) fn prefix_len(self) -> usize {
        ((self.0 >> PREFIX_LEN_SHIFT) as u8 as usize).min(PREFIX_MAX)
    }

    #[inline]
    pub(super) fn count(self) -> usize {
        (self.0 >> COUNT_SHIFT) as usize
    }

    /// Whether another child needs a larger node.
    #[inline]
    pub(crate) fn is_full(self) -> bool {
        self.count() >= capacity_of(self.kind())
    }
}

/// The state with one more change counted; the count wraps within its bits.
#[inline]
fn changed(state: u64) -> u64 {
    (state & !CHANGES_MASK) | (state.wrapping_add(CHANGE) & CHANGES_MASK)
}

/// The next larger kind.
pub(crate) fn larger(kind: Kind) -> Kind {
    match kind {
        Kind::Node4 => Kind::Node8,
        Kind::Node8 => Kind::Node16,
        Kind::Node16 => Kind::Node32,
        Kind::Node32 => Kind::Node64,
        Kind::Node64 => Kind::Node128,
        Kind::Node128 | Kind::Node256 => Kind::Node256,
    }
}

/// The smaller kind that a node with `count` children should become, with some slack so that a
/// node on the edge does not change kind with each insert and delete.
pub(crate) fn smaller(kind: Kind, count: usize) -> Option<Kind> {
    match kind {
        Kind::Node8 if count <= 3 => Some(Kind::Node4),
        Kind::Node16 if count <= 6 => Some(Kind::Node8),
        Kind::Node32 if count <= 12 => Some(Kind::Node16),
        Kind::Node64 if count <= 25 => Some(Kind::Node32),
        Kind::Node128 if count <= 50 => Some(Kind::Node64),
        Kind::Node256 if count <= 100 => Some(Kind::Node128),
        _ => None,
    }
}

/// The smallest kind for `count` children.
pub(crate) fn kind_for(count: usize) -> Kind {
    match count {
        0..=4 => Kind::Node4,
        5..=8 => Kind::Node8,
        9..=16 => Kind::Node16,
        17..=32 => Kind::Node32,
        33..=64 => Kind::Node64,
        65..=128 => Kind::Node128,
        _ => Kind::Node256,
    }
}

#[inline]
fn capacity_of(kind: Kind) -> usize {
    match kind {
        Kind::Node4 => 4,
        Kind::Node8 => 8,
        Kind::Node16 => 16,
        Kind::Node32 => 32,
        Kind::Node64 => 64,
        Kind::Node128 => 128,
        Kind::Node256 => 256,
    }
}

/// Bytes of a node of this kind.
pub(crate) fn size_of_kind(kind: Kind) -> usize {
    match kind {
        Kind::Node4 => size_of::<Node4>(),
        Kind::Node8 => size_of::<Node8>(),
        Kind::Node16 => size_of::<Node16>(),
        Kind::Node256 => size_of::<Node256>(),
        ranked => size_of::<RankedHead>() + capacity_of(ranked) * 8,
    }
}

#[inline]
fn byte_of(words: &[AtomicU64], i: usize) -> u8 {
    (words[i / 8].load(Relaxed) >> (i % 8 * 8)) as u8
}

/// The index of the first byte of `word` that equals `byte` (Mycroft's test for a zero byte).
#[inline]
fn index_in_word(word: u64, byte: u8) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let differing = word ^ (ONES * u64::from(byte));
    let zeros = differing.wrapping_sub(ONES) & !differing & HIGHS;
    zeros.trailing_zeros() as usize / 8
}

impl<const WORDS: usize, const CHILDREN: usize> Sorted<WORDS, CHILDREN> {
    #[inline]
    fn count(&self) -> usize {
        State(self.header.state.load(Relaxed)).count().min(CHILDREN)
    }

    #[inline]
    fn index_of(&self, count: usize, byte: u8) -> Option<usize> {
        for (i, word) in self.keys.iter().enumerate() {
            let index = index_in_word(word.load(Relaxed), byte);
            if index < 8 {
                return (i * 8 + index < count).then_some(i * 8 + index);
            }
        }
        None
    }

    #[inline]
    fn child(&self, count: usize, byte: u8) -> Child {
        match self.index_of(count.min(CHILDREN), byte) {
            Some(index) => Child::from_word(self.children[index].load(Acquire)),
            None => Child::None,
        }
    }

    fn child_from(&self, from: usize) -> Option<(u8, Child)> {
        let index = (0..self.count()).find(|&i| byte_of(&self.keys, i) as usize >= from)?;
        let child = Child::from_word(self.children[index].load(Acquire));
        Some((byte_of(&self.keys, index), child))
    }

    fn child_to(&self, to: isize) -> Option<(u8, Child)> {
        let index = (0..self.count()).rev().find(|&i| byte_of(&self.keys, i) as isize <= to)?;
        let child = Child::from_word(self.children[index].load(Acquire));
        Some((byte_of(&self.keys, index), child))
    }

    fn replace_child(&self, byte: u8, word: u64) {
        if let Some(index) = self.index_of(self.count(), byte) {
            self.children[index].store(word, Release);
        }
    }

    fn add_child(&self, byte: u8, word: u64) {
        let count = self.count();
        let mut index = count;
        while index > 0 && byte_of(&self.keys, index - 1) > byte {
            self.set_key(index, byte_of(&self.keys, index - 1));
            let moved = self.children[index - 1].load(Relaxed);
            self.children[index].store(moved, Release);
            index -= 1;
        }
        self.set_key(index, byte);
        self.children[index].store(word, Release);
    }

    fn remove_child(&self, byte: u8) {
        let Some(index) = self.index_of(self.count(), byte) else { return };
        let count = self.count();
        for i in index..count - 1 {
            self.set_key(i, byte_of(&self.keys, i + 1));
            self.children[i].store(self.children[i + 1].load(Relaxed), Release);
        }
        self.children[count - 1].store(0, Release);
    }

    fn set_key(&self, index: usize, byte: u8) {
        let word = &self.keys[index / 8];
        let shift = index % 8 * 8;
        let cleared = word.load(Relaxed) & !(0xff << shift);
        word.store(cleared | u64::from(byte) << shift, Relaxed);
    }
}

impl Node256 {
    #[inline]
    fn child_from(&self, from: usize) -> Option<(u8, Child)> {
        let byte = self.present.from(from)?;
        Some((byte as u8, Child::from_word(self.children[byte].load(Acquire))))
    }

    #[inline]
    fn child_to(&self, to: isize) -> Option<(u8, Child)> {
        let byte = self.present.to(to)?;
        Some((byte as u8, Child::from_word(self.children[byte].load(Acquire))))
    }
}
