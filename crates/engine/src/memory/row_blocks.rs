//! Blocks of row versions: allocated one behind the other, whatever their sizes.
//!
//! Rows inserted together are read together, so a slot cuts its rows from one page, in order,
//! until the page is full: neighbours in time are neighbours in memory, and no size rounds up by
//! more than a granule. (Against one page per size class: `lab sensors` holds 4 % less and inserts
//! 1.1 times faster.) Freed blocks become one with free neighbours, go to bins by size, are used
//! again before fresh memory, and split if they are larger; when the last block of a page is freed,
//! the page is given back.
//!
//! A page begins with a bit for each granule, set where a free block begins and where it ends;
//! since none is a single granule, which of both is known from the side one comes from. A free
//! block has its list's links and its size, the latter also in its last word. Bits, bins, links and
//! page counts change under one latch; cutting from the slot's own page needs none. (Knuth, The Art
//! of Computer Programming 1, 1968: boundary tags; the bits are apart, so that no row is ever taken
//! for a tag.)

use super::account::Purpose;
use super::allocator::{AllocationClass, Allocator};
use super::atomic::{AtomicU32, AtomicU64, Relaxed};
use super::class::{GRANULE, PAGE_SHIFT, PAGE_SIZE};
use super::latch::Latch;
use super::pages::{self, PageKind};
use super::region::{Ref, Region};
use crate::error::Result;

/// Granules of a page, and those of its bits.
const PAGE_GRANULES: usize = PAGE_SIZE / GRANULE;
const HEAD_GRANULES: usize = PAGE_GRANULES / 8 / GRANULE;
/// The largest block, of which two fill a page; longer rows take whole pages.
const GRANULES_MAX: usize = (PAGE_GRANULES - HEAD_GRANULES) / 2;
/// A free block needs room for its four words.
const GRANULES_MIN: usize = size_of::<FreeBlock>() / GRANULE;
/// Where a row is moved to: how many bins are inspected, and how many blocks of each.
const SIZES_TRIED: usize = 8;
const BLOCKS_TRIED: usize = 4;
const BIN_WORDS: usize = GRANULES_MAX / 64 + 1;
/// What the first word of a free block holds: no timestamp and no stamp.
const FREE_MARK: u64 = u64::MAX;

/// The free blocks of all pages; part of the region's header.
#[repr(C)]
pub(crate) struct RowBins {
    latch: Latch,
    /// Pages that rows lie in, those being cut included.
    pages: AtomicU32,
    /// Granules of all free blocks.
    free: AtomicU64,
    /// Which bins have a block.
    filled: [AtomicU64; BIN_WORDS],
    /// The first free block of each size in granules.
    bins: [AtomicU64; GRANULES_MAX + 1],
}

/// The page that a slot cuts its rows from; part of the slot's cache.
#[repr(C)]
pub(crate) struct RowPage {
    /// The next byte to cut, and the page's end; both 0 if the slot has no page.
    at: AtomicU64,
    end: AtomicU64,
    /// Blocks cut from the page so far.
    cut: AtomicU64,
}

/// What a page begins with: which granules are the first or the last of a free block.
#[repr(C)]
struct Ends([AtomicU64; PAGE_GRANULES / 64]);

#[repr(C)]
struct FreeBlock {
    mark: AtomicU64,
    next: AtomicU64,
    previous: AtomicU64,
    granules: AtomicU64,
}

/// Bytes that a block for `size` bytes takes.
#[inline]
pub(crate) fn occupied(size: usize) -> usize {
    match granules_of(size) {
        Some(granules) => granules * GRANULE,
        None => size.next_multiple_of(PAGE_SIZE),
    }
}

