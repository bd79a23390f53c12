//! Freezing a segment: its rows become columns, its slots and versions go.
//!
//! Others read and write meanwhile. A segment is frozen only if every row in it has a single
//! version, committed before every snapshot that is held. Its columns are made first, of versions
//! that cannot change. Then every row is latched, as it was: if one has been changed since, or a
//! row has come, all is taken back. With all rows latched the chunks of slots are exchanged for the
//! frozen segment. The old chunks stay latched, which sends whoever waits for a row to its new
//! slot; they and the versions are freed when everybody has ended who may refer to them.
//!
//! Row ids in the list of free ones would lead into a segment that has no slots, so those of the
//! segments in question are withdrawn from it first: they are *gaps*.

use std::ops::Range;

use super::frozen::{BlockAt, FrozenSegment, block_size};
use super::frozen_ends::Bitmaps;
use super::refreeze::FrozenAt;
use crate::column::block::{Block, EncodedBlock};
use crate::error::Result;
use crate::index::pack::Packing;
use crate::memory::atomic::{Acquire, AtomicU64, Relaxed, Release, SeqCst};
use crate::memory::class::occupied;
use crate::memory::row_blocks::{self, Freeing};
use crate::memory::{AllocationClass, Allocator, Memory, Purpose, Ref};
use crate::snapshot::{Begin, resolve};
use crate::table::rows::segment::{
    CHUNKS, DEAD, Directory, FREE, FROZEN, LATCHED, ROWS_MAX, SEGMENT_SHIFT, Segment, chunk_len,
    is_frozen, last_of, newest_of, next_count,
};
use crate::table::rows::version::{Version, bytes_at};
use crate::table::table::{IndexCore, TableAt};

/// The slot of a row whose id was withdrawn from the list of free ones.
pub(super) const GAP: u64 = DEAD;

/// What became of a segment that was to be frozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It is frozen.
    Frozen { rows: u64, bytes_before: u64, bytes_after: u64 },
    /// It was frozen and worn, and has new columns.
    Refrozen { rows: u64, bytes_before: u64, bytes_after: u64 },
    /// It was frozen before and is not worn, or no row is in it.
    Nothing,
    /// Some row has old versions, is being changed, or is too new for a snapshot that is held; or
    /// its columns would be too large.
    Busy,
}

/// What a segment looks like before it is frozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inspected {
    /// It can be frozen.
    Freezable,
    /// It is frozen and not worn, or no row is in it.
    Nothing,
    /// Some row cannot be frozen.
    Busy,
}

/// Whether row ids of a segment may be free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gaps {
    /// They were withdrawn, and are not given out as long as it is frozen.
    Withdrawn,
    /// None may be: then nothing has to be withdrawn, and none is lost.
    Refused,
}

/// The rows of a segment, none of which anybody may change unnoticed.
struct Frame<'m> {
    slots: Vec<&'m AtomicU64>,
    words: Vec<u64>,
    rows: Vec<Option<&'m [u8]>>,
    /// The newest row's timestamp.
    begin: u64,
    bytes: u64,
}

impl<'m> TableAt<'m> {
    /// Whether a segment can be frozen, as [`TableAt::freeze_segment`] will find it.
    pub(crate) fn inspect_segment(&self, number: u32, horizon: u64) -> Inspected {
        let (directory, memory) = (self.directory(), self.memory);
        let mut next = u64::from(number) << SEGMENT_SHIFT;
        let end = directory.limit().min(next + (1 << SEGMENT_SHIFT));
        let Some(segment) = directory.segment(memory, number) else { return Inspected::Nothing };
        if let Some(frozen) = segment.frozen(memory) {
            let first = number << SEGMENT_SHIFT;
            return FrozenAt { table: *self, first, segment, frozen }.inspect(horizon);
        }
        let mut found = Inspected::Nothing;
        while next < end {
            let slots = directory.slots_beside(memory, next as u32, end);
            for word in slots.iter().map(|slot| slot.load(Acquire)) {
                if word & FREE == 0 {
                    if self.freezable_row(word, horizon).is_none() {
                        return Inspected::Busy;
                    }
                    found = Inspected::Freezable;
                }
            }
            next += slots.len() as u64;
        }
        found
    }

