//! Running tasks of stages that other replicas have cut out of their queries.
//!
//! A task reads the state at a timestamp that a query elsewhere reads too. So that it is still
//! there when the task comes, the states of the last moments are retained, by transactions that
//! are begun from time to time; and if the state is yet to come, it is waited for.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use datafusion::catalog::Session as PlanSession;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::{Expr, ScalarUDF};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;

use remanent_engine::{OwnedTransaction, Replica, TransactionOptions};

use crate::database::{Freezing, SqlDatabase};
use crate::error::{Error, Result, SqlState};
use crate::functions::sent;
use crate::limits::cancel::{Cancel, Limits};
use crate::plan::stages;
use crate::scan::exec::ScanExec;
use crate::scan::provider::scan_of;
use crate::stack::with_room;
use crate::transaction::Transaction;
use crate::transaction::freezing::Pace;
use crate::transaction::hot_segments::HotSegments;
use crate::transaction::scope::Scope;
use crate::workers::{Division, Task, Workers, WorkersOf};

/// How long states are retained at least.
const RETAINED: Duration = Duration::from_secs(1);
/// How long a task waits for the state that it reads.
const STATE_WAIT_MAX: Duration = Duration::from_secs(2);
/// How often it looks.
const LOOK_AFTER: Duration = Duration::from_millis(1);
/// How long a task that was begun may take to be started: whoever sent it may be gone.
const START_MAX: Duration = Duration::from_secs(10);
/// Levels of operators and expressions that a task has room for.
const LEVELS: usize = 500;

/// A scan of a table, for whoever sends it to another replica.
#[derive(Clone, PartialEq, Debug)]
pub struct ScanParts {
    /// The number of the table, the same in all replicas.
    pub table: u32,
    /// Places of the columns.
    pub columns: Vec<usize>,
    /// What each row meets.
    pub filters: Vec<Expr>,
    /// What each task reads of the table, if it is divided.
    pub division: Option<Division>,
}

/// Runs tasks of stages in this process, with the states that it retains for them.
///
/// # Examples
/// ```
/// use remanent_sql::{SqlDatabase, TaskRunner};
/// let db = SqlDatabase::in_memory()?;
/// let runner = TaskRunner::new(&db);
/// // About every half a second:
/// runner.retain_states()?;
/// # Ok::<(), remanent_sql::Error>(())
/// ```
#[derive(Debug)]
pub struct TaskRunner {
    /// Whose queries' workers may have this one: it does not keep them open.
    database: Weak<SqlDatabase>,
    /// Transactions that retain states, and since when; the oldest first.
    retained: Mutex<VecDeque<(Instant, Retaining)>>,
    /// Tasks that were begun and may not have ended, and when.
    tasks: Mutex<Vec<(Instant, Weak<RunningTask>)>>,
    /// Segments that scans of tasks have met, and that could be frozen.
    hot: Arc<HotSegments>,
}

/// A transaction that retains states.
struct Retaining(OwnedTransaction);

/// A task that runs in this process. It keeps its transaction no longer than its rows are asked
/// for, though whoever knows it may do so for minutes.
pub struct RunningTask {
    state: Arc<SessionState>,
    cancel: Arc<Cancel>,
    task: Task,
    /// What it is to run in, until it is started.
    scope: Mutex<Option<Arc<Scope>>>,
}

impl TaskRunner {
    /// One that retains nothing yet.
    pub fn new(database: &Arc<SqlDatabase>) -> Self {
        let database = Arc::downgrade(database);
        let (retained, tasks) = Default::default();
        Self { database, retained, tasks, hot: Arc::default() }
    }

    /// From now on queries of the database that read much have stages, whose tasks these run. Once
    /// said, it holds as long as the database is open.
    pub fn divide_queries(&self, workers: Arc<dyn Workers>) {
        let database = self.database.upgrade();
        let state = database.as_ref().map(|database| &database.state);
        if let Some(of) = state.and_then(|state| state.config().get_extension::<WorkersOf>()) {
            of.set(workers);
        }
    }

