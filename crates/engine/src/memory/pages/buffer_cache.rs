//! What can leave memory and come back: the columns of frozen segments that stand in files too.
//!
//! The bytes of a column keep their addresses when they are *evicted*: the system takes the pages
//! back, and nobody reads there until they are *restored* from a file (virtual-memory assisted
//! buffer management: Leis, Alhomssi, Ziegler, Loeck and Dietrich, 2023). So whoever reads columns
//! follows no other path than in memory, and pins what it reads. This file has what is common to
//! all: how many bytes may be cached, the segments that can be evicted, and where bytes are read
//! again. Which of a segment's bytes leave is the business of `table/columns/paging.rs`.
//!
//! A victim is drawn at random and has a second chance if somebody asked for it since it was last
//! drawn, as in the CLOCK algorithm (Corbato, 1968). What was read once, by a scan, has none, so a
//! scan larger than the cache does not drive out what is used again and again. Once the cache is
//! full, most of what a scan misses is read into pages of the scan's own, and one column in eight
//! takes the place of others (bimodal insertion: Qureshi, Jaleel, Patt, Steely and Emer, 2007):
//! to give memory back to the system and to have it again costs more than reading.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::{OnceLock, PoisonError};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::memory::Memory;
use crate::memory::atomic::{AtomicU64, Mutex, Relaxed};
use crate::memory::region::page_size;

/// Segments that are drawn in a row, for each that is there, before it is given up.
const DRAWS_EACH: usize = 3;
const DRAWS_MIN: usize = 16;
/// Of so many columns that a scan misses when the cache is full, one is cached.
const CACHED_EACH: u64 = 8;

/// A record in a file, of extents that can be read each by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EvictedRecord {
    /// The number of the file, and where in it the record begins.
    pub(crate) file: u64,
    pub(crate) at: u64,
    /// The checksum of the table at its beginning, and how many extents that has.
    pub(crate) checksum: u32,
    pub(crate) extents: usize,
}

/// Where bytes that were evicted are read again.
pub(crate) trait EvictedBytes: Send + Sync + Debug {
    /// Gives some extents of a record to `take`, whose numbers ascend, one after the other.
    ///
    /// # Errors
    /// `StorageFailed`, `DamagedImage`, with the name of the file; those of `take`.
    fn read(
        &self,
        record: EvictedRecord,
        extents: &[usize],
        take: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()>;

    /// Says that extents of a record, whose numbers ascend, are about to be read.
    fn will_read(&self, record: EvictedRecord, extents: &[usize]);

    /// What reading took so far.
    fn figures(&self) -> ColumnReads {
        ColumnReads::default()
    }
}

/// What it took to read columns again that were evicted: of all threads, since the database was
/// opened. How many bytes it were is [`MemoryUse::read_back`](crate::MemoryUse::read_back).
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options};
/// let db = Database::open(Options::new())?;
/// assert_eq!(db.statistics().column_reads.count, 0, "nothing leaves memory here");
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnReads {
    /// Reads of files: columns that stand close to each other are read at once, and a file that is
    /// opened has a header.
    pub count: u64,
    /// For how long files were waited for.
    pub waiting: Duration,
    /// For how long what had been read was checked and decompressed.
    pub unpacking: Duration,
}

/// The segments that can be evicted. It lies outside the region: of addresses, and for one process.
#[derive(Debug, Default)]
pub(crate) struct BufferCache {
    /// How many bytes may be cached; 0 is three quarters of the budget.
    limit: AtomicU64,
    /// Bytes in memory that could be evicted.
    bytes: AtomicU64,
    /// Bytes that were read again since the database was opened.
    read: AtomicU64,
    /// Offsets of the segments, and the state of the generator that draws among them.
    segments: Mutex<Vec<u64>>,
    drawn: AtomicU64,
    /// Evicts what can be of the segment at an offset; how many bytes.
    evict: OnceLock<fn(&Memory, u64) -> u64>,
    source: OnceLock<Box<dyn EvictedBytes>>,
}