/// A block of at least `size` bytes.
///
/// # Errors
/// `BudgetReached`, `OutOfMachineMemory`.
#[inline]
pub(crate) fn allocate(alloc: Allocator<'_>, size: usize, class: AllocationClass) -> Result<u64> {
    let Some(granules) = granules_of(size) else {
        return alloc.take_run(size, class);
    };
    let region = alloc.region();
    if region.header().row_bins.filled_from(granules).is_some()
        && let Some(block) = take_free(region, granules)
    {
        return Ok(block);
    }
    cut(alloc, granules, class)
}

/// As [`allocate`], but not from what was freed: for a row that is moved out of a page in which
/// there is little left. Where memory is short, from what was freed in a page in which less than so
/// many bytes are free, if there is any.
///
/// # Errors
/// As [`allocate`].
pub(crate) fn allocate_packed(
    alloc: Allocator<'_>,
    size: usize,
    short: Option<u64>,
) -> Result<Option<u64>> {
    let Some(granules) = granules_of(size) else { return Ok(None) };
    #[cfg(shuttle)]
    let _inside = super::modelled::allocating();
    let block = match short {
        None => cut(alloc, granules, AllocationClass::Emergency)?,
        Some(free) => match take_beside(alloc.region(), granules, free) {
            Some(block) => block,
            None => return Ok(None),
        },
    };
    alloc.account(Purpose::Rows, occupied(size) as u64);
    #[cfg(shuttle)]
    super::modelled::allocated(alloc.region().fresh_bytes(block, size));
    Ok(Some(block))
}

/// Cuts a block from the slot's page.
#[inline]
fn cut(alloc: Allocator<'_>, granules: usize, class: AllocationClass) -> Result<u64> {
    let region = alloc.region();
    let page = &alloc.cache.row_page;
    let bytes = (granules * GRANULE) as u64;
    let mut at = page.at.load(Relaxed);
    if at + bytes > page.end.load(Relaxed) {
        if region.header().account.is_small() {
            return share(region, granules, class);
        }
        at = open_page(alloc, class)?;
    }
    page.at.store(at + bytes, Relaxed);
    page.cut.store(page.cut.load(Relaxed) + 1, Relaxed);
    // A locked instruction behind cold stores waits for them all, so the next row's lines are
    // asked for now: `lab sensors`, write, 1.2 times faster.
    region.prefetch_to_write(at + bytes, bytes as usize);
    Ok(at)
}

/// Frees a block that was allocated with this size.
pub(crate) fn free(alloc: Allocator<'_>, block: u64, size: usize) {
    let region = alloc.region();
    let Some(granules) = granules_of(size) else {
        return pages::give_back(region, (block >> PAGE_SHIFT) as u32);
    };
    // It will be written soon, and other processors may have read it.
    region.prefetch_to_write(block, size);
    put_free(region, block, granules);
}

#[inline]
fn put_free(region: &Region, block: u64, granules: usize) {
    let bins = &region.header().row_bins;
    let _latched = bins.latch.lock();
    bins.add(region, block, granules);
    let page = (block >> PAGE_SHIFT) as u32;
    let entry = pages::entry(region, page);
    // Wraps below zero while the page is still being cut: its count is added when it closes.
    entry.used.store(entry.used.load(Relaxed).wrapping_sub(1), Relaxed);
    release_if_empty(region, page);
}

/// Frees many blocks. Those of one page should come together: a page that has no others is given
/// back without a look at any of them.
pub(crate) struct Freeing<'m> {
    alloc: Allocator<'m>,
    page: u32,
    granules: usize,
    count: usize,
    blocks: [(u64, u16); PAGE_SIZE / GRANULE / GRANULES_MIN],
}

impl<'m> Freeing<'m> {
    /// Nothing to free yet.
    pub(crate) fn begin(alloc: Allocator<'m>) -> Self {
        #[cfg(shuttle)]
        let _inside = super::modelled::allocating();
        close_page(alloc);
        let blocks = [(0, 0); PAGE_SIZE / GRANULE / GRANULES_MIN];
        Self { alloc, page: 0, granules: 0, count: 0, blocks }
    }

