//! From row id to newest version: segments of 65,536 row slots.
//!
//! `segment = id >> 16`, `slot = id & 0xffff`. Slots come in chunks of 64, 64, 128, ... 32,768, so
//! that a small table is small. A slot's word is the offset of the row's newest version, with bit 0
//! as the row's latch; with bit 1 set, the next free row id in the table's list; with bit 2, the
//! only version of a row whose insertion was taken back, or that has ended and left its indexes,
//! which is a row only for who frees it; with bit 3, a row that is as it was frozen; or 0, never
//! used. Of a segment that was frozen, all chunks' words are what it was frozen to, with bit 3 set
//! (`columns/frozen.rs`). The words in the chunks before stay latched for ever, which sends whoever
//! waits, or keeps a chunk in mind, to the new.
//!
//! *Readers* load the word and mask the latch away. *Writers* of an existing row take the latch
//! first: of its versions and index entries only one thread changes any at a time. A row without a
//! version cannot be latched: its word belongs to the list of free rows, or to whoever took it off.
//! The list's head carries a counter against reuse between load and exchange.

use std::sync::atomic::Ordering;

use crate::error::{Error, ErrorKind, Result};
use crate::index;
use crate::memory::atomic::{Acquire, AtomicU32, AtomicU64, Relaxed, Release, pause};
use crate::memory::class::occupied;
use crate::memory::counts::Counted;
use crate::memory::latch::Latch;
use crate::memory::{AllocationClass, Allocator, Memory, Purpose, Ref};
use crate::table::columns::frozen::FrozenSegment;

pub(crate) const SEGMENT_SHIFT: u32 = 16;
const SLOT_MASK: u32 = (1 << SEGMENT_SHIFT) - 1;
pub(in crate::table) const CHUNKS: usize = 11;
const FIRST_CHUNK: u32 = 64;
pub(in crate::table) const LATCHED: u64 = 1;
pub(in crate::table) const FREE: u64 = 2;
pub(in crate::table) const DEAD: u64 = 4;
pub(in crate::table) const FROZEN: u64 = 8;
const FIRST_SEGMENTS: u64 = 4;
/// Attempts to wait for a latched row.
const WAITS_MAX: u32 = 200;

/// Rows that a table can hold: all row ids but the last.
pub(crate) const ROWS_MAX: u64 = index::ROWS_MAX as u64;

/// The directory of a table's rows; part of the table's root in the region.
#[repr(C)]
pub(crate) struct Directory {
    /// The array of references to segments, and how many it has room for.
    pub(in crate::table) segments: AtomicU64,
    pub(in crate::table) capacity: AtomicU64,
    /// Row ids from here on were never used.
    pub(in crate::table) next: AtomicU64,
    /// Counter << 32 | one more than the first free row id.
    pub(in crate::table) free: AtomicU64,
    /// Held by whoever makes, replaces or counts chunks.
    pub(in crate::table) latch: Latch,
    unused: AtomicU32,
}

/// A segment: where its chunks are.
#[repr(C)]
pub(in crate::table) struct Segment {
    pub(in crate::table) chunks: [AtomicU64; CHUNKS],
}

/// A chunk of slots, to find others in it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Chunk {
    first: u32,
    len: u32,
    at: u64,
}

/// The word of a row that this thread has latched. Dropping it unlatches the row unchanged.
pub(crate) struct LatchedRow<'m> {
    slot: &'m AtomicU64,
    newest: u64,
}

