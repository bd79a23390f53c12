//! The write set: every change of a transaction, in order, in chunks in the region.
//!
//! Rows that are inserted one behind the other are one entry, a *run*, however many they are: the
//! directory of rows knows their versions, so a burst of insertions costs nothing here. The first
//! chunk stays with the slot, so that small transactions allocate nothing for it. A savepoint is a
//! number of changes; rolling back takes entries off the end, and no run reaches over a savepoint.
//! A *segment* is one entry too: rows inserted as columns (`table/columns/bulk_segment.rs`).
//!
//! Rows that end in place are noted by a bit for each, 64 to an entry, also where they come in no
//! order and memory fails (`stretch`): a deletion of any size takes a hundredth of what it deletes.
//! Those of a frozen segment are one entry that says where their bits are (`InColumns`).
//!
//! Each change has left reservations of room in the retire queue behind, one and those that it
//! says; of a run or of rows that have ended two are kept, of a segment one: what clearing them
//! away takes.

mod stretch;

use std::cell::Cell;

use crate::error::Result;
use crate::memory::atomic::{AtomicU32, AtomicU64, Relaxed};
use crate::memory::{AllocationClass, Allocator, Purpose, Ref};
use crate::slot::Slot;
use crate::table::columns::frozen_ends::Layer;
use crate::table::rows::change::Change;
use crate::table::rows::segment::SEGMENT_SHIFT;
use stretch::{Condensed, EntryAt};

const CHUNK_ENTRIES: usize = 31;
/// In an entry's word: it is a run, and the word's other bits are how many rows it has.
const RUN: u64 = 1;
/// It is a segment, and the word's bits above these two are how many rows it has.
const SEGMENT: u64 = 2;
/// Reservations that are kept for a run, and for rows that have ended.
const RESERVATIONS_OF_RUN: u64 = 2;
pub(crate) const RESERVATIONS_OF_ENDED: u64 = 2;
/// The high bits of an entry's table are the reservations that a change has left behind the first,
/// or this: it is rows that have ended, of the 64 from `row` on those whose bits are set in the
/// word.
const TABLE_BITS: u32 = 24;
const ENDED: u32 = 0xff << TABLE_BITS;
/// Or that it is all rows of a layer that ended before the next savepoint, or some that did later.
const IN_COLUMNS: u32 = 0xfe << TABLE_BITS;
const LATER: u32 = 0xfd << TABLE_BITS;
const ROWS_OF_ENDED: u32 = 64;
/// In the word of such an entry: where the layer lies, above one less than how many rows they are.
const LAYER_SHIFT: u32 = 16;
const SEGMENT_MASK: u32 = !((1 << SEGMENT_SHIFT) - 1);

/// The changes of one transaction.
pub(crate) struct WriteSet<'m> {
    alloc: Allocator<'m>,
    first: u64,
    /// The chunk that the next change goes to, and its index in it.
    current: Cell<u64>,
    index: Cell<u32>,
    len: Cell<u64>,
    /// Changes before the last savepoint, or more.
    marked: Cell<u64>,
    /// Whether the newest entry must not be extended.
    sealed: Cell<bool>,
    /// Whether there may be segments among the entries.
    has_segments: Cell<bool>,
    /// Whether the newest entries are a stretch of rows that have ended, which begins where the
    /// slot's cache says, and the first of them, if they are in order.
    in_stretch: Cell<bool>,
    condensed: Cell<Option<Box<Condensed>>>,
}

/// The subject of an entry.
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
    /// The rows that have their bits in a layer (`table/columns/frozen_ends.rs`), of the segment
    /// that has this first row: so many of them, and those that [`Written::Later`] says.
    InColumns { first: u32, layer: u64, count: u32 },
    /// Rows that ended behind a later savepoint, to be taken back alone: they are in the layer of
    /// an older entry, of the 64 from the first on.
    Later { first: u32, bits: u64 },
}

/// The end of a write set, to go on with it later.
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
    /// The number of changes.
    pub(crate) fn len(self) -> u64 {
        match self {
            Self::One(_) => 1,
            Self::Run { count, .. } | Self::Segment { count, .. } => u64::from(count),
            Self::Ended { bits, .. } | Self::Later { bits, .. } => bits.count_ones().into(),
            Self::InColumns { count, .. } => u64::from(count),
        }
    }

    /// Reservations of room in the retire queue that are kept for it.
    pub(crate) fn reservations(self) -> u64 {
        match self {
            Self::Segment { .. } | Self::InColumns { .. } => 1,
            Self::Later { .. } => 0,
            Self::One(change) => 1 + u64::from(change.reserved),
            Self::Run { .. } => self.len().min(RESERVATIONS_OF_RUN),
            Self::Ended { .. } => RESERVATIONS_OF_ENDED,
        }
    }
}