impl BufferCache {
    /// Bytes in memory that could be evicted.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Bytes that were read again.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.read.load(Relaxed)
    }

    /// Sets how many bytes may be cached; 0 is three quarters of the budget.
    pub(crate) fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Relaxed);
    }

    /// Says where bytes are read again, unless that is known.
    pub(crate) fn set_source(&self, source: impl EvictedBytes + 'static) {
        let _ = self.source.set(Box::new(source));
    }

    /// Where bytes are read again.
    ///
    /// # Errors
    /// `StorageFailed` if the database has no files; nothing was evicted then.
    pub(crate) fn source(&self) -> Result<&dyn EvictedBytes> {
        self.source.get().map(|source| &**source).ok_or_else(|| {
            Error::new(ErrorKind::StorageFailed).because("the database has no segment files")
        })
    }

    /// What reading took so far.
    pub(crate) fn column_reads(&self) -> ColumnReads {
        self.source.get().map(|source| source.figures()).unwrap_or_default()
    }

    /// Adds a segment of which so many bytes can be evicted by `evict`. False if none can, since
    /// there is nowhere to read them again.
    pub(crate) fn add(&self, segment: u64, bytes: u64, evict: fn(&Memory, u64) -> u64) -> bool {
        if self.source.get().is_none() {
            return false;
        }
        let _ = self.evict.set(evict);
        self.lock().push(segment);
        self.bytes.fetch_add(bytes, Relaxed);
        true
    }

    /// Removes a segment; `cached` says how many bytes of it are in memory. From then on nobody
    /// evicts anything of it.
    pub(crate) fn remove(&self, segment: u64, cached: impl FnOnce() -> u64) {
        let mut segments = self.lock();
        if let Some(place) = segments.iter().position(|other| *other == segment) {
            segments.swap_remove(place);
        }
        self.bytes.fetch_sub(cached(), Relaxed);
    }

    /// Calls `visit` with the offset of each segment; none is freed meanwhile.
    pub(crate) fn each(&self, visit: impl FnMut(u64)) {
        self.lock().iter().copied().for_each(visit);
    }

    /// Forgets everything: the region is formatted again.
    pub(crate) fn clear(&self) {
        self.lock().clear();
        self.bytes.store(0, Relaxed);
    }

    /// Notes that bytes of a segment can be evicted no more.
    pub(crate) fn forget(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    fn lock(&self) -> impl std::ops::DerefMut<Target = Vec<u64>> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next number of the generator (SplitMix64).
    fn draw(&self) -> u64 {
        let seed = self.drawn.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed);
        let mixed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

impl Memory {
    /// Whether so many bytes that were missed are to be restored: there is room for them, or it is
    /// their turn to make some.
    pub(crate) fn is_worth_caching(&self, bytes: u64) -> bool {
        self.has_room_in_cache(bytes) || self.buffer_cache.draw().is_multiple_of(CACHED_EACH)
    }

    fn has_room_in_cache(&self, bytes: u64) -> bool {
        let account = &self.header().account;
        let limit = match self.buffer_cache.limit.load(Relaxed) {
            0 => account.budget.load(Relaxed) / 4 * 3,
            limit => limit,
        };
        let program = self.region().program().bytes();
        let is_allowed = account.allows(bytes.saturating_add(program), false);
        self.buffer_cache.bytes() + bytes <= limit && is_allowed
    }

    /// Notes that so many bytes that were evicted were read, to somewhere else.
    pub(crate) fn note_read_apart(&self, bytes: u64) {
        self.buffer_cache.read.fetch_add(bytes, Relaxed);
    }

    /// Evicts segments until so many bytes more may be cached, as far as that can be done: what is
    /// pinned stays. Whether it was.
    pub(crate) fn make_room_in_cache(&self, bytes: u64) -> bool {
        self.evict_until(|memory| memory.has_room_in_cache(bytes))
    }

    /// What `take` gives, which allocates so many bytes: where the budget refuses them, once
    /// columns have made room, if they can.
    ///
    /// # Errors
    /// Those of `take`.
    pub(crate) fn or_evict<T>(&self, bytes: u64, mut take: impl FnMut() -> Result<T>) -> Result<T> {
        let error = match take() {
            Err(error) if error.kind() == ErrorKind::BudgetReached => error,
            taken => return taken,
        };
        let program = self.region().program().bytes();
        let is_enough = |memory: &Self| memory.header().account.allows(bytes + program, false);
        if self.buffer_cache.bytes() > 0 && self.evict_until(is_enough) {
            take()
        } else {
            Err(error)
        }
    }

    fn evict_until(&self, is_enough: impl Fn(&Self) -> bool) -> bool {
        let cache = &self.buffer_cache;
        let mut draws = 0;
        while !is_enough(self) {
            // While the list is locked, nobody frees the segment.
            let segments = cache.lock();
            let most = (segments.len() * DRAWS_EACH).max(DRAWS_MIN);
            if segments.is_empty() || draws == most || !self.region().can_evict() {
                return false;
            }
            draws += 1;
            let segment = segments[(cache.draw() % segments.len() as u64) as usize];
            let evicted = cache.evict.get().map_or(0, |evict| evict(self, segment));
            if evicted > 0 {
                draws = 0;
            }
        }
        true
    }

    /// Gives the whole pages of the system among bytes of the region back; how many bytes. Nobody
    /// reads them until they are restored.
    pub(crate) fn evict(&self, bytes: Range<u64>) -> u64 {
        let bytes = whole_pages(bytes);
        let len = bytes.end - bytes.start;
        super::evict(self.region(), bytes);
        self.buffer_cache.bytes.fetch_sub(len, Relaxed);
        len
    }

    /// Makes bytes that were evicted memory again and lets `fill` have those from an offset on.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; then they are as before.
    pub(crate) fn restore(
        &self,
        bytes: Range<u64>,
        fill: impl FnOnce(u64, &mut [u8]),
    ) -> Result<()> {
        let bytes = whole_pages(bytes);
        let len = bytes.end - bytes.start;
        if len == 0 {
            return Ok(());
        }
        self.make_room_in_cache(len);
        // Somebody else may have taken that room.
        self.or_evict(len, || super::restore(self.region(), bytes.clone()))?;
        self.buffer_cache.bytes.fetch_add(len, Relaxed);
        fill(bytes.start, self.region().fresh_bytes(bytes.start, len as usize));
        self.buffer_cache.read.fetch_add(len, Relaxed);
        Ok(())
    }

    /// Says that so many bytes which are evicted are about to be freed.
    pub(crate) fn forget_evicted(&self, bytes: u64) {
        super::forget_evicted(self.region(), bytes);
    }
}

/// The whole pages of the system among bytes of the region.
pub(crate) fn whole_pages(bytes: Range<u64>) -> Range<u64> {
    let page = page_size() as u64;
    let start = bytes.start.next_multiple_of(page);
    start..(bytes.end / page * page).max(start)
}
