//! A frozen segment: the columns that its rows were frozen to, and what has become of rows since.
//!
//! The rows lie in one immutable block (`column/block.rs`). Over it lies an *overlay* of slots like
//! those of hot rows, in groups of 64 that are made when the first of their rows is about to
//! change. A slot that says `FROZEN`, or whose group is not there, belongs to a row that is as it
//! was frozen, or to one that was gone by then. Before a frozen row is changed its frozen content
//! becomes a version in its slot ([`TableAt::thaw`]), with the timestamp of the segment; from then
//! on it is a row like any other, and its copy in the columns is hidden from everybody: for every
//! snapshot the version says the same. So no chain of versions ever leads into the columns, and
//! changes, rollback and pruning know nothing of them. A deletion is a bit (`frozen_ends.rs`).
//!
//! Every snapshot that was held when a segment was frozen sees all of its rows, and so do those
//! that begin later. Row ids of rows that were gone before, or ended in the columns, are not given
//! out as long as the segment is frozen. A bulk segment (`bulk_segment.rs`)
//! begins as a version does: with the transaction's stamp.

use std::cell::Cell;

use remanent_schema::KeyPlan;

use super::frozen_ends::{Bitmaps, FrozenEnds};
use super::paging::{Paging, Pin};
use crate::column::block::Block;
use crate::error::Result;
use crate::memory::atomic::{Acquire, AtomicU32, AtomicU64, Relaxed, Release};
use crate::memory::class::occupied;
use crate::memory::{AllocationClass, Allocator, Memory, Purpose, Ref};
use crate::segment_files::StoredBlock;
use crate::slot::IN_FLIGHT;
use crate::snapshot::{Begin, resolve};
use crate::table::rows::segment::{
    CHUNKS, Directory, FREE, FROZEN, SEGMENT_SHIFT, Segment, is_frozen, last_of, newest_of,
};
use crate::table::rows::version::{Content, Version, bytes_at, fresh_bytes_at};
use crate::table::table::TableAt;

/// Rows whose slots come together in the overlay.
pub(crate) const GROUP: usize = 64;
const GROUPS: usize = 1 << (SEGMENT_SHIFT as usize - 6);
const SLOT_MASK: u32 = (1 << SEGMENT_SHIFT) - 1;

/// The beginning of a segment that is aborted: a timestamp that no snapshot reaches.
const NEVER: u64 = IN_FLIGHT - 1;

/// What a segment was frozen to.
#[repr(C)]
pub(crate) struct FrozenSegment {
    /// A timestamp that every snapshot has reached; of a bulk segment, as of a
    /// version. To be read before the words below.
    pub(crate) begin: AtomicU64,
    /// The block of columns and its length.
    block: AtomicU64,
    block_len: AtomicU64,
    /// Offset of the array of groups; 0 as long as no row was changed.
    overlay: AtomicU64,
    /// What `overlay` was before the segment was aborted; it waits for its last reader.
    aborted_overlay: AtomicU64,
    /// Rows from here on were neither there when it was frozen nor have they slots.
    reach: AtomicU32,
    /// Whether it was frozen again; set for ever, under the latch of the ends.
    replaced: AtomicU32,
    /// Which rows have ended.
    pub(super) ends: FrozenEnds,
    /// Where the block stands in a segment file, and which of its columns are in memory.
    stored: Stored,
    pub(super) paging: Paging,
    /// What the slots of a group say that is not there. Never written to.
    untouched: [AtomicU64; GROUP],
}

/// What a [`StoredBlock`] says, in words; the file is 0 as long as the block stands in none. They
/// are written under the latch of the paging, by whoever makes a checkpoint, one at a time.
#[repr(C)]
#[derive(Default)]
struct Stored {
    file: AtomicU64,
    at: AtomicU64,
    len: AtomicU64,
    checksum: AtomicU64,
}

/// The place of an encoded block in the region, and its bytes.
#[derive(Clone, Copy)]
pub(super) struct BlockAt {
    pub(super) at: u64,
    pub(super) len: usize,
}

