//! The region: one reserved range of addresses, and every system call the engine makes for memory.
//!
//! Backing is anonymous memory, reserved whole and committed as it grows, or memory the caller
//! hands over. The region starts with its [`RegionHeader`]; all else is found from there by offset.
//! Committing happens in steps ahead of use, so that an insert rarely meets a page fault: small
//! regions step in 4 KiB pages, large ones in 2 MiB huge pages where the system has them.
//! Offset 0 is the header, so 0 serves as the null reference everywhere.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::{PoisonError, RwLock};

use remanent_schema::RowBytes;

use super::account::AccountState;
use super::allocator::ClassList;
use super::atomic::{AtomicU32, AtomicU64};
use super::class::CLASSES;
use super::latch::Latch;
use super::pages::PageState;
use super::row_blocks::RowBins;
use crate::error::{Error, ErrorKind, Result};

/// Bytes in use from which on the region grows in huge pages.
const HUGE_FROM: u64 = 32 << 20;
const HUGE_PAGE: u64 = 2 << 20;
/// Bytes in use below which pages are left to fault one by one, so that an empty database
/// holds no more than it touches.
const FAULT_BELOW: u64 = 512 << 10;
/// Bytes of a cache line, and how many lines are asked for at once.
const LINE: usize = 64;
const PREFETCH_LINES_MAX: usize = 16;
const REGION_ALIGNMENT: usize = HUGE_PAGE as usize;
/// What everything in a region is aligned to at most, so that the caller's memory is from there.
pub(crate) const ALIGNMENT_MAX: usize = 128;

/// A reference into the region: an offset from its base that was allocated as a `T`. 0 is null.
pub(crate) struct Ref<T> {
    offset: u64,
    kind: PhantomData<fn() -> T>,
}

/// What stands at offset 0.
#[repr(C)]
pub(crate) struct RegionHeader {
    pub(crate) magic: AtomicU64,
    pub(crate) capacity: AtomicU64,
    pub(crate) account: AccountState,
    /// The timestamp of the newest published commit; on a line of its own.
    pub(crate) clock: Line<AtomicU64>,
    /// Held while a commit validates, draws its timestamp and publishes it.
    pub(crate) commit: Line<CommitState>,
    /// Non-zero while a change of tables or indexes keeps writers out.
    pub(crate) gate: AtomicU32,
    /// One more than the highest transaction slot ever used.
    pub(crate) slots_used: AtomicU32,
    /// How many slots are left unstamped.
    pub(crate) unstamped: AtomicU32,
    /// Held while more slots are made.
    pub(crate) slots_latch: Latch,
    /// Of the hash functions of indexes.
    pub(crate) hash_seed: AtomicU64,
    /// Where the rows are that are inspected next to be compacted: table << 32 | row.
    pub(crate) compacted: AtomicU64,
    /// How many expired snapshots have been released, and how many are held that may expire.
    pub(crate) releases: AtomicU64,
    pub(crate) limited: AtomicU64,
    /// Offset of the first table root.
    pub(crate) tables: AtomicU64,
    /// Offsets of the blocks of transaction slots; 0 for those that nobody has needed so far.
    pub(crate) slots: [AtomicU64; SLOT_BLOCKS],
    pub(crate) pages: PageState,
    pub(crate) classes: [ClassList; CLASSES],
    pub(crate) row_bins: RowBins,
}

/// A value alone on its cache line.
/// What committers change, one after the other.
#[repr(C)]
pub(crate) struct CommitState {
    pub(crate) latch: Latch,
    /// In a group of replicas: timestamps of commits are one more than a number whose low bits
    /// are these. What lies between two of them, the clock of each replica uses on its own.
    pub(crate) gap: AtomicU32,
    /// The timestamp that the next commit is to have at the least; 0 for none. Only what repeats
    /// the commits of others sets it.
    pub(crate) next: AtomicU64,
    pub(crate) recent: RecentState,
}

/// How many blocks of transaction slots there can be.
pub(crate) const SLOT_BLOCKS: usize = 512;

/// Bytes of the first ring of `transaction/commit/recent.rs`, few for models; the word in the
/// header is then its offset.
pub(crate) const FIRST_RING_SIZE: usize = if cfg!(shuttle) { 64 } else { 8 << 10 };

/// The words of `transaction/commit/recent.rs`.
#[repr(C)]
pub(crate) struct RecentState {
    /// The ring's offset and size.
    pub(crate) ring: AtomicU64,
    /// The position behind the newest word, and the one behind which no word is being overwritten.
    pub(crate) end: AtomicU64,
    pub(crate) claimed: AtomicU64,
    /// Commits up to this timestamp may be missing.
    pub(crate) floor: AtomicU64,
}

