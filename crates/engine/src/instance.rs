//! An open database as its own parts see it: the memory, the slots, the tables.
//!
//! Transactions and changes of tables work on an [`Instance`]; `Database` is the face that it shows
//! to programs. It has no behaviour of its own beyond telling its tables from those of others.

use std::sync::Arc;
use std::time::Instant;

use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::account::{WARNING_DUE, WARNING_GIVEN};
use crate::memory::atomic::{Mutex, Relaxed, Release, SeqCst};
use crate::memory::region::{FIRST_RING_SIZE, Region};
use crate::memory::{Memory, MemoryUse};
use crate::options::{Settings, WarningCallback};
use crate::slot::{Slot, cache, slot};
use crate::table::table::TableCore;

/// What a database consists of.
#[derive(Debug)]
pub(crate) struct Instance {
    memory: Memory,
    slots: usize,
    catalog: Catalog,
    definition: Mutex<()>,
    /// What the tables of this database carry to tell them from those of others.
    identity: Arc<()>,
    opened: Instant,
    warning: Option<WarningCallback>,
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
                // Where addresses are scarce, as many as the budget has to do.
                let region = Region::reserve(settings.capacity);
                (region.or_else(|_| Region::reserve(budget))?, budget)
            }
        };
        let memory = Memory::format(region, budget)?;
        memory.commit_ahead(settings.commit_ahead)?;
        let (warn_at, warning) = settings.warning.map_or((0, None), |(at, call)| (at, Some(call)));
        memory.header().account.warn_at.store(warn_at, Relaxed);
        let slots_size = slots * size_of::<Slot>();
        let at = memory.create_fixed(slots_size + FIRST_RING_SIZE)?;
        memory.header().slots.store(at, Relaxed);
        memory.header().commit.0.recent.ring.store(at + slots_size as u64, Relaxed);
        memory.header().clock.0.store(1, Release);
        Ok(Self {
            memory,
            slots,
            catalog: Catalog::default(),
            definition: Mutex::new(()),
            identity: Arc::new(()),
            opened: Instant::now(),
            warning,
        })
    }

    /// Calls the program's callback if more memory is held than it wanted to be told of.
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

    /// How much memory is held, by whom and for what.
    pub(crate) fn memory_use(&self) -> MemoryUse {
        let slots = self.memory.header().slots_used.load(SeqCst) as usize;
        let caches =
            (0..slots).filter_map(|number| cache(&self.memory, slot(&self.memory, number)));
        self.memory.usage(caches)
    }

    /// The memory that everything lies in.
    #[inline]
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// How many transaction slots there are.
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
    pub(crate) fn definition_lock(&self) -> &Mutex<()> {
        &self.definition
    }

    /// What this database's tables carry.
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
