//! What waits for its last reader: retired blocks, and rows with versions to cut.
//!
//! A slot's queue holds entries of (stamp, item) in chunks of the region, oldest first. A block
//! retired while the clock stood at c gets stamp c + 1: it may be freed once every active
//! transaction began later, that is once the horizon is at least the stamp (epoch-based
//! reclamation, Fraser, 2004). A row gets the timestamp of the commit that superseded one of its
//! versions. Room for an entry is reserved *before* the step that will need it, from where an
//! allocation may fail cleanly; pushing an entry then never fails.
//!
//! Pruning a row may need more room than it gives back. Where there is no memory for that, the
//! entries go to a chunk *apart*, in no order ([`RetireQueue::press`]), which was there from the
//! beginning and which nothing else takes: it is empty again as soon as those have ended who were
//! active then, whatever stands in the queue. So a queue can be drained however full memory is.

use super::account::{PURPOSES, Purpose};
use super::allocator::{AllocationClass, Allocator};
use super::atomic::{AtomicU64, Relaxed, full_fence};
use super::region::Ref;
use crate::error::{Error, ErrorKind, Result};

const CHUNK_ENTRIES: usize = 31;

/// What an entry of the queue is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Retired {
    /// A block of the region to free.
    Block { offset: u64, purpose: Purpose },
    /// A row some of whose versions nobody may need any more.
    Row { table: u32, row: u32 },
    /// A deletion to free, and the row's last content behind it.
    Deletion { offset: u64 },
    /// The first of so many rows, one behind the other, whose insertion was taken back: versions to
    /// free and row ids to give back. How many there are is an entry of its own.
    Rows { table: u32, row: u32 },
    /// A chunk of slots of a segment that was frozen, and the versions that the slots refer to.
    Slots { offset: u64 },
    /// What a segment was frozen to before it was frozen again, and the versions beside it.
    Replaced { offset: u64 },
    /// The first row of a segment whose insertion as columns was taken back: its block to free.
    Segment { table: u32, row: u32 },
    /// Rows that ended in place, some of the 64 from this one on; which, is an entry of its own.
    Ended { table: u32, row: u32 },
    /// The same when they have left their indexes: versions to free and row ids to give back.
    Dead { table: u32, row: u32 },
    /// The first row of a frozen segment of which rows have ended in the columns.
    InColumns { table: u32, row: u32 },
    /// What was freed before its turn: nothing.
    Freed,
}

/// A slot's queue; part of its cache. Only the holder of the slot touches it.
#[repr(C)]
pub(crate) struct RetireQueue {
    /// Oldest chunk and position in it.
    head: AtomicU64,
    head_at: AtomicU64,
    /// Newest chunk and position in it.
    tail: AtomicU64,
    tail_at: AtomicU64,
    /// Chunks that no entry lies in yet.
    spare: AtomicU64,
    /// Entries that fit in without another chunk: in the tail and in the spare chunks.
    room: AtomicU64,
    /// How many of those are reserved for changes already made.
    reserved: AtomicU64,
    /// Entries in the queue.
    count: AtomicU64,
    /// How many of the reservations are for key blocks of index entries about to be removed.
    keyed: AtomicU64,
    /// The chunk apart, how many entries it has, and whether entries go there.
    apart: AtomicU64,
    apart_count: AtomicU64,
    pressed: AtomicU64,
}

/// What a queue sets aside while entries go apart.
#[must_use = "ordinary entries have no room until `relax`"]
pub(crate) struct Pressed {
    room: u64,
    reserved: u64,
}

#[repr(C)]
struct Chunk {
    next: AtomicU64,
    unused: AtomicU64,
    entries: [Entry; CHUNK_ENTRIES],
}

#[repr(C)]
struct Entry {
    stamp: AtomicU64,
    item: AtomicU64,
}

const _: () = assert!(size_of::<Chunk>() == 512);