thread_local! {
    /// Room for a row that is put together for a moment.
    static ROW: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl FrozenSegment {
    /// Makes what a segment is frozen to, around a block that is filled in; nobody knows of it yet.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    pub(super) fn create(
        alloc: Allocator<'_>,
        block: BlockAt,
        bitmaps: Bitmaps,
        begin: u64,
    ) -> Result<Ref<Self>> {
        let segment = alloc.create::<Self>(Purpose::Segments)?;
        let words = alloc.memory.get(segment);
        words.refill(alloc.memory, block, bitmaps, begin);
        words.untouched.iter().for_each(|word| word.store(FROZEN, Relaxed));
        Ok(segment)
    }

    /// Puts a block into a segment that is empty; it begins then.
    pub(super) fn refill(&self, memory: &Memory, block: BlockAt, bitmaps: Bitmaps, begin: u64) {
        self.ends.put(bitmaps);
        self.block.store(block.at, Relaxed);
        self.block_len.store(block.len as u64, Relaxed);
        self.reach.store(self.block(memory).rows(), Relaxed);
        self.stored.file.store(0, Relaxed);
        self.begin.store(begin, Release);
    }

    /// Where the block stands in a segment file, if it does.
    pub(crate) fn stored(&self) -> Option<StoredBlock> {
        let Stored { file, at, len, checksum } = &self.stored;
        let stored = StoredBlock {
            file: file.load(Acquire),
            at: at.load(Relaxed),
            len: len.load(Relaxed),
            checksum: checksum.load(Relaxed) as u32,
        };
        (stored.file > 0).then_some(stored)
    }

    /// The segment file that it stands in, if it does.
    pub(crate) fn file(&self) -> Option<u64> {
        Some(self.stored.file.load(Acquire)).filter(|file| *file > 0)
    }

    /// Notes where the block stands, when that is sure. The latch of the paging is held.
    pub(super) fn set_stored(&self, stored: StoredBlock) {
        self.stored.at.store(stored.at, Relaxed);
        self.stored.len.store(stored.len, Relaxed);
        self.stored.checksum.store(stored.checksum.into(), Relaxed);
        self.stored.file.store(stored.file, Release);
    }

    /// Whether another segment is in its place: then nothing in it changes any more. To be asked
    /// under the latch of the ends.
    pub(super) fn is_replaced(&self) -> bool {
        self.replaced.load(Relaxed) != 0
    }

    /// Says that another segment is about to take its place. The latch of the ends is held.
    pub(super) fn set_replaced(&self) {
        self.replaced.store(1, Relaxed);
    }

    /// Writes the timestamp of a segment that is committed, before the directory leads to it no
    /// more. The latch of the ends is held.
    pub(super) fn finalize_begin(&self, timestamp: u64) {
        self.begin.store(timestamp, Release);
    }

    /// Whether nobody sees it any more.
    pub(super) fn is_aborted(&self) -> bool {
        self.begin.load(Acquire) == NEVER
    }

    /// Whether it is aborted and what it took is freed.
    pub(super) fn is_empty(&self) -> bool {
        self.is_aborted() && self.block.load(Acquire) == 0
    }

    /// Exchanges the stamp `own` for a timestamp.
    pub(super) fn stamp(&self, own: u64, timestamp: u64) {
        if self.begin.load(Relaxed) == own {
            self.begin.store(timestamp, Release);
        }
    }

    /// Lets nobody see it any more, nor come to its block or overlay who has not by now.
    pub(super) fn abort(&self) {
        self.begin.store(NEVER, Release);
        self.aborted_overlay.store(self.overlay.load(Relaxed), Relaxed);
        self.overlay.store(0, Release);
    }

    /// Frees what an aborted segment takes, versions of rows included. Nobody refers to any of it,
    /// and the directory's latch is held.
    pub(super) fn free_aborted(&self, alloc: Allocator<'_>) {
        self.reach.store(0, Relaxed);
        self.free_contents(alloc);
        self.aborted_overlay.store(0, Relaxed);
        self.block_len.store(0, Relaxed);
        self.block.store(0, Release);
    }

    /// The rows that are versions by now, by their ordinals.
    pub(super) fn rows_changed<'m>(&'m self, memory: &'m Memory) -> impl Iterator<Item = u32> {
        let groups = self.groups(memory, 0);
        let slots = groups.flat_map(|(group, slots)| ((group * GROUP) as u32..).zip(slots));
        slots.filter(|(_, slot)| newest_of(slot.load(Acquire)) != 0).map(|(row, _)| row)
    }

    /// The frozen segment at an offset.
    #[inline]
    pub(crate) fn at(memory: &Memory, at: u64) -> &Self {
        memory.get(Ref::new(at))
    }

    /// The columns.
    #[inline]
    pub(crate) fn block<'m>(&self, memory: &'m Memory) -> Block<'m> {
        let len = self.block_len.load(Relaxed) as usize;
        Block::new(memory.region().bytes(self.block.load(Relaxed), len))
    }

    /// The slot of a row, to be read; to be written to only if its group is there.
    #[cold]
    pub(in crate::table) fn slot<'m>(&'m self, memory: &'m Memory, row: u32) -> &'m AtomicU64 {
        &self.slots_beside(memory, row)[0]
    }

    /// The slots from a row on to the end of its group.
    pub(in crate::table) fn slots_beside<'m>(
        &'m self,
        memory: &'m Memory,
        row: u32,
    ) -> &'m [AtomicU64] {
        let ordinal = row as usize % GROUP;
        match self.group(memory, row).map_or(0, |group| group.load(Acquire)) {
            0 => &self.untouched[ordinal..],
            group => memory.region().words(group + ordinal as u64 * 8, GROUP - ordinal),
        }
    }

    /// Whether some row from this one on was there when the segment was frozen, or came since.
    #[inline]
    pub(in crate::table) fn reaches(&self, row: u32) -> bool {
        row & SLOT_MASK < self.reach.load(Relaxed)
    }

    /// The groups in which rows have changed, from this one on: their numbers and the slots of the
    /// rows that can be.
    pub(super) fn groups<'m>(
        &self,
        memory: &'m Memory,
        first: usize,
    ) -> impl Iterator<Item = (usize, &'m [AtomicU64])> + use<'m> {
        let overlay = self.overlay.load(Acquire);
        let reach = if overlay == 0 { 0 } else { self.reach.load(Relaxed) as usize };
        (first..reach.div_ceil(GROUP)).filter_map(move |number| {
            let group = memory.region().words(overlay, GROUPS)[number].load(Acquire);
            let count = GROUP.min(reach - number * GROUP);
            (group != 0).then(|| (number, memory.region().words(group, count)))
        })
    }

    /// Whether any row has changed.
    pub(crate) fn is_changed(&self) -> bool {
        self.overlay.load(Acquire) != 0
    }

    /// The word of a row's group, if there is an overlay.
    fn group<'m>(&self, memory: &'m Memory, row: u32) -> Option<&'m AtomicU64> {
        let overlay = self.overlay.load(Acquire);
        let number = (row & SLOT_MASK) as usize / GROUP;
        (overlay != 0).then(|| &memory.region().words(overlay, GROUPS)[number])
    }

    /// Makes the slots of a row's group, unless they are there. The directory's latch is held.
    fn make_group(&self, alloc: Allocator<'_>, row: u32, class: AllocationClass) -> Result<()> {
        if self.overlay.load(Relaxed) == 0 {
            let at = alloc.allocate(GROUPS * 8, Purpose::Segments, class)?;
            alloc.region().fresh_bytes(at, GROUPS * 8).fill(0);
            self.overlay.store(at, Release);
        }
        let Some(group) = self.group(alloc.memory, row) else { return Ok(()) };
        if group.load(Relaxed) == 0 {
            let at = alloc.allocate(GROUP * 8, Purpose::Segments, class)?;
            for word in alloc.region().fresh_bytes(at, GROUP * 8).chunks_exact_mut(8) {
                word.copy_from_slice(&FROZEN.to_le_bytes());
            }
            group.store(at, Release);
        }
        Ok(())
    }

    /// Bytes beside the block.
    pub(in crate::table) fn directory_bytes(&self, memory: &Memory) -> u64 {
        let overlay = self.overlay.load(Acquire);
        let mut bytes = occupied(size_of::<Self>()) + self.ends.bytes();
        if overlay != 0 {
            let groups = memory.region().words(overlay, GROUPS);
            let made = groups.iter().filter(|group| group.load(Relaxed) != 0).count();
            bytes += occupied(GROUPS * 8) + made * occupied(GROUP * 8);
        }
        bytes as u64
    }

    /// Bytes of the block.
    pub(crate) fn block_bytes(&self) -> u64 {
        match self.block_len.load(Relaxed) as usize {
            0 => 0,
            len => occupied(block_size(len)) as u64,
        }
    }

    /// Frees a block that no segment has.
    pub(super) fn free_block(alloc: Allocator<'_>, block: BlockAt) {
        alloc.free(block.at, block_size(block.len), Purpose::Columns);
    }

    /// Frees everything but the versions that rows have in the overlay. Nobody uses it any more.
    pub(crate) fn destroy(&self, alloc: Allocator<'_>) {
        self.free_contents(alloc);
        alloc.free(alloc.region().offset_of(self), size_of::<Self>(), Purpose::Segments);
    }

    fn free_contents(&self, alloc: Allocator<'_>) {
        let (overlay, aborted_overlay) =
            (self.overlay.load(Relaxed), self.aborted_overlay.load(Relaxed));
        for slots in groups_of(alloc.memory, aborted_overlay) {
            // The directory does not lead to these versions any more.
            let versions = slots.iter().map(|slot| last_of(slot.load(Relaxed)));
            versions.filter(|version| *version != 0).for_each(|it| Version::free(alloc, it));
        }
        for overlay in [overlay, aborted_overlay].into_iter().filter(|overlay| *overlay != 0) {
            for group in alloc.region().words(overlay, GROUPS) {
                if group.load(Relaxed) != 0 {
                    alloc.free(group.load(Relaxed), GROUP * 8, Purpose::Segments);
                }
            }
            alloc.free(overlay, GROUPS * 8, Purpose::Segments);
        }
        self.ends.clear(alloc);
        let block = self.block.load(Relaxed);
        if block != 0 {
            self.unlist(alloc.memory);
            let len = self.block_len.load(Relaxed) as usize;
            Self::free_block(alloc, BlockAt { at: block, len });
        }
    }
}

