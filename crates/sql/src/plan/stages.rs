//! Stages: parts of a plan that tasks of several replicas run, and that run here if they cannot.
//!
//! What is below a stage is planned by itself, with DataFusion's operators, and kept apart from the
//! rules that exchange these for ours: whoever runs it, here or elsewhere, does that
//! ([`planner::quickened`]). The rows of the tasks are held until all have come, as far as there is
//! room: if a replica is lost before that, all is run here instead, and nobody notices.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{AggregateUDF, LogicalPlan, ScalarUDF, UserDefinedLogicalNode};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{
    Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use futures::StreamExt;

use super::cancel_check::interruptible;
use super::planner;
use super::template::copied;
use crate::functions::sent;
use crate::rules::divided::node::Staged;
use crate::scan::exec::ScanExec;
use crate::scan::shares::Shares;
use crate::transaction::scope::Current;
use crate::workers::{Division, Stage, Task, WorkersOf};

/// Bytes of the tasks' rows that are held at most until all have come.
const HELD_MAX: usize = 64 << 20;

/// Operators that a stage may have: each can be made again elsewhere of what it is here.
const OPERATORS: [&str; 14] = [
    "AggregateExec",
    "CoalescePartitionsExec",
    "CooperativeExec",
    "CrossJoinExec",
    "EmptyExec",
    "FilterExec",
    "GlobalLimitExec",
    "HashJoinExec",
    "LocalLimitExec",
    "NestedLoopJoinExec",
    "ProjectionExec",
    "ScanExec",
    "SortExec",
    "SortExec(TopK)",
];

/// Plans the operator.
pub(super) struct PlanStages;

#[async_trait]
impl ExtensionPlanner for PlanStages {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> PlanResult<Option<Arc<dyn ExecutionPlan>>> {
        if !node.as_any().is::<Staged>() {
            return Ok(None);
        }
        let [input] = inputs else { return Ok(None) };
        let stage = planner::unquickened(Arc::clone(input), session.config_options())?;
        // What cannot go elsewhere is a part of the plan like any other.
        Ok(Some(match functions_if_it_can_go(&stage, session)? {
            Some(functions) => Arc::new(StageExec::new(stage, functions.into())),
            None => Arc::clone(input),
        }))
    }
}