    /// Retains the states from now on, for a second at least; to be called again within that time,
    /// as long as tasks of others may come. Row versions of about two seconds are kept then.
    ///
    /// # Errors
    /// `TOO_MANY_CONNECTIONS` if all transactions are taken.
    pub fn retain_states(&self) -> Result<()> {
        let options = TransactionOptions::new().name("states for other replicas").retain(true);
        let begun = OwnedTransaction::begin_read(&self.database()?.engine, &options)?;
        let mut retained = self.retained();
        let now = Instant::now();
        retained.push_back((now, Retaining(begun)));
        self.tasks().retain(|(since, task)| {
            let task = task.upgrade();
            // Who has sent one and has not asked for its rows since does not want them.
            let is_late = now.duration_since(*since) > START_MAX;
            task.iter().filter(|_| is_late).for_each(|task| drop(task.take_scope()));
            task.is_some()
        });
        // The one before those keeps what was begun within the time.
        while retained.get(1).is_some_and(|(since, _)| now.duration_since(*since) > RETAINED) {
            retained.pop_front();
        }
        Ok(())
    }

    /// Makes columns of rows that tasks have read and nobody seems to change, as queries do after
    /// their last row where the setting `freeze` says so, and for no longer than this time but for
    /// the first segment, which takes about 20 ms.
    ///
    /// # Errors
    /// If the database is closed. What cannot be frozen stays as it is.
    pub fn freeze_what_was_read(&self, time: Duration) -> Result<()> {
        let database = self.database()?;
        let cancel = Cancel::of(&database.budget);
        let mut pace = Pace::within(time, &cancel);
        for segment in self.hot.take() {
            if !pace.goes_on() {
                break;
            }
            segment.freeze(database.engine());
        }
        Ok(())
    }

    /// Retains nothing any longer, and stops the tasks that run: the database is about to be
    /// closed.
    pub fn release_states(&self) {
        self.retained().clear();
        for (_, task) in self.tasks().drain(..) {
            if let Some(task) = task.upgrade() {
                drop(task.take_scope());
                task.cancel.end();
            }
        }
    }

    /// Begins a task: waits until the state that it reads is there.
    ///
    /// # Errors
    /// `WRONG_STATE` if the state is not retained or does not come; as the
    /// engine.
    pub async fn begin_task(&self, task: Task) -> Result<Arc<RunningTask>> {
        let (began, database) = (Instant::now(), self.database()?);
        if task.index >= task.tasks || u32::try_from(task.segments).is_err() {
            let text = format!("there is no task {} of {}", task.index, task.tasks);
            return Err(Error::new(SqlState::WRONG_STATE, text));
        }
        // In a group the clock of this replica may stand elsewhere between the same two commits.
        let (first, last) = Replica::of(&database.engine)
            .map_or((task.timestamp, task.timestamp), |it| it.same_state(task.timestamp));
        while !database.engine.wait_for_timestamp(first, Duration::ZERO) {
            if began.elapsed() > STATE_WAIT_MAX {
                return Err(not_there(task.timestamp));
            }
            tokio::time::sleep(LOOK_AFTER).await;
        }
        let defaults = database.defaults();
        let cancel = Cancel::of(&database.budget);
        cancel.begin(Limits { query_memory: defaults.query_memory, ..Limits::default() });
        let threads = defaults.query_threads;
        let hot = (defaults.freezing != Freezing::Off).then_some(&self.hot);
        let transaction = {
            let retained = self.retained();
            let begun = retained.iter().rev().find_map(|(_, retaining)| {
                let since = retaining.0.read().ok()?.timestamp();
                let timestamp = since.max(first);
                let is_retained = timestamp <= last;
                let begin =
                    || Transaction::begin_at(&retaining.0, timestamp, &cancel, threads, hot);
                is_retained.then(begin)?
            });
            begun.ok_or_else(|| not_there(task.timestamp))?
        };
        let state = Arc::new(database.state.clone());
        let scope = Scope::of_task(&state, &transaction, LEVELS, task);
        let scope = Mutex::new(Some(scope));
        let task = Arc::new(RunningTask { state, cancel, task, scope });
        self.tasks().push((Instant::now(), Arc::downgrade(&task)));
        Ok(task)
    }