impl RetireQueue {
    /// Entries in the queue.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Makes sure that `entries` more fit.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
    #[inline]
    pub(crate) fn make_room(
        &self,
        alloc: Allocator<'_>,
        entries: u64,
        class: AllocationClass,
    ) -> Result<()> {
        while self.room.load(Relaxed) < entries + self.reserved.load(Relaxed) {
            if self.is_pressed() {
                return self.check_apart(entries);
            }
            let chunk = alloc.allocate(size_of::<Chunk>(), Purpose::Internal, class)?;
            self.add_spare(alloc, chunk);
        }
        Ok(())
    }

    /// Makes sure that there is a chunk apart.
    ///
    /// # Errors
    /// As [`RetireQueue::make_room`].
    pub(crate) fn keep_apart(&self, alloc: Allocator<'_>) -> Result<()> {
        if self.apart.load(Relaxed) == 0 {
            let size = size_of::<Chunk>();
            let chunk = alloc.allocate(size, Purpose::Internal, AllocationClass::Emergency)?;
            self.apart.store(chunk, Relaxed);
        }
        Ok(())
    }

    /// Lets what is pushed go apart until [`RetireQueue::relax`], with room for what is free there.
    pub(crate) fn press(&self) -> Pressed {
        let pressed = Pressed { room: self.room.load(Relaxed), reserved: self.reserved() };
        self.room.store(0, Relaxed);
        self.reserved.store(0, Relaxed);
        self.pressed.store(1, Relaxed);
        pressed
    }

    /// Ends [`RetireQueue::press`].
    pub(crate) fn relax(&self, pressed: Pressed) {
        assert_eq!(self.reserved(), 0, "reservations of entries apart are released");
        self.pressed.store(0, Relaxed);
        self.room.store(pressed.room, Relaxed);
        self.reserved.store(pressed.reserved, Relaxed);
    }

    /// Takes an entry that is due out of those apart.
    pub(crate) fn pop_apart(&self, alloc: Allocator<'_>, due: u64) -> Option<Retired> {
        let count = self.apart_count.load(Relaxed) as usize;
        if count == 0 {
            return None;
        }
        let entries = &self.chunk(alloc, &self.apart).entries[..count];
        let entry = entries.iter().find(|entry| entry.stamp.load(Relaxed) <= due)?;
        let item = Retired::from_word(entry.item.load(Relaxed));
        let last = &entries[count - 1];
        entry.stamp.store(last.stamp.load(Relaxed), Relaxed);
        entry.item.store(last.item.load(Relaxed), Relaxed);
        self.apart_count.store(count as u64 - 1, Relaxed);
        Some(item)
    }

    /// Whether entries go apart.
    pub(crate) fn is_pressed(&self) -> bool {
        self.pressed.load(Relaxed) != 0
    }

    /// Entries apart.
    pub(crate) fn apart_count(&self) -> u64 {
        self.apart_count.load(Relaxed)
    }

    #[cold]
    fn check_apart(&self, entries: u64) -> Result<()> {
        let taken = self.apart_count() + self.reserved() + entries;
        if self.apart.load(Relaxed) == 0 || taken > CHUNK_ENTRIES as u64 {
            return Err(Error::new(ErrorKind::BudgetReached));
        }
        Ok(())
    }

    #[cold]
    fn push_apart(&self, alloc: Allocator<'_>, stamp: u64, item: Retired) {
        let count = self.apart_count() as usize;
        let there = self.is_pressed() && count < CHUNK_ENTRIES;
        assert!(there, "an entry is pushed only where room was made for it");
        let entry = &self.chunk(alloc, &self.apart).entries[count];
        entry.stamp.store(stamp, Relaxed);
        entry.item.store(item.to_word(), Relaxed);
        self.apart_count.store(count as u64 + 1, Relaxed);
    }

    fn reserved(&self) -> u64 {
        self.reserved.load(Relaxed)
    }

    /// Reserves room for one entry until [`RetireQueue::release`].
    ///
    /// # Errors
    /// As [`RetireQueue::make_room`].
    #[inline]
    pub(crate) fn reserve(&self, alloc: Allocator<'_>, class: AllocationClass) -> Result<()> {
        self.reserve_many(alloc, 1, class)
    }