/// The slots of each group of an overlay that is there.
fn groups_of(memory: &Memory, overlay: u64) -> impl Iterator<Item = &[AtomicU64]> {
    let groups = if overlay == 0 { &[] } else { memory.region().words(overlay, GROUPS) };
    let made = groups.iter().map(|group| group.load(Acquire)).filter(|group| *group != 0);
    made.map(|group| memory.region().words(group, GROUP))
}

impl Segment {
    /// What the segment, or a part of it, was frozen to.
    pub(in crate::table) fn frozen<'m>(&self, memory: &'m Memory) -> Option<&'m FrozenSegment> {
        let mut words = self.chunks[..CHUNKS].iter().map(|chunk| chunk.load(Acquire));
        let frozen = words.find(|word| word & FROZEN != 0)?;
        Some(FrozenSegment::at(memory, frozen & !FROZEN))
    }
}

impl Directory {
    /// What the segment of a row was frozen to, as far as it concerns that row.
    #[inline]
    pub(crate) fn frozen<'m>(&self, memory: &'m Memory, row: u32) -> Option<&'m FrozenSegment> {
        let (chunk, _) = self.chunk(memory, row);
        (chunk & FROZEN != 0).then(|| FrozenSegment::at(memory, chunk & !FROZEN))
    }

    /// Sees to it that the slot of a row can be written to, if it lies in a frozen segment.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    fn open_slot(&self, alloc: Allocator<'_>, row: u32, class: AllocationClass) -> Result<()> {
        let _latched = self.latch.lock();
        match self.frozen(alloc.memory, row) {
            Some(frozen) => frozen.make_group(alloc, row, class),
            None => Ok(()),
        }
    }

    /// Says that a row which is in columns was deleted, for everybody. Nobody else uses the table.
    pub(crate) fn set_gone(&self, memory: &Memory, row: u32) {
        if let Some(frozen) = self.frozen(memory, row) {
            frozen.ends.set_gone(memory, row & SLOT_MASK);
        }
    }

    /// Sees to it that a row id has a slot of its own, as one that was never used, if its segment
    /// is frozen: whatever the columns say of it is hidden. Nobody else uses the table.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
    pub(crate) fn open_gap(&self, alloc: Allocator<'_>, row: u32) -> Result<()> {
        if is_frozen(self.word(alloc.memory, row)) {
            self.open_slot(alloc, row, AllocationClass::Normal)?;
            self.slot(alloc.memory, row).store(0, Release);
            if let Some(frozen) = self.frozen(alloc.memory, row) {
                frozen.reach.fetch_max((row & SLOT_MASK) + 1, Relaxed);
            }
        }
        Ok(())
    }
}

