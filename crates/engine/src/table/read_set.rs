//! What a transaction has read, to be compared at its commit with what others changed.
//!
//! Reads are remembered as what they asked (precision locking: Jordan, Banerjee, Batman, SIGMOD
//! 1981; Neumann, Muehlbauer, Kemper, SIGMOD 2015): a row that was found, a key that may not have
//! been there, a range of keys that a cursor passed, a whole table. Rows, keys and tables are words
//! of one hash set; a range is a small block in a list. Where memory for remembering is refused,
//! the set says that *everything* was read: never less than was.
//!
//! For a snapshot that may expire the same set holds the rows that were handed out, whose versions
//! stay when it has. Others read it then, while its holder can add no more; only such a set shows
//! its blocks in the slot, and what was shown is retired, not freed.

use std::cell::Cell;

use remanent_schema::{KeyBuffer, hash_key};

use super::table::{IndexCore, TableAt};
use super::version::bytes_at;
use crate::error::Result;
use crate::memory::atomic::{AtomicU64, Relaxed, Release};
use crate::memory::{Entitlement, Heap, Memory, Purpose, Ref};
use crate::slot::Slot;

/// Bytes of a slot's first block.
const FIRST_SIZE: usize = 512;
const ROW: u64 = 1 << 62;
const KEY: u64 = 1 << 63;
const WHOLE: u64 = 1 << 61;
/// What a slot's `read_set` word has added if the set says that everything was read.
const EVERYTHING: u64 = 1;

/// What a set is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Remember {
    /// All that was asked, for a commit that is validated.
    Reads,
    /// Only whether anything was read at all.
    Whether,
    /// The rows that were handed out.
    HandedOut,
}

/// What one transaction has read.
pub(crate) struct ReadSet<'m> {
    heap: Heap<'m>,
    slot: &'m Slot,
    purpose: Cell<Remember>,
    /// Whether something was remembered that has to hold whatever the isolation.
    obliged: Cell<bool>,
    /// The slot's own block, and the one in use.
    first: u64,
    block: Cell<u64>,
    len: Cell<u64>,
    newest: Cell<u64>,
    /// A bit for each table modulo 64 of which something was read.
    tables: Cell<u64>,
    has_keys: Cell<bool>,
    everything: Cell<bool>,
    touched: Cell<bool>,
    /// The newest range.
    ranges: Cell<u64>,
}

/// A block of the hash set: how many words it has room for, then the words; 0 is none.
#[repr(C)]
struct BlockHeader {
    capacity: AtomicU64,
}

/// A range of keys of an ordered index. Each end is a row version whose key it is, or bytes that
/// keys begin with, or nothing; both ends are included. The bytes of the bound that a cursor was
/// given follow.
#[repr(C)]
struct Range {
    next: AtomicU64,
    index: AtomicU64,
    low: AtomicU64,
    high: AtomicU64,
    bound_len: AtomicU64,
}

/// An end that is the range's bound; none at all. Any other is a version.
const END_BOUND: u64 = 1;
const END_NONE: u64 = 0;

/// One end of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// There is none.
    None,
    /// The bound that the range was made with.
    Bound,
    /// The key of this row version.
    Version(u64),
}

/// While it lives, what its transaction reads is remembered and holds at the commit, whatever the
/// isolation: see [`WriteTransaction::keep_reads`](crate::WriteTransaction::keep_reads).
#[must_use = "reads are kept for as long as it lives"]
pub struct Obliged<'r> {
    purpose: &'r Cell<Remember>,
    before: Remember,
}

/// A range that grows with the cursor that made it.
#[derive(Clone, Copy)]
pub(crate) struct OpenRange(u64);

impl<'m> ReadSet<'m> {
    /// The empty read set of a slot.
    ///
    /// # Errors
    /// Memory for the slot's first block, the first time it reads.
    #[inline(always)]
    pub(crate) fn new(heap: Heap<'m>, slot: &'m Slot, purpose: Remember) -> Result<Self> {
        let mut block = slot.read_set.load(Relaxed) & !EVERYTHING;
        if block == 0 {
            block = new_block(heap, FIRST_SIZE, Entitlement::Reserve)?;
        }
        slot.read_set.store(block, Release);
        if purpose == Remember::HandedOut {
            heap.memory.header().limited.fetch_add(1, Relaxed);
        }
        Ok(Self {
            heap,
            slot,
            purpose: Cell::new(purpose),
            obliged: Cell::new(false),
            first: block,
            block: Cell::new(block),
            len: Cell::new(0),
            newest: Cell::new(0),
            tables: Cell::new(0),
            has_keys: Cell::new(false),
            everything: Cell::new(false),
            touched: Cell::new(false),
            ranges: Cell::new(0),
        })
    }

