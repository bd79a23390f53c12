//! Blocks: allocation and free, through the cache of a transaction slot.
//!
//! A slot's [`Cache`] keeps a few free blocks of each class (a magazine), so that a writer
//! allocates without a latch; magazines refill from and spill to the class lists in the region
//! header, and those take pages. Only the holder of a slot touches its cache, so the cache's words
//! need no ordering among themselves. Changes of tables and indexes have no slot and go to the
//! class lists directly. Every allocation is all or nothing and fails with a clean error.

use super::account::{MemoryUse, PURPOSES, Purpose};
use super::atomic::{AtomicU32, AtomicU64, Relaxed};
use super::class::{
    CLASSES, PAGE_SHIFT, PAGE_SIZE, blocks_per_page, class_of, occupied, size_of_class,
};
use super::counts::Counts;
use super::latch::Latch;
#[cfg(shuttle)]
use super::modelled;
use super::pages::buffer_cache::BufferCache;
use super::pages::{self, PageKind};
use super::region::{MAGIC, Ref, Region, RegionHeader};
use super::retire::RetireQueue;
use super::row_blocks::{self, RowPage};
use crate::error::{Error, ErrorKind, Result};

const MAGAZINE_SIZE: usize = 8;
/// Regions of up to so many bytes have all blocks in pages that they share, but for the largest: a
/// page for each size would take more than what lies in it.
const SHARED_MAX: u64 = 1 << 20;

/// What an allocation is for, and so whether it may use the reserve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AllocationClass {
    /// Rows, indexes, tables: stops at budget less reserve.
    Normal,
    /// Delete, rollback, reclamation: may go up to the budget.
    Emergency,
}

/// A region with its allocator.
#[derive(Debug)]
pub(crate) struct Memory {
    region: Region,
    heavy_barrier: bool,
    /// Which of the columns in the region can be evicted.
    pub(crate) buffer_cache: BufferCache,
}

/// A handle to allocate by: the memory, through the cache of the slot that a transaction holds.
#[derive(Clone, Copy)]
pub(crate) struct Allocator<'m> {
    pub(crate) memory: &'m Memory,
    pub(crate) cache: &'m Cache,
}

/// A transaction slot's own stock of free blocks, and the blocks it retired. Lies in the region.
#[repr(C)]
pub(crate) struct Cache {
    live: [AtomicU64; PURPOSES],
    pub(crate) counts: Counts,
    pub(crate) retired: RetireQueue,
    /// Whether memory failed the slot's transaction: then it drains all that can be at its end.
    pub(crate) pressed: AtomicU64,
    /// How many entries there have to be before it is worth while to drain the queue again, and
    /// to inspect all snapshots for it.
    pub(crate) retired_drain_at: AtomicU64,
    pub(crate) retired_search_at: AtomicU64,
    /// Entries that were left when the queue was last drained.
    pub(crate) retired_left: AtomicU64,
    /// Blocks that rows were moved out of: whoever was given a reference may have it until it ends.
    pub(crate) moved: RetireQueue,
    /// About how many bytes of row versions wait in the queue.
    pub(crate) retired_bytes: AtomicU64,
    /// Of those, bytes that were there when all snapshots were last inspected.
    pub(crate) retired_bytes_seen: AtomicU64,
    /// Rows with versions that an old snapshot needs, each with the timestamp that the horizon must
    /// reach before they can go.
    pub(crate) pinned: RetireQueue,
    /// The smallest of those timestamps, or less; and how many snapshots had been released when the
    /// queue was last drained.
    pub(crate) pinned_until: AtomicU64,
    pub(crate) releases_seen: AtomicU64,
    pub(crate) row_page: RowPage,
    /// Where the newest entries of the write set begin, if they are of rows that have ended.
    pub(crate) stretch: [AtomicU64; 2],
    /// Where the write set ends whose versions are left unstamped
    /// (`transaction/write/write_set.rs`).
    pub(crate) unstamped: [AtomicU64; 3],
    magazines: [Magazine; CLASSES],
}