    /// Freezes a segment if all of its rows were committed at or before `horizon`, which every
    /// snapshot has reached; one that is frozen and worn, again (`refreeze.rs`). The caller holds a
    /// slot as a writer, and nobody else freezes.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
    pub(crate) fn freeze_segment(
        &self,
        alloc: Allocator<'m>,
        number: u32,
        horizon: u64,
        gaps: Gaps,
    ) -> Result<Outcome> {
        let (directory, memory) = (self.directory(), self.memory);
        let start = u64::from(number) << SEGMENT_SHIFT;
        let limit = directory.limit();
        let Some(segment) = directory.segment(memory, number) else { return Ok(Outcome::Nothing) };
        if start >= limit {
            return Ok(Outcome::Nothing);
        }
        if let Some(frozen) = segment.frozen(memory) {
            let worn = FrozenAt { table: *self, first: start as u32, segment, frozen };
            return worn.refreeze(alloc, horizon, gaps);
        }
        let end = limit.min(start + (1 << SEGMENT_SHIFT));
        let frame = self.frame(start..end, horizon, gaps);
        let Some(frame) = frame else { return Ok(Outcome::Busy) };
        if frame.rows.iter().all(Option::is_none) {
            return Ok(Outcome::Nothing);
        }
        let encoded = EncodedBlock::of_rows(&self.core.layout, &frame.rows);
        let Some(encoded) = encoded else { return Ok(Outcome::Busy) };
        let frozen = segment_of(alloc, put_block(alloc, &encoded)?, frame.begin)?;
        let room = alloc.cache.moved.make_room(alloc, CHUNKS as u64, AllocationClass::Normal);
        room.inspect_err(|_| memory.get(frozen).destroy(alloc))?;
        let bytes_before = frame.bytes + segment.chunk_bytes();
        if !frame.latch(memory) {
            memory.get(frozen).destroy(alloc);
            return Ok(Outcome::Busy);
        }
        if !directory.exchange(alloc, segment, frozen, end) {
            frame.unlatch(frame.words.len());
            memory.get(frozen).destroy(alloc);
            return Ok(Outcome::Busy);
        }
        let frozen = memory.get(frozen);
        let bytes_after = frozen.block_bytes() + frozen.directory_bytes(memory);
        Ok(Outcome::Frozen { rows: encoded.live().into(), bytes_before, bytes_after })
    }

    /// These rows; `None` if they cannot be frozen.
    fn frame(&self, rows: Range<u64>, horizon: u64, gaps: Gaps) -> Option<Frame<'m>> {
        let Range { start, end } = rows;
        if gaps == Gaps::Refused {
            // Of a segment that is not at rest the last row mostly is not, either.
            self.freezable_row(self.directory().word(self.memory, (end - 1) as u32), horizon)?;
        }
        let count = (end - start) as usize;
        let mut frame = Frame {
            slots: Vec::with_capacity(count),
            words: Vec::with_capacity(count),
            rows: Vec::with_capacity(count),
            begin: 0,
            bytes: 0,
        };
        let mut row = start;
        while row < end {
            let slots = self.directory().slots_beside(self.memory, row as u32, end);
            for slot in slots {
                let word = slot.load(Acquire);
                let is_gap = word == GAP && gaps == Gaps::Withdrawn;
                let bytes = if is_gap { None } else { Some(self.freezable_row(word, horizon)?) };
                if let Some((bytes, begin)) = bytes {
                    let size = size_of::<Version>() + bytes.len();
                    frame.bytes += row_blocks::occupied(size) as u64;
                    frame.begin = frame.begin.max(begin);
                }
                frame.slots.push(slot);
                frame.words.push(word);
                frame.rows.push(bytes.map(|(bytes, _)| bytes));
            }
            row += slots.len() as u64;
        }
        Some(frame)
    }

    /// The bytes and the timestamp of the row in a slot, if it is one that can be frozen.
    pub(super) fn freezable_row(&self, word: u64, horizon: u64) -> Option<(&'m [u8], u64)> {
        let newest = newest_of(word);
        if newest == 0 || word & LATCHED != 0 {
            return None;
        }
        let version = Version::at(self.memory, newest);
        let Begin::Committed(begin) = resolve(self.memory, &version.begin) else { return None };
        let single = version.older() == 0 && !version.is_tombstone() && !version.has_end();
        (single && begin <= horizon).then(|| (bytes_at(self.memory, newest), begin))
    }

    /// Goes on making an ordered index smaller once rows are frozen; whether there is more to do.
    /// Entries of rows in columns need no hint, so several can be one word (`index/bundle.rs`). To
    /// be called by a writer that has taken a slot; readers and writers go on.
    pub(crate) fn pack(
        &self,
        alloc: Allocator<'m>,
        index: &IndexCore,
        packing: &mut Packing,
    ) -> bool {
        let (directory, memory) = (self.directory(), self.memory);
        packing.step(self.ordered(index), alloc, &|row| is_frozen(directory.word(memory, row)))
    }
}

