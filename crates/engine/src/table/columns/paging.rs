//! Paged segments: columns that are read from a segment file when somebody asks for them.
//!
//! The protocol between *whoever reads columns* and *whoever evicts them*. A reader pins the
//! segment, then asks for the columns it reads; they stay until it unpins. Who evicts claims a
//! segment that nobody has pinned by one exchange of the word that counts pins, under the segment's
//! latch; who pins while it is claimed waits for the latch. So nothing is evicted that anybody
//! reads, and what comes back is read by one thread for all. `memory/buffer_cache.rs` draws the
//! victims; here stands which of a segment's columns they are.
//!
//! A block's columns are evicted and read in up to 64 *units*, of one column each, or of so many
//! neighbours where there are more. Some never leave: those that keys are made of, since an index
//! has to compare keys at any time. A segment can be evicted from when it stands in a segment file
//! until it is freed.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use remanent_schema::{KeyPlan, TableStorage};

use super::frozen::FrozenSegment;
use crate::column::block::{Block, BlockColumn};
use crate::error::Result;
use crate::memory::Memory;
use crate::memory::atomic::{Acquire, AtomicU64, Relaxed, Release, pause_or_sleep};
use crate::memory::latch::{Latch, Latched};
use crate::memory::pages::buffer_cache::whole_pages;
use crate::memory::pages::page_run::PageRun;
use crate::segment_files::StoredBlock;
use crate::table::table::{TableAt, TableCore};

/// Units of a block at most: bits of a word.
const UNITS: usize = 64;
/// Of the pins: somebody evicts.
const CLAIMED: u64 = 1 << 63;

/// What a frozen segment has for its columns to leave memory.
#[repr(C)]
#[derive(Default)]
pub(super) struct Paging {
    /// How many pins there are, and [`CLAIMED`].
    pins: AtomicU64,
    /// Held by who evicts units or brings them back.
    latch: Latch,
    /// Units that are not in memory; those asked for since somebody came by to evict; and those
    /// that never leave.
    evicted: AtomicU64,
    asked: AtomicU64,
    kept: AtomicU64,
    /// Whether the buffer cache knows the segment.
    listed: AtomicU64,
}

/// Keeps the columns of a segment that were asked for in memory until it is dropped.
pub(crate) struct Pin<'m> {
    memory: &'m Memory,
    segment: &'m FrozenSegment,
    /// Units that were asked for by this pin.
    asked: AtomicU64,
    /// By their numbers, columns that were read to pages of their own, once there is one.
    apart: OnceLock<Box<[OnceLock<Arc<Apart>>]>>,
}

/// A column in pages of its own, and where in the block its extent begins.
struct Apart {
    run: PageRun,
    at: u64,
}

/// Gives the pages of a column back, if nobody else has them.
fn give_back(memory: &Memory, apart: Arc<Apart>) {
    if let Some(Apart { run, .. }) = Arc::into_inner(apart) {
        run.give_back(memory);
    }
}

/// Units by the number of columns.
#[derive(Clone, Copy)]
struct Units {
    columns: usize,
}

impl Units {
    /// Columns of a unit.
    fn width(self) -> usize {
        self.columns.div_ceil(UNITS).max(1)
    }

    /// The unit of a column.
    fn number(self, column: usize) -> usize {
        column / self.width()
    }

    /// The unit of a column, as a bit.
    fn of(self, column: usize) -> u64 {
        1 << self.number(column)
    }

    /// All of them.
    fn all(self) -> u64 {
        match self.columns.div_ceil(self.width()) {
            UNITS => u64::MAX,
            count => (1 << count) - 1,
        }
    }

    /// The columns of a unit.
    fn columns(self, unit: usize) -> Range<usize> {
        let first = unit * self.width();
        first..self.columns.min(first + self.width())
    }
}

/// The numbers of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (bit < UNITS).then_some(bit)
    })
}

