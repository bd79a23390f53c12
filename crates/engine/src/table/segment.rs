//! From row id to newest version: segments of 65,536 row slots.
//!
//! `segment = id >> 16`, `slot = id & 0xffff`. A segment's slots come in chunks of 64, 64, 128,
//! 256, ... 32,768, so that a small table is small and no chunk ever moves. A slot's word is the
//! offset of the row's newest version, with bit 0 as the row's latch; or, with bit 1 set, the next
//! free row id in the table's list of them; or 0, never used.
//!
//! *Readers* load the word and mask the latch away. *Writers* of an existing row take the latch
//! first, so of a row's versions and index entries only one thread changes any at a time. A row
//! without a version cannot be latched: its word belongs to the list of free rows, or to whoever
//! took it off that list. The list's head carries a counter against reuse between load and
//! exchange.

use std::sync::atomic::Ordering;

use crate::error::{Error, ErrorKind, Result};
use crate::memory::atomic::{Acquire, AtomicU32, AtomicU64, Relaxed, Release, pause};
use crate::memory::class::occupied;
use crate::memory::latch::Latch;
use crate::memory::{Entitlement, Heap, Memory, Purpose, Ref};

const SEGMENT_SHIFT: u32 = 16;
const SLOT_MASK: u32 = (1 << SEGMENT_SHIFT) - 1;
const CHUNKS: usize = 11;
const FIRST_CHUNK: u32 = 64;
const LATCHED: u64 = 1;
const FREE: u64 = 2;
const FIRST_SEGMENTS: u64 = 4;
/// How often to look again whether a latched row has come to rest.
const WAITS_MAX: u32 = 200;

/// Rows that a table can hold: all row ids but the last.
pub(crate) const ROWS_MAX: u64 = u32::MAX as u64;

/// The directory of a table's rows; part of the table's root in the region.
#[repr(C)]
pub(crate) struct Directory {
    /// The array of references to segments, and how many it has room for.
    segments: AtomicU64,
    capacity: AtomicU64,
    /// Row ids from here on were never used.
    next: AtomicU64,
    /// Counter << 32 | one more than the first free row id.
    free: AtomicU64,
    latch: Latch,
    unused: AtomicU32,
}

/// A segment: where its chunks are.
#[repr(C)]
struct Segment {
    chunks: [AtomicU64; CHUNKS],
}