/// Puts columns into memory: where they lie, and how many bytes they are.
///
/// # Errors
/// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
pub(super) fn put_block(alloc: Allocator<'_>, encoded: &EncodedBlock) -> Result<BlockAt> {
    let len = encoded.len();
    let at = alloc.allocate(block_size(len), Purpose::Columns, AllocationClass::Normal)?;
    encoded.write(alloc.region().fresh_bytes(at, len));
    Ok(BlockAt { at, len })
}

/// Puts a block into memory that is encoded and was checked, and what it is found by.
///
/// # Errors
/// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
pub(crate) fn install(
    alloc: Allocator<'_>,
    block: &[u8],
    begin: u64,
) -> Result<Ref<FrozenSegment>> {
    let len = block.len();
    let at = alloc.allocate(block_size(len), Purpose::Columns, AllocationClass::Normal)?;
    alloc.region().fresh_bytes(at, len).copy_from_slice(block);
    segment_of(alloc, BlockAt { at, len }, begin)
}

/// Puts what a segment is frozen to around a block, which is freed if that fails.
///
/// # Errors
/// As [`put_block`].
pub(super) fn segment_of(
    alloc: Allocator<'_>,
    block: BlockAt,
    begin: u64,
) -> Result<Ref<FrozenSegment>> {
    let free_block = || FrozenSegment::free_block(alloc, block);
    let rows = Block::new(alloc.region().bytes(block.at, block.len)).rows();
    let bitmaps = Bitmaps::allocate(alloc, rows).inspect_err(|_| free_block())?;
    FrozenSegment::create(alloc, block, bitmaps, begin).inspect_err(|_| {
        bitmaps.free(alloc);
        free_block();
    })
}

impl Frame<'_> {
    /// Latches every row, as it was inspected, and finalizes its version; `false` if one has
    /// changed, and none is latched. One that has ended in place meanwhile has still the same word.
    fn latch(&self, memory: &Memory) -> bool {
        for (i, (slot, &word)) in self.slots.iter().zip(&self.words).enumerate() {
            if word == GAP {
                continue;
            }
            let latched = slot.compare_exchange(word, word | LATCHED, Acquire, Relaxed).is_ok();
            let version = Version::at(memory, newest_of(word));
            if !latched || version.has_end() {
                self.unlatch(i + usize::from(latched));
                return false;
            }
            if let Begin::Committed(begin) = resolve(memory, &version.begin) {
                version.finalize_begin(begin);
            }
        }
        true
    }

    /// Unlatches the first `count` rows.
    fn unlatch(&self, count: usize) {
        for (slot, &word) in self.slots.iter().zip(&self.words).take(count) {
            slot.store(word, Release);
        }
    }
}

impl Segment {
    /// Bytes of the chunks of slots.
    fn chunk_bytes(&self) -> u64 {
        let chunks = self.chunks.iter().enumerate();
        let made = chunks.filter(|(_, word)| word.load(Relaxed) != 0);
        made.map(|(chunk, _)| occupied(chunk_len(chunk) as usize * 8) as u64).sum()
    }
}

