//! What queries use of the database's memory budget.
//!
//! Operators of DataFusion ask before they grow. They get what is left of the budget beside what
//! the engine holds, and are told when there is none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use remanent_engine::Database;

use crate::error::{Error, SqlState};

/// The pool of one database.
#[derive(Debug)]
pub(crate) struct BudgetPool {
    database: Weak<Database>,
    used: AtomicUsize,
}

impl BudgetPool {
    pub(crate) fn new(database: &Arc<Database>) -> Self {
        Self { database: Arc::downgrade(database), used: AtomicUsize::new(0) }
    }

    /// What the engine leaves of the budget.
    fn room(&self) -> usize {
        let Some(database) = self.database.upgrade() else { return 0 };
        let memory = database.memory();
        usize::try_from(memory.budget.saturating_sub(memory.held)).unwrap_or(usize::MAX)
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
        self.used.fetch_add(additional, Ordering::Relaxed);
    }

    fn shrink(&self, _: &MemoryReservation, shrink: usize) {
        self.used.fetch_sub(shrink, Ordering::Relaxed);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> PlanResult<()> {
        let before = self.used.fetch_add(additional, Ordering::Relaxed);
        if before.saturating_add(additional) <= self.room() {
            return Ok(());
        }
        self.used.fetch_sub(additional, Ordering::Relaxed);
        let what = reservation.consumer().name();
        let text = "the memory budget is reached: the query needs more than is left";
        let detail = format!("{what} asked for {additional} bytes more");
        Err(Error::new(SqlState::OUT_OF_MEMORY, text).detail(detail).into())
    }

    fn reserved(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.room())
    }
}