impl<'m> Pin<'m> {
    /// A column, in memory as long as the pin.
    ///
    /// # Errors
    /// `StorageFailed`, `DamagedImage`, with file and column; `BudgetReached`.
    #[inline]
    pub(crate) fn column(&self, column: usize) -> Result<BlockColumn<'_>> {
        let block = self.block();
        let unit = Units { columns: block.columns() }.of(column);
        if self.asked.load(Relaxed) & unit != 0 {
            return Ok(block.column(column));
        }
        self.column_missed(column, unit)
    }

    #[cold]
    fn column_missed(&self, column: usize, unit: u64) -> Result<BlockColumn<'_>> {
        let (block, paging) = (self.block(), &self.segment.paging);
        if let Some(found) = self.column_apart(column) {
            return Ok(found);
        }
        if paging.evicted.load(Relaxed) & unit != 0 {
            let extent = block.extents().get(extent_of(column)).cloned().unwrap_or_default();
            if !self.memory.is_worth_caching(extent.len() as u64) {
                self.read_apart(column, unit, &extent)?;
            }
        }
        if let Some(found) = self.column_apart(column) {
            return Ok(found);
        }
        self.ask_for(unit)?;
        Ok(block.column(column))
    }

    /// A column that was read to pages of its own.
    fn column_apart(&self, column: usize) -> Option<BlockColumn<'_>> {
        let Apart { run, at } = &**self.apart.get()?.get(column)?.get()?;
        Some(self.block().column_in(column, run.bytes(self.memory), *at))
    }

    /// Reads a column to pages of its own, unless it has come back since.
    fn read_apart(&self, column: usize, unit: u64, extent: &Range<usize>) -> Result<()> {
        let (block, memory) = (self.block(), self.memory);
        // As long as it is held, the file does not go, and no other thread reads for this pin.
        let _latched = self.segment.latch_paging();
        let is_there = self.segment.paging.evicted.load(Relaxed) & unit == 0;
        if is_there || self.column_apart(column).is_some() {
            return Ok(());
        }
        let Some(stored) = self.segment.stored() else { return Ok(()) };
        let record = stored.record(block.columns() + 1);
        let source = memory.buffer_cache.source()?;
        let run = PageRun::filled(memory, extent.len(), |place| {
            let mut take = |_, bytes: &[u8]| {
                place.copy_from_slice(bytes);
                Ok(())
            };
            source.read(record, &[extent_of(column)], &mut take)
        })?;
        memory.note_read_apart(extent.len() as u64);
        if self.apart.get().is_none() {
            let _ = self.apart.set((0..block.columns()).map(|_| OnceLock::new()).collect());
        }
        let apart = Arc::new(Apart { run, at: extent.start as u64 });
        // It is empty: only who holds the latch fills it.
        let place = self.apart.get().and_then(|columns| columns.get(column));
        let _ = place.map(|place| place.set(apart));
        Ok(())
    }

    /// Sees to it that all columns are in memory.
    ///
    /// # Errors
    /// As [`Pin::column`].
    pub(crate) fn ask_all(&self) -> Result<()> {
        self.ask_for(Units { columns: self.block().columns() }.all())
    }

    /// Says that columns are about to be asked for, so that they may come meanwhile.
    pub(crate) fn announce(&self, columns: impl Iterator<Item = usize>) {
        let Self { memory, segment, .. } = *self;
        let of = Units { columns: self.block().columns() };
        let units = columns.fold(0, |units, column| units | of.of(column));
        let missing = segment.paging.evicted.load(Relaxed) & units;
        if missing == 0 {
            return;
        }
        let stored = {
            let Some(_latched) = segment.paging.latch.try_lock() else { return };
            segment.stored()
        };
        if let (Some(stored), Ok(source)) = (stored, memory.buffer_cache.source()) {
            let columns = bits(missing).flat_map(|unit| of.columns(unit));
            let extents: Vec<_> = columns.map(extent_of).collect();
            source.will_read(stored.record(of.columns + 1), &extents);
        }
    }

    #[cold]
    fn ask_for(&self, units: u64) -> Result<()> {
        let paging = &self.segment.paging;
        let there = units & !paging.evicted.load(Acquire);
        // What comes back now has no second chance before it is asked for again.
        paging.asked.fetch_or(there & !self.asked.load(Relaxed), Relaxed);
        if there != units {
            self.segment.bring_back(self.memory, units)?;
        }
        self.asked.fetch_or(units, Relaxed);
        Ok(())
    }

    fn block(&self) -> Block<'m> {
        self.segment.block(self.memory)
    }
}

impl Clone for Pin<'_> {
    fn clone(&self) -> Self {
        let pin = self.segment.pin(self.memory);
        pin.asked.store(self.asked.load(Relaxed), Relaxed);
        if let Some(columns) = self.apart.get() {
            let _ = pin.apart.set(columns.clone());
        }
        pin
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        for column in self.apart.take().into_iter().flatten() {
            column.into_inner().into_iter().for_each(|apart| give_back(self.memory, apart));
        }
        self.segment.paging.pins.fetch_sub(1, Release);
    }
}

