//! An open database as its own parts see it: the memory, the slots, the tables.
//!
//! Transactions and changes of tables work on an [`Instance`]; `Database` is the face that it shows
//! to programs. It has no behaviour of its own beyond knowing its tables from those of others.

use std::fmt::Debug;
use std::ops::DerefMut;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock, TryLockError};
use std::time::Instant;

use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Result};
use crate::log::reader::Damage;
use crate::log::writer::Log;
use crate::memory::account::{WARNING_DUE, WARNING_GIVEN};
use crate::memory::atomic::{Acquire, Mutex, Relaxed, Release, SeqCst, pause_or_sleep};
use crate::memory::region::{FIRST_RING_SIZE, Region};
use crate::memory::{Cache, Memory, MemoryUse};
use crate::options::{Settings, WarningCallback};
use crate::slot::{SLOTS_PER_BLOCK, Slot, cache, slot};
use crate::table::table::TableCore;
use crate::turn::Turn;

/// The parts of a database.
#[derive(Debug)]
pub(crate) struct Instance {
    memory: Memory,
    slots: usize,
    catalog: Catalog,
    definition: Turn,
    /// Held by whoever cleans up without having begun a transaction, and while an index is built.
    pub(crate) maintenance: Mutex<()>,
    /// The identity that the tables of this database carry.
    identity: Arc<()>,
    opened: Instant,
    warning: Option<WarningCallback>,
    /// The log, if the database lies in a folder.
    log: OnceLock<Log>,
    /// The damage found when the database was opened; then nothing is written.
    damage: OnceLock<Damage>,
    read_only: AtomicBool,
    /// The lock of a database that is open to be read.
    lock: OnceLock<Box<dyn Debug + Send + Sync>>,
    pub(crate) checkpoints: Checkpoints,
}

/// A checkpoint that is made in parts; what knows how stands above this module.
pub(crate) trait CheckpointInParts: Debug + Send {
    /// Makes a part of it, about so many bytes; the bytes of all when it is made.
    ///
    /// # Errors
    /// `StorageFailed`, `LogFailed`, `TooManyTransactions`; then it is to be ended.
    fn go_on(&mut self, db: &Instance, log: &Log, most: u64) -> Result<Option<u64>>;

    /// How far it is.
    fn stage(&self) -> CheckpointStage;

    /// Ends it: if it is not made, nothing is left of it.
    fn end(&mut self, db: &Instance, log: &Log);
}

/// How far a checkpoint is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CheckpointStage {
    /// It has no snapshot yet.
    Begun,
    /// Its snapshot is held.
    Writing,
    /// It is made, and its snapshot has ended. Files go that are not needed any more.
    Written,
}

/// The checkpoint that transactions are making, if there is one.
pub(crate) type UnderWay = Option<Box<dyn CheckpointInParts>>;

/// When checkpoints are made.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    /// Held by whoever makes one or a part of it.
    pub(crate) making: Mutex<UnderWay>,
    /// Whether the snapshot of one that is made in parts is held, and whether the next one is to be
    /// made at once. The first is never so while a part is made that begins a transaction: for a
    /// slot, it would wait for itself.
    pub(crate) holds_snapshot: AtomicBool,
    pub(crate) at_once: AtomicBool,
    /// The position of the log at which that in parts was begun.
    pub(crate) begun_at: AtomicU64,
    /// Bytes that a transaction writes at once, and those of the last checkpoint.
    pub(crate) slice: AtomicU64,
    pub(crate) size: AtomicU64,
    /// Checkpoints made since the database was opened.
    pub(crate) made: AtomicU64,
    /// Bytes of log after which one is due at the least; 0 is never.
    pub(crate) after: AtomicU64,
    /// The position of the log at which the next one is due.
    pub(crate) due_at: AtomicU64,
    /// Whether a thread of the program makes those that are due: then transactions make one when it
    /// is long overdue, and not before.
    pub(crate) looked_after: AtomicBool,
    /// Whether rows are frozen first that were not changed after this timestamp.
    pub(crate) freezes: AtomicBool,
    pub(crate) unchanged_since: AtomicU64,
    /// The number of the last segment file that was made, which no other gets.
    pub(crate) last_segment_file: AtomicU64,
    /// Makes one; what knows how stands above this module.
    make: OnceLock<fn(&Instance, &Log)>,
}

