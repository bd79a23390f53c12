//! What a query runs in, for the functions that are called by it.
//!
//! A function sees the values of its arguments and nothing else. One that runs a query of its own
//! needs to know in which transaction; so whoever plans or reads a query enters its scope each time
//! that it does so, on the thread on which it does.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use datafusion::execution::{SessionState, TaskContext};

use crate::limits::cancel;
use crate::plan::planner;
use crate::transaction::Transaction;

/// What a query runs in.
pub(crate) struct Scope {
    pub(crate) state: Arc<SessionState>,
    pub(crate) transaction: Arc<Transaction>,
    /// How deep the query is.
    pub(crate) levels: usize,
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
        Arc::new(Self { state, transaction, levels, task: OnceLock::new() })
    }

    /// What operators are given: one for each run of a query.
    pub(crate) fn task(&self) -> &Arc<TaskContext> {
        self.task.get_or_init(|| planner::task(&self.state, &self.transaction))
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
