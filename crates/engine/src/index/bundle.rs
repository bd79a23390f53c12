//! Bundles: small subtrees that are one word.
//!
//! Where rows were inserted in the order of their keys, neighbours in the index are neighbours in
//! the table: the lines of an order, the readings of a sensor. A bundle says of up to eight bytes
//! that follow one another which have entries, and the row of the first; each further byte's row is
//! as much further. Its prefix is one that numbers have: any byte, and zeros behind it. So such a
//! subtree takes the 8 bytes of a child's word, where a node and its leaves would take 64 or 96.
//!
//! A bundle has at least two entries, all plain and without a hint. It is changed, as any child's
//! word, under the latch of the node that it hangs at: an entry is taken out of it in place; any
//! other change makes a node of it first.

use super::EntryKey;
use super::node::{Child, Leaf, NODE_LEAVES_MAX, PREFIX_MAX};
use super::ordered::Found;

/// The word of a bundle: from the lowest bit on 2 bits that tell it from other words, 8 for the
/// bytes that have entries, 8 for the first of these bytes, 4 for the length of the prefix, 8 for
/// its first byte, 32 for the row of the first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bundle(u64);

/// Bytes that a bundle spans at most.
const SPAN: usize = 8;

const PRESENT_SHIFT: u32 = 2;
const FIRST_SHIFT: u32 = 10;
const PREFIX_LEN_SHIFT: u32 = 18;
const PREFIX_SHIFT: u32 = 22;
const ROW_SHIFT: u32 = 30;

/// The most bytes of a prefix.
const BUNDLE_PREFIX_MAX: usize = 15;

const _: () = assert!(BUNDLE_PREFIX_MAX <= PREFIX_MAX);
const _: () = assert!(ROW_SHIFT + u32::BITS <= u64::BITS);

impl Bundle {
    /// The tag that distinguishes a bundle's word from those of leaves, which are odd, and of
    /// nodes, whose offsets are multiples of 16.
    const TAG: u64 = 2;
    const TAG_MASK: u64 = 3;

    /// The bundle of these entries, byte and row, in the order of their bytes; `None` if they are
    /// none, or one of them is said not to be of a bundle.
    pub(super) fn of(
        prefix: &[u8],
        mut entries: impl Iterator<Item = Option<(u8, u32)>>,
    ) -> Option<Self> {
        let (first, first_row) = entries.next()??;
        let mut present = 1_u64;
        for entry in entries {
            let (byte, row) = entry?;
            let offset = byte.checked_sub(first).filter(|offset| usize::from(*offset) < SPAN)?;
            if row != first_row.checked_add(offset.into())? {
                return None;
            }
            present |= 1 << offset;
        }
        let word = u64::from(first_row) << ROW_SHIFT
            | u64::from(first) << FIRST_SHIFT
            | present << PRESENT_SHIFT
            | Self::TAG;
        Self(word).behind(prefix).filter(|bundle| bundle.count() > 1)
    }

    /// The bundle with this prefix instead of its own; `None` if a bundle cannot have it.
    fn behind(self, prefix: &[u8]) -> Option<Self> {
        let first = prefix.first().copied().unwrap_or(0);
        if prefix.len() > BUNDLE_PREFIX_MAX || prefix.iter().skip(1).any(|byte| *byte != 0) {
            return None;
        }
        let own = 0xff << PREFIX_SHIFT | 0xf << PREFIX_LEN_SHIFT;
        let prefix = u64::from(first) << PREFIX_SHIFT | (prefix.len() as u64) << PREFIX_LEN_SHIFT;
        Some(Self(self.0 & !own | prefix))
    }

    /// The bundle with more bytes in front of its prefix; `None` if a bundle cannot have them.
    pub(super) fn under(self, above: &[u8]) -> Option<Self> {
        let (prefix, len) = self.prefix();
        self.behind(&[above, &prefix[..len]].concat())
    }

    /// The bundle that a child's word is, if it is one.
    #[inline]
    pub(super) fn of_word(word: u64) -> Option<Self> {
        (word & Self::TAG_MASK == Self::TAG).then_some(Self(word))
    }

    /// The word that a child with this bundle is.
    #[inline]
    pub(super) fn to_word(self) -> u64 {
        self.0
    }

    /// The number of entries.
    pub(crate) fn count(self) -> usize {
        self.present().count_ones() as usize
    }

