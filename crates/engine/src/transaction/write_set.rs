//! The write set: every change of a transaction, in order, in chunks in the region.
//!
//! Rows that are inserted one behind the other are one entry, a *run*, however many they are: the
//! directory of rows knows their versions, so a burst of insertions costs nothing here. The first
//! chunk stays with the slot, so that small transactions allocate nothing for it. A savepoint is a
//! number of changes; rolling back takes entries off the end, and no run reaches over a savepoint.
//! A *segment* is one entry too: rows that were inserted as columns (`table/laid_segment.rs`).
//!
//! Rows that end in place are noted by a bit for each, 64 to an entry, also where they come in no
//! order and memory fails (`stretch`): a deletion of any size takes a hundredth of what it deletes.
//!
//! Each change has left promises of room in the retire queue behind, one and those that it says; of
//! a run or of rows that have ended two are kept, of a segment one: what clearing them away takes.

mod stretch;

use std::cell::Cell;

use crate::error::Result;
use crate::memory::atomic::{AtomicU32, AtomicU64, Relaxed};
use crate::memory::{Entitlement, Heap, Purpose, Ref};
use crate::slot::Slot;
use crate::table::table::Change;
use stretch::Condensed;

const CHUNK_ENTRIES: usize = 31;
/// In an entry's word: it is a run, and the word's other bits are how many rows it has.
const RUN: u64 = 1;
/// It is a segment, and the word's bits above these two are how many rows it has.
const SEGMENT: u64 = 2;
/// Promises that are kept for a run, and for rows that have ended.
const PROMISES_OF_RUN: u64 = 2;
pub(crate) const PROMISES_OF_ENDED: u64 = 2;
/// The high bits of an entry's table are the promises that a change has left behind the first, or
/// this: it is rows that have ended, of the 64 from `row` on those whose bits are set in the word.
const TABLE_BITS: u32 = 24;
const ENDED: u32 = 0xff << TABLE_BITS;
const ROWS_OF_ENDED: u32 = 64;

/// The changes of one transaction.
pub(crate) struct WriteSet<'m> {
    heap: Heap<'m>,
    first: u64,
    /// The chunk that the next change goes to, and its place in it.
    current: Cell<u64>,
    place: Cell<u32>,
    len: Cell<u64>,
    /// Whether the newest entry must not be extended.
    sealed: Cell<bool>,
    /// Whether there may be segments among the entries.
    has_segments: Cell<bool>,
    /// Whether the newest entries are a stretch of rows that have ended, which begins where the
    /// slot's cache says, and the first of them, if they are in order.
    in_stretch: Cell<bool>,
    condensed: Cell<Option<Box<Condensed>>>,
}

/// What an entry is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Written {
    /// One change.
    One(Change),
    /// So many rows inserted, from this one on.
    Run { first: u32, count: u32 },
    /// So many rows inserted as columns; the first of them.
    Segment { first: u32, count: u32 },
    /// Rows that have ended in place: those whose bits are set, of the 64 from the first on.
    Ended { first: u32, bits: u64 },
}

/// Where a write set ends: to go on with it later.
pub(crate) type WriteSetEnd = [AtomicU64; 3];

#[repr(C)]
struct Chunk {
    previous: AtomicU64,
    next: AtomicU64,
    entries: [Entry; CHUNK_ENTRIES],
}

#[repr(C)]
struct Entry {
    table: AtomicU32,
    row: AtomicU32,
    /// The version of one change, or the length of a run.
    word: AtomicU64,
}

const _: () = assert!(size_of::<Chunk>() == 512);

impl Written {
    /// How many changes it is.
    pub(crate) fn len(self) -> u64 {
        match self {
            Self::One(_) => 1,
            Self::Run { count, .. } | Self::Segment { count, .. } => u64::from(count),
            Self::Ended { bits, .. } => bits.count_ones().into(),
        }
    }

    /// Promises of room in the retire queue that are kept for it.
    pub(crate) fn promises(self) -> u64 {
        match self {
            Self::Segment { .. } => 1,
            Self::One(change) => 1 + u64::from(change.places),
            Self::Run { .. } => self.len().min(PROMISES_OF_RUN),
            Self::Ended { .. } => PROMISES_OF_ENDED,
        }
    }
}