impl Directory {
    /// The slot of a row that was allocated.
    #[inline]
    pub(crate) fn slot<'m>(&self, memory: &'m Memory, row: u32) -> &'m AtomicU64 {
        let (chunk, ordinal) = self.chunk(memory, row);
        if chunk & FROZEN != 0 {
            return FrozenSegment::at(memory, chunk & !FROZEN).slot(memory, row);
        }
        memory.get(Ref::new(chunk + u64::from(ordinal) * 8))
    }

    /// The word of the chunk that a row lies in, and the row's ordinal there.
    #[inline]
    pub(in crate::table) fn chunk(&self, memory: &Memory, row: u32) -> (u64, u32) {
        let segments = self.segments.load(Acquire);
        let entry = segments + u64::from(row >> SEGMENT_SHIFT) * 8;
        let segment = memory.get(Ref::<AtomicU64>::new(entry)).load(Acquire);
        let (chunk, ordinal) = locate(row);
        let segment: &Segment = memory.get(Ref::new(segment));
        (segment.chunks[chunk].load(Acquire), ordinal)
    }

    /// The word in a row's slot.
    #[inline]
    pub(crate) fn word(&self, memory: &Memory, row: u32) -> u64 {
        self.slot(memory, row).load(Acquire)
    }

    /// The newest version of a row; 0 if there is none, or if the row is as it was frozen.
    #[inline]
    pub(crate) fn newest(&self, memory: &Memory, row: u32) -> u64 {
        newest_of(self.word(memory, row))
    }

    /// As [`Directory::word`], quick while rows are of the same chunk as the one before.
    #[inline]
    pub(crate) fn word_near(&self, memory: &Memory, near: &mut Chunk, row: u32) -> u64 {
        if row.wrapping_sub(near.first) >= near.len {
            let (chunk, ordinal) = self.chunk(memory, row);
            if chunk & FROZEN != 0 {
                return self.word(memory, row);
            }
            let len = chunk_len(locate(row).0);
            *near = Chunk { first: row - ordinal, len, at: chunk };
        }
        let slot = near.at + u64::from(row - near.first) * 8;
        let word = memory.get(Ref::<AtomicU64>::new(slot)).load(Acquire);
        if is_latched(word) { self.word(memory, row) } else { word }
    }

    /// Asks the processor for the row's slot.
    #[inline]
    pub(crate) fn prefetch(&self, memory: &Memory, row: u32) {
        let slot: *const AtomicU64 = self.slot(memory, row);
        crate::memory::atomic::prefetch(slot.cast());
    }

    /// As [`Directory::prefetch`], for whoever is about to latch the row.
    #[inline]
    pub(crate) fn prefetch_to_latch(&self, memory: &Memory, row: u32) {
        let slot: *const AtomicU64 = self.slot(memory, row);
        crate::memory::atomic::prefetch_to_write(slot.cast());
    }

    /// Row ids below this may be in use.
    pub(crate) fn limit(&self) -> u64 {
        self.next.load(Acquire)
    }

    /// The slots from `row` on, as many as lie beside it before `limit`.
    pub(crate) fn slots_beside<'m>(
        &self,
        memory: &'m Memory,
        row: u32,
        limit: u64,
    ) -> &'m [AtomicU64] {
        let (chunk, ordinal) = self.chunk(memory, row);
        let left = limit - u64::from(row);
        if chunk & FROZEN != 0 {
            let slots = FrozenSegment::at(memory, chunk & !FROZEN).slots_beside(memory, row);
            return &slots[..left.min(slots.len() as u64) as usize];
        }
        let in_chunk = u64::from(chunk_len(locate(row).0) - ordinal);
        memory.region().words(chunk + u64::from(ordinal) * 8, in_chunk.min(left) as usize)
    }

    /// Slots that lie side by side from `next` on, at most `most` and before `limit`; first `next`
    /// passes row ids that nobody can have. None if it has come to `limit`.
    #[inline]
    pub(crate) fn stretch<'m>(
        &self,
        memory: &'m Memory,
        next: &mut u64,
        limit: u64,
        most: u64,
    ) -> &'m [AtomicU64] {
        while *next < limit {
            let row = *next as u32;
            let (chunk, _) = self.chunk(memory, row);
            if chunk & FROZEN == 0 || FrozenSegment::at(memory, chunk & !FROZEN).reaches(row) {
                return self.slots_beside(memory, row, limit.min(next.saturating_add(most)));
            }
            *next = limit.min(((*next >> SEGMENT_SHIFT) + 1) << SEGMENT_SHIFT);
        }
        &[]
    }

    /// Latches a row, waiting for whoever holds it; `None` if the row has no version, or is as it
    /// was frozen.
    pub(crate) fn latch<'m>(&self, memory: &'m Memory, row: u32) -> Option<LatchedRow<'m>> {
        let mut turn = 0;
        loop {
            let slot = self.slot(memory, row);
            let word = slot.load(Relaxed);
            if newest_of(word) == 0 {
                return None;
            }
            let free = word & LATCHED == 0;
            if free && slot.compare_exchange(word, word | LATCHED, Acquire, Relaxed).is_ok() {
                return Some(LatchedRow { slot, newest: word });
            }
            pause(turn);
            turn += 1;
        }
    }

    /// As [`Directory::latch`], without waiting: `None` if somebody holds the row as well.
    pub(crate) fn try_latch<'m>(&self, memory: &'m Memory, row: u32) -> Option<LatchedRow<'m>> {
        let slot = self.slot(memory, row);
        let word = slot.load(Relaxed);
        let free = newest_of(word) != 0 && word & LATCHED == 0;
        (free && slot.compare_exchange(word, word | LATCHED, Acquire, Relaxed).is_ok())
            .then(|| LatchedRow { slot, newest: word })
    }

    /// What the slot of a row holds that nobody is changing just now; `None` if somebody still is
    /// after a moment's wait.
    pub(crate) fn word_at_rest(&self, memory: &Memory, row: u32) -> Option<u64> {
        (0..WAITS_MAX).find_map(|turn| {
            let word = self.word(memory, row);
            if word & (LATCHED | FREE) != LATCHED {
                return Some(word);
            }
            pause(turn);
            None
        })
    }

    /// A row id with no version.
    ///
    /// # Errors
    /// `LimitReached`, `BudgetReached`, `OutOfMachineMemory`.
    #[inline]
    pub(crate) fn allocate(&self, alloc: Allocator<'_>) -> Result<u32> {
        if let Some(row) = self.pop_free(alloc.memory) {
            return Ok(row);
        }
        loop {
            let next = self.next.load(Relaxed);
            if next >= ROWS_MAX {
                return Err(
                    Error::new(ErrorKind::LimitReached).because("the table has 4,294,967,040 rows")
                );
            }
            let (_, ordinal) = locate(next as u32);
            if ordinal == 0 {
                self.make_chunk(alloc, next as u32)?;
            }
            if self.next.compare_exchange(next, next + 1, Ordering::AcqRel, Relaxed).is_ok() {
                return Ok(next as u32);
            }
        }
    }

    /// Sees to it that there is a slot for a row id, used or not. Those before it that were never
    /// used, and those in the list of free rows, are in no order then until
    /// [`Directory::thread_free`]; nobody else uses the table.
    ///
    /// # Errors
    /// As [`Directory::allocate`].
    pub(crate) fn claim(&self, alloc: Allocator<'_>, row: u32) -> Result<()> {
        self.extend(alloc, u64::from(row) + 1)?;
        self.open_gap(alloc, row)
    }

    /// Sees to it that there are slots for all row ids below this one, as [`Directory::claim`].
    ///
    /// # Errors
    /// As [`Directory::allocate`].
    pub(in crate::table) fn extend(&self, alloc: Allocator<'_>, limit: u64) -> Result<()> {
        let mut next = self.next.load(Relaxed);
        while next < limit {
            if locate(next as u32).1 == 0 {
                self.make_chunk(alloc, next as u32)?;
            }
            next += 1;
            self.next.store(next, Release);
        }
        Ok(())
    }

    /// Makes the list of free rows anew: all that have no version, the lowest first. Nobody else
    /// changes the table; a row that is given back meanwhile may be left out.
    pub(crate) fn thread_free(&self, memory: &Memory) {
        let (mut first, mut last) = (0, None);
        let (mut next, limit) = (0, self.limit());
        while next < limit {
            let slots = self.stretch(memory, &mut next, limit, u64::MAX);
            for (row, slot) in (next..).zip(slots) {
                let word = slot.load(Relaxed);
                // Whoever marked one as dead gives it back.
                let is_dead = word & FREE == 0 && word & DEAD != 0;
                if newest_of(word) != 0 || is_frozen(word) || is_dead {
                    continue;
                }
                match last.replace(slot) {
                    None => first = row + 1,
                    Some(before) => before.store((row + 1) << 2 | FREE, Release),
                }
            }
            next += slots.len() as u64;
        }
        if let Some(last) = last {
            last.store(FREE, Release);
        }
        self.free.store(next_count(self.free.load(Relaxed)) | first, Release);
    }

    /// Gives back the id of a row that has no version any more, so that nobody can latch it.
    pub(crate) fn give_back(&self, memory: &Memory, row: u32) {
        let slot = self.slot(memory, row);
        loop {
            let head = self.free.load(Acquire);
            slot.store((head & 0xffff_ffff) << 2 | FREE, Release);
            let new = next_count(head) | (u64::from(row) + 1);
            if self.free.compare_exchange(head, new, Release, Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Takes the insertion of a row back for everybody: its only version is left to who frees the
    /// row, by [`last_of`] and then [`Directory::give_back_all`].
    #[inline]
    pub(crate) fn mark_dead(slot: &AtomicU64) {
        let mut turn = 0;
        loop {
            let word = slot.load(Relaxed);
            let dead = (word & !LATCHED) | DEAD;
            let free = word & LATCHED == 0;
            if free && slot.compare_exchange(word, dead, Release, Relaxed).is_ok() {
                return;
            }
            pause(turn);
            turn += 1;
        }
    }

    /// Gives back the ids of rows that are dead and whose versions nobody refers to any more: those
    /// of `slots`, which begin with that of row `first`.
    pub(crate) fn give_back_all(&self, first: u32, slots: &[AtomicU64]) {
        let Some((last, others)) = slots.split_last() else { return };
        for (slot, next) in others.iter().zip(first + 1..) {
            slot.store((u64::from(next) + 1) << 2 | FREE, Release);
        }
        loop {
            let head = self.free.load(Acquire);
            last.store((head & 0xffff_ffff) << 2 | FREE, Release);
            let new = next_count(head) | (u64::from(first) + 1);
            if self.free.compare_exchange(head, new, Release, Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Bytes of the directory. Others may make it larger meanwhile.
    pub(crate) fn bytes(&self, memory: &Memory) -> u64 {
        let block = |size: usize| occupied(size) as u64;
        // The array first: it has at least as many entries as were there before.
        let capacity = self.capacity.load(Acquire);
        let segments = self.segments.load(Acquire);
        let mut bytes = if segments == 0 { 0 } else { block(capacity as usize * 8) };
        for i in 0..capacity {
            let at = memory.get(Ref::<AtomicU64>::new(segments + i * 8)).load(Acquire);
            if at == 0 {
                continue;
            }
            let segment: &Segment = memory.get(Ref::new(at));
            bytes += block(size_of::<Segment>());
            let frozen = segment.frozen(memory);
            bytes += frozen.map_or(0, |frozen| frozen.directory_bytes(memory));
            for (chunk, word) in segment.chunks.iter().enumerate() {
                if !matches!(word.load(Acquire), word if word == 0 || word & FROZEN != 0) {
                    bytes += block(chunk_len(chunk) as usize * 8);
                }
            }
        }
        bytes
    }

    /// Frees the directory of a table that nobody uses any more.
    pub(crate) fn destroy(&self, alloc: Allocator<'_>) {
        let (segments, capacity) = (self.segments.load(Relaxed), self.capacity.load(Relaxed));
        for i in 0..capacity {
            let at = alloc.memory.get(Ref::<AtomicU64>::new(segments + i * 8)).load(Relaxed);
            if at == 0 {
                continue;
            }
            let segment: &Segment = alloc.memory.get(Ref::new(at));
            if let Some(frozen) = segment.frozen(alloc.memory) {
                frozen.destroy(alloc);
            }
            for (chunk, word) in segment.chunks.iter().enumerate() {
                let word = word.load(Relaxed);
                if word != 0 && word & FROZEN == 0 {
                    alloc.free(word, chunk_len(chunk) as usize * 8, Purpose::Segments);
                }
            }
            alloc.free(at, size_of::<Segment>(), Purpose::Segments);
        }
        if segments != 0 {
            alloc.free(segments, capacity as usize * 8, Purpose::Segments);
        }
    }

    fn pop_free(&self, memory: &Memory) -> Option<u32> {
        loop {
            let head = self.free.load(Acquire);
            let row = (head & 0xffff_ffff).checked_sub(1)? as u32;
            let word = self.slot(memory, row).load(Acquire);
            if word & FREE == 0 {
                continue;
            }
            let new = next_count(head) | (word >> 2);
            if self.free.compare_exchange(head, new, Ordering::AcqRel, Relaxed).is_ok() {
                return Some(row);
            }
        }
    }

    /// Makes the chunk that `row` lies in, unless it is there.
    #[cold]
    pub(in crate::table) fn make_chunk(&self, alloc: Allocator<'_>, row: u32) -> Result<()> {
        let _latched = self.latch.lock();
        let segment = self.make_segment(alloc, row >> SEGMENT_SHIFT)?;
        let (chunk, _) = locate(row);
        if segment.chunks[chunk].load(Relaxed) == 0 {
            let size = chunk_len(chunk) as usize * 8;
            let at = alloc.allocate(size, Purpose::Segments, AllocationClass::Normal)?;
            alloc.region().fresh_bytes(at, size).fill(0);
            segment.chunks[chunk].store(at, Release);
        }
        Ok(())
    }

    /// The segment with this number, made unless it is there; the latch is held.
    pub(in crate::table) fn make_segment<'m>(
        &self,
        alloc: Allocator<'m>,
        number: u32,
    ) -> Result<&'m Segment> {
        while u64::from(number) >= self.capacity.load(Relaxed) {
            self.grow_segments(alloc)?;
        }
        let entry = self.segments.load(Relaxed) + u64::from(number) * 8;
        let entry = alloc.memory.get(Ref::<AtomicU64>::new(entry));
        if entry.load(Relaxed) == 0 {
            let segment = alloc.create::<Segment>(Purpose::Segments)?;
            entry.store(segment.offset(), Release);
            alloc.cache.counts.add(Counted::BegunSegments, 1);
        }
        Ok(alloc.memory.get(Ref::new(entry.load(Relaxed))))
    }

    /// Doubles the array of segments. Entries never change, so readers of the old array read true.
    fn grow_segments(&self, alloc: Allocator<'_>) -> Result<()> {
        alloc.cache.retired.make_room(alloc, 1, AllocationClass::Normal)?;
        let (old, capacity) = (self.segments.load(Relaxed), self.capacity.load(Relaxed));
        let grown = (capacity * 2).max(FIRST_SEGMENTS);
        let (old_size, size) = (capacity as usize * 8, grown as usize * 8);
        let at = alloc.allocate(size, Purpose::Segments, AllocationClass::Normal)?;
        let bytes = alloc.region().fresh_bytes(at, size);
        bytes.fill(0);
        if old != 0 {
            bytes[..old_size].copy_from_slice(alloc.region().bytes(old, old_size));
        }
        self.segments.store(at, Release);
        self.capacity.store(grown, Release);
        if old != 0 {
            alloc.retire(old, Purpose::Segments);
        }
        Ok(())
    }
}

impl LatchedRow<'_> {
    /// The newest version.
    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// Makes `version` the newest, 0 for none, and unlatches the row.
    pub(crate) fn set_newest(mut self, version: u64) {
        self.newest = version;
    }

    /// Leaves its only version to who frees the row, as [`Directory::mark_dead`].
    pub(crate) fn mark_dead(mut self) {
        self.newest |= DEAD;
    }
}

impl Drop for LatchedRow<'_> {
    #[inline]
    fn drop(&mut self) {
        self.slot.store(self.newest, Release);
    }
}

/// The version in a slot's word; 0 for none.
#[inline]
pub(crate) fn newest_of(word: u64) -> u64 {
    if word & (FREE | DEAD | FROZEN) != 0 { 0 } else { word & !LATCHED }
}

/// Whether a slot's word says that somebody has latched the row.
#[inline]
pub(crate) fn is_latched(word: u64) -> bool {
    word & LATCHED != 0
}

/// Whether a slot's word says that the row is as it was frozen.
#[inline]
pub(crate) fn is_frozen(word: u64) -> bool {
    // In the list of free rows the other bits are a row id.
    word & (FREE | FROZEN) == FROZEN
}

/// The version in a slot's word, also of a row that is dead; 0 for none.
#[inline]
pub(crate) fn last_of(word: u64) -> u64 {
    if word & (FREE | FROZEN) != 0 { 0 } else { word & !(LATCHED | DEAD) }
}

/// The chunk of a row in its segment, and the row's ordinal in the chunk.
#[inline]
pub(in crate::table) fn locate(row: u32) -> (usize, u32) {
    let slot = row & SLOT_MASK;
    if slot < FIRST_CHUNK {
        return (0, slot);
    }
    let power = slot.ilog2();
    ((power - FIRST_CHUNK.ilog2() + 1) as usize, slot - (1 << power))
}

pub(in crate::table) fn chunk_len(chunk: usize) -> u32 {
    if chunk == 0 { FIRST_CHUNK } else { FIRST_CHUNK << (chunk - 1) }
}

pub(in crate::table) fn next_count(head: u64) -> u64 {
    ((head >> 32).wrapping_add(1) & 0xffff_ffff) << 32
}
