//! The most memory that one query may hold: `query_memory`; and what becomes of who is refused.
//!
//! What operators ask for goes through a pool of their query's own, which asks the database's
//! budget for it. Of several queries at once each has this limit. Where there are files for rows
//! that have no room, operators that can write some are told in DataFusion's way that they must.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::error::Result as PlanResult;
use datafusion::execution::disk_manager::DiskManager;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;

use crate::error::{Error, SqlState};

/// The pool of one run of a query.
#[derive(Debug)]
struct QueryPool {
    budget: Arc<dyn MemoryPool>,
    /// The most bytes, if it has a limit of its own.
    limit: Option<usize>,
    /// What was asked for and is not given back.
    asked: AtomicUsize,
    /// Whether operators that are refused memory write files instead.
    spills: bool,
}

/// What a run of a query is given that may hold so many bytes, and write files if there are any;
/// the same if there is neither a limit nor a file.
pub(crate) fn limited(
    runtime: &Arc<RuntimeEnv>,
    limit: Option<usize>,
    files: Option<Arc<DiskManager>>,
) -> Arc<RuntimeEnv> {
    let spills = files.is_some();
    if limit.is_none() && !spills {
        return Arc::clone(runtime);
    }
    let budget = Arc::clone(&runtime.memory_pool);
    let pool = QueryPool { budget, limit, asked: AtomicUsize::new(0), spills };
    let disk_manager = files.unwrap_or_else(|| Arc::clone(&runtime.disk_manager));
    let memory_pool = Arc::new(pool);
    Arc::new(RuntimeEnv { memory_pool, disk_manager, ..runtime.as_ref().clone() })
}

impl fmt::Display for QueryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            Some(limit) => write!(f, "{limit} bytes of {}", self.budget),
            None => self.budget.fmt(f),
        }
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
        let after = before.saturating_add(additional);
        let grown = if self.limit.is_some_and(|limit| after > limit) {
            let text = "the query needs more memory than query_memory allows";
            Err(self.reached(text, reservation, additional).into())
        } else if self.spills && after > self.share() {
            let text = "the memory budget is reached: the query needs more than is left";
            Err(self.reached(text, reservation, additional).into())
        } else {
            self.budget.try_grow(reservation, additional)
        };
        grown.map_err(|refused| {
            self.asked.fetch_sub(additional, Ordering::Relaxed);
            if self.spills { Error::from(refused).into_exhausted() } else { refused }
        })
    }

    fn reserved(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        match self.limit {
            Some(limit) => MemoryLimit::Finite(limit),
            None => self.budget.memory_limit(),
        }
    }
}

impl QueryPool {
    /// What a query that writes files takes of the budget: it leaves a part to others, and to the
    /// values of its own expressions.
    fn share(&self) -> usize {
        match self.budget.memory_limit() {
            MemoryLimit::Finite(room) => room / 4 * 3,
            _ => usize::MAX,
        }
    }

    fn reached(&self, text: &str, reservation: &MemoryReservation, additional: usize) -> Error {
        let (limit, what) = (self.limit.unwrap_or_else(|| self.share()), reservation.consumer());
        let detail = format!(
            "{} asked for {additional} bytes more; the query holds {} of {limit}.",
            what.name(),
            self.reserved().saturating_sub(additional)
        );
        Error::new(SqlState::OUT_OF_MEMORY, text).detail(detail)
    }
}