impl Directory {
    /// The segment with this number, if it was ever made.
    pub(super) fn segment<'m>(&self, memory: &'m Memory, number: u32) -> Option<&'m Segment> {
        if u64::from(number) >= self.capacity.load(Acquire) {
            return None;
        }
        let entry = self.segments.load(Acquire) + u64::from(number) * 8;
        let at = memory.get(Ref::<AtomicU64>::new(entry)).load(Acquire);
        (at != 0).then(|| memory.get(Ref::new(at)))
    }

    /// Takes the free row ids of these segments, which are in order, out of the list.
    pub(crate) fn withdraw_gaps(&self, memory: &Memory, numbers: &[u32]) {
        let taken = loop {
            let head = self.free.load(Acquire);
            if self.free.compare_exchange(head, next_count(head), SeqCst, Relaxed).is_ok() {
                break head;
            }
        };
        let mut next = taken & 0xffff_ffff;
        while let Some(row) = next.checked_sub(1) {
            let row = row as u32;
            let slot = self.slot(memory, row);
            next = slot.load(Acquire) >> 2;
            if numbers.binary_search(&(row >> SEGMENT_SHIFT)).is_ok() {
                slot.store(GAP, Release);
            } else {
                self.give_back(memory, row);
            }
        }
    }

    /// Gives back the row ids that were withdrawn, but for those of segments frozen since.
    pub(crate) fn return_gaps(&self, memory: &Memory, numbers: &[u32]) {
        for &number in numbers {
            let mut row = u64::from(number) << SEGMENT_SHIFT;
            let end = self.limit().min(row + (1 << SEGMENT_SHIFT));
            while row < end {
                let slots = self.slots_beside(memory, row as u32, end);
                for (row, slot) in (row..).zip(slots) {
                    if slot.load(Relaxed) == GAP {
                        self.give_back(memory, row as u32);
                    }
                }
                row += slots.len() as u64;
            }
        }
    }

    /// Puts a frozen segment in the place of the chunks of a segment, whose rows up to `end` are
    /// latched. If it is the last one, no more row ids are given out in it; `false` if one was.
    fn exchange(
        &self,
        alloc: Allocator<'_>,
        segment: &Segment,
        frozen: Ref<FrozenSegment>,
        end: u64,
    ) -> bool {
        let _latched = self.latch.lock();
        let whole = end.next_multiple_of(1 << SEGMENT_SHIFT);
        self.put_frozen(alloc, segment, frozen, (end != whole).then_some((end, whole)))
    }

    /// Puts a frozen segment in the place of the chunks of a segment, in which nobody can change a
    /// row. With `ids` all row ids before the first of them must have been given out and no others;
    /// those up to the second are then, too. `false` if others were. The latch is held.
    pub(super) fn put_frozen(
        &self,
        alloc: Allocator<'_>,
        segment: &Segment,
        frozen: Ref<FrozenSegment>,
        ids: Option<(u64, u64)>,
    ) -> bool {
        let word = frozen.offset() | FROZEN;
        let old = segment.chunks.each_ref().map(|chunk| chunk.load(Acquire));
        let missing = segment.chunks.iter().zip(old).filter(|(_, old)| *old == 0);
        let missing: Vec<&AtomicU64> = missing.map(|(chunk, _)| chunk).collect();
        // Whoever sees the new limit finds a chunk, or what it was frozen to, for each row id.
        missing.iter().for_each(|chunk| chunk.store(word, Release));
        let given = ids.is_none_or(|(next, end)| {
            self.next.compare_exchange(next, end, SeqCst, Relaxed).is_ok()
        });
        if !given {
            missing.iter().for_each(|chunk| chunk.store(0, Release));
            return false;
        }
        segment.chunks.iter().for_each(|chunk| chunk.store(word, Release));
        old.iter().filter(|old| **old != 0).for_each(|&old| alloc.retire_slots(old));
        true
    }

    /// Lets the chunks of a segment that is frozen lead to what it was frozen to again.
    pub(super) fn replace_frozen(&self, segment: &Segment, frozen: Ref<FrozenSegment>) {
        let _latched = self.latch.lock();
        let word = frozen.offset() | FROZEN;
        segment.chunks.iter().for_each(|chunk| chunk.store(word, Release));
    }

    /// Puts a frozen segment where no row id was given out yet, behind all that were. Nobody else
    /// uses the table.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
    pub(crate) fn place(
        &self,
        alloc: Allocator<'_>,
        number: u32,
        frozen: Ref<FrozenSegment>,
    ) -> Result<()> {
        let _latched = self.latch.lock();
        let segment = self.make_segment(alloc, number)?;
        let word = frozen.offset() | FROZEN;
        segment.chunks.iter().for_each(|chunk| chunk.store(word, Release));
        let end = (u64::from(number) + 1) << SEGMENT_SHIFT;
        self.next.store(end.min(ROWS_MAX), Release);
        Ok(())
    }

    /// Bytes of columns, and of these what was evicted.
    pub(crate) fn column_bytes(&self, memory: &Memory) -> [u64; 2] {
        self.frozen_segments(memory).fold([0, 0], |[all, evicted], segment| {
            [all + segment.block_bytes(), evicted + segment.evicted_bytes(memory)]
        })
    }

    /// What segments were frozen to.
    pub(crate) fn frozen_segments<'m>(
        &self,
        memory: &'m Memory,
    ) -> impl Iterator<Item = &'m FrozenSegment> {
        let numbers = 0..self.capacity.load(Acquire) as u32;
        let segments = numbers.filter_map(|number| self.segment(memory, number));
        segments.filter_map(|segment| segment.frozen(memory))
    }
}

/// Frees a chunk of slots of a segment that was frozen, and the versions in it; nobody refers to
/// them any more.
pub(crate) fn free_slots(alloc: Allocator<'_>, offset: u64) {
    let size = alloc.size_of_block(offset);
    let mut freeing = Freeing::begin(alloc);
    for slot in alloc.region().words(offset, size / 8) {
        let version = last_of(slot.load(Relaxed));
        if version != 0 {
            let length = Version::at(alloc.memory, version).length();
            freeing.free(version, size_of::<Version>() + length);
        }
    }
    freeing.finish();
    alloc.free(offset, size, Purpose::Segments);
}
