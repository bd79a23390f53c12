//! Rows of frozen segments put together for one transaction.
//!
//! A transaction is given references to rows that stay as long as it does, and a frozen row lies in
//! no place by itself. So it is copied, as a version like any other, into memory of the
//! transaction, in chunks that are counted and freed at its end. Nobody else knows of these
//! versions. Each row is copied once, but for the first few: a hash table of rows knows where.
//! Where memory is refused, or a segment file cannot be read, the row that was asked for cannot be
//! given. A call that can fails then, and the transaction may go on; after one that cannot, such as
//! a cursor's step, the transaction is *incomplete*, which its next call, its commit and `status`
//! say.

use std::cell::Cell;

use super::frozen::FrozenRow;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::atomic::{AtomicU64, Relaxed};
use crate::memory::class::PAGE_SIZE;
use crate::memory::{AllocationClass, Allocator, Memory, Purpose, Ref};
use crate::slot::{self, SLOT_WRITES, Slot};
use crate::snapshot::Snapshot;
use crate::table::rows::version::{Content, Version, fresh_bytes_at};
use crate::table::table::TableAt;

/// Bytes of the first chunk, and of those from the fifth on; a large row has one of its own.
const FIRST_CHUNK: usize = 1 << 10;
const CHUNK_MAX: usize = PAGE_SIZE;
/// What versions are aligned to.
const VERSION_ALIGNMENT: usize = 16;

/// Rows that are copied before there is a hash table: most transactions read few.
const UNKNOWN: u64 = 4;
/// Buckets of the first hash table.
const FIRST_BUCKETS: usize = 32;

/// A row, by table and id, and its copy; 0 is none.
type Pair = [AtomicU64; 2];

/// The copies of one transaction. Most have none, so there is little of it to make and to move.
pub(crate) struct RowCopies<'m> {
    memory: &'m Memory,
    slot: &'m Slot,
    /// Offset of the [`State`], which the first chunk begins with; 0 if there are no copies.
    state: Cell<u64>,
    /// How a row could not be given, and, until it is said, the error itself.
    failed: Cell<Option<ErrorKind>>,
    error: Cell<Option<Error>>,
}

/// Where the copies are. Only the transaction itself looks at it.
#[repr(C)]
struct State {
    /// What is left of the newest chunk, and where that begins.
    next: AtomicU64,
    left: AtomicU64,
    /// The newest chunk behind the first; 0 if there is none.
    chunk: AtomicU64,
    /// How many bytes the next chunk has.
    size: AtomicU64,
    /// The hash table, how many buckets it has, and how many rows were copied.
    table: AtomicU64,
    buckets: AtomicU64,
    count: AtomicU64,
    unused: AtomicU64,
}

/// What a chunk begins with, but for the first.
#[repr(C)]
struct ChunkHead {
    previous: AtomicU64,
    unused: AtomicU64,
}

impl<'m> RowCopies<'m> {
    /// No copies yet, for the transaction that holds a slot.
    #[inline(always)]
    pub(crate) fn new(memory: &'m Memory, slot: &'m Slot) -> Self {
        Self { memory, slot, state: Cell::new(0), failed: Cell::new(None), error: Cell::new(None) }
    }

    /// A version with the content of a row that is as it was frozen, if there is such a row and the
    /// snapshot sees it.
    #[cold]
    pub(crate) fn row(&self, table: &TableAt<'_>, snapshot: Snapshot, row: u32) -> Option<u64> {
        let frozen = table.frozen_row(row)?;
        if !frozen.is_seen(self.memory, snapshot) {
            return None;
        }
        let key = u64::from(table.core.id) << 32 | u64::from(row);
        let known = self.find(key);
        if known.is_some() {
            return known;
        }
        match self.copy(table, frozen, row) {
            Ok(version) => {
                self.remember(key, version);
                Some(version)
            }
            Err(error) => {
                self.failed.set(Some(error.kind()));
                self.error.set(Some(error));
                None
            }
        }
    }

