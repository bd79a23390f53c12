//! Pages of 16 KiB, and runs of them.
//!
//! The page table, an array of [`PageEntry`] behind the region header, says of each page whether it
//! is free, cut into blocks of a size class, or part of a run. Free runs are kept in lists by the
//! power of two of their length, with the length written at both ends, so that freeing merges with
//! both neighbours in constant time. Everything here happens under one latch; slots' caches keep
//! it rare. The budget is checked here: a page is the unit in which memory is counted. Parts of
//! runs can be evicted and restored ([`buffer_cache`]); they are counted by the byte.

pub(crate) mod buffer_cache;
pub(crate) mod page_run;

use std::ops::Range;

use super::allocator::AllocationClass;
use super::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Relaxed};
use super::class::{PAGE_SHIFT, PAGE_SIZE};
use super::latch::Latch;
use super::region::{Growth, Region, RegionHeader};
use crate::error::{Error, ErrorKind, Result};

const BINS: usize = 24;
/// Bytes that are committed ahead at a time.
const STRETCH: u64 = 32 << 20;

/// The page allocator's words in the region header.
#[repr(C)]
pub(crate) struct PageState {
    latch: Latch,
    /// Offset of the page table.
    pub(crate) table: AtomicU64,
    /// Pages from here on were never used.
    frontier: AtomicU32,
    /// Pages there can be.
    pages: AtomicU32,
    /// The first page behind the page table.
    first: AtomicU32,
    /// Bytes committed from the region's start, and how many of those were given back since.
    pub(crate) committed: AtomicU64,
    released: AtomicU64,
    /// Heads of the lists of free runs: bin b holds runs of 2^b to 2^(b+1)-1 pages.
    bins: [AtomicU32; BINS],
}

/// What the page table says of a page.
#[repr(C)]
pub(crate) struct PageEntry {
    /// A [`PageKind`].
    kind: AtomicU8,
    /// The size class, if the page is cut into blocks; of the first page of a free run, whether the
    /// run's memory was given back to the system.
    pub(crate) class: AtomicU8,
    /// Blocks handed out.
    pub(crate) used: AtomicU16,
    /// One more than the number of the first freed block, 0 if there is none; of a page of rows,
    /// how many granules are free.
    pub(crate) freed: AtomicU16,
    /// Blocks from here on were never handed out.
    pub(crate) fresh: AtomicU16,
    /// Neighbours in a list of pages; 0 ends it.
    pub(crate) next: AtomicU32,
    pub(crate) previous: AtomicU32,
    /// Pages of the run, at its first page and, while it is free, at its last.
    run: AtomicU32,
}

/// States of a page.
pub(crate) struct PageKind;

impl PageKind {
    const FREE: u8 = 0;
    pub(crate) const BLOCKS: u8 = 1;
    pub(crate) const RUN: u8 = 2;
    pub(crate) const ROWS: u8 = 3;
}

/// The `class` of a free run whose memory was given back.
const RELEASED: u8 = 1;

/// Lays out the page table of a new region and opens its first pages to use; how much of it can be
/// in use.
pub(crate) fn format(region: &Region) -> Result<u64> {
    let header = region.header();
    let pages = (region.capacity() >> PAGE_SHIFT).min(u64::from(u32::MAX)) as u32;
    let table = size_of::<RegionHeader>().next_multiple_of(64) as u64;
    let table_end = table + u64::from(pages) * size_of::<PageEntry>() as u64;
    let first = table_end.div_ceil(PAGE_SIZE as u64) as u32;
    if first >= pages {
        return Err(Error::new(ErrorKind::BudgetReached)
            .because("the budget is too small to hold a database"));
    }
    let state = &header.pages;
    state.table.store(table, Relaxed);
    state.pages.store(pages, Relaxed);
    state.frontier.store(first, Relaxed);
    state.first.store(first, Relaxed);
    state.committed.store(u64::from(first) << PAGE_SHIFT, Relaxed);
    header.account.used.store(table, Relaxed);
    Ok(table + (u64::from(pages - first) << PAGE_SHIFT))
}

/// The page table's entry of a page.
#[inline]
pub(crate) fn entry(region: &Region, page: u32) -> &PageEntry {
    let table = region.header().pages.table.load(Relaxed);
    let offset = table + u64::from(page) * size_of::<PageEntry>() as u64;
    region.get(super::Ref::new(offset))
}