#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct Line<T>(pub(crate) T);

/// The first word of a region that holds a database: "Remanent" in ASCII.
pub(crate) const MAGIC: u64 = 0x746e_656e_616d_6552;

/// Memory that the caller supplies for a database, instead of the system.
///
/// The database lives in it and nowhere else; when the database closes, owned memory is freed and
/// borrowed memory goes back to the caller. Of more than 32 MiB the system is advised to make huge
/// pages of 2 MiB.
///
/// # Examples
/// ```
/// use remanent_engine::{CallerMemory, Database, Options};
/// let memory = CallerMemory::from_vec(vec![0; 1_000_000]);
/// let db = Database::open(Options::new().caller_memory(memory))?;
/// assert!(db.memory().budget <= 1_000_000);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Debug)]
pub struct CallerMemory {
    start: NonNull<u8>,
    len: usize,
    owner: Option<Vec<u8>>,
}

/// Why memory is committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Growth {
    /// A page was needed: little more than that is committed.
    Needed,
    /// The caller asked for it beforehand.
    Ahead,
}

impl Growth {
    fn in_huge_pages(self, bytes: u64) -> bool {
        bytes > if self == Self::Ahead { HUGE_PAGE } else { HUGE_FROM }
    }
}

/// A reserved range of addresses. Its methods take offsets.
#[derive(Debug)]
pub(crate) struct Region {
    base: NonNull<u8>,
    capacity: u64,
    backing: Backing,
    /// Whether what is committed is locked.
    locked: bool,
    program: ProgramMemory,
}

/// What the program counts of its own against the same budget.
#[derive(Default)]
pub(crate) struct ProgramMemory(RwLock<Option<CountMemory>>);

type CountMemory = Box<dyn Fn() -> u64 + Send + Sync>;

#[derive(Debug)]
enum Backing {
    Anonymous {
        start: NonNull<u8>,
        len: usize,
    },
    Caller(
        #[expect(dead_code, reason = "kept so that it lives as long as the region")]
        Option<Vec<u8>>,
    ),
}

// SAFETY: the region's words are atomics or immutable after publication (see `memory/mod.rs`).
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}
// SAFETY: the memory is handed over whole; nobody else uses it.
unsafe impl Send for CallerMemory {}
// SAFETY: a shared `CallerMemory` offers no access to its bytes.
unsafe impl Sync for CallerMemory {}

impl CallerMemory {
    /// Memory on the heap, owned by the database from now on.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{CallerMemory, Database, ErrorKind, Options};
    /// let memory = CallerMemory::from_vec(vec![0; 1 << 20]);
    /// assert!(Database::open(Options::new().caller_memory(memory)).is_ok());
    /// let memory = CallerMemory::from_vec(vec![0; 1000]);
    /// let error = Database::open(Options::new().caller_memory(memory)).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::BudgetReached);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn from_vec(memory: Vec<u8>) -> Self {
        let mut owner = memory;
        let start = NonNull::new(owner.as_mut_ptr()).unwrap_or(NonNull::dangling());
        Self { start, len: owner.len(), owner: Some(owner) }
    }

    /// Memory that is there for the rest of the program, such as a static array.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{CallerMemory, Database, Options};
    /// let memory: &'static mut [u8] = vec![0; 1 << 20].leak();
    /// let options = Options::new().caller_memory(CallerMemory::from_static(memory));
    /// let db = Database::open(options)?;
    /// assert!(db.memory().budget <= 1 << 20);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn from_static(memory: &'static mut [u8]) -> Self {
        let len = memory.len();
        Self { start: NonNull::from(memory).cast(), len, owner: None }
    }

    /// Memory given by address.
    ///
    /// # Safety
    /// `start` must be valid for reads and writes of `len` bytes until the database is closed, and
    /// nobody else may touch them meanwhile.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{CallerMemory, Database, Options};
    /// use std::ptr::NonNull;
    /// let mut pages = vec![0u64; 1 << 17];
    /// let start = NonNull::from(&mut pages[..]).cast();
    /// // SAFETY: `pages` has these bytes and is left alone until the database is closed.
    /// let memory = unsafe { CallerMemory::from_raw(start, 1 << 20) };
    /// let db = Database::open(Options::new().caller_memory(memory))?;
    /// assert!(db.memory().budget <= 1 << 20);
    /// drop(db);
    /// drop(pages);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub unsafe fn from_raw(start: NonNull<u8>, len: usize) -> Self {
        Self { start, len, owner: None }
    }
}