    /// As [`RetireQueue::reserve`], for several entries: all or none.
    ///
    /// # Errors
    /// As [`RetireQueue::make_room`].
    #[inline]
    pub(crate) fn reserve_many(
        &self,
        alloc: Allocator<'_>,
        entries: u64,
        class: AllocationClass,
    ) -> Result<()> {
        self.make_room(alloc, entries, class)?;
        self.reserved.store(self.reserved.load(Relaxed) + entries, Relaxed);
        Ok(())
    }

    /// Releases a reservation: its entry is about to be pushed, or not needed.
    #[inline]
    pub(crate) fn release(&self) {
        self.release_many(1);
    }

    /// As [`RetireQueue::release`], for several entries.
    #[inline]
    pub(crate) fn release_many(&self, entries: u64) {
        let reserved = self.reserved.load(Relaxed);
        assert!(reserved >= entries, "a reservation is released once");
        self.reserved.store(reserved - entries, Relaxed);
    }

    /// Says that so many of the reservations are for key blocks of entries about to be removed from
    /// indexes, until [`RetireQueue::end_keyed`].
    pub(crate) fn allow_keyed(&self, reservations: u64) {
        self.keyed.store(reservations, Relaxed);
    }

    /// Releases those of the reservations that are left.
    pub(crate) fn end_keyed(&self) {
        self.release_many(self.keyed.load(Relaxed));
        self.allow_keyed(0);
    }

    /// Releases a reservation for key blocks; `false` if there is none.
    pub(crate) fn release_keyed(&self) -> bool {
        let keyed = self.keyed.load(Relaxed);
        if keyed > 0 {
            self.keyed.store(keyed - 1, Relaxed);
            self.release();
        }
        keyed > 0
    }

    /// Adds an entry for which room was made.
    pub(crate) fn push(&self, alloc: Allocator<'_>, stamp: u64, item: Retired) {
        let room = self.room.load(Relaxed);
        if room == 0 {
            return self.push_apart(alloc, stamp, item);
        }
        let mut at = self.tail_at.load(Relaxed) as usize;
        if self.tail.load(Relaxed) == 0 || at == CHUNK_ENTRIES {
            self.append_spare(alloc);
            at = 0;
        }
        let chunk = self.chunk(alloc, &self.tail);
        chunk.entries[at].stamp.store(stamp, Relaxed);
        chunk.entries[at].item.store(item.to_word(), Relaxed);
        self.tail_at.store(at as u64 + 1, Relaxed);
        self.room.store(room - 1, Relaxed);
        self.count.store(self.count.load(Relaxed) + 1, Relaxed);
    }

    /// The oldest entry's stamp and item.
    pub(crate) fn front(&self, alloc: Allocator<'_>) -> Option<(u64, Retired)> {
        if self.count.load(Relaxed) == 0 {
            return None;
        }
        let entry = &self.chunk(alloc, &self.head).entries[self.head_at.load(Relaxed) as usize];
        Some((entry.stamp.load(Relaxed), Retired::from_word(entry.item.load(Relaxed))))
    }

    /// The item of the entry so far behind the oldest, if it lies in the same chunk.
    #[inline]
    pub(crate) fn peek(&self, alloc: Allocator<'_>, ahead: u64) -> Option<Retired> {
        let at = self.head_at.load(Relaxed) + ahead;
        if ahead >= self.count.load(Relaxed) || at as usize >= CHUNK_ENTRIES {
            return None;
        }
        let entry = &self.chunk(alloc, &self.head).entries[at as usize];
        Some(Retired::from_word(entry.item.load(Relaxed)))
    }

    /// Adds a run of rows, which takes two entries.
    pub(crate) fn push_rows(&self, alloc: Allocator<'_>, stamp: u64, run: (u32, u32, u32)) {
        let (table, row, count) = run;
        self.push(alloc, stamp, Retired::Rows { table, row });
        self.push(alloc, u64::from(count), Retired::Rows { table, row });
    }