    /// Fails if a row that was asked for could not be given.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; of a paged table `StorageFailed`, `DamagedImage`.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.failed.get() {
            None => Ok(()),
            Some(kind) => Err(self.error.take().unwrap_or_else(|| not_given(kind))),
        }
    }

    /// As [`RowCopies::check`], for a call that has failed then and given nothing.
    ///
    /// # Errors
    /// As [`RowCopies::check`].
    #[inline]
    pub(crate) fn report(&self) -> Result<()> {
        let checked = self.check();
        self.failed.set(None);
        checked
    }

    fn copy(&self, table: &TableAt<'_>, frozen: FrozenRow<'_>, row: u32) -> Result<u64> {
        let _pin = table.pin_whole(frozen.segment)?;
        frozen.prefetch();
        let length = frozen.len(table);
        let size = (size_of::<Version>() + length).next_multiple_of(VERSION_ALIGNMENT) as u64;
        let state = match self.state() {
            Some(state) if state.left.load(Relaxed) >= size => state,
            _ => self.add_chunk(size as usize)?,
        };
        let at = state.next.load(Relaxed);
        state.next.store(at + size, Relaxed);
        state.left.store(state.left.load(Relaxed) - size, Relaxed);
        let begin = frozen.begin(self.memory);
        Version::lay_out(self.memory, at, begin, Content::Row(length));
        Version::at(self.memory, at).set_row(row);
        frozen.write(table, fresh_bytes_at(self.memory, at));
        Ok(at)
    }

    /// The copy of a row, if there is one.
    fn find(&self, key: u64) -> Option<u64> {
        let pairs = self.pairs(self.state()?);
        let found = probe(key, pairs.len()).map(|bucket| &pairs[bucket]);
        let mut found = found.take_while(|pair| pair[1].load(Relaxed) != 0);
        found.find(|pair| pair[0].load(Relaxed) == key).map(|pair| pair[1].load(Relaxed))
    }

    /// Notes where the copy of a row is. Where there is no memory for that, it is not found again.
    fn remember(&self, key: u64, version: u64) {
        let Some(state) = self.state() else { return };
        let count = state.count.load(Relaxed);
        state.count.store(count + 1, Relaxed);
        let full = count * 4 >= state.buckets.load(Relaxed) * 3;
        if count >= UNKNOWN && (!full || self.grow(state).is_ok()) {
            put(self.pairs(state), key, version);
        }
    }

    fn grow(&self, state: &State) -> Result<()> {
        let alloc = self.memory.allocator(slot::make_cache(self.memory, self.slot)?);
        let old = self.pairs(state);
        let buckets = (old.len() * 2).max(FIRST_BUCKETS);
        let size = buckets * size_of::<Pair>();
        let grown = alloc.allocate(size, Purpose::Internal, AllocationClass::Normal)?;
        alloc.region().fresh_bytes(grown, size).fill(0);
        let before = state.table.load(Relaxed);
        state.table.store(grown, Relaxed);
        state.buckets.store(buckets as u64, Relaxed);
        for pair in old.iter().filter(|pair| pair[1].load(Relaxed) != 0) {
            put(self.pairs(state), pair[0].load(Relaxed), pair[1].load(Relaxed));
        }
        if before != 0 {
            alloc.free_block(before, Purpose::Internal);
        }
        Ok(())
    }

    fn pairs(&self, state: &State) -> &'m [Pair] {
        match state.table.load(Relaxed) {
            0 => &[],
            at => {
                let words = state.buckets.load(Relaxed) as usize * 2;
                self.memory.region().words(at, words).as_chunks().0
            }
        }
    }

    fn state(&self) -> Option<&'m State> {
        match self.state.get() {
            0 => None,
            at => Some(self.memory.get(Ref::new(at))),
        }
    }

    /// Makes room for so many bytes.
    fn add_chunk(&self, wanted: usize) -> Result<&'m State> {
        let alloc = self.memory.allocator(slot::make_cache(self.memory, self.slot)?);
        let Some(state) = self.state() else {
            let size = FIRST_CHUNK.max(wanted + size_of::<State>());
            let at = alloc.allocate(size, Purpose::Internal, self.class(size))?;
            alloc.region().fresh_bytes(at, size_of::<State>()).fill(0);
            self.state.set(at);
            let state: &State = self.memory.get(Ref::new(at));
            return Ok(state.turn_to(at + size_of::<State>() as u64, size - size_of::<State>()));
        };
        let size = (state.size.load(Relaxed) as usize).max(wanted + size_of::<ChunkHead>());
        let at = alloc.allocate(size, Purpose::Internal, self.class(size))?;
        let head: &ChunkHead = self.memory.get(Ref::new(at));
        head.previous.store(state.chunk.load(Relaxed), Relaxed);
        state.chunk.store(at, Relaxed);
        Ok(state.turn_to(at + size_of::<ChunkHead>() as u64, size - size_of::<ChunkHead>()))
    }

    /// Whoever deletes has to find rows first, whatever the budget; and whoever reads is given a
    /// few. But half of the reserve is not for that, nor are large rows for a reader.
    fn class(&self, size: usize) -> AllocationClass {
        let writes = self.slot.state.load(Relaxed) & SLOT_WRITES != 0;
        let few = self.state.get() == 0 && size <= CHUNK_MAX;
        let account = &self.memory.header().account;
        match (writes || few) && (account.allows_blocks() || account.is_small()) {
            true => AllocationClass::Emergency,
            false => AllocationClass::Normal,
        }
    }

    #[cold]
    fn free(&self, state: &State, alloc: Allocator<'_>) {
        let mut at = state.chunk.load(Relaxed);
        while at != 0 {
            let previous = self.memory.get::<ChunkHead>(Ref::new(at)).previous.load(Relaxed);
            alloc.free_block(at, Purpose::Internal);
            at = previous;
        }
        if state.table.load(Relaxed) != 0 {
            alloc.free_block(state.table.load(Relaxed), Purpose::Internal);
        }
        alloc.free_block(self.state.get(), Purpose::Internal);
    }
}

impl State {
    /// Goes on in a chunk of which so many bytes are left; the next one is twice as large.
    fn turn_to(&self, next: u64, left: usize) -> &Self {
        self.next.store(next, Relaxed);
        self.left.store(left as u64, Relaxed);
        let size = (self.size.load(Relaxed) * 2).clamp(2 * FIRST_CHUNK as u64, CHUNK_MAX as u64);
        self.size.store(size, Relaxed);
        self
    }
}

impl Drop for RowCopies<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(state) = self.state()
            && let Some(cache) = slot::cache(self.memory, self.slot)
        {
            self.free(state, self.memory.allocator(cache));
        }
    }
}

/// The buckets where a row may be in a table of so many, in the order in which it is looked for.
fn probe(key: u64, buckets: usize) -> impl Iterator<Item = usize> {
    let hash = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
    (0..buckets).map(move |i| (hash + i) & (buckets - 1))
}

fn put(pairs: &[Pair], key: u64, version: u64) {
    let mut free = probe(key, pairs.len()).filter(|&bucket| pairs[bucket][1].load(Relaxed) == 0);
    if let Some(bucket) = free.next() {
        pairs[bucket][0].store(key, Relaxed);
        pairs[bucket][1].store(version, Relaxed);
    }
}

#[cold]
fn not_given(kind: ErrorKind) -> Error {
    Error::new(kind).because("a frozen row that this transaction asked for could not be given")
}