impl<'m> WriteSet<'m> {
    /// The empty write set of a slot.
    ///
    /// # Errors
    /// Memory for the slot's first chunk, the first time it writes.
    #[inline]
    pub(crate) fn new(alloc: Allocator<'m>, slot: &Slot) -> Result<Self> {
        let mut first = slot.write_set.load(Relaxed);
        if first == 0 {
            alloc.cache.retired.keep_apart(alloc)?;
            let size = size_of::<Chunk>();
            first = alloc.allocate(size, Purpose::Internal, AllocationClass::Emergency)?;
            alloc.region().fresh_bytes(first, size).fill(0);
            slot.write_set.store(first, Relaxed);
        }
        Ok(Self {
            alloc,
            first,
            current: Cell::new(first),
            index: Cell::new(0),
            len: Cell::new(0),
            marked: Cell::new(0),
            sealed: Cell::new(true),
            has_segments: Cell::new(false),
            in_stretch: Cell::new(false),
            condensed: Cell::new(None),
        })
    }

    /// The write set that the slot's last transaction has left.
    pub(crate) fn resume(alloc: Allocator<'m>, slot: &Slot, end: &WriteSetEnd) -> Self {
        let [current, index, len] = end.each_ref().map(|word| word.load(Relaxed));
        Self {
            alloc,
            first: slot.write_set.load(Relaxed),
            current: Cell::new(current),
            index: Cell::new(index as u32),
            len: Cell::new(len),
            marked: Cell::new(0),
            sealed: Cell::new(true),
            has_segments: Cell::new(true),
            in_stretch: Cell::new(false),
            condensed: Cell::new(None),
        }
    }

    /// Notes where it ends.
    pub(crate) fn leave(&self, end: &WriteSetEnd) {
        let words = [self.current.get(), self.index() as u64, self.len.get()];
        for (word, value) in end.iter().zip(words) {
            word.store(value, Relaxed);
        }
    }

    #[inline]
    fn index(&self) -> usize {
        self.index.get() as usize
    }

    #[inline]
    fn set_index(&self, index: usize) {
        self.index.set(index as u32);
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
        self.marked.set(self.len.get());
        self.len.get()
    }

    /// Makes sure that one more change fits.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    #[inline]
    pub(crate) fn make_room(&self, class: AllocationClass) -> Result<()> {
        if self.index() < CHUNK_ENTRIES {
            return Ok(());
        }
        self.add_chunk(class)
    }

    /// Adds a change for which room was made; `fresh` if it is an insertion.
    #[inline]
    pub(crate) fn push(&self, table: u32, change: Change, fresh: bool) {
        self.len.set(self.len.get() + 1);
        if fresh && self.extend(table, change.row) {
            return;
        }
        if change.is_end() {
            return match change.layer() {
                None => self.push_ended(table, change.row),
                Some(layer) => self.push_in_columns(table, change.row, layer),
            };
        }
        let index = self.index();
        let entry = &self.chunk(self.current.get()).entries[index];
        entry.table.store(table | u32::from(change.reserved) << TABLE_BITS, Relaxed);
        entry.row.store(change.row, Relaxed);
        entry.word.store(change.version, Relaxed);
        self.set_index(index + 1);
        self.sealed.set(!fresh);
        self.in_stretch.set(false);
    }

    /// Adds a row that has ended in place.
    fn push_ended(&self, table: u32, row: u32) {
        let bit = 1 << (row % ROWS_OF_ENDED);
        if let Some(entry) = self.ended_beside(table, row) {
            return entry.word.store(entry.word.load(Relaxed) | bit, Relaxed);
        }
        let index = self.index();
        if !self.in_stretch.replace(true) {
            let start = [self.current.get(), index as u64];
            start.iter().zip(&self.alloc.cache.stretch).for_each(|(at, it)| it.store(*at, Relaxed));
            self.condensed.set(None);
        }
        let entry = &self.chunk(self.current.get()).entries[index];
        entry.table.store(table | ENDED, Relaxed);
        entry.row.store(row - row % ROWS_OF_ENDED, Relaxed);
        entry.word.store(bit, Relaxed);
        self.set_index(index + 1);
        self.sealed.set(true);
    }

