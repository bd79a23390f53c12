//! The most memory that one query may hold: `query_memory`.
//!
//! What operators ask for goes through a pool of their query's own, which asks the database's
//! budget for it. Of several queries at once each has this limit.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;

use crate::error::{Error, SqlState};

/// The pool of one run of a query.
#[derive(Debug)]
struct QueryPool {
    budget: Arc<dyn MemoryPool>,
    limit: usize,
    /// What was asked for and is not given back.
    asked: AtomicUsize,
}

/// What a run of a query that may hold so many bytes is given; the same if there is no limit.
pub(crate) fn limited(runtime: &Arc<RuntimeEnv>, limit: Option<usize>) -> Arc<RuntimeEnv> {
    let Some(limit) = limit else { return Arc::clone(runtime) };
    let budget = Arc::clone(&runtime.memory_pool);
    let pool = QueryPool { budget, limit, asked: AtomicUsize::new(0) };
    Arc::new(RuntimeEnv { memory_pool: Arc::new(pool), ..runtime.as_ref().clone() })
}

impl fmt::Display for QueryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {}", self.limit, self.budget)
    }
}

impl MemoryPool for QueryPool {
    fn name(&self) -> &str {
        "query"
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.asked.fetch_add(additional, Ordering::Relaxed);
        self.budget.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.asked.fetch_sub(shrink, Ordering::Relaxed);
        self.budget.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> PlanResult<()> {
        let before = self.asked.fetch_add(additional, Ordering::Relaxed);
        let grown = match before.saturating_add(additional) > self.limit {
            true => Err(self.reached(reservation, additional).into()),
            false => self.budget.try_grow(reservation, additional),
        };
        if grown.is_err() {
            self.asked.fetch_sub(additional, Ordering::Relaxed);
        }
        grown
    }

    fn reserved(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit)
    }
}

impl QueryPool {
    fn reached(&self, reservation: &MemoryReservation, additional: usize) -> Error {
        let (limit, what) = (self.limit, reservation.consumer().name());
        let text = "the query needs more memory than query_memory allows";
        let detail = format!(
            "{what} asked for {additional} bytes more; the query holds {} of {limit}.",
            self.reserved().saturating_sub(additional)
        );
        Error::new(SqlState::OUT_OF_MEMORY, text).detail(detail)
    }
}