impl Checkpoints {
    /// The lock of whoever makes one, unless somebody has it.
    pub(crate) fn try_lock(&self) -> Option<impl DerefMut<Target = UnderWay>> {
        match self.making.try_lock() {
            Ok(under_way) => Some(under_way),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl Instance {
    /// A new database in fresh memory.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    pub(crate) fn create(settings: Settings) -> Result<Self> {
        let Settings { budget, slots, .. } = settings;
        let (region, budget) = match settings.caller_memory {
            Some(memory) => {
                let region = Region::over(memory)?;
                let capacity = region.capacity();
                (region, capacity)
            }
            None => {
                // If address space is short, only the budget is reserved.
                let region = Region::reserve(settings.capacity);
                (region.or_else(|_| Region::reserve(budget))?, budget)
            }
        };
        let mut memory = Memory::format(region, budget)?;
        if settings.lock_memory {
            memory.lock()?;
        }
        memory.commit_ahead(settings.commit_ahead)?;
        memory.buffer_cache.set_limit(settings.buffer_cache);
        let (warn_at, warning) = settings.warning.map_or((0, None), |(at, call)| (at, Some(call)));
        memory.header().account.warn_at.store(warn_at, Relaxed);
        memory.header().hash_seed.store(settings.hash_seed, Relaxed);
        lay_out(&memory, slots)?;
        Ok(Self {
            memory,
            slots,
            catalog: Catalog::default(),
            definition: Turn::new(),
            maintenance: Mutex::new(()),
            identity: Arc::new(()),
            opened: Instant::now(),
            warning,
            log: OnceLock::new(),
            damage: OnceLock::new(),
            read_only: AtomicBool::new(false),
            lock: OnceLock::new(),
            checkpoints: Checkpoints::default(),
        })
    }

    /// Makes the database one that was just opened, with the memory that it has. Nobody uses it.
    ///
    /// # Errors
    /// `OutOfMachineMemory`, where memory that was given back cannot be had again.
    pub(crate) fn reset(&mut self) -> Result<()> {
        let hash_seed = self.memory.header().hash_seed.load(Relaxed);
        self.memory.reset()?;
        self.memory.header().hash_seed.store(hash_seed, Relaxed);
        lay_out(&self.memory, self.slots)?;
        self.catalog = Catalog::default();
        self.identity = Arc::new(());
        Ok(())
    }

    /// The log.
    #[inline]
    pub(crate) fn log(&self) -> Option<&Log> {
        self.log.get()
    }

    /// Logs commits from now on. Nobody uses the database yet.
    pub(crate) fn attach_log(
        &self,
        log: Log,
        checkpoint_after: u64,
        checkpoint_slice: u64,
        make_checkpoint: fn(&Self, &Log),
    ) {
        self.checkpoints.slice.store(checkpoint_slice, Relaxed);
        let _ = self.checkpoints.make.set(make_checkpoint);
        self.memory.count_outside(log.memory());
        self.checkpoints.after.store(checkpoint_after, Relaxed);
        self.checkpoints.due_at.store(log.end() + checkpoint_after, Relaxed);
        let fresh = self.log.set(log).is_ok();
        assert!(fresh, "a database has one log");
    }

    /// Says whether checkpoints freeze rows; what is there now counts as unchanged.
    pub(crate) fn freeze_at_checkpoints(&self, freezes: bool) {
        self.checkpoints.freezes.store(freezes, Relaxed);
        let clock = self.memory.header().clock.0.load(Acquire);
        self.checkpoints.unchanged_since.store(clock, Relaxed);
    }

    /// Makes a checkpoint if so much was logged, for a transaction that is about to begin.
    #[inline]
    pub(crate) fn checkpoint_if_due(&self) {
        let Some(log) = self.log() else { return };
        let Checkpoints { after, due_at, .. } = &self.checkpoints;
        if after.load(Relaxed) > 0 && log.written() >= due_at.load(Relaxed) {
            self.checkpoint_that_is_due(log);
        }
    }

    #[cold]
    fn checkpoint_that_is_due(&self, log: &Log) {
        let Checkpoints { after, due_at, looked_after, make, .. } = &self.checkpoints;
        let overdue_at = due_at.load(Relaxed).saturating_add(after.load(Relaxed));
        if let Some(make) = make.get()
            && (!looked_after.load(Relaxed) || log.written() >= overdue_at)
        {
            make(self, log);
        }
    }

    /// Ends a checkpoint that transactions are making, for somebody who waits for its snapshot, or
    /// for what it keeps; the next one is made at once, and is due. Whether there was one.
    #[cold]
    pub(crate) fn end_checkpoint(&self) -> bool {
        let checkpoints = &self.checkpoints;
        let mut turn = 0;
        while checkpoints.holds_snapshot.load(SeqCst) {
            if let (Some(mut under_way), Some(log)) = (checkpoints.try_lock(), self.log()) {
                // Whoever had the lock may have gone on meanwhile.
                if !checkpoints.holds_snapshot.swap(false, SeqCst) {
                    return false;
                }
                under_way.take().iter_mut().for_each(|parts| parts.end(self, log));
                checkpoints.due_at.store(log.written(), Relaxed);
                checkpoints.at_once.store(true, Relaxed);
                return true;
            }
            pause_or_sleep(turn);
            turn += 1;
        }
        false
    }

    /// Lets nothing be written, for something is missing.
    pub(crate) fn set_read_only(&self, damage: Damage, lock: Box<dyn Debug + Send + Sync>) {
        self.note_damage(damage);
        self.read_only.store(true, Relaxed);
        let _ = self.lock.set(lock);
    }

    /// Notes what is missing.
    pub(crate) fn note_damage(&self, damage: Damage) {
        let _ = self.damage.set(damage);
    }

    /// The damage, if there is any.
    pub(crate) fn damage(&self) -> Option<&Damage> {
        self.damage.get()
    }

    /// Fails if nothing may be written.
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.read_only.load(Relaxed) {
            return Err(self.read_only());
        }
        self.log().map_or(Ok(()), Log::check_writable)
    }

    #[cold]
    fn read_only(&self) -> Error {
        let damage = self.damage().map_or(String::new(), Damage::to_string);
        Error::new(ErrorKind::DatabaseReadOnly).because(damage)
    }

    /// Calls the program's callback if more memory is held than it set a warning for.
    #[inline]
    pub(crate) fn warn_if_due(&self) {
        if self.memory.header().account.warning.load(Relaxed) == WARNING_DUE {
            self.warn();
        }
    }

    #[cold]
    fn warn(&self) {
        let warning = &self.memory.header().account.warning;
        let given = warning.compare_exchange(WARNING_DUE, WARNING_GIVEN, Relaxed, Relaxed);
        if let (Ok(_), Some(callback)) = (given, &self.warning) {
            (callback.0)(&self.memory_use());
        }
    }

    /// Memory that is held, by purpose.
    pub(crate) fn memory_use(&self) -> MemoryUse {
        self.memory.usage(self.caches())
    }

    /// The caches of all slots that ever wrote.
    pub(crate) fn caches(&self) -> impl Iterator<Item = &Cache> {
        let slots = self.memory.header().slots_used.load(SeqCst) as usize;
        (0..slots).filter_map(|number| cache(&self.memory, slot(&self.memory, number)))
    }

    /// Makes the lists of free rows anew, which repeating what was logged leaves in no order.
    pub(crate) fn thread_free_rows(&self) {
        for core in self.catalog.all() {
            self.memory.get(core.root).directory.thread_free(&self.memory);
        }
    }

    /// Counts from here on: what was repeated from the log has happened before.
    pub(crate) fn forget_counts(&self) {
        self.caches().for_each(|cache| cache.counts.forget());
    }

    /// The memory that everything lies in.
    #[inline]
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The number of transaction slots.
    #[inline]
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// Nanoseconds since the database was opened.
    pub(crate) fn now_ns(&self) -> u64 {
        self.nanoseconds_of(Instant::now())
    }

    /// A moment as nanoseconds since the database was opened; 0 for one before that.
    pub(crate) fn nanoseconds_of(&self, moment: Instant) -> u64 {
        moment.saturating_duration_since(self.opened).as_nanos() as u64
    }

    /// The tables.
    #[inline]
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Held by whoever changes tables or indexes.
    pub(crate) fn definition_turn(&self) -> &Turn {
        &self.definition
    }

    /// The identity that this database's tables carry.
    pub(crate) fn identity(&self) -> &Arc<()> {
        &self.identity
    }

    /// Whether the table is of this database.
    #[inline]
    pub(crate) fn check_owner(&self, table: &TableCore) -> Result<()> {
        if Arc::ptr_eq(&table.owner, &self.identity) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::UnknownTable)
            .because(format!("`{}` is a table of another database", table.schema.name)))
    }
}

/// Lays out an empty database: slots, the first ring of recent commits, the clock.
fn lay_out(memory: &Memory, slots: usize) -> Result<()> {
    let slots_size = slots.min(SLOTS_PER_BLOCK) * size_of::<Slot>();
    let at = memory.create_fixed(slots_size + FIRST_RING_SIZE)?;
    memory.header().slots[0].store(at, Relaxed);
    memory.header().commit.0.recent.ring.store(at + slots_size as u64, Relaxed);
    memory.header().clock.0.store(1, Release);
    Ok(())
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.end_checkpoint();
        if let Some(log) = self.log() {
            log.close();
        }
    }
}
