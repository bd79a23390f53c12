//! Row versions: one block each, immutable once published but for its header's links.
//!
//! Layout: begin (8 bytes), older version (8), row id (4), length and flags (4), then the row's
//! bytes as `remanent_schema::RowLayout` lays them out. A deletion is a version without bytes.

use remanent_schema::RowBytes;

use crate::error::{Error, ErrorKind, Result};
use crate::memory::atomic::{Acquire, AtomicU32, AtomicU64, Relaxed};
use crate::memory::row_blocks::allocate_packed;
use crate::memory::{Entitlement, Heap, Memory, Purpose, Ref};
use crate::snapshot::Snapshot;

/// What every version begins with.
#[repr(C)]
pub(crate) struct Version {
    /// Timestamp or stamp: see `snapshot.rs`.
    pub(crate) begin: AtomicU64,
    /// The version before this one; 0 for none. Only changed under the row's latch.
    pub(crate) older: AtomicU64,
    row: AtomicU32,
    length: AtomicU32,
}

const TOMBSTONE: u32 = 1 << 31;
const KEY_CHANGED: u32 = 1 << 30;
const NOTED: u32 = 1 << 29;
const LENGTH_MASK: u32 = NOTED - 1;

const _: () = assert!(size_of::<Version>() == 24);

/// What kind of version to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// A row of so many bytes.
    Row(usize),
    /// The row's end.
    Tombstone,
}

impl Content {
    #[inline]
    fn length(self) -> usize {
        match self {
            Self::Row(length) => length,
            Self::Tombstone => 0,
        }
    }
}

impl Version {
    /// A fresh version that nobody refers to yet; its row bytes are to be filled in.
    #[inline]
    pub(crate) fn create(heap: Heap<'_>, stamp: u64, content: Content) -> Result<u64> {
        let entitlement = match content {
            Content::Row(_) => Entitlement::Ordinary,
            Content::Tombstone => Entitlement::Reserve,
        };
        Self::create_entitled(heap, stamp, content, entitlement)
    }

    /// As [`Version::create`], from the memory that this entitles to.
    #[inline(always)]
    pub(crate) fn create_entitled(
        heap: Heap<'_>,
        stamp: u64,
        content: Content,
        entitlement: Entitlement,
    ) -> Result<u64> {
        let length = content.length();
        if length > LENGTH_MASK as usize {
            return Err(Error::new(ErrorKind::RowTooLong));
        }
        let at = heap.allocate(size_of::<Self>() + length, Purpose::Rows, entitlement)?;
        Self::lay_out(heap.memory, at, stamp, content);
        Ok(at)
    }

    /// Fills in what a version begins with, in memory that nobody else refers to.
    #[inline]
    pub(crate) fn lay_out(memory: &Memory, at: u64, stamp: u64, content: Content) {
        let flags = if content == Content::Tombstone { TOMBSTONE } else { 0 };
        let version: &Self = memory.get(Ref::new(at));
        version.begin.store(stamp, Relaxed);
        version.older.store(0, Relaxed);
        version.length.store(content.length() as u32 | flags, Relaxed);
    }