    /// What it is for.
    #[inline]
    pub(crate) fn purpose(&self) -> Remember {
        self.purpose.get()
    }

    /// Whether what is remembered has to be validated.
    #[inline]
    pub(crate) fn is_validated(&self) -> bool {
        self.purpose.get() == Remember::Reads || self.obliged.get()
    }

    /// From now until the guard is dropped, reads are remembered and will be validated under
    /// snapshot isolation too: those on which it rests that rows and sets fit together.
    pub(crate) fn oblige(&self) -> Obliged<'_> {
        let purpose = self.purpose.get();
        if purpose == Remember::Whether {
            self.purpose.set(Remember::Reads);
            self.obliged.set(true);
        }
        Obliged { purpose: &self.purpose, before: purpose }
    }

    /// Whether anything was read.
    pub(crate) fn is_touched(&self) -> bool {
        self.touched.get()
    }

    /// Notes that something is about to be read, whatever it will be.
    #[inline]
    pub(crate) fn touch(&self) {
        self.touched.set(true);
    }

    /// Remembers a row, seen or not.
    #[inline]
    pub(crate) fn add_row(&self, table: u32, row: u32) {
        if self.purpose.get() != Remember::Whether {
            self.add(table, row_word(table, row));
        }
    }

    /// Remembers a row that is handed out.
    #[inline]
    pub(crate) fn hand_out(&self, table: u32, row: u32) {
        if self.purpose.get() == Remember::HandedOut {
            self.add(table, row_word(table, row));
        }
    }

    /// Remembers that all rows with exactly this key were asked for.
    pub(crate) fn add_key(&self, table: u32, index: &IndexCore, key: &[u8]) {
        if self.purpose.get() == Remember::Reads {
            self.has_keys.set(true);
            self.add(table, key_word(table, index, key));
        }
    }

    /// Remembers that all rows of a table were asked for.
    pub(crate) fn add_table(&self, table: u32) {
        if self.purpose.get() == Remember::Reads {
            self.add(table, WHOLE | u64::from(table));
        }
    }

    /// Remembers that all rows between two ends were asked for.
    pub(crate) fn add_range(
        &self,
        table: u32,
        index: &IndexCore,
        bound: &[u8],
        (low, high): (End, End),
    ) -> Option<OpenRange> {
        self.touch();
        if self.purpose.get() != Remember::Reads || self.everything.get() {
            return None;
        }
        self.note_table(table);
        match self.new_range(u64::from(table) << 32 | index.ordinal as u64, bound) {
            Ok(at) => {
                self.ranges.set(at);
                let range = OpenRange(at);
                self.extend_low(range, low);
                self.extend_high(range, high);
                Some(range)
            }
            Err(_) => {
                self.say_everything();
                None
            }
        }
    }

    /// Moves the lower end of a range.
    #[inline]
    pub(crate) fn extend_low(&self, range: OpenRange, end: End) {
        self.range(range.0).low.store(end.to_word(), Relaxed);
    }

    /// Moves the upper end of a range.
    #[inline]
    pub(crate) fn extend_high(&self, range: OpenRange, end: End) {
        self.range(range.0).high.store(end.to_word(), Relaxed);
    }

    /// Whether nothing can have been read of a table.
    pub(crate) fn knows_not(&self, table: u32) -> bool {
        !self.everything.get() && self.tables.get() >> (table % 64) & 1 == 0
    }

    /// Whether a change of this row, whatever it was, is one of what was read.
    pub(crate) fn has_row(&self, table: u32, row: u32) -> bool {
        self.everything.get() || self.contains(row_word(table, row))
    }

    /// Whether a row of these bytes is among what was asked for.
    pub(crate) fn has_content(&self, table: TableAt<'_>, bytes: &[u8]) -> bool {
        let id = table.core.id;
        if self.contains(WHOLE | u64::from(id)) {
            return true;
        }
        let mut key = KeyBuffer::new();
        table.core.indexes().any(|index| {
            let ranged = index.is_ordered() && self.ranges.get() != 0;
            if !ranged && !self.has_keys.get() {
                return false;
            }
            // A key that cannot be encoded is in no index.
            if index.plan.encode_row(bytes, &mut key).is_err() {
                return false;
            }
            let key = key.as_slice();
            self.has_keys.get() && self.contains(key_word(id, index, key))
                || ranged && self.has_in_range(id, index, key)
        })
    }

    fn has_in_range(&self, table: u32, index: &IndexCore, key: &[u8]) -> bool {
        let memory = self.heap.memory;
        let wanted = u64::from(table) << 32 | index.ordinal as u64;
        let mut at = self.ranges.get();
        while at != 0 {
            let range = self.range(at);
            if range.index.load(Relaxed) == wanted {
                let bound = bound_of(memory, at, range);
                let compare = |at| index.plan.compare_row(bytes_at(memory, at), key);
                let below = match End::from_word(range.low.load(Relaxed)) {
                    End::None => false,
                    End::Bound => key < bound,
                    End::Version(at) => compare(at).is_gt(),
                };
                let above = match End::from_word(range.high.load(Relaxed)) {
                    End::None => false,
                    End::Bound => key > bound && !key.starts_with(bound),
                    End::Version(at) => compare(at).is_lt(),
                };
                if !below && !above {
                    return true;
                }
            }
            at = range.next.load(Relaxed);
        }
        false
    }

    fn new_range(&self, index: u64, bound: &[u8]) -> Result<u64> {
        let size = (size_of::<Range>() + bound.len()).next_multiple_of(16);
        let at = self.heap.allocate(size, Purpose::Internal, Entitlement::Ordinary)?;
        let range = self.range(at);
        range.next.store(self.ranges.get(), Relaxed);
        range.index.store(index, Relaxed);
        range.bound_len.store(bound.len() as u64, Relaxed);
        let bytes = at + size_of::<Range>() as u64;
        self.heap.region().fresh_bytes(bytes, bound.len()).copy_from_slice(bound);
        Ok(at)
    }

    #[inline]
    fn range(&self, at: u64) -> &'m Range {
        self.heap.memory.get(Ref::new(at))
    }

    #[inline]
    fn add(&self, table: u32, word: u64) {
        if word != self.newest.get() {
            self.newest.set(word);
            self.note_table(table);
            self.insert(word);
        }
    }

    fn note_table(&self, table: u32) {
        self.touched.set(true);
        self.tables.set(self.tables.get() | 1 << (table % 64));
    }

    fn insert(&self, word: u64) {
        let words = words_of(self.heap.memory, self.block.get());
        let Err(place) = find(words, word) else { return };
        if (self.len.get() + 1) * 4 > words.len() as u64 * 3 {
            if !self.everything.get() && self.grow().is_err() {
                self.say_everything();
            }
            if !self.everything.get() {
                self.insert(word);
            }
            return;
        }
        words[place].store(word, Release);
        self.len.set(self.len.get() + 1);
    }

    #[cold]
    fn grow(&self) -> Result<()> {
        let old = self.block.get();
        let words = words_of(self.heap.memory, old);
        let size = size_of_block(words.len()) * 2;
        let shared = self.purpose.get() == Remember::HandedOut;
        let queue = &self.heap.cache.retired;
        if shared {
            // For the new block, which is retired in its turn.
            queue.promise(self.heap, Entitlement::Ordinary)?;
        }
        let grown = new_block(self.heap, size, Entitlement::Ordinary).inspect_err(|_| {
            if shared {
                queue.redeem();
            }
        })?;
        let new_words = words_of(self.heap.memory, grown);
        for word in words.iter().map(|word| word.load(Relaxed)).filter(|word| *word != 0) {
            if let Err(place) = find(new_words, word) {
                new_words[place].store(word, Relaxed);
            }
        }
        self.block.set(grown);
        if shared {
            self.slot.read_set.store(grown, Release);
        }
        self.give_up(old);
        Ok(())
    }

    /// Empties the slot's own block, which stays with the slot for ever; frees any other, after its
    /// last reader if others may have found it in the slot. They may be late: what they take for
    /// the set of an earlier holder, who has ended, is then that of this one.
    fn give_up(&self, block: u64) {
        let words = words_of(self.heap.memory, block);
        if block == self.first {
            words.iter().for_each(|word| word.store(0, Relaxed));
        } else if self.purpose.get() == Remember::HandedOut {
            self.heap.cache.retired.redeem();
            self.heap.retire(block, Purpose::Internal);
        } else {
            self.heap.free(block, size_of_block(words.len()), Purpose::Internal);
        }
    }

    fn say_everything(&self) {
        self.everything.set(true);
        if self.purpose.get() == Remember::HandedOut {
            self.slot.read_set.store(self.block.get() | EVERYTHING, Release);
        }
    }

    fn contains(&self, word: u64) -> bool {
        find(words_of(self.heap.memory, self.block.get()), word).is_ok()
    }
}