/// Takes a run of `count` pages in state `kind`.
///
/// # Errors
/// `BudgetReached`, `OutOfMachineMemory`.
pub(crate) fn take_pages(
    region: &Region,
    count: u32,
    kind: u8,
    class: AllocationClass,
) -> Result<u32> {
    let header = region.header();
    let state = &header.pages;
    let _latched = state.latch.lock();
    let bytes = u64::from(count) << PAGE_SHIFT;
    // What frees memory is not kept from it by what the program holds beside.
    let (emergency, program) = match class {
        AllocationClass::Emergency => (true, 0),
        AllocationClass::Normal => (false, region.program().bytes()),
    };
    if !header.account.allows(bytes.saturating_add(program), emergency) {
        return Err(header.account.budget_reached(bytes, program));
    }
    let page = match take_free_run(region, count) {
        Some(page) => page,
        None => extend(region, count)?,
    };
    let first = entry(region, page);
    first.kind.store(kind, Relaxed);
    first.run.store(count, Relaxed);
    entry(region, page + count - 1).kind.store(kind, Relaxed);
    header.account.set_used(header.account.used.load(Relaxed) + bytes);
    Ok(page)
}

/// Gives a run back, merging it with its free neighbours.
pub(crate) fn give_back(region: &Region, page: u32) {
    let header = region.header();
    let state = &header.pages;
    let _latched = state.latch.lock();
    let mut first = page;
    let mut count = entry(region, page).run.load(Relaxed);
    let bytes = u64::from(count) << PAGE_SHIFT;
    header.account.set_used(header.account.used.load(Relaxed) - bytes);
    let after = first + count;
    if after < state.frontier.load(Relaxed) && is_free(region, after) {
        count += entry(region, after).run.load(Relaxed);
        unlink(region, after);
    }
    if is_free_end(region, first) {
        let length = entry(region, first - 1).run.load(Relaxed);
        first -= length;
        count += length;
        unlink(region, first);
    }
    link(region, first, count);
}

/// Gives whole pages of the system in runs in use back to it, until [`restore`]. Nobody reads them
/// meanwhile.
pub(crate) fn evict(region: &Region, bytes: Range<u64>) {
    if !bytes.is_empty() {
        // Where the system says no, it has them still: they are counted as the caller knows them.
        region.release(bytes.start, bytes.end);
        let account = &region.header().account;
        let _latched = region.header().pages.latch.lock();
        account.set_evicted(account.evicted() + (bytes.end - bytes.start));
    }
}

/// Makes pages that were evicted memory again; their content is anything.
///
/// # Errors
/// `BudgetReached`, `OutOfMachineMemory`.
pub(crate) fn restore(region: &Region, bytes: Range<u64>) -> Result<()> {
    let len = bytes.end - bytes.start;
    let account = &region.header().account;
    {
        let _latched = region.header().pages.latch.lock();
        let program = region.program().bytes();
        if !account.allows(len.saturating_add(program), false) {
            return Err(account.budget_reached(len, program));
        }
        account.set_evicted(account.evicted() - len);
    }
    region.populate(bytes.start, bytes.end).inspect_err(|_| evict(region, bytes))
}

/// Says that so many bytes which are evicted are about to be freed.
pub(crate) fn forget_evicted(region: &Region, bytes: u64) {
    let account = &region.header().account;
    let _latched = region.header().pages.latch.lock();
    account.set_evicted(account.evicted() - bytes);
}

/// Commits the first `bytes` of the pages, so that using them meets no page fault.
pub(crate) fn commit_ahead(region: &Region, bytes: u64) -> Result<()> {
    let state = &region.header().pages;
    let _latched = state.latch.lock();
    let start = u64::from(state.first.load(Relaxed)) << PAGE_SHIFT;
    let wanted = start.saturating_add(bytes).min(region.capacity());
    commit(region, wanted, Growth::Ahead)
}

/// Commits so many bytes behind the pages that were ever used, a stretch at a time and without the
/// latch, so that allocations go on meanwhile. Gives how many bytes are committed there then.
///
/// # Errors
/// `OutOfMachineMemory`.
pub(crate) fn commit_beyond(region: &Region, bytes: u64) -> Result<u64> {
    let state = &region.header().pages;
    let start = u64::from(state.first.load(Relaxed)) << PAGE_SHIFT;
    let budget = region.header().account.budget.load(Relaxed);
    let limit = start.saturating_add(budget).min(region.capacity());
    loop {
        let (used, committed) = {
            let _latched = state.latch.lock();
            let frontier = u64::from(state.frontier.load(Relaxed)) << PAGE_SHIFT;
            (frontier, state.committed.load(Relaxed))
        };
        let wanted = used.saturating_add(bytes).min(limit);
        if committed >= wanted {
            return Ok(committed - used);
        }
        let wanted = wanted.min(committed + STRETCH);
        let target = region.commit_target(start, committed, wanted, Growth::Ahead);
        region.header().account.count_commit()?;
        // Whoever allocates meanwhile may commit the same once more, which changes nothing.
        region.commit(start, committed, target, Growth::Ahead)?;
        let _latched = state.latch.lock();
        state.committed.store(state.committed.load(Relaxed).max(target), Relaxed);
    }
}