impl FrozenSegment {
    /// Pins the segment: of what is asked for, nothing is evicted until the pin is dropped.
    pub(crate) fn pin<'m>(&'m self, memory: &'m Memory) -> Pin<'m> {
        if self.paging.pins.fetch_add(1, Acquire) & CLAIMED != 0 {
            // Who claimed it holds the latch until it does so no more.
            drop(self.latch_paging());
        }
        Pin { memory, segment: self, asked: AtomicU64::new(0), apart: OnceLock::new() }
    }

    /// It may be held while a file is read.
    fn latch_paging(&self) -> Latched<'_> {
        let mut turn = 0;
        loop {
            if let Some(latched) = self.paging.latch.try_lock() {
                return latched;
            }
            pause_or_sleep(turn);
            turn += 1;
        }
    }

    /// Reads units again that are not in memory. The segment is pinned.
    #[cold]
    fn bring_back(&self, memory: &Memory, units: u64) -> Result<()> {
        let paging = &self.paging;
        let _latched = self.latch_paging();
        let missing = paging.evicted.load(Relaxed) & units;
        let Some(stored) = self.stored().filter(|_| missing != 0) else { return Ok(()) };
        let block = self.block(memory);
        let start = memory.region().offset_of_bytes(block.bytes());
        let of = Units { columns: block.columns() };
        let columns: Vec<_> = bits(missing).flat_map(|unit| of.columns(unit)).collect();
        let extents: Vec<_> = columns.iter().copied().map(extent_of).collect();
        let all = block.extents();
        // The places of the unit that comes back; if it does not as a whole, they are evicted.
        let mut done: Vec<Range<u64>> = Vec::new();
        let mut take = |extent: usize, bytes: &[u8]| {
            let column = extent - 1;
            let extent_start = start + all[extent].start as u64;
            for range in places(block, start, column) {
                memory.restore(range.clone(), |at, place| {
                    let from = (at - extent_start) as usize;
                    place.copy_from_slice(&bytes[from..from + place.len()]);
                })?;
                done.push(range);
            }
            if of.columns(of.number(column)).end == column + 1 {
                paging.evicted.fetch_and(!of.of(column), Release);
                done.clear();
            }
            Ok(())
        };
        let source = memory.buffer_cache.source()?;
        let read = source.read(stored.record(of.columns + 1), &extents, &mut take);
        read.inspect_err(|_| {
            for range in done {
                memory.evict(range);
            }
        })
    }

    /// Evicts the units that nobody asked for since it was last called; how many bytes. Nothing if
    /// the segment is pinned.
    fn evict(&self, memory: &Memory) -> u64 {
        let paging = &self.paging;
        let Some(_latched) = paging.latch.try_lock() else { return 0 };
        if paging.pins.compare_exchange(0, CLAIMED, Acquire, Relaxed).is_err() {
            return 0;
        }
        let block = self.block(memory);
        let units = Units { columns: block.columns() };
        let start = memory.region().offset_of_bytes(block.bytes());
        let stay = paging.asked.swap(0, Relaxed) | paging.kept.load(Relaxed);
        let victims = units.all() & !paging.evicted.load(Relaxed) & !stay;
        paging.evicted.fetch_or(victims, Release);
        let columns = bits(victims).flat_map(|unit| units.columns(unit));
        let evicted = columns
            .flat_map(|column| places(block, start, column))
            .map(|range| memory.evict(range));
        let evicted = evicted.sum();
        paging.pins.fetch_and(!CLAIMED, Release);
        evicted
    }

    /// Notes where the block stands from now on, when that is sure.
    fn move_to(&self, stored: StoredBlock) {
        let _latched = self.latch_paging();
        self.set_stored(stored);
    }

    /// Lets some units leave memory never more; they are there when it returns.
    fn keep(&self, memory: &Memory, units: u64) -> Result<()> {
        let pin = self.pin(memory);
        pin.ask_for(units)?;
        let _latched = self.latch_paging();
        let before = self.paging.kept.fetch_or(units, Relaxed);
        if self.paging.listed.load(Relaxed) != 0 {
            memory.buffer_cache.forget(self.bytes_of(memory, units & !before));
        }
        Ok(())
    }

    /// Bytes of it that are not in memory.
    pub(super) fn evicted_bytes(&self, memory: &Memory) -> u64 {
        match self.paging.evicted.load(Relaxed) {
            0 => 0,
            units => self.bytes_of(memory, units),
        }
    }

    /// Bytes that the columns of some units take that can leave memory.
    fn bytes_of(&self, memory: &Memory, units: u64) -> u64 {
        let block = self.block(memory);
        let start = memory.region().offset_of_bytes(block.bytes());
        let of = Units { columns: block.columns() };
        let columns = bits(units & of.all()).flat_map(|unit| of.columns(unit));
        let pages = columns.flat_map(|column| places(block, start, column)).map(whole_pages);
        pages.map(|range| range.end - range.start).sum()
    }

    /// Makes the buffer cache know the segment, unless it does.
    fn list(&self, memory: &Memory, kept: u64) {
        let (paging, block) = (&self.paging, self.block(memory));
        let _latched = self.latch_paging();
        let is_new = paging.listed.load(Relaxed) == 0;
        if is_new && memory.region().can_evict() && block.is_orderly() {
            // What has no whole page of the system has nowhere to come back to, and is not read.
            let all = bits(Units { columns: block.columns() }.all()).map(|unit| 1 << unit);
            let small = all.filter(|unit| self.bytes_of(memory, *unit) == 0);
            let kept = small.fold(kept, |kept, unit| kept | unit);
            let kept = paging.kept.fetch_or(kept, Relaxed) | kept;
            let segment = memory.region().offset_of(self);
            let evict = |memory: &Memory, at| Self::at(memory, at).evict(memory);
            let bytes = self.bytes_of(memory, !kept);
            let listed = memory.buffer_cache.add(segment, bytes, evict);
            paging.listed.store(listed.into(), Relaxed);
        }
    }

    /// Makes the buffer cache forget the segment, whose block is about to be freed.
    pub(super) fn unlist(&self, memory: &Memory) {
        let paging = &self.paging;
        if paging.listed.swap(0, Relaxed) == 0 {
            return;
        }
        let segment = memory.region().offset_of(self);
        // Nobody evicts anything while these are added up, nor later.
        memory.buffer_cache.remove(segment, || {
            let gone = paging.evicted.load(Relaxed) | paging.kept.load(Relaxed);
            self.bytes_of(memory, !gone)
        });
        memory.forget_evicted(self.bytes_of(memory, paging.evicted.swap(0, Relaxed)));
        paging.kept.store(0, Relaxed);
    }
}