    /// How many rows the run at the front has.
    pub(crate) fn front_rows(&self, alloc: Allocator<'_>) -> u32 {
        self.front_count(alloc).load(Relaxed) as u32
    }

    /// Adds rows that have ended, or are dead, by their bits; it takes two entries.
    pub(crate) fn push_bits(&self, alloc: Allocator<'_>, stamp: u64, item: Retired, bits: u64) {
        self.push(alloc, stamp, item);
        self.push(alloc, bits, item);
    }

    /// The bits of such rows at the front.
    pub(crate) fn front_bits(&self, alloc: Allocator<'_>) -> u64 {
        self.front_count(alloc).load(Relaxed)
    }

    /// Puts something else in the place of such rows at the front.
    pub(crate) fn set_front_bits(
        &self,
        alloc: Allocator<'_>,
        stamp: u64,
        item: Retired,
        bits: u64,
    ) {
        let front = &self.chunk(alloc, &self.head).entries[self.head_at.load(Relaxed) as usize];
        front.stamp.store(stamp, Relaxed);
        front.item.store(item.to_word(), Relaxed);
        self.front_count(alloc).store(bits, Relaxed);
    }

    /// Takes rows off the front of the run at the queue's front, and that with the last of them;
    /// how many entries the queue has lost.
    pub(crate) fn pop_rows(&self, alloc: Allocator<'_>, rows: u32) -> u64 {
        let left = self.front_rows(alloc) - rows;
        if left == 0 {
            self.pop(alloc);
            self.pop(alloc);
            return 2;
        }
        self.front_count(alloc).store(u64::from(left), Relaxed);
        let entry = &self.chunk(alloc, &self.head).entries[self.head_at.load(Relaxed) as usize];
        if let Retired::Rows { table, row } = Retired::from_word(entry.item.load(Relaxed)) {
            entry.item.store(Retired::Rows { table, row: row + rows }.to_word(), Relaxed);
        }
        0
    }