    /// Frees a block that was allocated with this size, now or at the end.
    #[inline]
    pub(crate) fn free(&mut self, block: u64, size: usize) {
        #[cfg(shuttle)]
        let _inside = super::modelled::free(self.alloc.region().fresh_bytes(block, size));
        self.alloc.account(Purpose::Rows, (occupied(size) as u64).wrapping_neg());
        let Some(granules) = granules_of(size) else {
            return free(self.alloc, block, size);
        };
        let page = (block >> PAGE_SHIFT) as u32;
        if page != self.page {
            self.finish();
            self.page = page;
        }
        self.blocks[self.count] = (block, granules as u16);
        self.count += 1;
        self.granules += granules;
    }

    /// Frees what has come together.
    pub(crate) fn finish(&mut self) {
        let (count, granules) = (self.count, self.granules);
        if count == 0 {
            return;
        }
        #[cfg(shuttle)]
        let _inside = super::modelled::allocating();
        (self.count, self.granules) = (0, 0);
        let region = self.alloc.region();
        let bins = &region.header().row_bins;
        let entry = pages::entry(region, self.page);
        let _latched = bins.latch.lock();
        if granules + HEAD_GRANULES == entry.fresh.load(Relaxed) as usize {
            return give_back(region, self.page);
        }
        for &(block, granules) in &self.blocks[..count] {
            bins.add(region, block, granules as usize);
        }
        entry.used.store(entry.used.load(Relaxed).wrapping_sub(count as u16), Relaxed);
        release_if_empty(region, self.page);
    }
}

/// Closes the page that the slot cuts rows from, so that an idle slot holds none.
pub(crate) fn close_page(alloc: Allocator<'_>) {
    let page = &alloc.cache.row_page;
    let (at, end) = (page.at.load(Relaxed), page.end.load(Relaxed));
    if end == 0 {
        return;
    }
    let region = alloc.region();
    let bins = &region.header().row_bins;
    let number = ((end - 1) >> PAGE_SHIFT) as u32;
    let entry = pages::entry(region, number);
    let _latched = bins.latch.lock();
    let left = ((end - at) as usize) / GRANULE;
    let tail = if left >= GRANULES_MIN { left } else { 0 };
    let mut given = 0;
    while given < tail {
        let rest = tail - given;
        let piece = if rest > GRANULES_MAX { GRANULES_MAX.min(rest - GRANULES_MIN) } else { rest };
        bins.add(region, at + (given * GRANULE) as u64, piece);
        given += piece;
    }
    let covered = PAGE_GRANULES - (left - tail);
    entry.fresh.store(covered as u16, Relaxed);
    let cut = page.cut.load(Relaxed) as u16;
    entry.used.store(entry.used.load(Relaxed).wrapping_add(cut), Relaxed);
    for word in [&page.at, &page.end, &page.cut] {
        word.store(0, Relaxed);
    }
    release_if_empty(region, number);
}

#[inline]
fn granules_of(size: usize) -> Option<usize> {
    let granules = size.div_ceil(GRANULE).max(GRANULES_MIN);
    (granules <= GRANULES_MAX).then_some(granules)
}

#[cold]
fn open_page(alloc: Allocator<'_>, class: AllocationClass) -> Result<u64> {
    close_page(alloc);
    let region = alloc.region();
    let take = || pages::take_pages(region, 1, PageKind::ROWS, class);
    let number = alloc.memory.or_evict(PAGE_SIZE as u64, take)?;
    let entry = pages::entry(region, number);
    entry.used.store(0, Relaxed);
    entry.fresh.store(0, Relaxed);
    entry.freed.store(0, Relaxed);
    {
        let bins = &region.header().row_bins;
        let _latched = bins.latch.lock();
        bins.pages.store(bins.pages.load(Relaxed) + 1, Relaxed);
    }
    let page = &alloc.cache.row_page;
    let start = u64::from(number) << PAGE_SHIFT;
    let at = start + (HEAD_GRANULES * GRANULE) as u64;
    region.get::<Ends>(Ref::new(start)).0.iter().for_each(|word| word.store(0, Relaxed));
    page.at.store(at, Relaxed);
    page.end.store(start + PAGE_SIZE as u64, Relaxed);
    page.cut.store(0, Relaxed);
    Ok(at)
}