impl<'m> TableAt<'m> {
    /// The columns in which a row lies that is as it was frozen, its ordinal in them, and where all
    /// that are there begin; `None` if there is no such row.
    #[cold]
    pub(crate) fn frozen_row(&self, row: u32) -> Option<FrozenRow<'m>> {
        let segment = self.directory().frozen(self.memory, row)?;
        if segment.is_aborted() {
            return None;
        }
        let (block, ordinal) = (segment.block(self.memory), row & SLOT_MASK);
        let is_there = block.has(ordinal) && !segment.ends.is_gone(self.memory, ordinal);
        is_there.then_some(FrozenRow { segment, block, ordinal })
    }

    /// Calls `visit` with the bytes of a row that is as it was frozen, in which only the columns of
    /// a key have their values; `None` if there is no such row. They are gone when it returns.
    #[cold]
    pub(crate) fn with_frozen_key<T>(
        &self,
        row: u32,
        key: &KeyPlan,
        visit: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        let frozen = self.frozen_row(row)?;
        let mut bytes = ROW.with(Cell::take);
        frozen.block.write_key(&self.core.layout, key, frozen.ordinal, &mut bytes);
        let seen = visit(&bytes);
        ROW.with(|room| room.set(bytes));
        Some(seen)
    }

    /// Calls `visit` with the bytes of a row as its newest version has them, or its columns if
    /// there is no version, whether or not it has ended since. They are gone when it returns. A
    /// call is under way.
    ///
    /// # Errors
    /// As [`Pin::ask`].
    #[cold]
    pub(crate) fn with_newest<T>(
        &self,
        row: u32,
        visit: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>> {
        let newest = newest_of(self.directory().word(self.memory, row));
        if newest != 0 {
            return Ok(Some(visit(bytes_at(self.memory, newest))));
        }
        let Some(frozen) = self.frozen_row(row) else { return Ok(None) };
        let _pin = self.pin_whole(frozen.segment)?;
        let mut bytes = ROW.with(Cell::take);
        bytes.clear();
        bytes.resize(frozen.len(self), 0);
        frozen.write(self, &mut bytes);
        let seen = visit(&bytes);
        ROW.with(|room| room.set(bytes));
        Ok(Some(seen))
    }

    /// Makes the frozen content of a row that is seen a version in its slot, and says whether there
    /// was any. Where somebody else does so at the same time, one of both versions goes; where the
    /// segment is replaced meanwhile, the version goes and the caller has to look again.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
    #[cold]
    pub(crate) fn thaw(
        &self,
        alloc: Allocator<'m>,
        row: u32,
        class: AllocationClass,
    ) -> Result<bool> {
        if !is_frozen(self.directory().word(self.memory, row)) {
            // It is there by now, or gone since.
            return Ok(newest_of(self.directory().word(self.memory, row)) != 0);
        }
        let Some(frozen) = self.frozen_row(row) else { return Ok(false) };
        let _pin = self.pin_whole(frozen.segment)?;
        self.directory().open_slot(alloc, row, class)?;
        let content = Content::Row(frozen.len(self));
        let version = Version::create_in_class(alloc, frozen.begin(self.memory), content, class)?;
        Version::at(self.memory, version).set_row(row);
        frozen.write(self, fresh_bytes_at(self.memory, version));
        // In the segment that the content is of: its group is there, unless it was replaced.
        let slot = frozen.segment.slot(self.memory, row);
        let mut is_there = false;
        frozen.segment.ends.unless_ended(self.memory, frozen.ordinal, || {
            is_there = !frozen.segment.is_replaced()
                && slot.compare_exchange(FROZEN, version, Release, Relaxed).is_ok();
        });
        if !is_there {
            Version::free(alloc, version);
        }
        Ok(true)
    }

    /// Keeps all columns of a segment in memory as long as what it returns; nothing where they
    /// always are.
    ///
    /// # Errors
    /// As [`Pin::ask`].
    #[inline]
    pub(super) fn pin_whole(&self, segment: &'m FrozenSegment) -> Result<Option<Pin<'m>>> {
        if !self.core.is_paged() {
            return Ok(None);
        }
        let pin = segment.pin(self.memory);
        pin.ask_all()?;
        Ok(Some(pin))
    }

    /// Whether a row id is in use: by a version, by a row that is as it was frozen, or by what was
    /// taken back as a whole segment and is not freed yet.
    pub(crate) fn is_taken(&self, row: u32) -> bool {
        if u64::from(row) >= self.directory().limit() {
            return false;
        }
        let word = self.directory().word(self.memory, row);
        if last_of(word) != 0 {
            return true;
        }
        let waits = |frozen: &FrozenSegment| frozen.is_aborted() && !frozen.is_empty();
        is_frozen(word)
            && (self.frozen_row(row).is_some()
                || self.directory().frozen(self.memory, row).is_some_and(waits))
    }
}

/// A row that is as it was frozen.
#[derive(Clone, Copy)]
pub(crate) struct FrozenRow<'m> {
    pub(crate) segment: &'m FrozenSegment,
    block: Block<'m>,
    pub(super) ordinal: u32,
}

impl FrozenRow<'_> {
    /// What a version with its content begins with. A stamp is the caller's own then: who is not
    /// the segment's transaction does not see its rows before there is a timestamp.
    pub(crate) fn begin(&self, memory: &Memory) -> u64 {
        match resolve(memory, &self.segment.begin) {
            Begin::Committed(begin) | Begin::InFlight(begin) => begin,
        }
    }

    /// Asks the processor for all of the row.
    pub(crate) fn prefetch(&self) {
        self.block.prefetch_row(self.ordinal);
    }

    /// Bytes of the row.
    pub(crate) fn len(&self, table: &TableAt<'_>) -> usize {
        self.block.row_len(&table.core.layout, self.ordinal)
    }

    /// Puts the row together.
    pub(crate) fn write(&self, table: &TableAt<'_>, out: &mut [u8]) {
        self.block.write_row(&table.core.layout, self.ordinal, out);
    }
}

/// Bytes to allocate for a block of so many, so that it has pages of its own and so begins where
/// arrays may.
pub(crate) fn block_size(len: usize) -> usize {
    len.max(crate::memory::class::BLOCK_SIZE_MAX + 1)
}

const _: () = assert!(FROZEN & FREE == 0);
