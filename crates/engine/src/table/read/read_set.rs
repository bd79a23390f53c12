//! What a transaction has read, to be compared at its commit with what others changed.
//!
//! Reads are remembered as what they asked (precision locking: Jordan, Banerjee, Batman, SIGMOD
//! 1981; Neumann, Muehlbauer, Kemper, SIGMOD 2015): a row that was found, a key that may not have
//! been there, a range of keys that a cursor passed, a whole table, the rows of a table that meet a
//! predicate. Rows, keys and tables are words of one hash set; a range is a small block in a list.
//! Where memory for remembering is refused, the set says that *everything* was read: never less
//! than was.
//!
//! For a snapshot that may expire the same set holds the rows that were handed out, whose versions
//! stay when it has. Others read it then, while its holder can add no more; only such a set shows
//! its blocks in the slot, and what was shown is retired, not freed.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use remanent_schema::{KeyBuffer, hash_key};

use crate::error::Result;
use crate::memory::atomic::{AtomicU64, Relaxed, Release};
use crate::memory::{AllocationClass, Allocator, Memory, Purpose, Ref};
use crate::slot::Slot;
use crate::table::rows::row::{Row, RowId};
use crate::table::rows::version::bytes_at;
use crate::table::table::{IndexCore, TableAt};

/// Bytes of a slot's first block.
const FIRST_SIZE: usize = 512;
const ROW: u64 = 1 << 62;
const KEY: u64 = 1 << 63;
const WHOLE: u64 = 1 << 61;
/// What a slot's `read_set` word has added if the set says that everything was read.
const EVERYTHING: u64 = 1;

/// Predicates that a set holds at most: each is asked of every row that others changed. Beyond them
/// the whole table counts as read.
const PREDICATES_MAX: usize = 64;

/// Says of a row whether a reader asked for it. It must not fail: where it cannot tell it says yes.
pub type RowPredicate = Arc<dyn Fn(&Row<'_>) -> bool + Send + Sync>;

/// The purpose of a read set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Remember {
    /// All that was asked, for a commit that is validated.
    Reads,
    /// Only whether anything was read at all.
    Whether,
    /// The rows that were handed out.
    HandedOut,
}

/// The read set of one transaction.
pub(crate) struct ReadSet<'m> {
    alloc: Allocator<'m>,
    slot: &'m Slot,
    purpose: Cell<Remember>,
    /// Whether something was remembered that has to hold whatever the isolation.
    forced: Cell<bool>,
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
    predicates: RefCell<Vec<(u32, RowPredicate)>>,
}

/// A block of the hash set: how many words it has room for, then the words; 0 is none.
#[repr(C)]
struct BlockHeader {
    capacity: AtomicU64,
}

/// A range of keys of an ordered index. Each end is a row version whose key it is, which is
/// included, or the bound that the cursor was given there, or nothing. The bytes of both bounds
/// follow, the low one first.
#[repr(C)]
struct Range {
    next: AtomicU64,
    index: AtomicU64,
    low: AtomicU64,
    high: AtomicU64,
    low_len: AtomicU64,
    high_len: AtomicU64,
}

/// The index of a range that says nothing any more.
const NOWHERE: u64 = u64::MAX;

/// What the length of a bound has added if keys that begin with it are not in the range.
const EXCLUDED: u64 = 1 << 63;

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

/// An end of a range: the bytes that keys begin with there, and whether these are in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangeBound<'k> {
    pub(crate) bytes: &'k [u8],
    pub(crate) included: bool,
}

/// A bound of a range, and the end that it has at first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side<'k> {
    pub(crate) bound: RangeBound<'k>,
    pub(crate) end: End,
}