impl Drop for Obliged<'_> {
    fn drop(&mut self) {
        self.purpose.set(self.before);
    }
}

impl Drop for ReadSet<'_> {
    /// Empties the set; the slot keeps its own block.
    fn drop(&mut self) {
        let memory = self.heap.memory;
        if self.purpose.get() == Remember::HandedOut {
            memory.header().limited.fetch_sub(1, Relaxed);
        }
        let mut at = self.ranges.get();
        while at != 0 {
            let next = self.range(at).next.load(Relaxed);
            self.heap.free_block(at, Purpose::Internal);
            at = next;
        }
        if self.len.get() == 0 {
            return;
        }
        self.slot.read_set.store(self.first, Release);
        self.give_up(self.block.get());
    }
}

/// Whether the holder of a slot whose snapshot has expired was given this row. For others: they ask
/// while the holder can add no more.
pub(crate) fn was_handed_out(memory: &Memory, slot: &Slot, table: u32, row: u32) -> bool {
    let block = slot.read_set.load(crate::memory::atomic::Acquire);
    block & EVERYTHING != 0
        || block == 0
        || find(words_of(memory, block), row_word(table, row)).is_ok()
}

fn row_word(table: u32, row: u32) -> u64 {
    ROW | u64::from(table) << 32 | u64::from(row)
}