    /// The scan that another replica has sent.
    ///
    /// # Errors
    /// A table that is not there, or is another one by now; what cannot be planned.
    pub fn scan_of_parts(
        &self,
        parts: &ScanParts,
        session: &dyn PlanSession,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let catalog = self.database()?.catalog();
        let mut tables = catalog.tables.values();
        let table = tables.find(|table| table.handle.number() == parts.table);
        let table = table.ok_or_else(|| {
            let text = format!("there is no table with the number {}", parts.table);
            Error::new(SqlState::UNKNOWN_TABLE, text)
        })?;
        let ScanParts { columns, filters, division, .. } = parts.clone();
        let scan = scan_of(table, &table.arrow, columns, &filters, division, session)?;
        Ok(Arc::new(scan))
    }
}

impl TaskRunner {
    fn database(&self) -> Result<Arc<SqlDatabase>> {
        let database = self.database.upgrade();
        database.ok_or_else(|| Error::new(SqlState::WRONG_STATE, "the database is closed"))
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<(Instant, Weak<RunningTask>)>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn retained(&self) -> MutexGuard<'_, VecDeque<(Instant, Retaining)>> {
        self.retained.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Retaining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Retaining")
    }
}

fn not_there(timestamp: u64) -> Error {
    let text = format!("the state at {timestamp} is not here");
    Error::new(SqlState::WRONG_STATE, text)
}

/// A function that sessions do not have by name, as text; `None` if they do, or it cannot be sent.
pub fn function_to_text(function: &ScalarUDF) -> Option<String> {
    sent::to_text(function)
}

/// The function that a text of [`function_to_text`] says.
pub fn function_of_text(text: &str) -> Option<Arc<ScalarUDF>> {
    sent::of_text(text)
}

impl ScanParts {
    /// What a scan is made of, with its columns; `None` if it is none that can be sent.
    pub fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let parts = plan.downcast_ref::<ScanExec>()?.parts()?;
        Some(Self {
            table: parts.table.handle.number(),
            columns: parts.columns,
            filters: parts.filters.to_vec(),
            division: parts.division,
        })
    }
}

impl RunningTask {
    /// What plans of this task are made with.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// The operator that runs a stage as this task, with our operators.
    pub fn operator(self: &Arc<Self>, stage: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(TaskExec { task: Arc::clone(self), stage })
    }

    fn take_scope(&self) -> Option<Arc<Scope>> {
        self.scope.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn start(&self, stage: Arc<dyn ExecutionPlan>) -> PlanResult<SendableRecordBatchStream> {
        let scope = self.take_scope().ok_or_else(|| {
            Error::new(SqlState::WRONG_STATE, "the task runs already, or was not asked for in time")
        })?;
        let mut stream = {
            let _entered = scope.enter();
            with_room(LEVELS, || {
                let stage = stages::for_task(stage, self.task, &self.state)?;
                stages::here(&stage, scope.task())
            })?
        };
        let schema = stream.schema();
        let within = futures::stream::poll_fn(move |context| {
            let _entered = scope.enter();
            with_room(LEVELS, || stream.poll_next_unpin(context))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, within)))
    }
}

impl fmt::Debug for RunningTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningTask").finish_non_exhaustive()
    }
}

/// A stage as one task runs it.
#[derive(Debug)]
struct TaskExec {
    task: Arc<RunningTask>,
    stage: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for TaskExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Task")
    }
}

impl ExecutionPlan for TaskExec {
    fn name(&self) -> &str {
        "TaskExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.stage.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> PlanResult<SendableRecordBatchStream> {
        self.task.start(Arc::clone(&self.stage))
    }
}
