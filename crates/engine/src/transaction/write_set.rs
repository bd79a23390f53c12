//! The write set: every change of a transaction, in order, in chunks in the region.
//!
//! Its first chunk stays with the slot, so that small transactions allocate nothing for it. A
//! savepoint is a length of the write set; rolling back takes changes off its end.

use std::cell::Cell;

use crate::error::Result;
use crate::memory::atomic::{AtomicU32, AtomicU64, Relaxed};
use crate::memory::{Entitlement, Heap, Purpose, Ref};
use crate::slot::Slot;
use crate::table::table::Change;

const CHUNK_ENTRIES: usize = 31;

/// The changes of one transaction.
pub(crate) struct WriteSet<'m> {
    heap: Heap<'m>,
    first: u64,
    /// The chunk that the next change goes to, and its place in it.
    current: Cell<u64>,
    place: Cell<usize>,
    len: Cell<u64>,
}

#[repr(C)]
struct Chunk {
    previous: AtomicU64,
    next: AtomicU64,
    entries: [Entry; CHUNK_ENTRIES],
}

#[repr(C)]
struct Entry {
    table: AtomicU32,
    row: AtomicU32,
    version: AtomicU64,
}

const _: () = assert!(size_of::<Chunk>() == 512);

impl<'m> WriteSet<'m> {
    /// The empty write set of a slot.
    ///
    /// # Errors
    /// Memory for the slot's first chunk, the first time it writes.
    #[inline]
    pub(crate) fn new(heap: Heap<'m>, slot: &Slot) -> Result<Self> {
        let mut first = slot.write_set.load(Relaxed);
        if first == 0 {
            heap.cache.retired.keep_back(heap)?;
            let size = size_of::<Chunk>();
            first = heap.allocate(size, Purpose::Internal, Entitlement::Reserve)?;
            heap.region().fresh_bytes(first, size).fill(0);
            slot.write_set.store(first, Relaxed);
        }
        let current = Cell::new(first);
        Ok(Self { heap, first, current, place: Cell::new(0), len: Cell::new(0) })
    }

    /// Changes in the set.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.len.get()
    }

    /// Makes sure that one more change fits.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    #[inline]
    pub(crate) fn make_room(&self, entitlement: Entitlement) -> Result<()> {
        if self.place.get() < CHUNK_ENTRIES {
            return Ok(());
        }
        self.add_chunk(entitlement)
    }

    /// Adds a change for which room was made.
    #[inline]
    pub(crate) fn push(&self, table: u32, change: Change) {
        let place = self.place.get();
        let entry = &self.chunk(self.current.get()).entries[place];
        entry.table.store(table, Relaxed);
        entry.row.store(change.row, Relaxed);
        entry.version.store(change.version, Relaxed);
        self.place.set(place + 1);
        self.len.set(self.len.get() + 1);
    }

    /// Takes the newest change off.
    pub(crate) fn pop(&self) -> Option<(u32, Change)> {
        if self.len.get() == 0 {
            return None;
        }
        if self.place.get() == 0 {
            let emptied = self.current.get();
            let previous = self.chunk(emptied).previous.load(Relaxed);
            self.chunk(previous).next.store(0, Relaxed);
            self.heap.free(emptied, size_of::<Chunk>(), Purpose::Internal);
            self.current.set(previous);
            self.place.set(CHUNK_ENTRIES);
        }
        self.place.set(self.place.get() - 1);
        self.len.set(self.len.get() - 1);
        Some(self.chunk(self.current.get()).entries[self.place.get()].read())
    }

    /// Calls `visit` with each change, oldest first.
    #[inline]
    pub(crate) fn each(&self, mut visit: impl FnMut(u32, Change)) {
        let mut left = self.len.get() as usize;
        let mut at = self.first;
        while left > 0 {
            let chunk = self.chunk(at);
            for entry in &chunk.entries[..left.min(CHUNK_ENTRIES)] {
                let (table, change) = entry.read();
                visit(table, change);
            }
            left = left.saturating_sub(CHUNK_ENTRIES);
            at = chunk.next.load(Relaxed);
        }
    }

    /// Forgets all changes.
    pub(crate) fn clear(&self) {
        let mut at = self.chunk(self.first).next.load(Relaxed);
        self.chunk(self.first).next.store(0, Relaxed);
        while at != 0 {
            let next = self.chunk(at).next.load(Relaxed);
            self.heap.free(at, size_of::<Chunk>(), Purpose::Internal);
            at = next;
        }
        self.current.set(self.first);
        self.place.set(0);
        self.len.set(0);
    }

    #[cold]
    fn add_chunk(&self, entitlement: Entitlement) -> Result<()> {
        let at = self.heap.allocate(size_of::<Chunk>(), Purpose::Internal, entitlement)?;
        let chunk = self.chunk(at);
        chunk.previous.store(self.current.get(), Relaxed);
        chunk.next.store(0, Relaxed);
        self.chunk(self.current.get()).next.store(at, Relaxed);
        self.current.set(at);
        self.place.set(0);
        Ok(())
    }

    #[inline]
    fn chunk(&self, at: u64) -> &'m Chunk {
        self.heap.memory.get(Ref::new(at))
    }
}

impl Entry {
    #[inline]
    fn read(&self) -> (u32, Change) {
        let change = Change { row: self.row.load(Relaxed), version: self.version.load(Relaxed) };
        (self.table.load(Relaxed), change)
    }
}