/// Keeps what is committed, now and later, from being swapped out.
///
/// # Errors
/// `OutOfMachineMemory` if the system does not let so much be locked.
pub(crate) fn lock(region: &mut Region) -> Result<()> {
    let start = u64::from(region.header().pages.first.load(Relaxed)) << PAGE_SHIFT;
    region.lock_from_now_on(start)
}

/// Bytes of pages that are committed.
pub(crate) fn committed(region: &Region) -> u64 {
    let state = &region.header().pages;
    let start = u64::from(state.first.load(Relaxed)) << PAGE_SHIFT;
    let committed = state.committed.load(Relaxed) - state.released.load(Relaxed);
    committed.saturating_sub(start)
}

/// Bytes that count as used as long as the region lives: those before the page table.
pub(crate) fn overhead(region: &Region) -> u64 {
    region.header().pages.table.load(Relaxed)
}

/// What is committed, to be kept when the region is formatted again.
pub(crate) struct Kept {
    committed: u64,
    /// Whether some of it was given back.
    with_holes: bool,
}

/// What is committed now.
pub(crate) fn kept(region: &Region) -> Kept {
    let state = &region.header().pages;
    let with_holes = state.released.load(Relaxed) > 0;
    Kept { committed: state.committed.load(Relaxed), with_holes }
}

/// Makes a region that was just formatted commit as much as it had before.
///
/// # Errors
/// `OutOfMachineMemory`, where memory that was given back cannot be had again.
pub(crate) fn keep(region: &Region, kept: Kept) -> Result<()> {
    let state = &region.header().pages;
    let start = u64::from(state.first.load(Relaxed)) << PAGE_SHIFT;
    if kept.with_holes {
        region.commit(start, start, kept.committed, Growth::Needed)?;
    }
    state.committed.store(kept.committed.max(start), Relaxed);
    Ok(())
}

/// Changes the budget, and the reserve with it.
///
/// # Errors
/// `InvalidOptions` if the region has no addresses for so much.
pub(crate) fn set_budget(region: &Region, budget: u64) -> Result<()> {
    if budget > region.capacity() {
        return Err(Error::new(ErrorKind::InvalidOptions).because(format!(
            "the database was opened with addresses for {} bytes",
            region.capacity()
        )));
    }
    let header = region.header();
    let _latched = header.pages.latch.lock();
    header.account.set_budget(budget);
    Ok(())
}

/// Gives the memory of all free pages back to the system, and says how many bytes that were.
pub(crate) fn release(region: &Region) -> u64 {
    let state = &region.header().pages;
    let _latched = state.latch.lock();
    let mut released = 0;
    for bin in &state.bins {
        let mut page = bin.load(Relaxed);
        while page != 0 {
            let first = entry(region, page);
            let bytes = u64::from(first.run.load(Relaxed)) << PAGE_SHIFT;
            let start = u64::from(page) << PAGE_SHIFT;
            if first.class.load(Relaxed) != RELEASED && region.release(start, start + bytes) {
                first.class.store(RELEASED, Relaxed);
                released += bytes;
            }
            page = first.next.load(Relaxed);
        }
    }
    state.released.store(state.released.load(Relaxed) + released, Relaxed);
    let (frontier, committed) = (state.frontier.load(Relaxed), state.committed.load(Relaxed));
    let end = u64::from(frontier) << PAGE_SHIFT;
    if committed > end && region.release(end, committed) {
        state.committed.store(end, Relaxed);
        released += committed - end;
    }
    released
}

/// Pages of the run that starts at `page`.
pub(crate) fn run_length(region: &Region, page: u32) -> u32 {
    entry(region, page).run.load(Relaxed)
}

/// Whether the page is the first of a run rather than cut into blocks.
#[inline]
pub(crate) fn is_run(region: &Region, page: u32) -> bool {
    entry(region, page).kind.load(Relaxed) == PageKind::RUN
}

/// Whether rows lie in the page.
#[inline]
pub(crate) fn is_of_rows(region: &Region, page: u32) -> bool {
    entry(region, page).kind.load(Relaxed) == PageKind::ROWS
}