/// A size class in the region header.
#[repr(C)]
pub(crate) struct ClassList {
    latch: Latch,
    /// The first page with a free block; 0 if there is none.
    partial: AtomicU32,
}

#[repr(C)]
struct Magazine {
    count: AtomicU64,
    blocks: [AtomicU64; MAGAZINE_SIZE],
}

impl Memory {
    /// Formats `region` for a new database with this budget.
    pub(crate) fn format(region: Region, budget: u64) -> Result<Self> {
        lay_out(&region, budget.min(region.capacity()))?;
        let (heavy_barrier, buffer_cache) = (super::barrier::is_offered(), BufferCache::default());
        Ok(Self { region, heavy_barrier, buffer_cache })
    }

    /// Keeps what is committed, now and later, from being swapped out.
    ///
    /// # Errors
    /// `OutOfMachineMemory` if the system does not let so much be locked.
    pub(crate) fn lock(&mut self) -> Result<()> {
        pages::lock(&mut self.region)
    }

    /// Makes the memory as it was formatted, at once, and keeps what is committed. Nobody refers to
    /// anything in it any more.
    ///
    /// # Errors
    /// `OutOfMachineMemory`, where memory that was given back cannot be had again.
    pub(crate) fn reset(&mut self) -> Result<()> {
        let account = &self.header().account;
        let (budget, warn_at) = (account.budget.load(Relaxed), account.warn_at.load(Relaxed));
        let kept = pages::kept(&self.region);
        self.buffer_cache.clear();
        self.region.clear_header();
        lay_out(&self.region, budget)?;
        self.header().account.warn_at.store(warn_at, Relaxed);
        pages::keep(&self.region, kept)
    }

    /// The region's header.
    #[inline]
    pub(crate) fn header(&self) -> &RegionHeader {
        self.region.header()
    }

    /// The region.
    #[inline]
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// Whether `memory/barrier.rs` has its heavy half.
    #[inline]
    pub(crate) fn has_heavy_barrier(&self) -> bool {
        self.heavy_barrier
    }

    /// Follows a reference.
    #[inline]
    pub(crate) fn get<T>(&self, at: Ref<T>) -> &T {
        self.region.get(at)
    }

    /// A zeroed run of pages for the engine's own fixed structures, which live as long as the
    /// database does.
    pub(crate) fn create_fixed(&self, bytes: usize) -> Result<u64> {
        let count = bytes.div_ceil(PAGE_SIZE) as u32;
        let page = pages::take_pages(&self.region, count, PageKind::RUN, AllocationClass::Normal)?;
        let at = u64::from(page) << PAGE_SHIFT;
        self.region.fresh_bytes(at, bytes).fill(0);
        let live = &self.header().account.live[Purpose::Internal as usize];
        live.fetch_add(occupied(bytes) as u64, Relaxed);
        Ok(at)
    }

    /// A slot's cache, made when the slot first writes.
    pub(crate) fn create_cache(&self) -> Result<Ref<Cache>> {
        Ok(Ref::new(self.create_block(size_of::<Cache>())?))
    }

    /// A zeroed block for what transactions need before they have an allocator, which stays; from
    /// the reserve, for it may be to delete.
    pub(crate) fn create_block(&self, size: usize) -> Result<u64> {
        let Some(size_class) = class_of(size) else {
            return Err(Error::new(ErrorKind::BudgetReached));
        };
        let mut block = [0];
        #[cfg(shuttle)]
        let _inside = modelled::allocating();
        take_blocks(&self.region, size_class, &mut block, AllocationClass::Emergency)?;
        #[cfg(shuttle)]
        modelled::allocated(self.region.fresh_bytes(block[0], size));
        self.region.fresh_bytes(block[0], size).fill(0);
        let live = &self.header().account.live[Purpose::Internal as usize];
        live.fetch_add(size_of_class(size_class) as u64, Relaxed);
        Ok(block[0])
    }

    /// Allocation through the cache of a slot that the caller holds.
    #[inline]
    pub(crate) fn allocator<'m>(&'m self, cache: &'m Cache) -> Allocator<'m> {
        Allocator { memory: self, cache }
    }