/// What a block begins with that is not of a row and shares its page with rows: its size.
pub(crate) const SHARED_HEAD: usize = GRANULE;

/// Whether blocks of this size can share pages.
pub(crate) fn can_share(size: usize) -> bool {
    granules_of(size + SHARED_HEAD).is_some()
}

/// A block of this size that is not of a row, in a page that it shares with others.
///
/// # Errors
/// `BudgetReached`, `OutOfMachineMemory`.
pub(crate) fn take_shared(region: &Region, size: usize, class: AllocationClass) -> Result<u64> {
    let granules = (size + SHARED_HEAD).div_ceil(GRANULE);
    let at = share(region, granules, class)?;
    region.words(at, 1)[0].store(size as u64, Relaxed);
    Ok(at + SHARED_HEAD as u64)
}

/// The size of such a block.
pub(crate) fn size_of_shared(region: &Region, block: u64) -> usize {
    region.words(block - SHARED_HEAD as u64, 1)[0].load(Relaxed) as usize
}

/// Frees such a block.
pub(crate) fn put_shared(region: &Region, block: u64, size: usize) {
    let granules = (size + SHARED_HEAD).div_ceil(GRANULE);
    put_free(region, block - SHARED_HEAD as u64, granules);
}

/// A block of so many granules in a page that all kinds of blocks share.
#[cold]
fn share(region: &Region, granules: usize, class: AllocationClass) -> Result<u64> {
    loop {
        if let Some(block) = take_free(region, granules) {
            return Ok(block);
        }
        let number = pages::take_pages(region, 1, PageKind::ROWS, class)?;
        let entry = pages::entry(region, number);
        entry.used.store(0, Relaxed);
        entry.freed.store(0, Relaxed);
        entry.fresh.store(PAGE_GRANULES as u16, Relaxed);
        let start = u64::from(number) << PAGE_SHIFT;
        region.get::<Ends>(Ref::new(start)).0.iter().for_each(|word| word.store(0, Relaxed));
        let bins = &region.header().row_bins;
        let _latched = bins.latch.lock();
        bins.pages.store(bins.pages.load(Relaxed) + 1, Relaxed);
        for at in (HEAD_GRANULES..PAGE_GRANULES).step_by(GRANULES_MAX) {
            bins.put(region, start + (at * GRANULE) as u64, GRANULES_MAX);
        }
    }
}

/// Takes a free block of at least so many granules and gives back what is too much of it.
#[cold]
fn take_free(region: &Region, granules: usize) -> Option<u64> {
    let bins = &region.header().row_bins;
    let _latched = bins.latch.lock();
    let bin = bins.filled_from(granules)?;
    let block = bins.bins[bin].load(Relaxed);
    bins.take(region, block, granules, bin);
    Some(block)
}

/// As [`take_free`], from a page in which less than so many bytes are free. Looks at a few blocks
/// of a few sizes.
fn take_beside(region: &Region, granules: usize, free: u64) -> Option<u64> {
    let bins = &region.header().row_bins;
    let _latched = bins.latch.lock();
    let mut bin = bins.filled_from(granules)?;
    for _ in 0..SIZES_TRIED {
        let mut block = bins.bins[bin].load(Relaxed);
        for _ in 0..BLOCKS_TRIED {
            if block == 0 {
                break;
            }
            if free_beside(region, block).is_some_and(|beside| beside < free) {
                bins.take(region, block, granules, bin);
                return Some(block);
            }
            block = region.get::<FreeBlock>(Ref::new(block)).next.load(Relaxed);
        }
        // What is left of a larger block has to be one itself.
        bin = bins.next_filled((bin + 1).max(granules + GRANULES_MIN))?;
    }
    None
}