fn take_free_run(region: &Region, count: u32) -> Option<u32> {
    let state = &region.header().pages;
    for bin in bin_of(count)..BINS {
        let mut page = state.bins[bin].load(Relaxed);
        while page != 0 {
            let length = entry(region, page).run.load(Relaxed);
            if length >= count {
                let released = entry(region, page).class.load(Relaxed) == RELEASED;
                unlink(region, page);
                if length > count {
                    link(region, page + count, length - count);
                    if released {
                        mark_released(region, page + count, length - count);
                    }
                }
                return Some(page);
            }
            page = entry(region, page).next.load(Relaxed);
        }
    }
    None
}

fn extend(region: &Region, count: u32) -> Result<u32> {
    let header = region.header();
    let state = &header.pages;
    let page = state.frontier.load(Relaxed);
    let Some(end) = page.checked_add(count).filter(|&end| end <= state.pages.load(Relaxed)) else {
        return Err(header.account.budget_reached(u64::from(count) << PAGE_SHIFT, 0));
    };
    let wanted = u64::from(end) << PAGE_SHIFT;
    if wanted > state.committed.load(Relaxed) {
        commit(region, wanted, Growth::Needed)?;
    }
    for fresh in page..end {
        clear(entry(region, fresh));
    }
    state.frontier.store(end, Relaxed);
    Ok(page)
}

fn commit(region: &Region, wanted: u64, growth: Growth) -> Result<()> {
    let state = &region.header().pages;
    let start = u64::from(state.first.load(Relaxed)) << PAGE_SHIFT;
    let committed = state.committed.load(Relaxed);
    let target = region.commit_target(start, committed, wanted, growth);
    if target > committed {
        region.header().account.count_commit()?;
        region.commit(start, committed, target, growth)?;
        state.committed.store(target, Relaxed);
    }
    Ok(())
}

fn clear(entry: &PageEntry) {
    entry.kind.store(PageKind::RUN, Relaxed);
    entry.class.store(0, Relaxed);
    entry.used.store(0, Relaxed);
    entry.freed.store(0, Relaxed);
    entry.fresh.store(0, Relaxed);
    entry.next.store(0, Relaxed);
    entry.previous.store(0, Relaxed);
    entry.run.store(0, Relaxed);
}

fn is_free(region: &Region, page: u32) -> bool {
    entry(region, page).kind.load(Relaxed) == PageKind::FREE
}

/// Whether the page before `page` ends a free run. The first pages hold the page table itself and
/// are never free; their entries were never written, so the table's own extent is the limit.
fn is_free_end(region: &Region, page: u32) -> bool {
    let first = region.header().pages.first.load(Relaxed);
    page > first && is_free(region, page - 1)
}

fn bin_of(count: u32) -> usize {
    (count.ilog2() as usize).min(BINS - 1)
}

fn link(region: &Region, page: u32, count: u32) {
    let head = &region.header().pages.bins[bin_of(count)];
    let next = head.load(Relaxed);
    let first = entry(region, page);
    let last = entry(region, page + count - 1);
    last.kind.store(PageKind::FREE, Relaxed);
    last.run.store(count, Relaxed);
    first.kind.store(PageKind::FREE, Relaxed);
    first.run.store(count, Relaxed);
    first.class.store(0, Relaxed);
    first.previous.store(0, Relaxed);
    first.next.store(next, Relaxed);
    if next != 0 {
        entry(region, next).previous.store(page, Relaxed);
    }
    head.store(page, Relaxed);
}

fn mark_released(region: &Region, page: u32, count: u32) {
    entry(region, page).class.store(RELEASED, Relaxed);
    let released = &region.header().pages.released;
    released.store(released.load(Relaxed) + (u64::from(count) << PAGE_SHIFT), Relaxed);
}

fn unlink(region: &Region, page: u32) {
    let first = entry(region, page);
    let count = first.run.load(Relaxed);
    let (previous, next) = (first.previous.load(Relaxed), first.next.load(Relaxed));
    if first.class.load(Relaxed) == RELEASED {
        let released = &region.header().pages.released;
        released.store(released.load(Relaxed) - (u64::from(count) << PAGE_SHIFT), Relaxed);
        first.class.store(0, Relaxed);
    }
    if next != 0 {
        entry(region, next).previous.store(previous, Relaxed);
    }
    if previous != 0 {
        entry(region, previous).next.store(next, Relaxed);
    } else {
        region.header().pages.bins[bin_of(count)].store(next, Relaxed);
    }
    // Inner entries of the run keep whatever they held; only ends are ever inspected.
    first.kind.store(PageKind::RUN, Relaxed);
    entry(region, page + count - 1).kind.store(PageKind::RUN, Relaxed);
}

#[cfg(test)]
mod tests;