impl<'m> WriteSet<'m> {
    /// The empty write set of a slot.
    ///
    /// # Errors
    /// Memory for the slot's first chunk, the first time it writes.
    #[inline]
    pub(crate) fn new(heap: Heap<'m>, slot: &Slot) -> Result<Self> {
        let mut first = slot.write_set.load(Relaxed);
        if first == 0 {
            heap.cache.retired.keep_apart(heap)?;
            let size = size_of::<Chunk>();
            first = heap.allocate(size, Purpose::Internal, Entitlement::Reserve)?;
            heap.region().fresh_bytes(first, size).fill(0);
            slot.write_set.store(first, Relaxed);
        }
        Ok(Self {
            heap,
            first,
            current: Cell::new(first),
            place: Cell::new(0),
            len: Cell::new(0),
            sealed: Cell::new(true),
            has_segments: Cell::new(false),
            in_stretch: Cell::new(false),
            condensed: Cell::new(None),
        })
    }

    /// The write set that the slot's last transaction has left.
    pub(crate) fn resume(heap: Heap<'m>, slot: &Slot, end: &WriteSetEnd) -> Self {
        let [current, place, len] = end.each_ref().map(|word| word.load(Relaxed));
        Self {
            heap,
            first: slot.write_set.load(Relaxed),
            current: Cell::new(current),
            place: Cell::new(place as u32),
            len: Cell::new(len),
            sealed: Cell::new(true),
            has_segments: Cell::new(true),
            in_stretch: Cell::new(false),
            condensed: Cell::new(None),
        }
    }

    /// Notes where it ends.
    pub(crate) fn leave(&self, end: &WriteSetEnd) {
        let words = [self.current.get(), self.place() as u64, self.len.get()];
        for (word, value) in end.iter().zip(words) {
            word.store(value, Relaxed);
        }
    }

    #[inline]
    fn place(&self) -> usize {
        self.place.get() as usize
    }

    #[inline]
    fn set_place(&self, place: usize) {
        self.place.set(place as u32);
    }