/// While it lives, what its transaction reads is remembered and holds at the commit, whatever the
/// isolation: see [`WriteTransaction::keep_reads`](crate::WriteTransaction::keep_reads).
#[must_use = "reads are kept for as long as it lives"]
pub struct ReadTracking<'r> {
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
    pub(crate) fn new(alloc: Allocator<'m>, slot: &'m Slot, purpose: Remember) -> Result<Self> {
        let mut block = slot.read_set.load(Relaxed) & !EVERYTHING;
        if block == 0 {
            block = new_block(alloc, FIRST_SIZE, AllocationClass::Emergency)?;
        }
        slot.read_set.store(block, Release);
        if purpose == Remember::HandedOut {
            alloc.memory.header().limited.fetch_add(1, Relaxed);
        }
        Ok(Self {
            alloc,
            slot,
            purpose: Cell::new(purpose),
            forced: Cell::new(false),
            first: block,
            block: Cell::new(block),
            len: Cell::new(0),
            newest: Cell::new(0),
            tables: Cell::new(0),
            has_keys: Cell::new(false),
            everything: Cell::new(false),
            touched: Cell::new(false),
            ranges: Cell::new(0),
            predicates: RefCell::new(Vec::new()),
        })
    }

    /// Its purpose.
    #[inline]
    pub(crate) fn purpose(&self) -> Remember {
        self.purpose.get()
    }

    /// Whether what is remembered has to be validated.
    #[inline]
    pub(crate) fn is_validated(&self) -> bool {
        self.purpose.get() == Remember::Reads || self.forced.get()
    }

    /// From now until the guard is dropped, reads are remembered and will be validated under
    /// snapshot isolation too: those on which it rests that rows and sets fit together.
    pub(crate) fn force_read_tracking(&self) -> ReadTracking<'_> {
        let purpose = self.purpose.get();
        if purpose == Remember::Whether {
            self.purpose.set(Remember::Reads);
            self.forced.set(true);
        }
        ReadTracking { purpose: &self.purpose, before: purpose }
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

    /// Remembers that all rows of a table that meet a predicate were asked for.
    pub(crate) fn add_predicate(&self, table: u32, predicate: &RowPredicate) {
        if self.purpose.get() != Remember::Reads {
            return;
        }
        let mut predicates = self.predicates.borrow_mut();
        if predicates.len() == PREDICATES_MAX {
            return self.add_table(table);
        }
        self.note_table(table);
        predicates.push((table, Arc::clone(predicate)));
    }

    /// Remembers that all rows between two ends were asked for.
    pub(crate) fn add_range(
        &self,
        table: u32,
        index: &IndexCore,
        low: Side<'_>,
        high: Side<'_>,
    ) -> Option<OpenRange> {
        self.touch();
        if self.purpose.get() != Remember::Reads || self.everything.get() {
            return None;
        }
        self.note_table(table);
        match self.new_range(u64::from(table) << 32 | index.ordinal as u64, low.bound, high.bound) {
            Ok(at) => {
                self.ranges.set(at);
                let range = OpenRange(at);
                self.extend_low(range, low.end);
                self.extend_high(range, high.end);
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
    pub(crate) fn has_content(&self, table: TableAt<'_>, row: u32, bytes: &[u8]) -> bool {
        let id = table.core.id;
        if self.contains(WHOLE | u64::from(id)) || self.meets_predicate(table, row, bytes) {
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

    fn meets_predicate(&self, table: TableAt<'_>, row: u32, bytes: &[u8]) -> bool {
        let row = Row::of_bytes(&table.core.layout, bytes, RowId(row));
        let predicates = self.predicates.borrow();
        predicates.iter().any(|(of, predicate)| *of == table.core.id && predicate(&row))
    }

    fn has_in_range(&self, table: u32, index: &IndexCore, key: &[u8]) -> bool {
        let memory = self.alloc.memory;
        let wanted = u64::from(table) << 32 | index.ordinal as u64;
        let mut at = self.ranges.get();
        while at != 0 {
            let range = self.range(at);
            if range.index.load(Relaxed) == wanted {
                let (low, high) = bounds_of(memory, at, range);
                let compare = |at| index.plan.compare_row(bytes_at(memory, at), key);
                let below = match End::from_word(range.low.load(Relaxed)) {
                    End::None => false,
                    End::Bound => low.is_above(key),
                    End::Version(at) => compare(at).is_gt(),
                };
                let above = match End::from_word(range.high.load(Relaxed)) {
                    End::None => false,
                    End::Bound => high.is_below(key),
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

    /// Exchanges ends of ranges that are versions for bounds: a newer snapshot does not hold them.
    /// `encode` writes the key that a version has in an index of a table, by its number there.
    /// Where memory is refused, everything was read.
    pub(crate) fn let_versions_go(
        &self,
        encode: impl Fn((u32, usize), u64, &mut KeyBuffer) -> bool,
    ) {
        let mut at = self.ranges.get();
        while at != 0 {
            let range = self.range(at);
            let index = range.index.load(Relaxed);
            let which = ((index >> 32) as u32, index as u32 as usize);
            let ends = [&range.low, &range.high].map(|end| End::from_word(end.load(Relaxed)));
            if index != NOWHERE && ends.iter().any(|end| matches!(end, End::Version(_))) {
                let mut keys = [KeyBuffer::new(), KeyBuffer::new()];
                let known = ends.iter().zip(&mut keys).all(|(end, key)| match *end {
                    End::Version(version) => encode(which, version, key),
                    _ => true,
                });
                let (low, high) = bounds_of(self.alloc.memory, at, range);
                let bounds = [(ends[0], low, &keys[0]), (ends[1], high, &keys[1])];
                let [low, high] = bounds.map(|(end, bound, key)| match end {
                    End::Version(_) => (RangeBound::at(key.as_slice()), End::Bound),
                    _ => (bound, end),
                });
                match self.new_range(index, low.0, high.0) {
                    Ok(merged) if known => {
                        self.ranges.set(merged);
                        self.extend_low(OpenRange(merged), low.1);
                        self.extend_high(OpenRange(merged), high.1);
                        // It stays, for a cursor that would extend it.
                        range.index.store(NOWHERE, Relaxed);
                    }
                    _ => return self.say_everything(),
                }
            }
            at = range.next.load(Relaxed);
        }
    }

    fn new_range(&self, index: u64, low: RangeBound<'_>, high: RangeBound<'_>) -> Result<u64> {
        let len = low.bytes.len() + high.bytes.len();
        let size = (size_of::<Range>() + len).next_multiple_of(16);
        let at = self.alloc.allocate(size, Purpose::Internal, AllocationClass::Normal)?;
        let range = self.range(at);
        range.next.store(self.ranges.get(), Relaxed);
        range.index.store(index, Relaxed);
        range.low_len.store(low.to_word(), Relaxed);
        range.high_len.store(high.to_word(), Relaxed);
        let bytes = self.alloc.region().fresh_bytes(at + size_of::<Range>() as u64, len);
        let (low_bytes, high_bytes) = bytes.split_at_mut(low.bytes.len());
        low_bytes.copy_from_slice(low.bytes);
        high_bytes.copy_from_slice(high.bytes);
        Ok(at)
    }

    #[inline]
    fn range(&self, at: u64) -> &'m Range {
        self.alloc.memory.get(Ref::new(at))
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
        let words = words_of(self.alloc.memory, self.block.get());
        let Err(bucket) = find(words, word) else { return };
        if (self.len.get() + 1) * 4 > words.len() as u64 * 3 {
            if !self.everything.get() && self.grow().is_err() {
                self.say_everything();
            }
            if !self.everything.get() {
                self.insert(word);
            }
            return;
        }
        words[bucket].store(word, Release);
        self.len.set(self.len.get() + 1);
    }

    #[cold]
    fn grow(&self) -> Result<()> {
        let old = self.block.get();
        let words = words_of(self.alloc.memory, old);
        let size = size_of_block(words.len()) * 2;
        let shared = self.purpose.get() == Remember::HandedOut;
        let queue = &self.alloc.cache.retired;
        if shared {
            // For the new block, which is retired in its turn.
            queue.reserve(self.alloc, AllocationClass::Normal)?;
        }
        let grown = new_block(self.alloc, size, AllocationClass::Normal).inspect_err(|_| {
            if shared {
                queue.release();
            }
        })?;
        let new_words = words_of(self.alloc.memory, grown);
        for word in words.iter().map(|word| word.load(Relaxed)).filter(|word| *word != 0) {
            if let Err(bucket) = find(new_words, word) {
                new_words[bucket].store(word, Relaxed);
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
        let words = words_of(self.alloc.memory, block);
        if block == self.first {
            words.iter().for_each(|word| word.store(0, Relaxed));
        } else if self.purpose.get() == Remember::HandedOut {
            self.alloc.cache.retired.release();
            self.alloc.retire(block, Purpose::Internal);
        } else {
            self.alloc.free(block, size_of_block(words.len()), Purpose::Internal);
        }
    }

    fn say_everything(&self) {
        self.everything.set(true);
        if self.purpose.get() == Remember::HandedOut {
            self.slot.read_set.store(self.block.get() | EVERYTHING, Release);
        }
    }

    fn contains(&self, word: u64) -> bool {
        find(words_of(self.alloc.memory, self.block.get()), word).is_ok()
    }
}

impl Drop for ReadTracking<'_> {
    fn drop(&mut self) {
        self.purpose.set(self.before);
    }
}

impl Drop for ReadSet<'_> {
    /// Empties the set; the slot keeps its own block.
    fn drop(&mut self) {
        let memory = self.alloc.memory;
        if self.purpose.get() == Remember::HandedOut {
            memory.header().limited.fetch_sub(1, Relaxed);
        }
        let mut at = self.ranges.get();
        while at != 0 {
            let next = self.range(at).next.load(Relaxed);
            self.alloc.free_block(at, Purpose::Internal);
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
    KEY | hash_key(0, key) ^ which.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Where a word is, or the place where it would be. There is always one that is empty.
fn find(words: &[AtomicU64], word: u64) -> std::result::Result<usize, usize> {
    let hash = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut bucket = ((u128::from(hash) * words.len() as u128) >> 64) as usize;
    // Bounded, since whoever is given a set in use by others may meet anything.
    for _ in 0..words.len() {
        match words[bucket].load(Relaxed) {
            0 => return Err(bucket),
            found if found == word => return Ok(bucket),
            _ => bucket = if bucket + 1 == words.len() { 0 } else { bucket + 1 },
        }
    }
    Err(bucket)
}

fn new_block(alloc: Allocator<'_>, size: usize, class: AllocationClass) -> Result<u64> {
    let at = alloc.allocate(size, Purpose::Internal, class)?;
    alloc.region().fresh_bytes(at, size).fill(0);
    let header: &BlockHeader = alloc.memory.get(Ref::new(at));
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

/// The bounds of the range at `at`.
fn bounds_of<'m>(memory: &'m Memory, at: u64, range: &Range) -> (RangeBound<'m>, RangeBound<'m>) {
    let (low, high) = (range.low_len.load(Relaxed), range.high_len.load(Relaxed));
    let bytes = |from: u64, len: u64| memory.region().bytes(from, len as usize);
    let (low_len, high_len) = (low & !EXCLUDED, high & !EXCLUDED);
    let first = at + size_of::<Range>() as u64;
    let bound = |bytes, word: u64| RangeBound { bytes, included: word & EXCLUDED == 0 };
    (bound(bytes(first, low_len), low), bound(bytes(first + low_len, high_len), high))
}

impl<'k> RangeBound<'k> {
    /// None, or one that an end does not use.
    pub(crate) const NONE: RangeBound<'static> = RangeBound { bytes: &[], included: true };

    /// Keys from those that begin with these bytes on, or up to them.
    pub(crate) fn at(bytes: &'k [u8]) -> Self {
        Self { bytes, included: true }
    }

    /// Whether a key comes before a range that begins here.
    pub(crate) fn is_above(&self, key: &[u8]) -> bool {
        key < self.bytes || !self.included && key.starts_with(self.bytes)
    }

    /// Whether a key comes behind a range that ends here.
    pub(crate) fn is_below(&self, key: &[u8]) -> bool {
        key > self.bytes && !(self.included && key.starts_with(self.bytes))
            || !self.included && key == self.bytes
    }

    fn to_word(self) -> u64 {
        self.bytes.len() as u64 | if self.included { 0 } else { EXCLUDED }
    }
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
