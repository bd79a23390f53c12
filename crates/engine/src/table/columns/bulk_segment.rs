//! Bulk segments: rows that a transaction inserts as columns, without versions.
//!
//! A segment of 65,536 rows, or of fewer in tests, is encoded first, then put where no row id was
//! given out yet, or in place of one whose insertion was taken back. It begins with its
//! transaction's stamp, as a version does, and nobody else sees its rows until that has committed;
//! then the stamp is exchanged for the timestamp. In the write set it is one entry, in the log its
//! rows are insertions like any others. Its index entries are made afterwards (`write/batch.rs`).
//!
//! A segment that is taken back is *aborted*: its entries go, nobody sees it any more, and its
//! block is freed when its last reader is gone. What the directory leads to stays, without rows,
//! for the next bulk segment.

use remanent_schema::{KeyBuffer, RowLayout};

use super::freeze::put_block;
use super::frozen::{BlockAt, FrozenSegment};
use super::frozen_ends::Bitmaps;
use crate::column::block::EncodedBlock;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::atomic::{Acquire, Relaxed, SeqCst};
use crate::memory::retire::Retired;
use crate::memory::{AllocationClass, Allocator, Memory, Ref};
use crate::snapshot::{FinalStamp, Snapshot};
use crate::table::read::read_set::ReadSet;
use crate::table::rows::row::RowId;
use crate::table::rows::segment::{
    CHUNKS, Directory, ROWS_MAX, SEGMENT_SHIFT, Segment, chunk_len, locate,
};
use crate::table::table::TableAt;

/// Rows of a segment: so many at a time are frozen.
pub const SEGMENT_ROWS: usize = 1 << SEGMENT_SHIFT;

/// At most so many rows, encoded, and the row id that the first of them has to have, if any.
pub(crate) struct EncodedRows {
    block: EncodedBlock,
    first: Option<RowId>,
}

impl EncodedRows {
    /// Encodes rows, each as its bytes; `None` if they are too large for a segment.
    pub(crate) fn new(layout: &RowLayout, rows: &[Option<&[u8]>]) -> Option<Self> {
        EncodedBlock::of_rows(layout, rows).map(|block| Self { block, first: None })
    }

    /// Under the row ids from this one on, which is the first of a segment; nowhere else.
    pub(crate) fn to(self, first: Option<RowId>) -> Self {
        Self { first, ..self }
    }

    /// How many rows they are.
    pub(crate) fn count(&self) -> u32 {
        self.block.live()
    }
}

impl<'m> TableAt<'m> {
    /// Inserts a bulk segment, in no index yet; its first row. If that has to be a certain one,
    /// nobody else inserts rows into the table. Leaves a reservation of room in the retire queue
    /// behind.
    ///
    /// # Errors
    /// `LimitReached` if there are no row ids left, or those that they have to have are given out,
    /// or memory; then nothing changed.
    pub(crate) fn insert_bulk_segment(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        rows: &EncodedRows,
    ) -> Result<u32> {
        let queue = &alloc.cache.retired;
        queue.reserve(alloc, AllocationClass::Normal)?;
        self.put_segment(alloc, snapshot.own, rows).inspect_err(|_| queue.release())
    }

    fn put_segment(&self, alloc: Allocator<'m>, own: u64, rows: &EncodedRows) -> Result<u32> {
        let directory = self.directory();
        let number = rows.first.map(|first| first.0 >> SEGMENT_SHIFT);
        let block = put_block(alloc, &rows.block)?;
        let free_block = || FrozenSegment::free_block(alloc, block);
        let bitmaps = Bitmaps::allocate(alloc, rows.block.rows()).inspect_err(|_| free_block())?;
        if let Some(number) = directory.refill_void(self.memory, block, bitmaps, own, number) {
            return Ok(number << SEGMENT_SHIFT);
        }
        let frozen = FrozenSegment::create(alloc, block, bitmaps, own).inspect_err(|_| {
            bitmaps.free(alloc);
            free_block();
        })?;
        let append = || {
            alloc.cache.moved.make_room(alloc, CHUNKS as u64, AllocationClass::Normal)?;
            match number {
                Some(number) => directory.extend(alloc, u64::from(number) << SEGMENT_SHIFT)?,
                None => directory.give_back_rest(alloc)?,
            }
            directory.append(alloc, frozen, number)
        };
        let number = loop {
            let appended = append().inspect_err(|_| self.memory.get(frozen).destroy(alloc))?;
            // Else somebody has taken the next row id in between.
            if let Some(number) = appended {
                break number;
            }
        };
        Ok(number << SEGMENT_SHIFT)
    }

    /// Calls `visit` with each row of a segment and its bytes, as they were inserted.
    pub(crate) fn each_bulk_row(&self, first: u32, count: u32, mut visit: impl FnMut(u32, &[u8])) {
        let mut bytes = Vec::new();
        for row in first..first + count {
            if let Some(frozen) = self.frozen_row(row) {
                bytes.resize(frozen.len(self), 0);
                frozen.write(self, &mut bytes);
                visit(row, &bytes);
            }
        }
    }