    /// The entry behind the front one holds the count in place of its stamp.
    fn front_count<'m>(&self, alloc: Allocator<'m>) -> &'m AtomicU64 {
        let at = self.head_at.load(Relaxed) as usize + 1;
        let chunk = self.chunk(alloc, &self.head);
        if at < CHUNK_ENTRIES {
            return &chunk.entries[at].stamp;
        }
        &self.chunk(alloc, &chunk.next).entries[0].stamp
    }

    /// Takes the oldest entry off. There must be one.
    pub(crate) fn pop(&self, alloc: Allocator<'_>) {
        let count = self.count.load(Relaxed);
        assert!(count > 0, "an entry is popped only after it was seen at the front");
        self.count.store(count - 1, Relaxed);
        let at = self.head_at.load(Relaxed) + 1;
        self.head_at.store(at, Relaxed);
        let single = self.head.load(Relaxed) == self.tail.load(Relaxed);
        if single && count == 1 {
            // Empty: start again at the front of the only chunk.
            let used = self.tail_at.load(Relaxed);
            self.head_at.store(0, Relaxed);
            self.tail_at.store(0, Relaxed);
            self.room.store(self.room.load(Relaxed) + used, Relaxed);
        } else if at as usize == CHUNK_ENTRIES {
            let emptied = self.head.load(Relaxed);
            let next = self.chunk(alloc, &self.head).next.load(Relaxed);
            self.head.store(next, Relaxed);
            self.head_at.store(0, Relaxed);
            if self.room.load(Relaxed) < CHUNK_ENTRIES as u64 {
                self.add_spare(alloc, emptied);
            } else {
                alloc.free(emptied, size_of::<Chunk>(), Purpose::Internal);
            }
        }
    }

    /// Frees the chunks of an empty queue but for the one apart.
    pub(crate) fn free_chunks(&self, alloc: Allocator<'_>) {
        if self.count() != 0 {
            return;
        }
        let mut spare = self.spare.load(Relaxed);
        if self.tail.load(Relaxed) != 0 {
            alloc.free(self.tail.load(Relaxed), size_of::<Chunk>(), Purpose::Internal);
        }
        while spare != 0 {
            let next = alloc.memory.get(Ref::<Chunk>::new(spare)).next.load(Relaxed);
            alloc.free(spare, size_of::<Chunk>(), Purpose::Internal);
            spare = next;
        }
        for word in [&self.head, &self.head_at, &self.tail, &self.tail_at, &self.spare, &self.room]
        {
            word.store(0, Relaxed);
        }
    }

    /// Calls `visit` with the stamp and item of each entry behind the front one, as many as there
    /// are now; an entry becomes `Freed` where it says so. Entries may be added meanwhile.
    pub(crate) fn each_behind(
        &self,
        alloc: Allocator<'_>,
        mut visit: impl FnMut(u64, Retired) -> bool,
    ) {
        let (mut chunk, mut at) = (self.head.load(Relaxed), self.head_at.load(Relaxed) as usize);
        let mut counts = false;
        for number in 0..self.count() {
            if at == CHUNK_ENTRIES {
                let next = &alloc.memory.get(Ref::<Chunk>::new(chunk)).next;
                (chunk, at) = (next.load(Relaxed), 0);
            }
            let entry = &alloc.memory.get(Ref::<Chunk>::new(chunk)).entries[at];
            let item = Retired::from_word(entry.item.load(Relaxed));
            at += 1;
            // The second entry of a run has a count in place of its stamp.
            let is_count = std::mem::take(&mut counts);
            counts = !is_count && item.takes_two();
            if number > 0 && !is_count && !counts && visit(entry.stamp.load(Relaxed), item) {
                entry.item.store(Retired::Freed.to_word(), Relaxed);
            }
        }
    }

    fn chunk<'m>(&self, alloc: Allocator<'m>, at: &AtomicU64) -> &'m Chunk {
        alloc.memory.get(Ref::new(at.load(Relaxed)))
    }

    fn add_spare(&self, alloc: Allocator<'_>, chunk: u64) {
        let next = self.spare.load(Relaxed);
        alloc.memory.get(Ref::<Chunk>::new(chunk)).next.store(next, Relaxed);
        self.spare.store(chunk, Relaxed);
        self.room.store(self.room.load(Relaxed) + CHUNK_ENTRIES as u64, Relaxed);
    }

    fn append_spare(&self, alloc: Allocator<'_>) {
        let spare = self.spare.load(Relaxed);
        let chunk = alloc.memory.get(Ref::<Chunk>::new(spare));
        self.spare.store(chunk.next.load(Relaxed), Relaxed);
        chunk.next.store(0, Relaxed);
        if self.tail.load(Relaxed) == 0 {
            self.head.store(spare, Relaxed);
            self.head_at.store(0, Relaxed);
        } else {
            self.chunk(alloc, &self.tail).next.store(spare, Relaxed);
        }
        self.tail.store(spare, Relaxed);
        self.tail_at.store(0, Relaxed);
    }
}

/// What stands in the place of a block's purpose in the words of other items.
const REPLACED: u64 = 5;
const DELETION: u64 = 6;
const SLOTS: u64 = 7;

const _: () = assert!((PURPOSES as u64) <= REPLACED);

impl Retired {
    /// Whether it waits for snapshots, and not for who may refer to it.
    pub(crate) fn is_seen(self) -> bool {
        matches!(self, Self::Row { .. } | Self::Ended { .. } | Self::InColumns { .. })
    }

    /// Whether the next entry belongs to it.
    fn takes_two(self) -> bool {
        matches!(self, Self::Rows { .. } | Self::Ended { .. } | Self::Dead { .. })
    }