    /// A copy of a version that was committed at this timestamp and has none before it, in fresh
    /// memory; `None` if it takes pages of its own.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    pub(crate) fn copy_packed(heap: Heap<'_>, at: u64, timestamp: u64) -> Result<Option<u64>> {
        let old = Self::at(heap.memory, at);
        let Some(copy) = allocate_packed(heap, size_of::<Self>() + old.length())? else {
            return Ok(None);
        };
        let version: &Self = heap.memory.get(Ref::new(copy));
        version.begin.store(timestamp, Relaxed);
        version.older.store(0, Relaxed);
        version.row.store(old.row(), Relaxed);
        // The notes about others of the chain are about none.
        version.length.store(old.length() as u32, Relaxed);
        fresh_bytes_at(heap.memory, copy).copy_from_slice(bytes_at(heap.memory, at));
        Ok(Some(copy))
    }

    /// Frees a version that nobody can reach.
    pub(crate) fn free(heap: Heap<'_>, at: u64) {
        let version: &Self = heap.memory.get(Ref::new(at));
        heap.free(at, size_of::<Self>() + version.length(), Purpose::Rows);
    }

    /// The version at `at`.
    #[inline]
    pub(crate) fn at(memory: &Memory, at: u64) -> &Self {
        memory.get(Ref::new(at))
    }

    /// Bytes of the row.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        (self.length.load(Relaxed) & LENGTH_MASK) as usize
    }

    /// Whether this version says that the row is deleted.
    #[inline]
    pub(crate) fn is_tombstone(&self) -> bool {
        self.length.load(Relaxed) & TOMBSTONE != 0
    }

    /// Whether some index key of this version differs from the version before it.
    pub(crate) fn key_changed(&self) -> bool {
        self.length.load(Relaxed) & KEY_CHANGED != 0
    }

    /// Notes that a key differs from the version before; before the version is published, or under
    /// the row's latch.
    pub(crate) fn set_key_changed(&self) {
        self.length.store(self.length.load(Relaxed) | KEY_CHANGED, Relaxed);
    }

    /// Whether a queue of pinned rows knows that this version is there.
    pub(crate) fn is_noted(&self) -> bool {
        self.length.load(Relaxed) & NOTED != 0
    }

    /// Notes that a queue of pinned rows knows of it; under the row's latch.
    pub(crate) fn set_noted(&self) {
        self.length.store(self.length.load(Relaxed) | NOTED, Relaxed);
    }

    /// The row id.
    #[inline]
    pub(crate) fn row(&self) -> u32 {
        self.row.load(Relaxed)
    }

    /// Sets the row id; before the version is published.
    pub(crate) fn set_row(&self, row: u32) {
        self.row.store(row, Relaxed);
    }
}

/// The bytes of the row in the version at `at`.
#[inline]
pub(crate) fn bytes_at(memory: &Memory, at: u64) -> &[u8] {
    let length = Version::at(memory, at).length();
    memory.region().bytes(at + size_of::<Version>() as u64, length)
}

/// The row in the version at `at`, to be read as its table's record.
#[inline]
pub(crate) fn row_at(memory: &Memory, at: u64) -> RowBytes<'_> {
    let length = Version::at(memory, at).length();
    memory.region().row_bytes(at + size_of::<Version>() as u64, length)
}

/// The bytes of a fresh version, to fill in.
#[inline]
pub(crate) fn fresh_bytes_at(memory: &Memory, at: u64) -> &mut [u8] {
    let length = Version::at(memory, at).length();
    memory.region().fresh_bytes(at + size_of::<Version>() as u64, length)
}

/// The version that a snapshot sees of the chain that starts at `newest`.
#[inline]
pub(crate) fn visible(memory: &Memory, newest: u64, snapshot: Snapshot) -> Option<u64> {
    let mut at = newest;
    while at != 0 {
        let version = Version::at(memory, at);
        if snapshot.sees(memory, &version.begin) {
            return (!version.is_tombstone()).then_some(at);
        }
        at = version.older.load(Acquire);
    }
    None
}

/// As [`visible`], with the row's bytes: for loops over many rows, in which each load counts.
#[inline(always)]
pub(crate) fn visible_bytes(
    memory: &Memory,
    newest: u64,
    snapshot: Snapshot,
) -> Option<(u64, &[u8])> {
    let mut at = newest;
    while at != 0 {
        let version = Version::at(memory, at);
        if snapshot.sees(memory, &version.begin) {
            let word = version.length.load(Relaxed);
            if word & TOMBSTONE != 0 {
                return None;
            }
            let length = (word & LENGTH_MASK) as usize;
            return Some((at, memory.region().bytes(at + size_of::<Version>() as u64, length)));
        }
        at = version.older.load(Acquire);
    }
    None
}

/// The versions from `newest` on, newest first.
pub(crate) fn chain(memory: &Memory, newest: u64) -> impl Iterator<Item = (u64, &Version)> {
    let first = (newest != 0).then(|| (newest, Version::at(memory, newest)));
    std::iter::successors(first, |(_, version)| {
        let older = version.older.load(Acquire);
        (older != 0).then(|| (older, Version::at(memory, older)))
    })
}
