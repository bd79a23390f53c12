//! Entries of rows that have ended, put in order and made as few as can be.
//!
//! A deletion that comes by its rows in the order of another key than their ids leaves an entry for
//! each. Where memory fails it, the entries that follow one another are sorted in place, those of
//! the same 64 rows become one, and the chunks behind are free. Entries that come later are looked
//! for here first. Their order among themselves means nothing, for a row ends once.

use super::{CHUNK_ENTRIES, Chunk, Entry};
use crate::memory::atomic::Relaxed;
use crate::memory::{Memory, Ref};

/// The place of an entry: its chunk, and the index in it.
#[derive(Clone, Copy)]
pub(super) struct EntryAt {
    pub(super) chunk: u64,
    pub(super) index: usize,
}

/// Entries in order.
pub(super) struct Condensed {
    /// The chunks that they lie in, the index of the first entry in the first of them, and how many
    /// entries there are.
    chunks: Vec<u64>,
    first: usize,
    count: usize,
}

impl Condensed {
    /// Puts the entries from one place to before another in order, and says how many have become
    /// parts of others. There is one at least.
    pub(super) fn of(memory: &Memory, first: EntryAt, end: EntryAt) -> (Self, usize) {
        let mut chunks = vec![first.chunk];
        while let Some(&newest) = chunks.last()
            && newest != end.chunk
        {
            chunks.push(memory.get(Ref::<Chunk>::new(newest)).next.load(Relaxed));
        }
        let before = (chunks.len() - 1) * CHUNK_ENTRIES + end.index - first.index;
        let mut all = Self { chunks, first: first.index, count: before };
        all.sort(memory);
        all.merge(memory);
        let gone = before - all.count;
        (all, gone)
    }

    /// The place behind the last entry, in the chunk that this lies in.
    pub(super) fn end(&self) -> EntryAt {
        let last = self.first + self.count - 1;
        EntryAt { chunk: self.chunks[last / CHUNK_ENTRIES], index: last % CHUNK_ENTRIES + 1 }
    }

    /// The entry with this key.
    pub(super) fn find<'m>(&self, memory: &'m Memory, key: (u32, u32)) -> Option<&'m Entry> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let entry = self.entry(memory, middle);
            match entry.key().cmp(&key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(entry),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn entry<'m>(&self, memory: &'m Memory, number: usize) -> &'m Entry {
        let at = self.first + number;
        let chunk = Ref::<Chunk>::new(self.chunks[at / CHUNK_ENTRIES]);
        &memory.get(chunk).entries[at % CHUNK_ENTRIES]
    }

    /// Sorts in place (heap sort: Williams, CACM 1964), for it is memory that is wanting.
    fn sort(&self, memory: &Memory) {
        for root in (0..self.count / 2).rev() {
            self.sift(memory, root, self.count);
        }
        for end in (1..self.count).rev() {
            self.swap(memory, 0, end);
            self.sift(memory, 0, end);
        }
    }

    /// Lets an entry sink below those with larger keys, of the first `end`.
    fn sift(&self, memory: &Memory, root: usize, end: usize) {
        let key = |number| self.entry(memory, number).key();
        let mut root = root;
        while root * 2 + 1 < end {
            let mut child = root * 2 + 1;
            if child + 1 < end && key(child) < key(child + 1) {
                child += 1;
            }
            if key(root) >= key(child) {
                return;
            }
            self.swap(memory, root, child);
            root = child;
        }
    }

    fn swap(&self, memory: &Memory, one: usize, other: usize) {
        let (one, other) = (self.entry(memory, one), self.entry(memory, other));
        let kept = Copy::of(one);
        Copy::of(other).write(one);
        kept.write(other);
    }

    /// Makes entries with the same key one.
    fn merge(&mut self, memory: &Memory) {
        let mut count = 1;
        for number in 1..self.count {
            let (entry, last) = (self.entry(memory, number), self.entry(memory, count - 1));
            if entry.key() == last.key() {
                last.word.store(last.word.load(Relaxed) | entry.word.load(Relaxed), Relaxed);
            } else {
                Copy::of(entry).write(self.entry(memory, count));
                count += 1;
            }
        }
        self.count = count;
    }
}

/// The content of an entry.
struct Copy {
    key: (u32, u32),
    word: u64,
}

impl Copy {
    fn of(entry: &Entry) -> Self {
        Self { key: entry.key(), word: entry.word.load(Relaxed) }
    }

    fn write(&self, entry: &Entry) {
        entry.table.store(self.key.0, Relaxed);
        entry.row.store(self.key.1, Relaxed);
        entry.word.store(self.word, Relaxed);
    }
}