/// Gives a closed page back whose blocks are all free.
fn release_if_empty(region: &Region, page: u32) {
    let entry = pages::entry(region, page);
    let covered = entry.fresh.load(Relaxed) as usize;
    if covered == 0 || entry.used.load(Relaxed) != 0 {
        return;
    }
    let bins = &region.header().row_bins;
    let start = u64::from(page) << PAGE_SHIFT;
    let mut at = HEAD_GRANULES;
    while at < covered {
        let block = start + (at * GRANULE) as u64;
        let free: &FreeBlock = region.get(Ref::new(block));
        assert_eq!(free.mark.load(Relaxed), FREE_MARK, "an empty page has free blocks alone");
        at += free.granules.load(Relaxed) as usize;
        bins.unlink(region, block);
    }
    give_back(region, page);
}

/// Gives a page of rows back.
fn give_back(region: &Region, page: u32) {
    let count = &region.header().row_bins.pages;
    count.store(count.load(Relaxed) - 1, Relaxed);
    pages::give_back(region, page);
}

/// How much of the pages of rows is free: bytes of free blocks, and of those pages.
pub(crate) fn free_and_all(region: &Region) -> (u64, u64) {
    let bins = &region.header().row_bins;
    let (free, pages) = (bins.free.load(Relaxed), bins.pages.load(Relaxed));
    (free * GRANULE as u64, u64::from(pages) << PAGE_SHIFT)
}

/// How many bytes are free in the page that a row's block lies in; `None` for a block of pages of
/// its own, and for a page that is being cut.
pub(crate) fn free_beside(region: &Region, block: u64) -> Option<u64> {
    let page = (block >> PAGE_SHIFT) as u32;
    let entry = pages::entry(region, page);
    let closed = pages::is_of_rows(region, page) && entry.fresh.load(Relaxed) != 0;
    closed.then(|| u64::from(entry.freed.load(Relaxed)) * GRANULE as u64)
}