    /// Blocks are multiples of 16, which leaves the low four bits: bit 0 marks rows, bit 1 with it
    /// a run of them, bit 2 a segment, both rows that have ended, which bit 3 says are dead, and
    /// bit 3 alone those that have ended in columns; else bits 1 to 3 hold another block's purpose,
    /// or that it is a deletion, slots or a segment that was replaced. A row's word is table (at
    /// most 2^24) and row id.
    fn to_word(self) -> u64 {
        match self {
            Self::Block { offset, purpose } => offset | (purpose as u64) << 1,
            Self::Slots { offset } => offset | SLOTS << 1,
            Self::Replaced { offset } => offset | REPLACED << 1,
            Self::Row { table, row } => u64::from(table) << 40 | u64::from(row) << 8 | 1,
            Self::Deletion { offset } => offset | DELETION << 1,
            Self::Rows { table, row } => u64::from(table) << 40 | u64::from(row) << 8 | 3,
            Self::Segment { table, row } => u64::from(table) << 40 | u64::from(row) << 8 | 5,
            Self::Ended { table, row } => u64::from(table) << 40 | u64::from(row) << 8 | 7,
            Self::Dead { table, row } => u64::from(table) << 40 | u64::from(row) << 8 | 15,
            Self::InColumns { table, row } => u64::from(table) << 40 | u64::from(row) << 8 | 9,
            Self::Freed => 0,
        }
    }

    fn from_word(word: u64) -> Self {
        if word & 1 == 1 {
            let (table, row) = ((word >> 40) as u32, (word >> 8) as u32);
            return match word & 15 {
                1 => Self::Row { table, row },
                3 => Self::Rows { table, row },
                5 => Self::Segment { table, row },
                7 => Self::Ended { table, row },
                9 => Self::InColumns { table, row },
                _ => Self::Dead { table, row },
            };
        }
        if word == 0 {
            return Self::Freed;
        }
        let offset = word & !0xf;
        let purpose = match word >> 1 & 7 {
            0 => Purpose::Rows,
            1 => Purpose::Segments,
            2 => Purpose::Indexes,
            3 => Purpose::Internal,
            4 => Purpose::Columns,
            REPLACED => return Self::Replaced { offset },
            DELETION => return Self::Deletion { offset },
            _ => return Self::Slots { offset },
        };
        Self::Block { offset, purpose }
    }
}

impl<'m> Allocator<'m> {
    /// Frees a block once everybody who may have seen it is gone. Room must have been made.
    pub(crate) fn retire(&self, offset: u64, purpose: Purpose) {
        self.retire_item(Retired::Block { offset, purpose });
    }

    /// As [`Allocator::retire`], for an item of the queue.
    pub(crate) fn retire_item(&self, item: Retired) {
        self.cache.retired.push(*self, self.stamp_of_now(), item);
    }

    /// As [`Allocator::retire`], for the block of a row that was moved.
    pub(crate) fn retire_moved(&self, offset: u64) {
        let item = Retired::Block { offset, purpose: Purpose::Rows };
        self.cache.moved.push(*self, self.stamp_of_now(), item);
    }

    /// As [`Allocator::retire_moved`], for a chunk of slots and the versions that they refer to.
    pub(crate) fn retire_slots(&self, offset: u64) {
        self.cache.moved.push(*self, self.stamp_of_now(), Retired::Slots { offset });
    }

    /// As [`Allocator::retire_moved`], for what a segment was frozen to before.
    pub(crate) fn retire_replaced(&self, offset: u64) {
        self.cache.moved.push(*self, self.stamp_of_now(), Retired::Replaced { offset });
    }

    /// As [`Allocator::retire`], for a run of rows: table, first row, how many. Takes two entries.
    pub(crate) fn retire_rows(&self, run: (u32, u32, u32)) {
        self.cache.retired.push_rows(*self, self.stamp_of_now(), run);
    }

    /// The stamp of what is taken out now.
    pub(crate) fn stamp_of_now(&self) -> u64 {
        // Whoever began after this reading of the clock must find the block gone: the stores that
        // took it out come first.
        full_fence();
        self.memory.header().clock.0.load(Relaxed) + 1
    }
}

#[cfg(test)]
mod tests;