/// Where a chunk of slots lies, to find others in it. Chunks never move while their table lives.
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
        let segments = self.segments.load(Acquire);
        let entry = segments + u64::from(row >> SEGMENT_SHIFT) * 8;
        let segment = memory.get(Ref::<AtomicU64>::new(entry)).load(Acquire);
        let (chunk, place) = place_of(row);
        let segment: &Segment = memory.get(Ref::new(segment));
        let chunk = segment.chunks[chunk].load(Acquire);
        memory.get(Ref::new(chunk + u64::from(place) * 8))
    }

    /// The newest version of a row; 0 if there is none.
    #[inline]
    pub(crate) fn newest(&self, memory: &Memory, row: u32) -> u64 {
        newest_of(self.slot(memory, row).load(Acquire))
    }

    /// As [`Directory::newest`], quick while rows are of the same chunk as the one before.
    #[inline]
    pub(crate) fn newest_near(&self, memory: &Memory, near: &mut Chunk, row: u32) -> u64 {
        if row.wrapping_sub(near.first) >= near.len {
            let (chunk, place) = place_of(row);
            let at = memory.region().offset_of(self.slot(memory, row)) - u64::from(place) * 8;
            *near = Chunk { first: row - place, len: chunk_len(chunk), at };
        }
        let slot = near.at + u64::from(row - near.first) * 8;
        newest_of(memory.get(Ref::<AtomicU64>::new(slot)).load(Acquire))
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
        let (chunk, place) = place_of(row);
        let in_chunk = u64::from(chunk_len(chunk) - place);
        let count = in_chunk.min(limit - u64::from(row)) as usize;
        let first = memory.region().offset_of(self.slot(memory, row));
        memory.region().words(first, count)
    }

    /// The slots of the rows from `row` on that lie one behind the other, up to `limit`.
    pub(crate) fn slots_from<'m>(
        &self,
        memory: &'m Memory,
        row: u32,
        limit: u64,
    ) -> impl Iterator<Item = (u32, &'m AtomicU64)> {
        let (chunk, place) = place_of(row);
        let in_chunk = u64::from(chunk_len(chunk) - place);
        let count = in_chunk.min(limit - u64::from(row)) as u32;
        let first = self.slot(memory, row);
        let base = memory.region().offset_of(first);
        (0..count).map(move |i| (row + i, memory.get(Ref::new(base + u64::from(i) * 8))))
    }

    /// Latches a row, waiting for whoever holds it; `None` if the row has no version.
    pub(crate) fn latch<'m>(&self, memory: &'m Memory, row: u32) -> Option<LatchedRow<'m>> {
        let slot = self.slot(memory, row);
        let mut turn = 0;
        loop {
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

    /// The newest version of a row that nobody is changing just now, 0 if there is none; `None` if
    /// somebody still is after a moment's wait.
    pub(crate) fn newest_at_rest(&self, memory: &Memory, row: u32) -> Option<u64> {
        let slot = self.slot(memory, row);
        (0..WAITS_MAX).find_map(|turn| {
            let word = slot.load(Acquire);
            if word & (LATCHED | FREE) != LATCHED {
                return Some(newest_of(word));
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
    pub(crate) fn allocate(&self, heap: Heap<'_>) -> Result<u32> {
        if let Some(row) = self.pop_free(heap.memory) {
            return Ok(row);
        }
        loop {
            let next = self.next.load(Relaxed);
            if next >= ROWS_MAX {
                return Err(
                    Error::new(ErrorKind::LimitReached).because("the table has 4,294,967,295 rows")
                );
            }
            let (_, place) = place_of(next as u32);
            if place == 0 {
                self.make_chunk(heap, next as u32)?;
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
    pub(crate) fn claim(&self, heap: Heap<'_>, row: u32) -> Result<()> {
        let mut next = self.next.load(Relaxed);
        while next <= u64::from(row) {
            if place_of(next as u32).1 == 0 {
                self.make_chunk(heap, next as u32)?;
            }
            next += 1;
            self.next.store(next, Release);
        }
        Ok(())
    }

    /// Makes the list of free rows anew: all that have no version, the lowest first. Nobody else
    /// uses the table.
    pub(crate) fn thread_free(&self, memory: &Memory) {
        self.free.store(next_count(self.free.load(Relaxed)), Release);
        for row in (0..self.limit()).rev() {
            if self.newest(memory, row as u32) == 0 {
                self.give_back(memory, row as u32);
            }
        }
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

    /// Bytes of the directory. Others may make it larger meanwhile.
    pub(crate) fn bytes(&self, memory: &Memory) -> u64 {
        let block = |size: usize| occupied(size) as u64;
        // The array first: it has at least as many places as were there before.
        let capacity = self.capacity.load(Acquire);
        let segments = self.segments.load(Acquire);
        let mut bytes = if segments == 0 { 0 } else { block(capacity as usize * 8) };
        for i in 0..capacity {
            let at = memory.get(Ref::<AtomicU64>::new(segments + i * 8)).load(Acquire);
            if at == 0 {
                continue;
            }
            let segment: &Segment = memory.get(Ref::new(at));
            let made = (0..CHUNKS).filter(|&chunk| segment.chunks[chunk].load(Relaxed) != 0);
            let chunks: u64 = made.map(|chunk| block(chunk_len(chunk) as usize * 8)).sum();
            bytes += block(size_of::<Segment>()) + chunks;
        }
        bytes
    }

    /// Frees the directory of a table that nobody uses any more.
    pub(crate) fn destroy(&self, heap: Heap<'_>) {
        let (segments, capacity) = (self.segments.load(Relaxed), self.capacity.load(Relaxed));
        for i in 0..capacity {
            let at = heap.memory.get(Ref::<AtomicU64>::new(segments + i * 8)).load(Relaxed);
            if at == 0 {
                continue;
            }
            let segment: &Segment = heap.memory.get(Ref::new(at));
            for (chunk, word) in segment.chunks.iter().enumerate() {
                if word.load(Relaxed) != 0 {
                    let size = chunk_len(chunk) as usize * 8;
                    heap.free(word.load(Relaxed), size, Purpose::Segments);
                }
            }
            heap.free(at, size_of::<Segment>(), Purpose::Segments);
        }
        if segments != 0 {
            heap.free(segments, capacity as usize * 8, Purpose::Segments);
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
    fn make_chunk(&self, heap: Heap<'_>, row: u32) -> Result<()> {
        let _latched = self.latch.lock();
        let number = u64::from(row >> SEGMENT_SHIFT);
        if number >= self.capacity.load(Relaxed) {
            self.grow_segments(heap)?;
        }
        let entry = self.segments.load(Relaxed) + number * 8;
        let entry = heap.memory.get(Ref::<AtomicU64>::new(entry));
        if entry.load(Relaxed) == 0 {
            let segment = heap.create::<Segment>(Purpose::Segments)?;
            entry.store(segment.offset(), Release);
        }
        let segment: &Segment = heap.memory.get(Ref::new(entry.load(Relaxed)));
        let (chunk, _) = place_of(row);
        if segment.chunks[chunk].load(Relaxed) == 0 {
            let size = chunk_len(chunk) as usize * 8;
            let at = heap.allocate(size, Purpose::Segments, Entitlement::Ordinary)?;
            heap.region().fresh_bytes(at, size).fill(0);
            segment.chunks[chunk].store(at, Release);
        }
        Ok(())
    }

    /// Doubles the array of segments. Entries never change, so readers of the old array read true.
    fn grow_segments(&self, heap: Heap<'_>) -> Result<()> {
        heap.cache.retired.make_room(heap, 1, Entitlement::Ordinary)?;
        let (old, capacity) = (self.segments.load(Relaxed), self.capacity.load(Relaxed));
        let grown = (capacity * 2).max(FIRST_SEGMENTS);
        let (old_size, size) = (capacity as usize * 8, grown as usize * 8);
        let at = heap.allocate(size, Purpose::Segments, Entitlement::Ordinary)?;
        let bytes = heap.region().fresh_bytes(at, size);
        bytes.fill(0);
        if old != 0 {
            bytes[..old_size].copy_from_slice(heap.region().bytes(old, old_size));
        }
        self.segments.store(at, Release);
        self.capacity.store(grown, Release);
        if old != 0 {
            heap.retire(old, Purpose::Segments);
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
    if word & FREE != 0 { 0 } else { word & !LATCHED }
}

/// The chunk of a row in its segment, and the row's place in the chunk.
#[inline]
fn place_of(row: u32) -> (usize, u32) {
    let slot = row & SLOT_MASK;
    if slot < FIRST_CHUNK {
        return (0, slot);
    }
    let power = slot.ilog2();
    ((power - FIRST_CHUNK.ilog2() + 1) as usize, slot - (1 << power))
}

fn chunk_len(chunk: usize) -> u32 {
    if chunk == 0 { FIRST_CHUNK } else { FIRST_CHUNK << (chunk - 1) }
}

fn next_count(head: u64) -> u64 {
    ((head >> 32).wrapping_add(1) & 0xffff_ffff) << 32
}
