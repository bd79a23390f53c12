//! What statements use of the database's memory budget.
//!
//! Operators ask before they grow, functions before they make large values, and whoever gathers
//! rows as they come. All get what is left of the budget beside what the engine holds, and are told
//! when there is none. Where the program's allocator counts ([`heap`]), what it counted is what is
//! used; else, what was asked for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use remanent_engine::Database;

use super::cancel::Cancel;
use crate::error::{Error, Result, SqlState};
use crate::limits::heap;

/// Heap that a program has beside its statements: its functions, its connections.
const PROGRAM_BYTES: usize = 8 << 20;

/// Threads that took less than this are not asked to stop when there is no room left.
const LITTLE_BYTES: usize = 1 << 20;
/// The same for those whose statement frees memory: numbers of rows, and batches with them.
const FREEING_BYTES: usize = 32 << 20;

/// No value is larger, as in PostgreSQL.
const VALUE_MAX: usize = (1 << 30) - 1;

/// A value on its way through operators to a client is there several times; so it may take this
/// part of the budget.
const VALUE_PART: usize = 8;

/// Arrays are copied for each row that a join or unnesting makes of one; so they may take less.
const LIST_PART: usize = 64;

/// In small budgets it may take so much nevertheless.
const VALUE_MAX_LEAST: usize = 1 << 20;

/// Gives memory back that is kept to save time alone.
type Spare = Box<dyn Fn() + Send + Sync>;

/// The pool of one database.
pub(crate) struct BudgetPool {
    database: Weak<Database>,
    /// What was asked for and is not given back.
    asked: Arc<AtomicUsize>,
    spare: OnceLock<Spare>,
}

impl BudgetPool {
    /// The pool, of which the engine knows from now on.
    pub(crate) fn new(database: &Arc<Database>) -> Self {
        let asked = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&asked);
        database.count_program_memory(move || used(&counted) as u64);
        Self { database: Arc::downgrade(database), asked, spare: OnceLock::new() }
    }

    /// Says what gives memory back before anybody is refused some: it waits for nobody.
    pub(crate) fn spare_first(&self, spare: impl Fn() + Send + Sync + 'static) {
        // Whoever said it before is a pool's one database.
        let _ = self.spare.set(Box::new(spare));
    }

    /// What the engine leaves of the budget.
    fn room(&self) -> usize {
        let Some(database) = self.database.upgrade() else { return 0 };
        usize::try_from(database.memory_left()).unwrap_or(usize::MAX)
    }

    /// Whether there is room for so many bytes more: if not at once, when what was deleted has been
    /// drained.
    fn has_room(&self, bytes: usize) -> bool {
        let has_room = || used(&self.asked).saturating_add(bytes) <= self.room();
        if has_room() {
            return true;
        }
        if let Some(spare) = self.spare.get() {
            spare();
            if has_room() {
                return true;
            }
        }
        let Some(database) = self.database.upgrade() else { return false };
        if database.memory().reclaimable == 0 {
            return false;
        }
        database.reclaim();
        has_room()
    }

    fn budget(&self) -> usize {
        let database = self.database.upgrade();
        let budget = database.map_or(0, |database| database.memory().budget);
        usize::try_from(budget).unwrap_or(usize::MAX)
    }

    /// Whether what was taken has room; asked often, by statements that run.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    #[inline]
    pub(crate) fn check(&self, frees: bool) -> Result<()> {
        match heap::own() < if frees { FREEING_BYTES } else { LITTLE_BYTES } {
            true => Ok(()),
            false => self.check_used(),
        }
    }

    fn check_used(&self) -> Result<()> {
        if self.has_room(0) {
            return Ok(());
        }
        let (used, room) = (used(&self.asked), self.room());
        let detail = format!("Statements hold {used} bytes, and there is room for {room}.");
        Err(reached("the statement needs more than is left").detail(detail))
    }

    /// Whether an array may have so many bytes.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn check_list(&self, bytes: usize) -> Result<()> {
        self.check_part(bytes, LIST_PART)
    }

    fn check_part(&self, bytes: usize, part: usize) -> Result<()> {
        let limit = (self.budget() / part).max(VALUE_MAX_LEAST);
        if bytes <= limit {
            return Ok(());
        }
        let detail = format!(
            "It would have {bytes} bytes, and {limit} are the limit: a part in {part} of the \
             memory budget."
        );
        Err(reached("a value is too large for it").detail(detail))
    }

    /// Whether there would be room for values that are about to be made: in all, and the largest.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`; `LIMIT_EXCEEDED` for a value that is too large whatever the budget.
    pub(crate) fn check_values(&self, bytes: usize, largest: usize) -> Result<()> {
        check_value(largest)?;
        self.check_part(largest, VALUE_PART)?;
        if !self.has_room(bytes) {
            let left = self.room().saturating_sub(used(&self.asked));
            let detail = format!("They would have {bytes} bytes, and {left} are left.");
            return Err(reached("no room for the values of an expression").detail(detail));
        }
        Ok(())
    }
}

/// Whether a value of so many bytes may be at all.
///
/// # Errors
/// `LIMIT_EXCEEDED`.
pub(crate) fn check_value(bytes: usize) -> Result<()> {
    if bytes <= VALUE_MAX {
        return Ok(());
    }
    let text = "a value would be too large";
    let detail = format!("It would have {bytes} bytes; {VALUE_MAX} are the limit.");
    Err(Error::new(SqlState::LIMIT_EXCEEDED, text).detail(detail))
}

/// What statements use.
fn used(asked: &AtomicUsize) -> usize {
    let counted = heap::live().saturating_sub(PROGRAM_BYTES);
    asked.load(Ordering::Relaxed).max(counted)
}

fn reached(why: &str) -> Error {
    Error::new(SqlState::OUT_OF_MEMORY, format!("the memory budget is reached: {why}"))
}

impl std::fmt::Debug for BudgetPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BudgetPool").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl std::fmt::Display for BudgetPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the database's memory budget")
    }
}

impl MemoryPool for BudgetPool {
    fn name(&self) -> &str {
        "budget"
    }

    fn grow(&self, _: &MemoryReservation, additional: usize) {
        self.asked.fetch_add(additional, Ordering::Relaxed);
    }

    fn shrink(&self, _: &MemoryReservation, shrink: usize) {
        self.asked.fetch_sub(shrink, Ordering::Relaxed);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> PlanResult<()> {
        let before = self.asked.fetch_add(additional, Ordering::Relaxed);
        let is_little = || before + additional <= FREEING_BYTES;
        if self.has_room(0) || Cancel::current_frees() && is_little() {
            return Ok(());
        }
        self.asked.fetch_sub(additional, Ordering::Relaxed);
        let what = reservation.consumer().name();
        let detail = format!("{what} asked for {additional} bytes more");
        Err(reached("the query needs more than is left").detail(detail).into())
    }

    fn reserved(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.room())
    }
}
