//! What a query runs in, for the functions that are called by it.
//!
//! A function sees the values of its arguments and nothing else. One that runs a query of its own
//! needs to know in which transaction; so whoever plans or reads a query enters its scope each time
//! that it does so, on the thread on which it does.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::execution::{SessionState, TaskContext};

use super::owned::Transaction;
use super::shared_rows::SharedParts;
use crate::error::{Error, Result};
use crate::limits::cancel;
use crate::limits::query_memory::limited;
use crate::limits::spill::Spilling;
use crate::workers::Task;

/// A sort that may write files keeps this part of its query's memory for merging them.
const MERGING_PART: usize = 8;

/// What operators of one run share, as they find it in their task: first the transaction that they
/// read in.
pub(crate) struct Current {
    pub(crate) transaction: Arc<Transaction>,
    /// Parts of the plan that stand in it several times.
    pub(crate) shared: SharedParts,
    /// Which task of several it is, each of which reads a part of a table.
    pub(crate) part: Option<Task>,
}

impl Current {
    /// That of a task.
    ///
    /// # Errors
    /// A task that no [`Scope`] has made.
    pub(crate) fn of(task: &TaskContext) -> Result<Arc<Self>> {
        let current = task.session_config().get_extension::<Self>();
        current.ok_or_else(|| Error::internal("a plan runs without a transaction"))
    }
}

/// What a query runs in.
pub(crate) struct Scope {
    pub(crate) state: Arc<SessionState>,
    pub(crate) transaction: Arc<Transaction>,
    /// How deep the query is.
    pub(crate) levels: usize,
    part: Option<Task>,
    task: OnceLock<Arc<TaskContext>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Scope>>> = const { RefCell::new(None) };
}

impl Scope {
    /// The scope of a new run of a query.
    pub(crate) fn new(
        state: &Arc<SessionState>,
        transaction: &Arc<Transaction>,
        levels: usize,
    ) -> Arc<Self> {
        let (state, transaction) = (Arc::clone(state), Arc::clone(transaction));
        Arc::new(Self { state, transaction, levels, part: None, task: OnceLock::new() })
    }

    /// The same of one of several tasks, each of which reads a part of a table.
    pub(crate) fn of_task(
        state: &Arc<SessionState>,
        transaction: &Arc<Transaction>,
        levels: usize,
        task: Task,
    ) -> Arc<Self> {
        let (state, transaction) = (Arc::clone(state), Arc::clone(transaction));
        Arc::new(Self { state, transaction, levels, part: Some(task), task: OnceLock::new() })
    }

    /// What operators are given: one for each run of a query.
    pub(crate) fn task(&self) -> &Arc<TaskContext> {
        self.task.get_or_init(|| self.new_task())
    }

    fn new_task(&self) -> Arc<TaskContext> {
        let transaction = Arc::clone(&self.transaction);
        let current = Current { transaction, shared: SharedParts::default(), part: self.part };
        let mut config = self.state.config().clone().with_extension(Arc::new(current));
        let limit = self.transaction.cancel.query_memory();
        let files = config.get_extension::<Spilling>().and_then(|spilling| spilling.files());
        let spills = files.is_some();
        let runtime = limited(self.state.runtime_env(), limit, files);
        if spills && let MemoryLimit::Finite(room) = runtime.memory_pool.memory_limit() {
            let for_merging = &mut config.options_mut().execution.sort_spill_reservation_bytes;
            *for_merging = (room / MERGING_PART).min(*for_merging);
        }
        // Operators have the functions that they call.
        Arc::new(TaskContext::new(
            None,
            String::new(),
            config,
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            runtime,
        ))
    }

    /// Makes this the scope of the thread until the answer is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Entered {
        let statement = self.transaction.cancel.enter();
        Entered { before: CURRENT.replace(Some(Arc::clone(self))), _statement: statement }
    }

    /// The scope of the query that is being read.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }
}

/// Leaves a scope when it is dropped.
pub(crate) struct Entered {
    before: Option<Arc<Scope>>,
    _statement: cancel::Entered,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}
