//! The accountant: a hard budget over everything in the region, and a reserve within it.
//!
//! Counted are pages handed out, and bytes of live blocks by purpose (kept by the slots' caches and
//! summed on request). Normal allocations stop at budget less reserve; delete, rollback and
//! reclamation may use the reserve too, so that a full database can always be emptied. Where all
//! blocks share few pages, the reserve is counted by the byte.

use super::atomic::{AtomicU32, AtomicU64, Relaxed};
use crate::error::{Error, ErrorKind, Result};

/// What a block of memory is for.
///
/// # Examples
/// ```
/// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
/// # let db = Database::open(Options::new())?;
/// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// # let a = table.column("a")?;
/// use remanent_engine::Purpose;
/// db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
/// let memory = db.memory();
/// let live = |purpose| match purpose {
///     Purpose::Rows => memory.rows,
///     Purpose::Segments => memory.segments,
///     Purpose::Indexes => memory.indexes,
///     Purpose::Internal => memory.internal,
///     Purpose::Columns => memory.columns,
/// };
/// assert!(live(Purpose::Rows) > 0 && live(Purpose::Segments) > 0);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Row versions, the current ones and the old ones.
    Rows = 0,
    /// Directories that lead from a row id to its newest version.
    Segments = 1,
    /// Index nodes and hash buckets.
    Indexes = 2,
    /// Write sets, retired-block queues, slot caches, the catalogue, frozen rows that transactions
    /// were given.
    Internal = 3,
    /// The columns of frozen segments.
    Columns = 4,
}

/// How many purposes there are.
pub(crate) const PURPOSES: usize = 5;

/// How much memory a database holds, in bytes.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options};
/// let db = Database::open(Options::new().budget(64 << 20))?;
/// let memory = db.memory();
/// assert_eq!(memory.budget, 64 << 20);
/// assert!(memory.held <= 108 << 10);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryUse {
    /// The hard limit.
    pub budget: u64,
    /// The part of the budget that only delete, rollback and reclamation may use.
    pub reserve: u64,
    /// Pages in use, the region's own tables included. This is what the budget limits.
    pub held: u64,
    /// The most that `held` could be without asking the system for more.
    pub committed: u64,
    /// Live row versions.
    pub rows: u64,
    /// Directories of rows.
    pub segments: u64,
    /// Index nodes and hash buckets.
    pub indexes: u64,
    /// Write sets, queues, slot caches, catalogue, frozen rows that transactions were given.
    pub internal: u64,
    /// The columns of frozen segments, as far as they are in memory.
    pub columns: u64,
    /// Columns of paged tables that were evicted: no part of `columns` nor of `held`. They stand
    /// in segment files and come back when they are asked for.
    pub evicted: u64,
    /// Of `columns`, what could be evicted: the content of the buffer cache.
    pub cached: u64,
    /// Bytes of columns that were read again since the database was opened.
    pub read_back: u64,
    /// The buffers of the log.
    pub log: u64,
    /// The head of the region.
    pub overhead: u64,
    /// Room for blocks, in pages that are in use: free blocks, those that slots keep in stock, and
    /// what is left over at the ends of pages. Pages that are free as a whole are not held.
    ///
    /// `held` is the sum of `rows`, `segments`, `indexes`, `internal`, `columns`, `log`,
    /// `overhead` and this, as long as nobody writes while it is added up.
    pub free: u64,
    /// Of `rows`, about how much was superseded or deleted and waits to be freed: for the last
    /// transaction that may see it, or for a later writer to come by. What is known to be kept for
    /// an old snapshot is with that snapshot and not here.
    pub reclaimable: u64,
    /// Addresses that the budget may be raised to. They cost nothing.
    pub reserved: u64,
}

/// The accountant's words in the region header.
#[repr(C)]
pub(crate) struct AccountState {
    pub(crate) budget: AtomicU64,
    pub(crate) reserve: AtomicU64,
    /// How much may come to be in use for anything but deletion, rollback and reclamation; and how
    /// much may be for it to be given what is free in pages in use, some of which the reserve gave.
    normal_max: AtomicU64,
    blocks_max: AtomicU64,
    /// Pages handed out, in bytes; and of these, what was evicted and is no memory meanwhile.
    pub(crate) used: AtomicU64,
    evicted: AtomicU64,
    /// Live bytes by purpose of blocks that no slot's cache accounts for.
    pub(crate) live: [AtomicU64; PURPOSES],
    /// From how many bytes in use on the program is warned, and whether that is due.
    pub(crate) warn_at: AtomicU64,
    pub(crate) warning: AtomicU32,
    /// Whether all blocks share pages, and memory is counted by the byte.
    small: AtomicU32,
    /// Bytes in use that lie outside the region.
    pub(crate) outside: AtomicU64,
    /// Allocations until the next one fails on purpose; 0 is never. For tests.
    pub(crate) failure_countdown: AtomicU64,
    /// The same for what is asked of the system.
    pub(crate) commit_countdown: AtomicU64,
}

/// Whether the program is to be warned: it was not, it is due, it was.
pub(crate) const WARNING_NONE: u32 = 0;
pub(crate) const WARNING_DUE: u32 = 1;
pub(crate) const WARNING_GIVEN: u32 = 2;