    /// Commits `bytes` of the region now, so that growing up to there meets no page fault.
    pub(crate) fn commit_ahead(&self, bytes: u64) -> Result<()> {
        pages::commit_ahead(&self.region, bytes)
    }

    /// Commits so many bytes more than are in use, beside others who allocate; how many are
    /// committed and not in use then.
    pub(crate) fn commit_beyond(&self, bytes: u64) -> Result<u64> {
        pages::commit_beyond(&self.region, bytes)
    }

    /// Counts so many bytes that lie outside the region, as long as the database lives. Nobody
    /// else uses the database yet.
    pub(crate) fn count_outside(&self, bytes: u64) {
        let account = &self.header().account;
        account.set_used(account.used.load(Relaxed) + bytes);
        account.outside.store(account.outside.load(Relaxed) + bytes, Relaxed);
    }

    /// Changes the budget.
    ///
    /// # Errors
    /// `InvalidOptions` if the region has no addresses for so much.
    pub(crate) fn set_budget(&self, budget: u64) -> Result<()> {
        pages::set_budget(&self.region, budget)
    }

    /// Gives the memory of free pages back to the system; how many bytes.
    pub(crate) fn release(&self) -> u64 {
        pages::release(&self.region)
    }

    /// Bytes that the block at `block` occupies, from the page it lies in. It is not one of a row.
    pub(crate) fn size_of_block(&self, block: u64) -> usize {
        let region = &self.region;
        let page = (block >> PAGE_SHIFT) as u32;
        if pages::is_run(region, page) {
            (pages::run_length(region, page) as usize) << PAGE_SHIFT
        } else if pages::is_of_rows(region, page) {
            row_blocks::size_of_shared(region, block)
        } else {
            size_of_class(pages::entry(region, page).class.load(Relaxed) as usize)
        }
    }

    /// The memory in use, given the caches of all slots.
    pub(crate) fn usage<'a>(&self, caches: impl Iterator<Item = &'a Cache>) -> MemoryUse {
        let account = &self.header().account;
        let (mut live, mut reclaimable) = ([0; PURPOSES], 0);
        for (total, own) in live.iter_mut().zip(&account.live) {
            *total = own.load(Relaxed);
        }
        for cache in caches {
            reclaimable += cache.retired_bytes.load(Relaxed);
            for (total, own) in live.iter_mut().zip(&cache.live) {
                *total = total.wrapping_add(own.load(Relaxed));
            }
        }
        let [rows, segments, indexes, internal, columns] = live;
        let (held, log) = (account.in_use(), account.outside.load(Relaxed));
        let evicted = account.evicted();
        let columns = columns.saturating_sub(evicted);
        let overhead = pages::overhead(&self.region);
        // Others may allocate while this adds up.
        let live = live.iter().sum::<u64>().saturating_add(log + overhead).saturating_sub(evicted);
        MemoryUse {
            budget: account.budget.load(Relaxed),
            reserve: account.reserve.load(Relaxed),
            held,
            committed: pages::committed(&self.region),
            rows,
            segments,
            indexes,
            internal,
            columns,
            evicted,
            cached: self.buffer_cache.bytes(),
            read_back: self.buffer_cache.bytes_read(),
            log,
            overhead,
            free: held.saturating_sub(live),
            reclaimable,
            reserved: self.region.capacity(),
        }
    }
}

