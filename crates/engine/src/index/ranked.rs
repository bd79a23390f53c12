//! Ranked nodes of the ordered index, and the bits that say which key bytes have children.
//!
//! The children lie side by side in the order of their bytes. As many bits as are set before a
//! byte's, so many children are before its, and the bits of 64 bytes are counted with one look;
//! those before them are counted in the ranks. So a child takes 8 bytes, whatever its byte is.
//! The rules of the version latch are those of `node.rs`: who reads while a node is being changed
//! may find any of its children, or none, and looks again.

use super::node::{Child, NodeHeader};
use crate::memory::atomic::{Acquire, AtomicU64, Relaxed, Release};

/// A bit for each key byte that has a child: a walk in key order finds the next one in four words
/// instead of 256 places. A look-up does not need it.
#[repr(C)]
pub(super) struct Present([AtomicU64; 4]);

/// The header of a ranked node; its children lie behind it.
#[repr(C)]
pub(super) struct RankedHead {
    header: NodeHeader,
    present: Present,
    /// In byte `i`, how many children are before those whose bits are in word `i`.
    ranks: AtomicU64,
}

/// A ranked node: its head, and room for its children.
#[derive(Clone, Copy)]
pub(super) struct Ranked<'m> {
    head: &'m RankedHead,
    children: &'m [AtomicU64],
}

const _: () = assert!(size_of::<RankedHead>() == 64);

impl Present {
    /// The first byte of at least `from` that has a child.
    #[inline]
    pub(super) fn from(&self, from: usize) -> Option<usize> {
        let first = from / 64;
        (first..4).find_map(|word| {
            let mask = if word == first { u64::MAX << (from % 64) } else { u64::MAX };
            let bits = self.0[word].load(Relaxed) & mask;
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })
    }

    /// The last byte of at most `to` that has a child; `to` may be -1.
    #[inline]
    pub(super) fn to(&self, to: isize) -> Option<usize> {
        let to = usize::try_from(to).ok()?;
        let last = to / 64;
        (0..=last).rev().find_map(|word| {
            let mask = if word == last { u64::MAX >> (63 - to % 64) } else { u64::MAX };
            let bits = self.0[word].load(Relaxed) & mask;
            (bits != 0).then(|| word * 64 + 63 - bits.leading_zeros() as usize)
        })
    }

    pub(super) fn set(&self, byte: u8) {
        let word = &self.0[usize::from(byte / 64)];
        word.store(word.load(Relaxed) | 1 << (byte % 64), Release);
    }

    pub(super) fn clear(&self, byte: u8) {
        let word = &self.0[usize::from(byte / 64)];
        word.store(word.load(Relaxed) & !(1 << (byte % 64)), Release);
    }
}

impl<'m> Ranked<'m> {
    pub(super) fn new(head: &'m RankedHead, children: &'m [AtomicU64]) -> Self {
        Self { head, children }
    }

    fn count(&self) -> usize {
        let count = self.head.header.state().count();
        count.min(self.children.len())
    }

    /// How many children have lesser bytes, and whether the byte has one; while the node is being
    /// changed, any.
    #[inline]
    fn rank(&self, byte: u8) -> (usize, bool) {
        let (word, bit) = (usize::from(byte / 64), 1 << (byte % 64));
        let bits = self.head.present.0[word].load(Relaxed);
        let before = (self.head.ranks.load(Relaxed) >> (word * 8)) as u8;
        (usize::from(before) + (bits & (bit - 1)).count_ones() as usize, bits & bit != 0)
    }

    #[inline]
    pub(super) fn child(&self, byte: u8) -> Child {
        match self.rank(byte) {
            (index, true) => self
                .children
                .get(index)
                .map_or(Child::None, |child| Child::from_word(child.load(Acquire))),
            _ => Child::None,
        }
    }

    #[inline]
    pub(super) fn child_from(&self, from: usize) -> Option<(u8, Child)> {
        let byte = self.head.present.from(from)? as u8;
        Some((byte, self.child(byte)))
    }

    #[inline]
    pub(super) fn child_to(&self, to: isize) -> Option<(u8, Child)> {
        let byte = self.head.present.to(to)? as u8;
        Some((byte, self.child(byte)))
    }

    pub(super) fn replace_child(&self, byte: u8, word: u64) {
        self.children[self.rank(byte).0].store(word, Release);
    }

    pub(super) fn add_child(&self, byte: u8, word: u64) {
        let (index, _) = self.rank(byte);
        for i in (index..self.count()).rev() {
            self.children[i + 1].store(self.children[i].load(Relaxed), Release);
        }
        self.children[index].store(word, Release);
        self.head.present.set(byte);
        let ranks = self.head.ranks.load(Relaxed);
        self.head.ranks.store(ranks + ranks_behind(byte), Release);
    }

    pub(super) fn remove_child(&self, byte: u8) {
        let ((index, _), count) = (self.rank(byte), self.count());
        let ranks = self.head.ranks.load(Relaxed);
        self.head.ranks.store(ranks - ranks_behind(byte), Release);
        self.head.present.clear(byte);
        for i in index..count - 1 {
            self.children[i].store(self.children[i + 1].load(Relaxed), Release);
        }
        self.children[count - 1].store(0, Release);
    }
}

/// One in each byte of the ranks that counts a child with this byte.
fn ranks_behind(byte: u8) -> u64 {
    0x0101_0101 & (0x00ff_ffff_ff00 << (byte / 64 * 8))
}