fn key_word(table: u32, index: &IndexCore, key: &[u8]) -> u64 {
    let which = u64::from(table) << 8 | index.ordinal as u64;
    KEY | hash_key(key) ^ which.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Where a word is, or the place where it would be. There is always one that is empty.
fn find(words: &[AtomicU64], word: u64) -> std::result::Result<usize, usize> {
    let hash = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut place = ((u128::from(hash) * words.len() as u128) >> 64) as usize;
    // Bounded, since whoever is given a set in use by others may meet anything.
    for _ in 0..words.len() {
        match words[place].load(Relaxed) {
            0 => return Err(place),
            found if found == word => return Ok(place),
            _ => place = if place + 1 == words.len() { 0 } else { place + 1 },
        }
    }
    Err(place)
}

fn new_block(heap: Heap<'_>, size: usize, entitlement: Entitlement) -> Result<u64> {
    let at = heap.allocate(size, Purpose::Internal, entitlement)?;
    heap.region().fresh_bytes(at, size).fill(0);
    let header: &BlockHeader = heap.memory.get(Ref::new(at));
    header.capacity.store((size - size_of::<BlockHeader>()) as u64 / 8, Relaxed);
    Ok(at)
}

fn size_of_block(words: usize) -> usize {
    size_of::<BlockHeader>() + words * 8
}

fn words_of(memory: &Memory, block: u64) -> &[AtomicU64] {
    let header: &BlockHeader = memory.get(Ref::new(block));
    let capacity = header.capacity.load(Relaxed) as usize;
    memory.region().words(block + size_of::<BlockHeader>() as u64, capacity)
}

fn bound_of<'m>(memory: &'m Memory, at: u64, range: &Range) -> &'m [u8] {
    let len = range.bound_len.load(Relaxed) as usize;
    memory.region().bytes(at + size_of::<Range>() as u64, len)
}

impl End {
    fn to_word(self) -> u64 {
        match self {
            Self::None => END_NONE,
            Self::Bound => END_BOUND,
            Self::Version(at) => at,
        }
    }

    fn from_word(word: u64) -> Self {
        match word {
            END_NONE => Self::None,
            END_BOUND => Self::Bound,
            at => Self::Version(at),
        }
    }
}