impl<'m> Allocator<'m> {
    /// The region that is allocated from.
    #[inline]
    pub(crate) fn region(&self) -> &'m Region {
        &self.memory.region
    }

    /// The offset of a fresh block of `size` bytes, a multiple of 16. Its content is arbitrary.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    #[inline]
    pub(crate) fn allocate(
        &self,
        size: usize,
        purpose: Purpose,
        class: AllocationClass,
    ) -> Result<u64> {
        self.memory.count_down(class)?;
        #[cfg(shuttle)]
        let _inside = modelled::allocating();
        let block = self.take(size, purpose, class)?;
        #[cfg(shuttle)]
        modelled::allocated(self.region().fresh_bytes(block, size));
        Ok(block)
    }

    #[inline]
    fn take(&self, size: usize, purpose: Purpose, class: AllocationClass) -> Result<u64> {
        // Whatever is free in pages that the reserve has given: it is for who may use the reserve.
        let account = &self.region().header().account;
        if class == AllocationClass::Normal && !account.allows_blocks() {
            self.check_shared(size)?;
        }
        if purpose == Purpose::Rows {
            let block = row_blocks::allocate(*self, size, class)?;
            self.account(purpose, row_blocks::occupied(size) as u64);
            return Ok(block);
        }
        let Some(size_class) = class_of(size) else {
            let run = self.take_run(size, class)?;
            self.account(purpose, occupied(size) as u64);
            return Ok(run);
        };
        let magazine = &self.cache.magazines[size_class];
        let mut count = magazine.count.load(Relaxed);
        if count == 0 {
            count = self.refill(size_class, magazine, class)?;
        }
        let block = magazine.blocks[count as usize - 1].load(Relaxed);
        magazine.count.store(count - 1, Relaxed);
        let size = size_of_class(size_class);
        self.account(purpose, size as u64);
        Ok(block)
    }

    /// Whether blocks of so many bytes may be had where all share pages.
    #[cold]
    fn check_shared(&self, size: usize) -> Result<()> {
        let account = &self.region().header().account;
        let (free, _) = row_blocks::free_and_all(self.region());
        match account.allows_shared((size + row_blocks::SHARED_HEAD) as u64, free) {
            true => Ok(()),
            false => Err(account.budget_reached(size as u64, 0)),
        }
    }

    /// Sees to it that the next block of this size, which is not of a row, is in the cache: for who
    /// is about to take a latch that others wait for, under which memory is not to be looked for.
    ///
    /// # Errors
    /// As [`Allocator::allocate`].
    #[inline]
    pub(crate) fn stock(&self, size: usize, class: AllocationClass) -> Result<()> {
        let Some(size_class) = class_of(size) else { return Ok(()) };
        let magazine = &self.cache.magazines[size_class];
        if magazine.count.load(Relaxed) == 0 {
            #[cfg(shuttle)]
            let _inside = modelled::allocating();
            self.refill(size_class, magazine, class)?;
        }
        Ok(())
    }

    /// A zeroed object of the engine's own.
    pub(crate) fn create<T>(&self, purpose: Purpose) -> Result<Ref<T>> {
        let at = self.allocate(size_of::<T>(), purpose, AllocationClass::Normal)?;
        self.region().fresh_bytes(at, size_of::<T>()).fill(0);
        Ok(Ref::new(at))
    }

    /// Frees a block that nobody can reach any more. `size` is what it was allocated with.
    pub(crate) fn free(&self, block: u64, size: usize, purpose: Purpose) {
        #[cfg(shuttle)]
        let _inside = modelled::free(self.region().fresh_bytes(block, size));
        if purpose == Purpose::Rows {
            self.account(purpose, (row_blocks::occupied(size) as u64).wrapping_neg());
            return row_blocks::free(*self, block, size);
        }
        self.account(purpose, (occupied(size) as u64).wrapping_neg());
        let Some(size_class) = class_of(size) else {
            return pages::give_back(&self.memory.region, (block >> PAGE_SHIFT) as u32);
        };
        let magazine = &self.cache.magazines[size_class];
        let mut count = magazine.count.load(Relaxed) as usize;
        if count == MAGAZINE_SIZE {
            let spilled: [u64; MAGAZINE_SIZE / 2] =
                std::array::from_fn(|i| magazine.blocks[i].load(Relaxed));
            put_blocks(&self.memory.region, size_class, &spilled);
            for i in 0..MAGAZINE_SIZE / 2 {
                let kept = magazine.blocks[i + MAGAZINE_SIZE / 2].load(Relaxed);
                magazine.blocks[i].store(kept, Relaxed);
            }
            count = MAGAZINE_SIZE / 2;
        }
        magazine.blocks[count].store(block, Relaxed);
        magazine.count.store(count as u64 + 1, Relaxed);
    }

    /// Frees a block that is not of a row and that nobody can reach any more, whatever its size.
    pub(crate) fn free_block(&self, block: u64, purpose: Purpose) {
        self.free(block, self.size_of_block(block), purpose);
    }

    /// Bytes that the block at `block` occupies, from the page it lies in.
    pub(crate) fn size_of_block(&self, block: u64) -> usize {
        self.memory.size_of_block(block)
    }

    /// Gives the slot's stock of blocks back to everybody.
    pub(crate) fn flush(&self) {
        #[cfg(shuttle)]
        let _inside = modelled::allocating();
        row_blocks::close_page(*self);
        for (size_class, magazine) in self.cache.magazines.iter().enumerate() {
            for i in 0..magazine.count.load(Relaxed) as usize {
                put_blocks(&self.memory.region, size_class, &[magazine.blocks[i].load(Relaxed)]);
            }
            magazine.count.store(0, Relaxed);
        }
    }

    #[inline]
    pub(super) fn account(&self, purpose: Purpose, bytes: u64) {
        let live = &self.cache.live[purpose as usize];
        live.store(live.load(Relaxed).wrapping_add(bytes), Relaxed);
    }

    #[cold]
    fn refill(
        &self,
        size_class: usize,
        magazine: &Magazine,
        class: AllocationClass,
    ) -> Result<u64> {
        let batch = (PAGE_SIZE / 4 / size_of_class(size_class)).clamp(2, MAGAZINE_SIZE);
        let mut blocks = [0; MAGAZINE_SIZE];
        let take = || take_blocks(&self.memory.region, size_class, &mut blocks[..batch], class);
        let taken = self.memory.or_evict(PAGE_SIZE as u64, take)?;
        // Handed out from the end: store in descending order so that addresses ascend.
        for (i, block) in blocks[..taken].iter().rev().enumerate() {
            magazine.blocks[i].store(*block, Relaxed);
        }
        magazine.count.store(taken as u64, Relaxed);
        Ok(taken as u64)
    }

    /// A run of pages for `size` bytes, not yet accounted for.
    #[cold]
    pub(crate) fn take_run(&self, size: usize, class: AllocationClass) -> Result<u64> {
        let count = u32::try_from(size.div_ceil(PAGE_SIZE))
            .map_err(|_| Error::new(ErrorKind::BudgetReached))?;
        let take = || pages::take_pages(&self.memory.region, count, PageKind::RUN, class);
        let page = self.memory.or_evict(u64::from(count) << PAGE_SHIFT, take)?;
        Ok(u64::from(page) << PAGE_SHIFT)
    }
}