    /// Length of the shared prefix.
    #[inline]
    pub(super) fn prefix_len(self) -> usize {
        (self.0 >> PREFIX_LEN_SHIFT) as usize & 0xf
    }

    /// Byte `i` of the shared prefix.
    #[inline]
    pub(super) fn prefix_byte(self, i: usize) -> u8 {
        if i == 0 { (self.0 >> PREFIX_SHIFT) as u8 } else { 0 }
    }

    /// The shared prefix.
    pub(super) fn prefix(self) -> ([u8; PREFIX_MAX], usize) {
        let mut bytes = [0; PREFIX_MAX];
        bytes[0] = self.prefix_byte(0);
        (bytes, self.prefix_len())
    }

    /// The leaf under `byte`, if there is one.
    #[inline]
    pub(super) fn leaf(self, byte: u8) -> Option<Leaf> {
        let offset = byte.wrapping_sub(self.first());
        let is_there = usize::from(offset) < SPAN && self.present() >> offset & 1 == 1;
        is_there.then(|| Leaf::plain(self.first_row().wrapping_add(offset.into()), 0))
    }

    /// Looks up the rest of a key, behind the bytes that lead here.
    #[inline]
    pub(super) fn lookup(self, rest: &[u8]) -> Found {
        let len = self.prefix_len();
        if rest.iter().take(len).enumerate().any(|(i, byte)| *byte != self.prefix_byte(i)) {
            return Found::None;
        }
        let Some(byte) = rest.get(len) else { return Found::Many };
        match self.leaf(*byte) {
            Some(leaf) => Found::One { leaf, exact: len + 1 == rest.len() },
            None => Found::None,
        }
    }

    /// The first leaf under a byte of at least `from`.
    pub(super) fn leaf_from(self, from: usize) -> Option<(u8, Leaf)> {
        (from.max(self.first().into())..self.end())
            .find_map(|byte| Some((byte as u8, self.leaf(byte as u8)?)))
    }

    /// The last leaf under a byte of at most `to`; `to` may be -1.
    pub(super) fn leaf_to(self, to: isize) -> Option<(u8, Leaf)> {
        let end = self.end().min(usize::try_from(to + 1).ok()?);
        (self.first().into()..end).rev().find_map(|byte| Some((byte as u8, self.leaf(byte as u8)?)))
    }

    /// The leaves that follow `byte`, as [`Node::leaves_beyond`](super::node::Node::leaves_beyond)
    /// gives them.
    pub(super) fn leaves_beyond(self, byte: u8, out: &mut [u64; NODE_LEAVES_MAX]) -> (usize, u8) {
        let (mut count, mut last) = (0, byte);
        while let Some((next, leaf)) = self.leaf_from(usize::from(last) + 1) {
            out[count] = leaf.to_word();
            (count, last) = (count + 1, next);
        }
        (count, last)
    }

    /// The leaf at the end of the entry's path, which the entry's bytes up to `depth` lead to this
    /// bundle of; `None` if the bundle has nothing there.
    pub(super) fn leaf_of(self, entry: EntryKey<'_>, depth: usize) -> Option<Leaf> {
        let len = self.prefix_len();
        let has_prefix = (0..len).all(|i| self.prefix_byte(i) == entry.byte(depth + i));
        self.leaf(entry.byte(depth + len)).filter(|_| has_prefix)
    }

    /// The bundle without the entry of a row.
    pub(super) fn without_row(self, row: u32) -> Child {
        let offset = row.wrapping_sub(self.first_row());
        let entry = if offset < SPAN as u32 { 1 << (PRESENT_SHIFT + offset) } else { 0 };
        let rest = Self(self.0 & !entry);
        match rest.leaf_from(0) {
            Some((_, leaf)) if rest.count() == 1 => Child::Leaf(leaf),
            Some(_) => Child::Bundle(rest),
            None => Child::None,
        }
    }

    #[inline]
    fn first(self) -> u8 {
        (self.0 >> FIRST_SHIFT) as u8
    }

    #[inline]
    fn present(self) -> u8 {
        (self.0 >> PRESENT_SHIFT) as u8
    }

    #[inline]
    fn first_row(self) -> u32 {
        (self.0 >> ROW_SHIFT) as u32
    }

    /// The byte behind the last that a bundle with this first byte can have.
    #[inline]
    fn end(self) -> usize {
        (usize::from(self.first()) + SPAN).min(256)
    }
}