/// The extent of a column in a file: before it is what the columns have in common.
fn extent_of(column: usize) -> usize {
    column + 1
}

/// The places in the region of what can leave memory of a column of a block that begins at `start`.
fn places(block: Block<'_>, start: u64, column: usize) -> impl Iterator<Item = Range<u64>> {
    let at = move |range: Range<usize>| start + range.start as u64..start + range.end as u64;
    block.evictable(column).into_iter().map(at)
}

impl TableCore {
    /// Whether its columns may leave memory.
    #[inline]
    pub(crate) fn is_paged(&self) -> bool {
        self.schema.storage == TableStorage::Paged
    }

    /// The units of the columns that a key is made of.
    fn units_of(&self, key: &KeyPlan) -> u64 {
        let units = Units { columns: self.layout.leaves().len() };
        key.leaves().fold(0, |all, leaf| all | units.of(leaf))
    }
}

/// Notes where the block of a segment stands; of a paged table it can be evicted from now on.
pub(crate) fn set_stored(table: TableAt<'_>, frozen: &FrozenSegment, stored: StoredBlock) {
    frozen.move_to(stored);
    let core = table.core;
    if core.is_paged() {
        let kept = core.indexes().map(|index| core.units_of(&index.plan));
        let kept = kept.fold(core.kept.load(Acquire), |all, units| all | units);
        frozen.list(table.memory, kept);
    }
}

/// Brings the columns that a key is made of to memory, for an index to be built, and lets them
/// leave it never more.
///
/// # Errors
/// As [`Pin::column`].
pub(in crate::table) fn keep_key(table: TableAt<'_>, key: &KeyPlan) -> Result<()> {
    let TableAt { memory, core } = table;
    if !core.is_paged() {
        return Ok(());
    }
    let units = core.units_of(key);
    // Who lists a segment from now on knows of them.
    core.kept.fetch_or(units, Release);
    memory.buffer_cache.each(|_| ());
    table.directory().frozen_segments(memory).try_for_each(|it| it.keep(memory, units))
}

/// The segment files that somebody may read again: a segment that was replaced, or whose table was
/// dropped, stands where it stood until the last snapshot of it has gone.
pub(crate) fn files_read(memory: &Memory) -> BTreeSet<u64> {
    let mut files = BTreeSet::new();
    memory.buffer_cache.each(|at| files.extend(FrozenSegment::at(memory, at).file()));
    files
}