impl Memory {
    /// Makes the `n`-th normal allocation from now fail, and every one after it; 0 ends that.
    pub(crate) fn fail_allocations_from(&self, n: u64) {
        self.header().account.failure_countdown.store(n, Relaxed);
    }

    /// As [`Memory::fail_allocations_from`], for commits of memory by the system.
    pub(crate) fn fail_commits_from(&self, n: u64) {
        self.header().account.commit_countdown.store(n, Relaxed);
    }

    #[inline]
    fn count_down(&self, class: AllocationClass) -> Result<()> {
        let countdown = &self.header().account.failure_countdown;
        let left = countdown.load(Relaxed);
        if left == 0 || class == AllocationClass::Emergency {
            return Ok(());
        }
        if left > 1 {
            countdown.store(left - 1, Relaxed);
            return Ok(());
        }
        Err(Error::new(ErrorKind::BudgetReached).because("an allocation failure was asked for"))
    }
}

/// Writes what an empty database begins with.
fn lay_out(region: &Region, budget: u64) -> Result<()> {
    let header = region.header();
    header.capacity.store(region.capacity(), Relaxed);
    let most = pages::format(region)?;
    if region.capacity() <= SHARED_MAX {
        header.account.set_small();
        // What is no whole page cannot be had, nor kept in reserve.
        header.account.set_budget(budget.min(most));
    } else {
        header.account.set_budget(budget);
    }
    header.magic.store(MAGIC, Relaxed);
    Ok(())
}

