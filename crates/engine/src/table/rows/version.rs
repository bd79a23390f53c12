//! Row versions: one block each, immutable once published but for its header's links.
//!
//! Layout: begin (8 bytes), older version (8), row id (4), length and flags (4), then the row's
//! bytes as `remanent_schema::RowLayout` lays them out.
//!
//! A deletion of a row with several versions is a version without bytes, a *tombstone*. A row that
//! has a single one *ends in place*, which takes no memory: the word of the older version, of which
//! there is none, then has the deleting transaction's stamp, and later its timestamp, both
//! distinguished from an offset by their high bits; and the length is marked, so that readers look
//! at that word only then. *Who writes:* whoever holds the row's latch; the end first, then the
//! mark, and the other way round when it is taken back. *Who reads* the mark finds an end behind
//! it, or none any more. A deletion that a snapshot sees was marked before the clock showed it.

use remanent_schema::RowBytes;

use crate::error::{Error, ErrorKind, Result};
use crate::memory::atomic::{Acquire, AtomicU32, AtomicU64, Relaxed, Release};
use crate::memory::row_blocks::allocate_packed;
use crate::memory::{AllocationClass, Allocator, Memory, Purpose, Ref};
use crate::slot::IN_FLIGHT;
use crate::snapshot::{Begin, Snapshot, resolve};

/// The header of every version.
#[repr(C)]
pub(crate) struct Version {
    /// Timestamp or stamp: see `snapshot.rs`.
    pub(crate) begin: AtomicU64,
    /// The version before this one; 0 for none. Or how the row ended. Only changed under the row's
    /// latch.
    older: AtomicU64,
    row: AtomicU32,
    length: AtomicU32,
}

/// Of a version without bytes: it is a tombstone. Of any other: it has ended in place.
const GONE: u32 = 1 << 31;
const KEY_CHANGED: u32 = 1 << 30;
const NOTED: u32 = 1 << 29;
const LENGTH_MASK: u32 = NOTED - 1;
/// Set in an end that is a timestamp, never in an offset.
const END: u64 = 1 << 62;

const _: () = assert!(size_of::<Version>() == 24);