impl RowBins {
    /// Takes a free block of a bin, and gives back what is more of it than so many granules.
    fn take(&self, region: &Region, block: u64, granules: usize, bin: usize) {
        self.unlink(region, block);
        if bin > granules {
            self.put(region, block + (granules * GRANULE) as u64, bin - granules);
        }
        let entry = pages::entry(region, (block >> PAGE_SHIFT) as u32);
        entry.used.store(entry.used.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// The smallest filled bin whose blocks serve for so many granules: of that size, or larger by
    /// enough for a block of its own.
    #[inline]
    fn filled_from(&self, granules: usize) -> Option<usize> {
        if self.is_filled(granules) {
            return Some(granules);
        }
        self.next_filled(granules + GRANULES_MIN)
    }

    /// The smallest filled bin from one on.
    #[inline]
    fn next_filled(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut mask = u64::MAX << (from % 64);
        while word < BIN_WORDS {
            let filled = self.filled[word].load(Relaxed) & mask;
            if filled != 0 {
                return Some(word * 64 + filled.trailing_zeros() as usize);
            }
            (word, mask) = (word + 1, u64::MAX);
        }
        None
    }

    #[inline]
    fn is_filled(&self, bin: usize) -> bool {
        self.filled[bin / 64].load(Relaxed) >> (bin % 64) & 1 != 0
    }

    /// Adds a free block, as one with its free neighbours as far as that is no larger than a block
    /// can be.
    fn add(&self, region: &Region, at: u64, granules: usize) {
        let (mut at, mut granules) = (at, granules);
        let (ends, first) = ends_of(region, at);
        let behind = first + granules;
        if behind < PAGE_GRANULES && ends.has(behind) {
            let next = at + (granules * GRANULE) as u64;
            let block: &FreeBlock = region.get(Ref::new(next));
            let more = block.granules.load(Relaxed) as usize;
            if granules + more <= GRANULES_MAX {
                self.unlink(region, next);
                granules += more;
            }
        }
        if first > HEAD_GRANULES && ends.has(first - 1) {
            let more = region.words(at - 8, 1)[0].load(Relaxed) as usize;
            if granules + more <= GRANULES_MAX {
                at -= (more * GRANULE) as u64;
                self.unlink(region, at);
                granules += more;
            }
        }
        self.put(region, at, granules);
    }

    /// Counts more free granules, in all and in the page.
    fn count(&self, region: &Region, at: u64, more: u64) {
        self.free.store(self.free.load(Relaxed).wrapping_add(more), Relaxed);
        let freed = &pages::entry(region, (at >> PAGE_SHIFT) as u32).freed;
        freed.store(freed.load(Relaxed).wrapping_add(more as u16), Relaxed);
    }

    fn put(&self, region: &Region, at: u64, granules: usize) {
        self.count(region, at, granules as u64);
        let (ends, first) = ends_of(region, at);
        ends.set(first);
        ends.set(first + granules - 1);
        region.words(at + (granules * GRANULE) as u64 - 8, 1)[0].store(granules as u64, Relaxed);
        let block: &FreeBlock = region.get(Ref::new(at));
        let next = self.bins[granules].load(Relaxed);
        block.mark.store(FREE_MARK, Relaxed);
        block.granules.store(granules as u64, Relaxed);
        block.previous.store(0, Relaxed);
        block.next.store(next, Relaxed);
        if next != 0 {
            region.get::<FreeBlock>(Ref::new(next)).previous.store(at, Relaxed);
        }
        self.bins[granules].store(at, Relaxed);
        let word = &self.filled[granules / 64];
        word.store(word.load(Relaxed) | 1 << (granules % 64), Relaxed);
    }

    fn unlink(&self, region: &Region, at: u64) {
        let block: &FreeBlock = region.get(Ref::new(at));
        let granules = block.granules.load(Relaxed) as usize;
        self.count(region, at, (granules as u64).wrapping_neg());
        let (ends, first) = ends_of(region, at);
        ends.clear(first);
        ends.clear(first + granules - 1);
        let (previous, next) = (block.previous.load(Relaxed), block.next.load(Relaxed));
        if next != 0 {
            region.get::<FreeBlock>(Ref::new(next)).previous.store(previous, Relaxed);
        }
        if previous != 0 {
            region.get::<FreeBlock>(Ref::new(previous)).next.store(next, Relaxed);
            return;
        }
        self.bins[granules].store(next, Relaxed);
        if next == 0 {
            let word = &self.filled[granules / 64];
            word.store(word.load(Relaxed) & !(1 << (granules % 64)), Relaxed);
        }
    }
}

impl Ends {
    fn has(&self, granule: usize) -> bool {
        self.0[granule / 64].load(Relaxed) >> (granule % 64) & 1 != 0
    }

    fn set(&self, granule: usize) {
        let word = &self.0[granule / 64];
        word.store(word.load(Relaxed) | 1 << (granule % 64), Relaxed);
    }

    fn clear(&self, granule: usize) {
        let word = &self.0[granule / 64];
        word.store(word.load(Relaxed) & !(1 << (granule % 64)), Relaxed);
    }
}

/// The bits of the page that a block lies in, and which of its granules is the block's first.
fn ends_of(region: &Region, at: u64) -> (&Ends, usize) {
    let start = at >> PAGE_SHIFT << PAGE_SHIFT;
    (region.get(Ref::new(start)), (at - start) as usize / GRANULE)
}

const _: () = assert!(size_of::<Ends>() == HEAD_GRANULES * GRANULE);
const _: () = assert!(HEAD_GRANULES + 2 * GRANULES_MAX == PAGE_GRANULES);