impl ProgramMemory {
    /// From now on it is asked.
    pub(crate) fn set(&self, count: CountMemory) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(count);
    }

    /// How much it is now.
    pub(crate) fn bytes(&self) -> u64 {
        let count = self.0.read().unwrap_or_else(PoisonError::into_inner);
        count.as_ref().map_or(0, |count| count())
    }
}

impl std::fmt::Debug for ProgramMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes())
    }
}

impl Region {
    /// What the program counts of its own against the budget.
    pub(crate) fn program(&self) -> &ProgramMemory {
        &self.program
    }

    /// Reserves `capacity` bytes of addresses; nothing is committed yet.
    pub(crate) fn reserve(capacity: u64) -> Result<Self> {
        let len = capacity as usize + REGION_ALIGNMENT;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh anonymous mapping at an address of the system's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(out_of_memory(capacity));
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| out_of_memory(capacity))?;
        let skip = start.as_ptr().align_offset(REGION_ALIGNMENT);
        // SAFETY: `skip` < REGION_ALIGNMENT, which was added to the mapping's length.
        let base = unsafe { start.add(skip) };
        #[cfg(shuttle)]
        super::modelled::watch(base.as_ptr(), capacity);
        Ok(Self {
            base,
            capacity,
            backing: Backing::Anonymous { start, len },
            locked: false,
            program: ProgramMemory::default(),
        })
    }

    /// A region in the caller's memory.
    pub(crate) fn over(memory: CallerMemory) -> Result<Self> {
        let skip = memory.start.as_ptr().align_offset(ALIGNMENT_MAX).min(memory.len);
        let capacity = (memory.len - skip) as u64;
        if (capacity as usize) < size_of::<RegionHeader>() {
            return Err(Error::new(ErrorKind::BudgetReached)
                .because("the caller's memory is too small to hold a database"));
        }
        // SAFETY: `skip` <= len, so the result is within the caller's memory.
        let base = unsafe { memory.start.add(skip) };
        // SAFETY: the header lies within the memory, checked above; an all-zero header is valid.
        unsafe { std::ptr::write_bytes(base.as_ptr(), 0, size_of::<RegionHeader>()) };
        let backing = Backing::Caller(memory.owner);
        let program = ProgramMemory::default();
        let region = Self { base, capacity, backing, locked: false, program };
        if capacity > HUGE_FROM {
            region.ask_for_huge_pages();
        }
        Ok(region)
    }

    /// Huge pages for the caller's memory, as far as it fills them: what is around stays as it is.
    fn ask_for_huge_pages(&self) {
        let skip = self.base.as_ptr().align_offset(HUGE_PAGE as usize);
        let len = (self.capacity as usize).saturating_sub(skip) / HUGE_PAGE as usize;
        if len > 0 {
            // SAFETY: `skip` lies within the memory.
            let address = unsafe { self.base.as_ptr().add(skip) }.cast::<libc::c_void>();
            // SAFETY: advice on memory that was handed over, which changes no content; where huge
            // pages are missing it is refused and small ones serve.
            unsafe { libc::madvise(address, len * HUGE_PAGE as usize, libc::MADV_HUGEPAGE) };
        }
    }

    /// Bytes reserved.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The header.
    #[inline]
    pub(crate) fn header(&self) -> &RegionHeader {
        // SAFETY: the header lies at offset 0, is all atomics, and zero bytes are a valid header.
        unsafe { self.base.cast::<RegionHeader>().as_ref() }
    }

    /// Makes the header what it is in fresh memory.
    pub(crate) fn clear_header(&mut self) {
        // SAFETY: the header lies at offset 0; nobody else has the region, and zero bytes are
        // valid.
        unsafe { std::ptr::write_bytes(self.base.as_ptr(), 0, size_of::<RegionHeader>()) };
    }

    /// Follows a reference. See the contract in `memory/mod.rs`.
    #[inline]
    pub(crate) fn get<T>(&self, at: Ref<T>) -> &T {
        debug_assert!(at.offset != 0 && at.offset + size_of::<T>() as u64 <= self.capacity);
        // SAFETY: `at` was allocated as a `T` in this region and is within its grace period.
        unsafe { &*self.base.as_ptr().add(at.offset as usize).cast::<T>() }
    }

    /// `len` bytes from `offset` on, which nobody writes any more.
    #[inline]
    pub(crate) fn bytes(&self, offset: u64, len: usize) -> &[u8] {
        debug_assert!(offset + len as u64 <= self.capacity);
        #[cfg(shuttle)]
        super::modelled::check_bytes(self.base.as_ptr().wrapping_add(offset as usize), len);
        // SAFETY: within the region; published bytes are immutable until their grace period ends.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(offset as usize), len) }
    }

    /// Words that threads share, at an offset that is a multiple of 8.
    #[inline]
    pub(crate) fn words(&self, offset: u64, count: usize) -> &[AtomicU64] {
        debug_assert!(offset.is_multiple_of(8) && offset + count as u64 * 8 <= self.capacity);
        // SAFETY: within the region and aligned; atomics may be shared, whatever they hold.
        unsafe {
            let first = self.base.as_ptr().add(offset as usize).cast::<AtomicU64>();
            std::slice::from_raw_parts(first, count)
        }
    }

    /// The bytes of a row that an encoder of its table wrote.
    #[inline]
    pub(crate) fn row_bytes(&self, offset: u64, len: usize) -> RowBytes<'_> {
        // SAFETY: rows are written by the encoders of their table's schema alone, and a typed table
        // exists only where its record's schema is the same.
        unsafe { RowBytes::trusted(self.bytes(offset, len)) }
    }

    /// The bytes of a block that only the caller knows of so far.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the block is fresh: this is its only reference")]
    pub(crate) fn fresh_bytes(&self, offset: u64, len: usize) -> &mut [u8] {
        debug_assert!(offset + len as u64 <= self.capacity);
        #[cfg(shuttle)]
        super::modelled::empty_own_buffer();
        // SAFETY: the block was just allocated and not published; nobody else has a reference.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(offset as usize), len) }
    }

    /// The offset of something in the region.
    #[inline]
    pub(crate) fn offset_of<T>(&self, object: &T) -> u64 {
        let address: *const T = object;
        (address as usize - self.base.as_ptr() as usize) as u64
    }

    /// The offset of bytes in the region.
    #[inline]
    pub(crate) fn offset_of_bytes(&self, bytes: &[u8]) -> u64 {
        (bytes.as_ptr() as usize - self.base.as_ptr() as usize) as u64
    }

    /// Asks the processor to fetch the line at `offset`; any offset will do.
    #[inline]
    pub(crate) fn prefetch(&self, offset: u64) {
        super::atomic::prefetch(self.base.as_ptr().wrapping_add(offset as usize));
    }

    /// Asks the processor for `len` bytes from `offset` on, a few lines of them at most.
    #[inline]
    pub(crate) fn prefetch_bytes(&self, offset: u64, len: usize) {
        for line in 0..len.div_ceil(LINE).min(PREFETCH_LINES_MAX) {
            self.prefetch(offset + (line * LINE) as u64);
        }
    }

    /// As [`Region::prefetch_bytes`], for bytes that will be written.
    #[inline]
    pub(crate) fn prefetch_to_write(&self, offset: u64, len: usize) {
        for line in 0..len.div_ceil(LINE).min(PREFETCH_LINES_MAX) {
            let at = offset as usize + line * LINE;
            super::atomic::prefetch_to_write(self.base.as_ptr().wrapping_add(at));
        }
    }

    /// How far to commit so that the bytes below `wanted` are usable. `start` is where pages begin;
    /// before it lies the page table, which is never committed ahead.
    pub(crate) fn commit_target(
        &self,
        start: u64,
        committed: u64,
        wanted: u64,
        growth: Growth,
    ) -> u64 {
        if matches!(self.backing, Backing::Caller(_)) {
            return self.capacity;
        }
        let step = if growth.in_huge_pages(wanted - start) {
            HUGE_PAGE
        } else {
            ((committed - start) / 16).next_power_of_two().clamp(64 << 10, 1 << 20)
        };
        wanted.next_multiple_of(step).min(self.capacity)
    }

    /// Makes the bytes from `from` to `to` usable.
    ///
    /// # Errors
    /// `OutOfMachineMemory` if the system has none left.
    pub(crate) fn commit(&self, start: u64, from: u64, to: u64, growth: Growth) -> Result<()> {
        let given = matches!(self.backing, Backing::Caller(_)) && growth == Growth::Needed;
        if given || from >= to {
            return Ok(());
        }
        if growth == Growth::Needed && to - start <= FAULT_BELOW && !self.locked {
            return Ok(());
        }
        let (address, len) = self.pages_between(from, to);
        let ours = matches!(self.backing, Backing::Anonymous { .. });
        if ours && growth.in_huge_pages(to - start) {
            // SAFETY: advice on our own mapping; where huge pages are missing it is refused and
            // small ones serve.
            unsafe { libc::madvise(address, len, libc::MADV_HUGEPAGE) };
        }
        self.populate(from, to)?;
        if self.locked { self.lock(from, to) } else { Ok(()) }
    }

    /// The system's pages that have bytes between two offsets: of the caller's memory, the first
    /// and the last may have others too.
    fn pages_between(&self, from: u64, to: u64) -> (*mut libc::c_void, usize) {
        // SAFETY: `from` lies within the reservation.
        let first = unsafe { self.base.as_ptr().add(from as usize) };
        let skip = first as usize % page_size();
        let len = ((to - from) as usize + skip).next_multiple_of(page_size());
        (first.wrapping_sub(skip).cast(), len)
    }

    /// Locks what is in use before `start`, and from now on all that is committed.
    ///
    /// # Errors
    /// `OutOfMachineMemory` if the system does not let so much be locked.
    pub(crate) fn lock_from_now_on(&mut self, start: u64) -> Result<()> {
        self.locked = true;
        let end = if matches!(self.backing, Backing::Caller(_)) { self.capacity } else { start };
        self.lock(0, end)
    }

    /// Locks the pages between two offsets, each from when it is first touched.
    fn lock(&self, from: u64, to: u64) -> Result<()> {
        let (address, len) = self.pages_between(from, to);
        // SAFETY: locking pages changes no content.
        let done = unsafe { libc::mlock2(address, len, libc::MLOCK_ONFAULT) };
        if done == 0 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::OutOfMachineMemory).because(format!(
            "the system would not lock {len} more bytes: `ulimit -l` says how many it does"
        )))
    }

    /// Whether pages in use may be given back and had again: those of the caller may not, nor what
    /// is locked.
    pub(crate) fn can_evict(&self) -> bool {
        matches!(self.backing, Backing::Anonymous { .. }) && !self.locked
    }

    /// Makes pages that were given back memory again, so that filling them meets no page fault.
    ///
    /// # Errors
    /// `OutOfMachineMemory`.
    pub(crate) fn populate(&self, from: u64, to: u64) -> Result<()> {
        let (address, len) = self.pages_between(from, to);
        // SAFETY: populating mapped pages changes no content.
        let done = unsafe { libc::madvise(address, len, libc::MADV_POPULATE_WRITE) };
        // SAFETY: errno of this thread.
        let code = if done == 0 { 0 } else { unsafe { *libc::__errno_location() } };
        match code {
            libc::ENOMEM | libc::EFAULT => Err(out_of_memory(to - from)),
            // Kernels before 5.14 have no populate: the pages fault in one by one.
            _ => Ok(()),
        }
    }

    /// Gives committed memory from `from` to `to`, multiples of the page size, back to the system;
    /// it reads as zeros when it is used again. `false` if it is the caller's, or the system's no.
    pub(crate) fn release(&self, from: u64, to: u64) -> bool {
        if matches!(self.backing, Backing::Caller(_)) {
            return false;
        }
        // SAFETY: `from` and `to` lie within the reservation.
        let address = unsafe { self.base.as_ptr().add(from as usize) }.cast::<libc::c_void>();
        if self.locked {
            // SAFETY: our own pages, which are locked again when they are committed again.
            unsafe { libc::munlock(address, (to - from) as usize) };
        }
        // SAFETY: the pages are free: nobody refers to them, whatever they hold.
        unsafe { libc::madvise(address, (to - from) as usize, libc::MADV_DONTNEED) == 0 }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        #[cfg(shuttle)]
        super::modelled::drain_stores();
        if let Backing::Anonymous { start, len } = self.backing {
            // SAFETY: the mapping is ours and nothing refers into it after the region's end.
            unsafe { libc::munmap(start.as_ptr().cast(), len) };
        }
    }
}

/// Bytes of a page of the system.
pub(super) fn page_size() -> usize {
    // SAFETY: asks for a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1)
}

/// Bytes of memory that the machine has.
pub(crate) fn physical_memory() -> u64 {
    // SAFETY: asks for two numbers.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages.saturating_mul(size)).unwrap_or(0).max(1 << 30)
}

impl<T> Ref<T> {
    /// The reference with this offset, which must come from an allocation of a `T`.
    #[inline]
    pub(crate) const fn new(offset: u64) -> Self {
        Self { offset, kind: PhantomData }
    }

    /// The offset from the region's base.
    #[inline]
    pub(crate) const fn offset(self) -> u64 {
        self.offset
    }
}

impl<T> Clone for Ref<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ref<T> {}

impl<T> PartialEq for Ref<T> {
    fn eq(&self, other: &Self) -> bool {
        self.offset == other.offset
    }
}

impl<T> Eq for Ref<T> {}

impl<T> std::fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ref({:#x})", self.offset)
    }
}

fn out_of_memory(bytes: u64) -> Error {
    Error::new(ErrorKind::OutOfMachineMemory)
        .because(format!("the system would not give {bytes} more bytes"))
}