    /// Writes the timestamp into a segment that carries its stamp, and lets `stamp_row` do so to
    /// the versions of its rows that were changed since, from the newest on.
    pub(crate) fn stamp_segment(
        &self,
        first: u32,
        stamp: FinalStamp,
        mut stamp_row: impl FnMut(u64),
    ) {
        let (directory, memory) = (self.directory(), self.memory);
        let Some(frozen) = directory.frozen(memory, first) else { return };
        frozen.stamp(stamp.own, stamp.timestamp);
        for row in frozen.rows_changed(memory) {
            if let Some(latched) = directory.latch(memory, first + row) {
                stamp_row(latched.newest());
            }
        }
    }

    /// As [`TableAt::remember_change`], for a row of a bulk segment.
    pub(crate) fn remember_bulk_row(&self, reads: &ReadSet<'_>, bytes: &[u8]) {
        let mut key = KeyBuffer::new();
        for index in self.core.indexes().filter(|index| index.schema.unique) {
            if index.plan.encode_row(bytes, &mut key).is_ok() {
                reads.add_key(self.core.id, index, key.as_slice());
            }
        }
    }

    /// Takes a segment back, whose rows are all as they were inserted. Needs no memory but the
    /// queue entry that was reserved.
    pub(crate) fn undo_segment(&self, alloc: Allocator<'m>, first: u32, count: u32) {
        for index in self.core.indexes() {
            self.drop_entries_of(alloc, index, first..first + count, |row, key| {
                let encode = |bytes: &[u8]| index.plan.encode_row(bytes, key).is_ok();
                self.with_frozen_key(row, &index.plan, encode).unwrap_or(false)
            });
        }
        let Some(frozen) = self.directory().frozen(self.memory, first) else { return };
        for row in frozen.rows_changed(self.memory) {
            Directory::mark_dead(self.directory().slot(self.memory, first + row));
        }
        frozen.abort();
        alloc.cache.retired.release();
        alloc.retire_item(Retired::Segment { table: self.core.id, row: first });
    }

    /// Frees what an aborted segment takes; nobody refers to it any more.
    pub(crate) fn free_segment(&self, alloc: Allocator<'m>, first: u32) {
        let directory = self.directory();
        let _latched = directory.latch.lock();
        if let Some(frozen) = directory.frozen(self.memory, first) {
            frozen.free_aborted(alloc);
        }
    }
}

impl Directory {
    /// Whether the row ids of the segment that begins with this one are not given out: all are
    /// behind the limit, or it is aborted and was freed.
    pub(crate) fn is_vacant(&self, memory: &Memory, first: u32) -> bool {
        u64::from(first) >= self.limit()
            || self.frozen(memory, first).is_some_and(FrozenSegment::is_empty)
    }

    /// Puts a block into a segment that is aborted and was freed, with this number if that is said;
    /// the segment's number, if there is one.
    fn refill_void(
        &self,
        memory: &Memory,
        block: BlockAt,
        bitmaps: Bitmaps,
        own: u64,
        wanted: Option<u32>,
    ) -> Option<u32> {
        let _latched = self.latch.lock();
        let freed =
            |number| self.segment(memory, number)?.frozen(memory).filter(|it| it.is_empty());
        let numbers = 0..(self.limit() >> SEGMENT_SHIFT) as u32;
        let mut numbers = numbers.filter(|it| wanted.is_none_or(|wanted| wanted == *it));
        let (number, frozen) = numbers.find_map(|it| Some((it, freed(it)?)))?;
        frozen.refill(memory, block, bitmaps, own);
        Some(number)
    }

    /// Makes the row ids up to the next segment free ones.
    fn give_back_rest(&self, alloc: Allocator<'_>) -> Result<()> {
        loop {
            let next = self.next.load(Relaxed);
            if next.is_multiple_of(SEGMENT_ROWS as u64) {
                return Ok(());
            }
            let (chunk, ordinal) = locate(next as u32);
            if ordinal == 0 {
                self.make_chunk(alloc, next as u32)?;
            }
            let end = next + u64::from(chunk_len(chunk) - ordinal);
            if self.next.compare_exchange(next, end, SeqCst, Relaxed).is_ok() {
                let slots = self.slots_beside(alloc.memory, next as u32, end);
                self.give_back_all(next as u32, slots);
            }
        }
    }

    /// Puts a frozen segment behind all row ids that were given out, and gives those out that are
    /// in it; its number, or `None` if they do not end where a segment does.
    ///
    /// # Errors
    /// `LimitReached` if it would have another number than `wanted`, or too large a one; memory.
    fn append(
        &self,
        alloc: Allocator<'_>,
        frozen: Ref<FrozenSegment>,
        wanted: Option<u32>,
    ) -> Result<Option<u32>> {
        let _latched = self.latch.lock();
        let next = self.next.load(Acquire);
        let end = next + SEGMENT_ROWS as u64;
        if wanted.is_some_and(|wanted| u64::from(wanted) << SEGMENT_SHIFT != next) {
            return Err(Error::new(ErrorKind::LimitReached)
                .because("the row ids of the segment are given out"));
        }
        if !next.is_multiple_of(SEGMENT_ROWS as u64) {
            return Ok(None);
        }
        if end > ROWS_MAX {
            return Err(Error::new(ErrorKind::LimitReached)
                .because("the table has no room for 65,536 rows side by side"));
        }
        let number = (next >> SEGMENT_SHIFT) as u32;
        let segment: &Segment = self.make_segment(alloc, number)?;
        let appended = self.put_frozen(alloc, segment, frozen, Some((next, end)));
        Ok(appended.then_some(number))
    }
}