/// Takes up to `blocks.len()` blocks of a size class, at least one, in ascending order where fresh.
fn take_blocks(
    region: &Region,
    size_class: usize,
    blocks: &mut [u64],
    class: AllocationClass,
) -> Result<usize> {
    if region.header().account.is_small() && row_blocks::can_share(size_of_class(size_class)) {
        blocks[0] = row_blocks::take_shared(region, size_of_class(size_class), class)?;
        return Ok(1);
    }
    let list = &region.header().classes[size_class];
    let _latched = list.latch.lock();
    let mut page = list.partial.load(Relaxed);
    if page == 0 {
        page = pages::take_pages(region, 1, PageKind::BLOCKS, class)?;
        let entry = pages::entry(region, page);
        entry.class.store(size_class as u8, Relaxed);
        entry.used.store(0, Relaxed);
        entry.freed.store(0, Relaxed);
        entry.fresh.store(0, Relaxed);
        link_partial(region, list, page);
    }
    let entry = pages::entry(region, page);
    let limit = blocks_per_page(size_class);
    let size = size_of_class(size_class);
    let base = u64::from(page) << PAGE_SHIFT;
    let mut taken = 0;
    while taken < blocks.len() {
        let freed = entry.freed.load(Relaxed);
        let fresh = entry.fresh.load(Relaxed) as usize;
        let number = if freed != 0 {
            let number = freed as usize - 1;
            let link = region.bytes(base + (number * size) as u64, 2);
            entry.freed.store(u16::from_ne_bytes([link[0], link[1]]), Relaxed);
            number
        } else if fresh < limit {
            entry.fresh.store(fresh as u16 + 1, Relaxed);
            fresh
        } else {
            break;
        };
        blocks[taken] = base + (number * size) as u64;
        taken += 1;
    }
    let used = entry.used.load(Relaxed) as usize + taken;
    entry.used.store(used as u16, Relaxed);
    if used == limit {
        unlink_partial(region, list, page);
    }
    Ok(taken)
}

/// Gives blocks of a class back to their pages.
fn put_blocks(region: &Region, size_class: usize, blocks: &[u64]) {
    let list = &region.header().classes[size_class];
    let _latched = list.latch.lock();
    let size = size_of_class(size_class);
    for &block in blocks {
        let page = (block >> PAGE_SHIFT) as u32;
        if pages::is_of_rows(region, page) {
            row_blocks::put_shared(region, block, size);
            continue;
        }
        let entry = pages::entry(region, page);
        debug_assert_eq!(entry.class.load(Relaxed) as usize, size_class);
        let number = (block as usize & (PAGE_SIZE - 1)) / size;
        let link = entry.freed.load(Relaxed).to_ne_bytes();
        region.fresh_bytes(block, 2).copy_from_slice(&link);
        entry.freed.store(number as u16 + 1, Relaxed);
        let used = entry.used.load(Relaxed);
        debug_assert!(used > 0);
        entry.used.store(used - 1, Relaxed);
        if used as usize == blocks_per_page(size_class) {
            link_partial(region, list, page);
        }
        if used == 1 {
            unlink_partial(region, list, page);
            pages::give_back(region, page);
        }
    }
}

fn link_partial(region: &Region, list: &ClassList, page: u32) {
    let entry = pages::entry(region, page);
    let next = list.partial.load(Relaxed);
    entry.previous.store(0, Relaxed);
    entry.next.store(next, Relaxed);
    if next != 0 {
        pages::entry(region, next).previous.store(page, Relaxed);
    }
    list.partial.store(page, Relaxed);
}

fn unlink_partial(region: &Region, list: &ClassList, page: u32) {
    let entry = pages::entry(region, page);
    let (previous, next) = (entry.previous.load(Relaxed), entry.next.load(Relaxed));
    if next != 0 {
        pages::entry(region, next).previous.store(previous, Relaxed);
    }
    if previous != 0 {
        pages::entry(region, previous).next.store(next, Relaxed);
    } else {
        list.partial.store(next, Relaxed);
    }
}

#[cfg(test)]
mod tests;