    /// Changes in the set.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.len.get()
    }

    /// Changes in the set, and no entry will reach over them: it can be rolled back to here.
    #[inline]
    pub(crate) fn mark(&self) -> u64 {
        self.sealed.set(true);
        self.in_stretch.set(false);
        self.len.get()
    }

    /// Makes sure that one more change fits.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    #[inline]
    pub(crate) fn make_room(&self, entitlement: Entitlement) -> Result<()> {
        if self.place() < CHUNK_ENTRIES {
            return Ok(());
        }
        self.add_chunk(entitlement)
    }

    /// Adds a change for which room was made; `fresh` if it is an insertion.
    #[inline]
    pub(crate) fn push(&self, table: u32, change: Change, fresh: bool) {
        self.len.set(self.len.get() + 1);
        if fresh && self.extend(table, change.row) {
            return;
        }
        if change.is_end() {
            return self.push_ended(table, change.row);
        }
        let place = self.place();
        let entry = &self.chunk(self.current.get()).entries[place];
        entry.table.store(table | u32::from(change.places) << TABLE_BITS, Relaxed);
        entry.row.store(change.row, Relaxed);
        entry.word.store(change.version, Relaxed);
        self.set_place(place + 1);
        self.sealed.set(!fresh);
        self.in_stretch.set(false);
    }

    /// Adds a row that has ended in place.
    fn push_ended(&self, table: u32, row: u32) {
        let bit = 1 << (row % ROWS_OF_ENDED);
        if let Some(entry) = self.ended_beside(table, row) {
            return entry.word.store(entry.word.load(Relaxed) | bit, Relaxed);
        }
        let place = self.place();
        if !self.in_stretch.replace(true) {
            let start = [self.current.get(), place as u64];
            start.iter().zip(&self.heap.cache.stretch).for_each(|(at, it)| it.store(*at, Relaxed));
            self.condensed.set(None);
        }
        let entry = &self.chunk(self.current.get()).entries[place];
        entry.table.store(table | ENDED, Relaxed);
        entry.row.store(row - row % ROWS_OF_ENDED, Relaxed);
        entry.word.store(bit, Relaxed);
        self.set_place(place + 1);
        self.sealed.set(true);
    }

    /// Promises of room that the end of a row in place has to make.
    #[inline]
    pub(crate) fn promises_of_end(&self, table: u32, row: u32) -> u64 {
        if self.ended_beside(table, row).is_some() { 0 } else { PROMISES_OF_ENDED }
    }

    /// The entry that this row's end can be added to.
    #[inline]
    fn ended_beside(&self, table: u32, row: u32) -> Option<&'m Entry> {
        if !self.in_stretch.get() {
            return None;
        }
        let chunk = self.chunk(self.current.get());
        let newest = match self.place() {
            0 => &self.chunk(chunk.previous.load(Relaxed)).entries[CHUNK_ENTRIES - 1],
            place => &chunk.entries[place - 1],
        };
        let wanted = (table | ENDED, row - row % ROWS_OF_ENDED);
        if newest.key() == wanted {
            return Some(newest);
        }
        let condensed = self.condensed.take()?;
        let found = condensed.find(self.heap.memory, wanted);
        self.condensed.set(Some(condensed));
        found
    }

    /// Makes the newest entries fewer, if they are of rows that have ended; whether they are now.
    #[cold]
    pub(crate) fn condense(&self) -> bool {
        if !self.in_stretch.get() {
            return false;
        }
        let (memory, end) = (self.heap.memory, (self.current.get(), self.place()));
        let [chunk, place] = self.heap.cache.stretch.each_ref().map(|word| word.load(Relaxed));
        let (condensed, gone) = Condensed::of(memory, (chunk, place as usize), end);
        self.heap.cache.retired.redeem_many(gone as u64 * PROMISES_OF_ENDED);
        let (chunk, place) = condensed.end();
        let mut freed = self.chunk(chunk).next.load(Relaxed);
        self.chunk(chunk).next.store(0, Relaxed);
        while freed != 0 {
            let next = self.chunk(freed).next.load(Relaxed);
            self.heap.free(freed, size_of::<Chunk>(), Purpose::Internal);
            freed = next;
        }
        self.current.set(chunk);
        self.set_place(place);
        self.condensed.set(Some(Box::new(condensed)));
        gone > 0
    }

    /// Adds a segment of so many rows from `first` on, for which room was made.
    pub(crate) fn push_segment(&self, table: u32, first: u32, count: u32) {
        self.len.set(self.len.get() + u64::from(count));
        let place = self.place();
        let entry = &self.chunk(self.current.get()).entries[place];
        entry.table.store(table, Relaxed);
        entry.row.store(first, Relaxed);
        entry.word.store(u64::from(count) << 2 | SEGMENT, Relaxed);
        self.set_place(place + 1);
        self.sealed.set(true);
        self.in_stretch.set(false);
        self.has_segments.set(true);
    }

    /// Whether there may be segments among the entries.
    #[inline]
    pub(crate) fn has_segments(&self) -> bool {
        self.has_segments.get()
    }

    /// Makes an inserted row part of the newest entry, if it follows the rows of that.
    #[inline]
    fn extend(&self, table: u32, row: u32) -> bool {
        if self.sealed.get() {
            return false;
        }
        let place = self.place().wrapping_sub(1);
        let Some(entry) = self.chunk(self.current.get()).entries.get(place) else { return false };
        let word = entry.word.load(Relaxed);
        let count = if word & RUN == 0 { 1 } else { word >> 1 };
        let follows = entry.row.load(Relaxed).checked_add(count as u32) == Some(row);
        if !follows || entry.table.load(Relaxed) != table {
            return false;
        }
        entry.word.store((count + 1) << 1 | RUN, Relaxed);
        if count >= PROMISES_OF_RUN {
            self.heap.cache.retired.redeem();
        }
        true
    }

    /// Takes the newest entry off.
    pub(crate) fn pop(&self) -> Option<(u32, Written)> {
        let (table, written) = self.newest()?.read();
        self.set_place(self.place() - 1);
        self.len.set(self.len.get() - written.len());
        self.sealed.set(true);
        Some((table, written))
    }

    /// Takes the newest entry off, and with a run those before it that its rows follow; and how
    /// many promises were kept for all of them. None of the oldest `len` changes is among them.
    pub(crate) fn pop_joined(&self, len: u64) -> Option<(u32, Written, u64)> {
        let (table, mut written) = self.pop()?;
        let mut promises = written.promises();
        while self.len.get() > len
            && let Written::Run { first, count } = written
            && let Some(entry) = self.newest()
            && let (of, Written::Run { first: before, count: more }) = entry.read()
            && of == table
            && before + more == first
        {
            promises += Written::Run { first: before, count: more }.promises();
            written = Written::Run { first: before, count: count + more };
            self.pop();
        }
        Some((table, written, promises))
    }

    /// Takes at most so many changes off the newest entry.
    pub(crate) fn pop_some(&self, most: u32) -> Option<(u32, Written)> {
        let entry = self.newest()?;
        let (table, written) = entry.read();
        match written {
            Written::Run { first, count } if count > most => {
                let left = count - most;
                entry.word.store(u64::from(left) << 1 | RUN, Relaxed);
                self.len.set(self.len.get() - u64::from(most));
                Some((table, Written::Run { first: first + left, count: most }))
            }
            _ => self.pop(),
        }
    }

    fn newest(&self) -> Option<&'m Entry> {
        self.in_stretch.set(false);
        if self.len.get() == 0 {
            return None;
        }
        if self.place() == 0 {
            let emptied = self.current.get();
            let previous = self.chunk(emptied).previous.load(Relaxed);
            self.chunk(previous).next.store(0, Relaxed);
            self.heap.free(emptied, size_of::<Chunk>(), Purpose::Internal);
            self.current.set(previous);
            self.set_place(CHUNK_ENTRIES);
        }
        Some(&self.chunk(self.current.get()).entries[self.place() - 1])
    }

    /// Calls `visit` with each entry, oldest first.
    #[inline]
    pub(crate) fn each(&self, visit: impl FnMut(u32, Written)) {
        self.each_from((self.first, 0), visit);
    }

    /// As [`WriteSet::each`], of those behind the oldest `len` changes alone, where it can be
    /// rolled back to: it takes as long as those are many.
    pub(crate) fn each_behind(&self, len: u64, visit: impl FnMut(u32, Written)) {
        let (mut at, mut place, mut left) = (self.current.get(), self.place(), self.len.get());
        while left > len {
            if place == 0 {
                (at, place) = (self.chunk(at).previous.load(Relaxed), CHUNK_ENTRIES);
            }
            place -= 1;
            left -= self.chunk(at).entries[place].read().1.len();
        }
        self.each_from((at, place), visit);
    }

    #[inline]
    fn each_from(&self, (first, place): (u64, usize), mut visit: impl FnMut(u32, Written)) {
        let (mut at, mut from) = (first, place);
        while self.len.get() > 0 {
            let chunk = self.chunk(at);
            let last = at == self.current.get();
            let count = if last { self.place() } else { CHUNK_ENTRIES };
            for entry in &chunk.entries[from..count] {
                let (table, written) = entry.read();
                visit(table, written);
            }
            if last {
                return;
            }
            (at, from) = (chunk.next.load(Relaxed), 0);
        }
    }

    /// Forgets all changes.
    pub(crate) fn clear(&self) {
        let mut at = self.chunk(self.first).next.load(Relaxed);
        self.chunk(self.first).next.store(0, Relaxed);
        while at != 0 {
            let next = self.chunk(at).next.load(Relaxed);
            self.heap.free(at, size_of::<Chunk>(), Purpose::Internal);
            at = next;
        }
        self.current.set(self.first);
        self.set_place(0);
        self.len.set(0);
        self.sealed.set(true);
        self.has_segments.set(false);
        self.in_stretch.set(false);
    }

    #[cold]
    fn add_chunk(&self, entitlement: Entitlement) -> Result<()> {
        let at = self.heap.allocate(size_of::<Chunk>(), Purpose::Internal, entitlement)?;
        let chunk = self.chunk(at);
        chunk.previous.store(self.current.get(), Relaxed);
        chunk.next.store(0, Relaxed);
        self.chunk(self.current.get()).next.store(at, Relaxed);
        self.current.set(at);
        self.set_place(0);
        self.sealed.set(true);
        Ok(())
    }

    #[inline]
    fn chunk(&self, at: u64) -> &'m Chunk {
        self.heap.memory.get(Ref::new(at))
    }
}

impl Entry {
    /// What rows that have ended are in the order of.
    #[inline]
    fn key(&self) -> (u32, u32) {
        (self.table.load(Relaxed), self.row.load(Relaxed))
    }

    #[inline]
    fn read(&self) -> (u32, Written) {
        let (row, word) = (self.row.load(Relaxed), self.word.load(Relaxed));
        let table = self.table.load(Relaxed);
        let (table, places) = (table & !ENDED, (table >> TABLE_BITS) as u8);
        let written = if places == u8::MAX {
            Written::Ended { first: row, bits: word }
        } else if word & RUN != 0 {
            Written::Run { first: row, count: (word >> 1) as u32 }
        } else if word & SEGMENT != 0 {
            Written::Segment { first: row, count: (word >> 2) as u32 }
        } else {
            Written::One(Change { row, version: word, places })
        };
        (table, written)
    }
}

#[cfg(test)]
mod tests;