/// Functions of a stage that go with it, as texts; `None` if it cannot be run elsewhere: operators
/// and functions are all there as well, and it asks nothing of the rest of the plan.
fn functions_if_it_can_go(
    stage: &Arc<dyn ExecutionPlan>,
    session: &dyn Session,
) -> PlanResult<Option<Vec<String>>> {
    let mut can_go = true;
    let mut functions: HashMap<String, String> = HashMap::new();
    stage.apply(|plan| {
        can_go &= OPERATORS.contains(&plan.name());
        if let Some(scan) = plan.downcast_ref::<ScanExec>() {
            can_go &= scan.parts().is_some();
        }
        if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
            let known = session.aggregate_functions();
            let is_known = |function: &AggregateUDF| {
                known.get(function.name()).is_some_and(|it| **it == *function)
            };
            can_go &= aggregate.aggr_expr().iter().all(|function| is_known(function.fun()));
        }
        plan.apply_expressions(&mut |expr| {
            expr.apply(|part| {
                if let Some(call) = part.downcast_ref::<ScalarFunctionExpr>() {
                    can_go &= knows(call.fun(), session, &mut functions);
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        Ok(if can_go { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(can_go.then(|| functions.into_values().collect()))
}

/// Whether every session has a function by its name, or can be told what it is.
fn knows(
    function: &ScalarUDF,
    session: &dyn Session,
    functions: &mut HashMap<String, String>,
) -> bool {
    let known = session.scalar_functions().get(function.name());
    if known.is_some_and(|known| **known == *function) {
        return true;
    }
    let Some(text) = sent::to_text(function) else { return false };
    *functions.entry(function.name().to_owned()).or_insert_with(|| text.clone()) == text
}

/// The rows of a stage.
#[derive(Debug)]
pub(crate) struct StageExec {
    /// Nobody's child: no rule of the plan around it changes it.
    stage: Arc<dyn ExecutionPlan>,
    /// Functions in it that go with it.
    functions: Arc<[String]>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl StageExec {
    fn new(stage: Arc<dyn ExecutionPlan>, functions: Arc<[String]>) -> Self {
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(stage.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        Self { stage, functions, properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The names of the tables that are divided.
    fn divided(&self) -> PlanResult<String> {
        let mut names = Vec::new();
        self.stage.apply(|plan| {
            let scan = plan.downcast_ref::<ScanExec>().and_then(ScanExec::division);
            let name = scan.map(|(_, table)| table.name.to_string());
            names.extend(name.filter(|name| !names.contains(name)));
            Ok(TreeNodeRecursion::Continue)
        })?;
        names.sort_unstable();
        Ok(names.join(", "))
    }

    /// The stage as tasks run it now; `None` if it is run here.
    fn with_tasks(&self, tasks: usize, current: &Current) -> PlanResult<Option<Stage>> {
        let transaction = &current.transaction;
        // Nobody else sees what a transaction has written and not committed.
        if tasks < 2 || transaction.writes() {
            return Ok(None);
        }
        let mut segments = 0;
        let mut tasks = tasks;
        let reading = transaction.reading()?;
        self.stage.apply(|plan| {
            if let Some(scan) = plan.downcast_ref::<ScanExec>()
                && let Some((Division::Segments, table)) = scan.division()
            {
                let rows = reading.rows_max(&table.handle).map_err(crate::error::Error::from)?;
                segments = Shares::segments(rows as usize);
                tasks = tasks.min(segments);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        let (plan, timestamp) = (Arc::clone(&self.stage), reading.timestamp());
        let functions = self.functions.to_vec();
        Ok((tasks > 1).then_some(Stage { plan, functions, tasks, segments, timestamp }))
    }
}

/// The rows of a stage, or of one of its tasks, as the transaction of a task reads them.
///
/// # Errors
/// A fault of the rules; whatever is met before the first row.
pub(crate) fn here(
    stage: &Arc<dyn ExecutionPlan>,
    context: &Arc<TaskContext>,
) -> PlanResult<SendableRecordBatchStream> {
    let current = Current::of(context)?;
    let plan = planner::quickened(copied(stage)?, context.session_config().options())?;
    let plan = interruptible(plan, &current.transaction.cancel)?;
    plan.execute(0, Arc::clone(context))
}

/// What a task runs of a stage.
///
/// # Errors
/// What cannot be planned.
pub(crate) fn for_task(
    stage: Arc<dyn ExecutionPlan>,
    task: Task,
    state: &SessionState,
) -> PlanResult<Arc<dyn ExecutionPlan>> {
    let own = stage.transform_up(|plan| {
        let scan = plan.downcast_ref::<ScanExec>().map(|scan| scan.for_task(task, state));
        Ok(match scan.transpose()?.flatten() {
            Some(scan) => Transformed::yes(Arc::new(scan)),
            None => Transformed::no(plan),
        })
    })?;
    Ok(own.data)
}

impl DisplayAs for StageExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stage: tasks of several replicas, by {}", self.divided().unwrap_or_default())
    }
}

impl ExecutionPlan for StageExec {
    fn name(&self) -> &str {
        "StageExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
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

    /// A stage that has not run.
    fn reset_state(self: Arc<Self>) -> PlanResult<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::new(Arc::clone(&self.stage), Arc::clone(&self.functions))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(
        &self,
        _: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let current = Current::of(&context)?;
        let workers = WorkersOf::of_task(&context);
        let tasks = workers.as_ref().map_or(0, |workers| workers.tasks());
        let (Some(workers), Some(stage)) = (workers, self.with_tasks(tasks, &current)?) else {
            return here(&self.stage, &context);
        };
        MetricBuilder::new(&self.metrics).global_counter("tasks").add(stage.tasks);
        let held = MemoryConsumer::new("rows of a stage").register(context.memory_pool());
        let mut gathering = Gathering {
            rows: Rows::Held(workers.run(stage), VecDeque::new()),
            held,
            lost: MetricBuilder::new(&self.metrics).global_counter("lost"),
            stage: Arc::clone(&self.stage),
            context,
        };
        let stream = futures::stream::poll_fn(move |waiting| gathering.poll_next(waiting));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }
}

/// Where the rows of a stage are.
enum Rows {
    /// They come, and are held until all have.
    Held(SendableRecordBatchStream, VecDeque<RecordBatch>),
    /// They go out, first those that were held; more may come.
    Given(VecDeque<RecordBatch>, Option<SendableRecordBatchStream>),
    /// They are read here.
    Here(SendableRecordBatchStream),
}

/// The rows of the tasks, or those that are read here instead.
struct Gathering {
    rows: Rows,
    held: MemoryReservation,
    /// How often a task was lost.
    lost: Count,
    stage: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
}

impl Gathering {
    fn poll_next(&mut self, waiting: &mut Context<'_>) -> Poll<Option<PlanResult<RecordBatch>>> {
        loop {
            match &mut self.rows {
                Rows::Held(stream, batches) => match ready!(stream.poll_next_unpin(waiting)) {
                    // Time to look whether to stop.
                    Some(Ok(batch)) if batch.num_rows() == 0 => {
                        return Poll::Ready(Some(Ok(batch)));
                    }
                    Some(Ok(batch)) => {
                        let bytes = batch.get_array_memory_size();
                        let has_room = self.held.size() + bytes <= HELD_MAX
                            && self.held.try_grow(bytes).is_ok();
                        batches.push_back(batch);
                        if !has_room {
                            self.give();
                        }
                    }
                    None => self.give(),
                    // What is wrong with the query itself shows here again, in its own words.
                    Some(Err(_)) => {
                        self.held.free();
                        self.lost.add(1);
                        let rows = here(&self.stage, &self.context)?;
                        self.rows = Rows::Here(rows);
                    }
                },
                Rows::Given(batches, more) => {
                    if let Some(batch) = batches.pop_front() {
                        let bytes = batch.get_array_memory_size();
                        self.held.shrink(bytes.min(self.held.size()));
                        return Poll::Ready(Some(Ok(batch)));
                    }
                    let Some(more) = more else { return Poll::Ready(None) };
                    return more.poll_next_unpin(waiting).map_err(lost);
                }
                Rows::Here(stream) => return stream.poll_next_unpin(waiting),
            }
        }
    }

    /// Nothing more is held back.
    fn give(&mut self) {
        let none = Rows::Given(VecDeque::new(), None);
        self.rows = match mem::replace(&mut self.rows, none) {
            Rows::Held(stream, batches) => Rows::Given(batches, Some(stream)),
            other => other,
        };
    }
}

/// A task failed of whose stage rows have gone out.
fn lost(error: DataFusionError) -> DataFusionError {
    use crate::error::{Error, SqlState};
    let text = format!("another replica has not finished its part of the query: {error}");
    let hint = "Try again.";
    Error::new(SqlState::SERIALIZATION_FAILURE, text).hint(hint).into()
}

/// What each task of the stages of a plan runs, in the order in which they stand in it.
///
/// # Errors
/// A fault of the rules.
pub(crate) fn stages_of(
    plan: &Arc<dyn ExecutionPlan>,
    options: &ConfigOptions,
) -> PlanResult<Vec<Arc<dyn ExecutionPlan>>> {
    let mut stages = Vec::new();
    plan.apply(|plan| {
        if let Some(stage) = plan.downcast_ref::<StageExec>() {
            stages.push(planner::quickened(copied(&stage.stage)?, options)?);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(stages)
}