impl AccountState {
    /// Bytes in use.
    #[inline]
    pub(crate) fn in_use(&self) -> u64 {
        // One may be read before the other changes with it.
        self.used.load(Relaxed).saturating_sub(self.evicted.load(Relaxed))
    }

    /// Bytes of pages handed out that are no memory.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted.load(Relaxed)
    }

    /// Notes that so many bytes of pages handed out are no memory. The pages' latch is held.
    pub(crate) fn set_evicted(&self, bytes: u64) {
        self.evicted.store(bytes, Relaxed);
        self.warn();
    }

    /// Notes how many bytes of pages are handed out.
    pub(crate) fn set_used(&self, bytes: u64) {
        self.used.store(bytes, Relaxed);
        self.warn();
    }

    /// A warning is given once; after that, memory in use has to fall by a sixteenth first.
    fn warn(&self) {
        let bytes = self.in_use();
        let (warn_at, warning) = (self.warn_at.load(Relaxed), self.warning.load(Relaxed));
        if warn_at == 0 {
            return;
        }
        if bytes > warn_at && warning == WARNING_NONE {
            self.warning.store(WARNING_DUE, Relaxed);
        } else if bytes < warn_at - warn_at / 16 && warning != WARNING_NONE {
            self.warning.store(WARNING_NONE, Relaxed);
        }
    }

    /// Fails if the system is to fail now, for tests.
    pub(crate) fn count_commit(&self) -> Result<()> {
        match self.commit_countdown.load(Relaxed) {
            0 => Ok(()),
            1 => Err(Error::new(ErrorKind::OutOfMachineMemory)
                .because("a failure of the system was asked for")),
            left => {
                self.commit_countdown.store(left - 1, Relaxed);
                Ok(())
            }
        }
    }

    /// Whether `bytes` more may be used: by an emergency allocation of the reserve too.
    #[inline]
    pub(crate) fn allows(&self, bytes: u64, emergency: bool) -> bool {
        let limit = if emergency { &self.budget } else { &self.normal_max };
        self.in_use() + bytes <= limit.load(Relaxed)
    }

    /// Whether little is left but the reserve.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        let most = self.normal_max.load(Relaxed);
        self.in_use() > most - most / 32
    }

    /// Says that the region is so small that all blocks share pages.
    pub(crate) fn set_small(&self) {
        self.small.store(1, Relaxed);
    }

    /// Whether all blocks share pages.
    pub(crate) fn is_small(&self) -> bool {
        self.small.load(Relaxed) != 0
    }

    /// Sets the budget, and the reserve that goes with it.
    pub(crate) fn set_budget(&self, budget: u64) {
        let reserve = self.reserve_of(budget);
        self.budget.store(budget, Relaxed);
        self.reserve.store(reserve, Relaxed);
        self.open_reserve(false);
    }

    /// Whether normal allocations may take blocks of pages in use. Half of the reserve is kept from
    /// them, whatever is free where it has given pages.
    #[inline]
    pub(crate) fn allows_blocks(&self) -> bool {
        self.in_use() <= self.blocks_max.load(Relaxed)
    }

    /// Whether so many bytes leave the reserve alone where all blocks share pages, `free` of which
    /// are free in those that are in use.
    pub(crate) fn allows_shared(&self, bytes: u64, free: u64) -> bool {
        let left = self.budget.load(Relaxed).saturating_sub(self.in_use()) + free;
        self.is_small() && left >= self.reserve.load(Relaxed) + bytes
    }

    /// Lets everything use the reserve, or not any more: while a database is made from files, what
    /// was in it has to find room again. Where all blocks share pages, it is asked for each whether
    /// it may be had: the pages of the reserve are whole as long as nothing else was in need.
    pub(crate) fn open_reserve(&self, open: bool) {
        let (budget, reserve) = (self.budget.load(Relaxed), self.reserve.load(Relaxed));
        let (normal, blocks) = match (open, self.is_small()) {
            (true, _) => (budget, budget),
            (false, true) => (budget - reserve, 0),
            (false, false) => (budget - reserve, budget - reserve / 2),
        };
        self.normal_max.store(normal, Relaxed);
        self.blocks_max.store(blocks, Relaxed);
    }

    /// The error of whoever is refused `bytes` more, while the program holds some beside.
    #[cold]
    pub(crate) fn budget_reached(&self, bytes: u64, program: u64) -> Error {
        let program = match program {
            0 => String::new(),
            program => format!(", {program} by the program beside,"),
        };
        Error::new(ErrorKind::BudgetReached).because(format!(
            "{} more bytes were needed, {} of {} are in use{program} and {} are kept in reserve",
            bytes,
            self.in_use(),
            self.budget.load(Relaxed),
            self.reserve.load(Relaxed),
        ))
    }

    /// The reserve that goes with a budget: a 32nd, at least 64 KiB, at most half; where all blocks
    /// share pages, an eighth.
    fn reserve_of(&self, budget: u64) -> u64 {
        let least = if self.is_small() { budget / 8 } else { 64 << 10 };
        (budget / 32).max(least).min(budget / 2)
    }
}