/// The kind of version to make.
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
    pub(crate) fn create(alloc: Allocator<'_>, stamp: u64, content: Content) -> Result<u64> {
        let class = match content {
            Content::Row(_) => AllocationClass::Normal,
            Content::Tombstone => AllocationClass::Emergency,
        };
        Self::create_in_class(alloc, stamp, content, class)
    }

    /// As [`Version::create`], in this allocation class.
    #[inline(always)]
    pub(crate) fn create_in_class(
        alloc: Allocator<'_>,
        stamp: u64,
        content: Content,
        class: AllocationClass,
    ) -> Result<u64> {
        let length = content.length();
        if length > LENGTH_MASK as usize {
            return Err(Error::new(ErrorKind::RowTooLong));
        }
        let at = alloc.allocate(size_of::<Self>() + length, Purpose::Rows, class)?;
        Self::lay_out(alloc.memory, at, stamp, content);
        Ok(at)
    }

    /// Fills in what a version begins with, in memory that nobody else refers to.
    #[inline]
    pub(crate) fn lay_out(memory: &Memory, at: u64, stamp: u64, content: Content) {
        let flags = if content == Content::Tombstone { GONE } else { 0 };
        let version: &Self = memory.get(Ref::new(at));
        version.begin.store(stamp, Relaxed);
        version.older.store(0, Relaxed);
        version.length.store(content.length() as u32 | flags, Relaxed);
    }

    /// A copy of a version that was committed at this timestamp and has none before it, in memory
    /// as [`allocate_packed`] finds it; `None` if it takes pages of its own, or there is none.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    pub(crate) fn copy_packed(
        alloc: Allocator<'_>,
        at: u64,
        timestamp: u64,
        short: Option<u64>,
    ) -> Result<Option<u64>> {
        let old = Self::at(alloc.memory, at);
        let Some(copy) = allocate_packed(alloc, size_of::<Self>() + old.length(), short)? else {
            return Ok(None);
        };
        let version: &Self = alloc.memory.get(Ref::new(copy));
        version.begin.store(timestamp, Relaxed);
        version.older.store(0, Relaxed);
        version.row.store(old.row(), Relaxed);
        // The notes about others of the chain are about none.
        version.length.store(old.length() as u32, Relaxed);
        fresh_bytes_at(alloc.memory, copy).copy_from_slice(bytes_at(alloc.memory, at));
        Ok(Some(copy))
    }

    /// Frees a version that nobody can reach.
    pub(crate) fn free(alloc: Allocator<'_>, at: u64) {
        let version: &Self = alloc.memory.get(Ref::new(at));
        alloc.free(at, size_of::<Self>() + version.length(), Purpose::Rows);
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
        let word = self.length.load(Relaxed);
        word & GONE != 0 && word & LENGTH_MASK == 0
    }

    /// The version before this one; 0 for none.
    #[inline]
    pub(crate) fn older(&self) -> u64 {
        let word = self.older.load(Acquire);
        if word & (END | IN_FLIGHT) == 0 { word } else { 0 }
    }

    /// Sets the version before this one; before it is published, or under the row's latch. It has
    /// not ended.
    pub(crate) fn set_older(&self, older: u64) {
        self.older.store(older, Release);
    }

    /// Whether the row can end in place.
    pub(crate) fn can_end(&self) -> bool {
        self.older.load(Relaxed) == 0 && self.length() > 0
    }

    /// Whether the row has ended in place, or is about to.
    #[inline]
    pub(crate) fn has_end(&self) -> bool {
        self.older.load(Acquire) & (END | IN_FLIGHT) != 0
    }

    /// The end of the row in place, if it has ended.
    pub(crate) fn end(&self, memory: &Memory) -> Option<Begin> {
        if !self.has_end() {
            return None;
        }
        match resolve(memory, &self.older) {
            // It was taken back meanwhile.
            Begin::Committed(0) => None,
            Begin::Committed(word) => Some(Begin::Committed(word & !END)),
            in_flight => Some(in_flight),
        }
    }

    /// Lets the row end by the transaction with this stamp; under the row's latch.
    pub(crate) fn set_end(&self, stamp: u64) {
        self.older.store(stamp, Relaxed);
        self.length.store(self.length.load(Relaxed) | GONE, Release);
    }

    /// Takes the end back, if it is by the transaction with this stamp; under the row's latch.
    pub(crate) fn clear_end(&self, stamp: u64) {
        if self.older.load(Relaxed) == stamp {
            self.length.store(self.length.load(Relaxed) & !GONE, Relaxed);
            self.older.store(0, Release);
        }
    }

    /// Writes the timestamp of a version that is committed, before the directory leads to it no
    /// more: who stamps for others will not find it, and a reader on its way to it would ask the
    /// slot too late. Under the row's latch.
    pub(crate) fn finalize_begin(&self, timestamp: u64) {
        self.begin.store(timestamp, Release);
    }

    /// As [`Version::finalize_begin`], the timestamp of an end.
    pub(crate) fn finalize_end(&self, timestamp: u64) {
        self.older.store(timestamp | END, Release);
    }

    /// Exchanges the stamp of an end for a timestamp.
    pub(crate) fn stamp_end(&self, stamp: u64, timestamp: u64) {
        if self.older.load(Relaxed) == stamp {
            self.older.store(timestamp | END, Release);
        }
    }

    /// Whether a snapshot that sees this version sees the row deleted, by this version or in place.
    #[cold]
    pub(crate) fn is_gone(&self, memory: &Memory, snapshot: Snapshot) -> bool {
        // Behind the mark, the end.
        let word = self.length.load(Acquire);
        if word & GONE == 0 || word & LENGTH_MASK == 0 {
            return word & GONE != 0;
        }
        match self.end(memory) {
            None => false,
            Some(Begin::InFlight(stamp)) => stamp == snapshot.own,
            Some(Begin::Committed(timestamp)) => timestamp <= snapshot.timestamp,
        }
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
            let marked = version.length.load(Relaxed) & GONE != 0;
            return (!marked || !version.is_gone(memory, snapshot)).then_some(at);
        }
        at = version.older();
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
    visible_bytes_by(memory, newest, snapshot, |begin| snapshot.sees(memory, begin))
}

/// As [`visible_bytes`], by somebody who knows what the snapshot sees.
#[inline(always)]
pub(crate) fn visible_bytes_by(
    memory: &Memory,
    newest: u64,
    snapshot: Snapshot,
    sees: impl Fn(&AtomicU64) -> bool,
) -> Option<(u64, &[u8])> {
    let mut at = newest;
    while at != 0 {
        let version = Version::at(memory, at);
        if sees(&version.begin) {
            let word = version.length.load(Relaxed);
            if word & GONE != 0 && version.is_gone(memory, snapshot) {
                return None;
            }
            let length = (word & LENGTH_MASK) as usize;
            return Some((at, memory.region().bytes(at + size_of::<Version>() as u64, length)));
        }
        at = version.older();
    }
    None
}

/// The versions of a row that stay: from `first` on, newest first, to before `end`, which is 0 if
/// all do.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    pub(crate) first: u64,
    pub(crate) end: u64,
}

impl Kept {
    /// No version stays.
    pub(crate) const NONE: Self = Self::from(0);

    /// This version stays, and all that are older.
    pub(crate) const fn from(first: u64) -> Self {
        Self { first, end: 0 }
    }
}

/// The versions from `newest` on, newest first.
pub(crate) fn chain(memory: &Memory, newest: u64) -> impl Iterator<Item = (u64, &Version)> {
    let first = (newest != 0).then(|| (newest, Version::at(memory, newest)));
    std::iter::successors(first, |(_, version)| {
        let older = version.older();
        (older != 0).then(|| (older, Version::at(memory, older)))
    })
}