    /// Adds a row that has ended in the columns, by a bit in this layer.
    #[cold]
    fn push_in_columns(&self, table: u32, row: u32, at: u64) {
        let layer = Layer::at(self.alloc.memory, at);
        let (known, since) = (layer.entry.load(Relaxed), layer.since.load(Relaxed));
        if known == 0 {
            let word = at << LAYER_SHIFT;
            let entry = self.push_entry(table | IN_COLUMNS, row & SEGMENT_MASK, word);
            layer.entry.store(self.alloc.region().offset_of(entry), Relaxed);
            layer.since.store(self.len.get() - 1, Relaxed);
        } else if since >= self.marked.get() {
            let word = &self.alloc.memory.get(Ref::<Entry>::new(known)).word;
            word.store(word.load(Relaxed) + 1, Relaxed);
        } else {
            let (key, bit) =
                ((table | LATER, row - row % ROWS_OF_ENDED), 1 << (row % ROWS_OF_ENDED));
            let is_marked = self.len.get() - 1 == self.marked.get();
            let newest = self.index().checked_sub(1).filter(|_| !is_marked);
            let newest = newest.map(|index| &self.chunk(self.current.get()).entries[index]);
            if let Some(entry) = newest.filter(|entry| entry.key() == key) {
                entry.word.store(entry.word.load(Relaxed) | bit, Relaxed);
            } else {
                self.push_entry(key.0, key.1, bit);
            }
        }
    }

    fn push_entry(&self, table: u32, row: u32, word: u64) -> &'m Entry {
        let index = self.index();
        let entry = &self.chunk(self.current.get()).entries[index];
        entry.table.store(table, Relaxed);
        entry.row.store(row, Relaxed);
        entry.word.store(word, Relaxed);
        self.set_index(index + 1);
        self.sealed.set(true);
        self.in_stretch.set(false);
        entry
    }

    /// Reservations of room that the end of a row in place has to make.
    #[inline]
    pub(crate) fn reservations_of_end(&self, table: u32, row: u32) -> u64 {
        if self.ended_beside(table, row).is_some() { 0 } else { RESERVATIONS_OF_ENDED }
    }

    /// The entry that this row's end can be added to.
    #[inline]
    fn ended_beside(&self, table: u32, row: u32) -> Option<&'m Entry> {
        if !self.in_stretch.get() {
            return None;
        }
        let chunk = self.chunk(self.current.get());
        let newest = match self.index() {
            0 => &self.chunk(chunk.previous.load(Relaxed)).entries[CHUNK_ENTRIES - 1],
            index => &chunk.entries[index - 1],
        };
        let wanted = (table | ENDED, row - row % ROWS_OF_ENDED);
        if newest.key() == wanted {
            return Some(newest);
        }
        let condensed = self.condensed.take()?;
        let found = condensed.find(self.alloc.memory, wanted);
        self.condensed.set(Some(condensed));
        found
    }

    /// Makes the newest entries fewer, if they are of rows that have ended; whether they are now.
    #[cold]
    pub(crate) fn condense(&self) -> bool {
        if !self.in_stretch.get() {
            return false;
        }
        let [chunk, index] = self.alloc.cache.stretch.each_ref().map(|word| word.load(Relaxed));
        let first = EntryAt { chunk, index: index as usize };
        let end = EntryAt { chunk: self.current.get(), index: self.index() };
        let (condensed, gone) = Condensed::of(self.alloc.memory, first, end);
        self.alloc.cache.retired.release_many(gone as u64 * RESERVATIONS_OF_ENDED);
        let EntryAt { chunk, index } = condensed.end();
        let mut freed = self.chunk(chunk).next.load(Relaxed);
        self.chunk(chunk).next.store(0, Relaxed);
        while freed != 0 {
            let next = self.chunk(freed).next.load(Relaxed);
            self.alloc.free(freed, size_of::<Chunk>(), Purpose::Internal);
            freed = next;
        }
        self.current.set(chunk);
        self.set_index(index);
        self.condensed.set(Some(Box::new(condensed)));
        gone > 0
    }

    /// Adds a segment of so many rows from `first` on, for which room was made.
    pub(crate) fn push_segment(&self, table: u32, first: u32, count: u32) {
        self.len.set(self.len.get() + u64::from(count));
        let index = self.index();
        let entry = &self.chunk(self.current.get()).entries[index];
        entry.table.store(table, Relaxed);
        entry.row.store(first, Relaxed);
        entry.word.store(u64::from(count) << 2 | SEGMENT, Relaxed);
        self.set_index(index + 1);
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
        let index = self.index().wrapping_sub(1);
        let Some(entry) = self.chunk(self.current.get()).entries.get(index) else { return false };
        let word = entry.word.load(Relaxed);
        let count = if word & RUN == 0 { 1 } else { word >> 1 };
        let follows = entry.row.load(Relaxed).checked_add(count as u32) == Some(row);
        if !follows || entry.table.load(Relaxed) != table {
            return false;
        }
        entry.word.store((count + 1) << 1 | RUN, Relaxed);
        if count >= RESERVATIONS_OF_RUN {
            self.alloc.cache.retired.release();
        }
        true
    }

    /// Takes the newest entry off.
    pub(crate) fn pop(&self) -> Option<(u32, Written)> {
        let (table, written) = self.newest()?.read();
        self.set_index(self.index() - 1);
        self.len.set(self.len.get() - written.len());
        self.sealed.set(true);
        Some((table, written))
    }

    /// Takes the newest entry off, and with a run those before it that its rows follow; and how
    /// many reservations were kept for all of them. None of the oldest `len` changes is among them.
    pub(crate) fn pop_joined(&self, len: u64) -> Option<(u32, Written, u64)> {
        let (table, mut written) = self.pop()?;
        let mut reservations = written.reservations();
        while self.len.get() > len
            && let Written::Run { first, count } = written
            && let Some(entry) = self.newest()
            && let (of, Written::Run { first: before, count: more }) = entry.read()
            && of == table
            && before + more == first
        {
            reservations += Written::Run { first: before, count: more }.reservations();
            written = Written::Run { first: before, count: count + more };
            self.pop();
        }
        Some((table, written, reservations))
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
        if self.index() == 0 {
            let emptied = self.current.get();
            let previous = self.chunk(emptied).previous.load(Relaxed);
            self.chunk(previous).next.store(0, Relaxed);
            self.alloc.free(emptied, size_of::<Chunk>(), Purpose::Internal);
            self.current.set(previous);
            self.set_index(CHUNK_ENTRIES);
        }
        Some(&self.chunk(self.current.get()).entries[self.index() - 1])
    }

    /// Calls `visit` with each entry, oldest first.
    #[inline]
    pub(crate) fn each(&self, visit: impl FnMut(u32, Written)) {
        self.each_from(self.first, 0, visit);
    }

    /// As [`WriteSet::each`], of those behind the oldest `len` changes alone, where it can be
    /// rolled back to: it takes as long as those are many.
    pub(crate) fn each_behind(&self, len: u64, visit: impl FnMut(u32, Written)) {
        let (mut at, mut index, mut left) = (self.current.get(), self.index(), self.len.get());
        while left > len {
            if index == 0 {
                (at, index) = (self.chunk(at).previous.load(Relaxed), CHUNK_ENTRIES);
            }
            index -= 1;
            left -= self.chunk(at).entries[index].read().1.len();
        }
        self.each_from(at, index, visit);
    }

    #[inline]
    fn each_from(&self, chunk: u64, index: usize, mut visit: impl FnMut(u32, Written)) {
        let (mut at, mut from) = (chunk, index);
        while self.len.get() > 0 {
            let chunk = self.chunk(at);
            let last = at == self.current.get();
            let count = if last { self.index() } else { CHUNK_ENTRIES };
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
            self.alloc.free(at, size_of::<Chunk>(), Purpose::Internal);
            at = next;
        }
        self.current.set(self.first);
        self.set_index(0);
        self.len.set(0);
        self.sealed.set(true);
        self.has_segments.set(false);
        self.in_stretch.set(false);
    }

    #[cold]
    fn add_chunk(&self, class: AllocationClass) -> Result<()> {
        let at = self.alloc.allocate(size_of::<Chunk>(), Purpose::Internal, class)?;
        let chunk = self.chunk(at);
        chunk.previous.store(self.current.get(), Relaxed);
        chunk.next.store(0, Relaxed);
        self.chunk(self.current.get()).next.store(at, Relaxed);
        self.current.set(at);
        self.set_index(0);
        self.sealed.set(true);
        Ok(())
    }

    #[inline]
    fn chunk(&self, at: u64) -> &'m Chunk {
        self.alloc.memory.get(Ref::new(at))
    }
}

impl Entry {
    /// The sort key of rows that have ended.
    #[inline]
    fn key(&self) -> (u32, u32) {
        (self.table.load(Relaxed), self.row.load(Relaxed))
    }

    #[inline]
    fn read(&self) -> (u32, Written) {
        let (row, word) = (self.row.load(Relaxed), self.word.load(Relaxed));
        let table = self.table.load(Relaxed);
        let (table, reserved) = (table & !ENDED, (table >> TABLE_BITS) as u8);
        let kind = u32::from(reserved) << TABLE_BITS;
        let written = if kind == ENDED {
            Written::Ended { first: row, bits: word }
        } else if kind == IN_COLUMNS {
            let count = (word & ((1 << LAYER_SHIFT) - 1)) as u32 + 1;
            Written::InColumns { first: row, layer: word >> LAYER_SHIFT, count }
        } else if kind == LATER {
            Written::Later { first: row, bits: word }
        } else if word & RUN != 0 {
            Written::Run { first: row, count: (word >> 1) as u32 }
        } else if word & SEGMENT != 0 {
            Written::Segment { first: row, count: (word >> 2) as u32 }
        } else {
            Written::One(Change { row, version: word, reserved })
        };
        (table, written)
    }
}

#[cfg(test)]
mod tests;
