//! Operators that work long between two rows of their input check for cancellation.
//!
//! A scan checks between its batches. A join may make millions of rows of one batch, or compare as
//! many pairs and give out none; so what a join gives out goes through an operator that checks, and
//! its condition on pairs becomes one that checks each time it is evaluated. All other operators
//! give back control after a number of batches, and the reader of a query checks then.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::{ColumnarValue, LogicalPlan};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder, SortMergeJoinExec,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;

use super::copying;
use super::parameter;
use super::planner;
use super::planner::PlanningGeneral;
use super::size;
use super::template::copied;
use crate::error::{Error, Result, SqlState};
use crate::functions::measured::Planning;
use crate::limits::cancel::Cancel;
use crate::plan_cache::KeptPlan;
use crate::plan_cache::general::{Form, GeneralPlan};
use crate::rules::through::{Through, Way};
use crate::stack::with_room;
use crate::transaction::Transaction;
use crate::transaction::scope::Scope;

/// The physical plan of a bound statement that runs in a transaction.
///
/// # Errors
/// What cannot be planned.
pub(crate) async fn plan(
    state: &Arc<SessionState>,
    logical: &LogicalPlan,
    transaction: &Arc<Transaction>,
) -> Result<Planned> {
    once(state, template(state, logical, transaction).await?, transaction)
}

/// A plan that is made to be executed once.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn once(
    state: &Arc<SessionState>,
    Template { plan, levels, .. }: Template,
    transaction: &Arc<Transaction>,
) -> Result<Planned> {
    with_scope(state, transaction, levels, || finished(state, plan, levels, transaction))
}

/// A physical plan of which copies can be made, if its operators let them.
pub(crate) struct Template {
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    pub(crate) levels: usize,
    /// Whether a function in it answers otherwise each time, or keeps what it answered.
    pub(crate) is_volatile: bool,
}

/// The physical plan of a bound statement, for any execution of it.
///
/// # Errors
/// What cannot be planned.
pub(crate) async fn template(
    state: &Arc<SessionState>,
    logical: &LogicalPlan,
    transaction: &Arc<Transaction>,
) -> Result<Template> {
    let levels = size::levels_of(logical)?;
    template_of(state, levels, false, transaction, || planner::optimized(state, logical)).await
}

/// A logical plan after all rules, for any values of its parameters; `None` if a function in it is
/// volatile.
///
/// # Errors
/// What cannot be planned.
pub(crate) fn general(
    state: &Arc<SessionState>,
    logical: &LogicalPlan,
    levels: usize,
    transaction: &Arc<Transaction>,
) -> Result<Option<LogicalPlan>> {
    with_scope(state, transaction, levels, || {
        let general = planner::general(state, logical)?;
        Ok((!is_volatile(&general)?).then_some(general))
    })
}

/// The operators of a general plan, if its parameters stand where values can be put.
///
/// # Errors
/// What cannot be planned.
pub(crate) async fn general_operators(
    state: &Arc<SessionState>,
    general: &LogicalPlan,
    levels: usize,
    transaction: &Arc<Transaction>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let optimized = || planner::with_functions(general);
    let template = template_of(state, levels, true, transaction, optimized).await?;
    Ok(parameter::can_have_values(&template.plan)?.then_some(template.plan))
}

/// The physical plan that a general one is for these values.
///
/// # Errors
/// What cannot be planned.
pub(crate) async fn specialised(
    state: &Arc<SessionState>,
    general: &GeneralPlan,
    values: &[ScalarValue],
    transaction: &Arc<Transaction>,
) -> Result<Template> {
    let levels = general.levels;
    match &general.form {
        Form::Physical(plan) => with_scope(state, transaction, levels, || {
            let plan = planner::with_access(state, plan, values)?;
            Ok(Template { plan, levels, is_volatile: false })
        }),
        Form::Logical(logical) => {
            let optimized = || planner::specialised(state, logical, values);
            template_of(state, levels, false, transaction, optimized).await
        }
    }
}

/// The physical plan of what has gone through all rules.
async fn template_of(
    state: &Arc<SessionState>,
    levels: usize,
    is_general: bool,
    transaction: &Arc<Transaction>,
    optimized: impl FnOnce() -> Result<LogicalPlan>,
) -> Result<Template> {
    // The planner asks of some conditions what they say of NULLs.
    let scope = Scope::new(state, transaction, levels);
    let mut planning = pin!(async {
        let optimized = optimized()?;
        let is_volatile = is_volatile(&optimized)?;
        let plan = planner::template(state, &optimized).await?;
        Ok::<_, Error>(Template { plan, levels, is_volatile })
    });
    let planned = futures::future::poll_fn(|context| {
        let (_entered, _planning) = (scope.enter(), Planning::begin());
        let _general = PlanningGeneral::begin(is_general);
        evaluating(|| with_room(levels, || planning.as_mut().poll(context)))
            .unwrap_or_else(|error| Poll::Ready(Err(error)))
    });
    planned.await
}

/// A copy of a plan that is kept, for one execution.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn again(
    state: &Arc<SessionState>,
    kept: &KeptPlan,
    transaction: &Arc<Transaction>,
) -> Result<Planned> {
    let levels = kept.levels;
    with_scope(state, transaction, levels, || {
        finished(state, copied(&kept.plan)?, levels, transaction)
    })
}

/// Does a part of planning, with room for so many levels.
fn with_scope<T>(
    state: &Arc<SessionState>,
    transaction: &Arc<Transaction>,
    levels: usize,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let scope = Scope::new(state, transaction, levels);
    let (_entered, _planning) = (scope.enter(), Planning::begin());
    evaluating(|| with_room(levels, work))?
}

fn finished(
    state: &SessionState,
    plan: Arc<dyn ExecutionPlan>,
    levels: usize,
    transaction: &Arc<Transaction>,
) -> Result<Planned> {
    let plan = planner::finished(state, plan)?;
    Ok(Planned { plan: interruptible(plan, &transaction.cancel)?, levels })
}

/// Whether a function in a plan answers otherwise each time, or keeps what it answered.
fn is_volatile(plan: &LogicalPlan) -> PlanResult<bool> {
    let mut is_volatile = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            is_volatile |= expr.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(is_volatile)
}

/// A physical plan, and how deep it is.
#[derive(Clone)]
pub(crate) struct Planned {
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    pub(crate) levels: usize,
}

/// Starts a plan in a transaction, so that it stops when the transaction's session is told to.
///
/// # Errors
/// Whatever the plan meets before its first row.
pub(crate) fn start(
    state: &Arc<SessionState>,
    Planned { plan, levels }: Planned,
    transaction: &Arc<Transaction>,
) -> Result<SendableRecordBatchStream> {
    let scope = Scope::new(state, transaction, levels);
    let mut stream = {
        let _entered = scope.enter();
        with_room(levels, || execute_stream(plan, Arc::clone(scope.task())))?
    };
    let schema = stream.schema();
    let within = futures::stream::poll_fn(move |context| {
        let _entered = scope.enter();
        evaluating(|| with_room(levels, || stream.poll_next_unpin(context)))
            .unwrap_or_else(|error| Poll::Ready(Some(Err(error.into()))))
    });
    let stream = Box::pin(RecordBatchStreamAdapter::new(schema, within));
    Ok(looking(stream, Arc::clone(&transaction.cancel)))
}

/// Evaluates expressions. Arrow panics where the values of one batch have more bytes than its
/// numbers count, and DataFusion where a function of groups is called with more arguments than it
/// has: that is the end of the statement alone. Other faults end the session.
///
/// # Errors
/// `LIMIT_EXCEEDED`, `UNKNOWN_FUNCTION`.
fn evaluating<T>(evaluate: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(evaluate)).or_else(|fault| {
        let text = fault.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| fault.downcast_ref::<&str>().copied()).unwrap_or_default();
        if text.contains("offset overflow") || text.contains("capacity overflow") {
            let text = "the values of a part of the result have more than 2 GiB";
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, text));
        }
        if text.contains("single argument to update_batch") {
            let text = "a function of groups takes one argument alone";
            return Err(Error::new(SqlState::UNKNOWN_FUNCTION, text));
        }
        resume_unwind(fault)
    })
}

/// The stream, which checks for cancellation each time it is polled.
fn looking(
    mut stream: SendableRecordBatchStream,
    cancel: Arc<Cancel>,
) -> SendableRecordBatchStream {
    let schema = stream.schema();
    let looking = futures::stream::poll_fn(move |context| match cancel.check() {
        Ok(()) => stream.poll_next_unpin(context),
        Err(error) => Poll::Ready(Some(Err(error.into()))),
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, looking))
}

/// The plan with joins that look whether to stop.
pub(super) fn interruptible(
    plan: Arc<dyn ExecutionPlan>,
    cancel: &Arc<Cancel>,
) -> PlanResult<Arc<dyn ExecutionPlan>> {
    let changed = plan.transform_up(|plan| {
        let join: Arc<dyn ExecutionPlan> = if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
            match join.filter() {
                Some(filter) => join
                    .builder()
                    .with_filter(Some(filter_that_looks(filter, cancel)))
                    .build_exec()?,
                None => plan,
            }
        } else if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
            let sides = (Arc::clone(join.left()), Arc::clone(join.right()));
            let filter = join.filter().map(|filter| filter_that_looks(filter, cancel));
            let builder = NestedLoopJoinExecBuilder::new(sides.0, sides.1, *join.join_type());
            let projection = join.projection().clone();
            Arc::new(builder.with_projection_ref(projection).with_filter(filter).build()?)
        } else if plan.is::<CrossJoinExec>() || plan.is::<SortMergeJoinExec>() {
            plan
        } else {
            return Ok(Transformed::yes(copying::in_parts(plan)?));
        };
        let join = copying::join_in_parts(join)?;
        Ok(Transformed::yes(Through::over(join, Look { cancel: Arc::clone(cancel) })))
    })?;
    Ok(changed.data)
}

fn filter_that_looks(filter: &JoinFilter, cancel: &Arc<Cancel>) -> JoinFilter {
    let inner = Arc::clone(filter.expression());
    let checked = Arc::new(CancelCheck { inner, cancel: Arc::clone(cancel) });
    JoinFilter::new(checked, filter.column_indices().to_vec(), Arc::clone(filter.schema()))
}

/// What a join gives, and a look whether to stop.
#[derive(Clone, Debug)]
struct Look {
    cancel: Arc<Cancel>,
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interruptible")
    }
}

impl Way for Look {
    const NAME: &'static str = "CancelCheckExec";

    fn execute(
        &self,
        join: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        Ok(looking(join.execute(partition, context)?, Arc::clone(&self.cancel)))
    }
}

/// An expression that checks for cancellation when it is evaluated.
#[derive(Debug)]
struct CancelCheck {
    inner: Arc<dyn PhysicalExpr>,
    cancel: Arc<Cancel>,
}

impl PartialEq for CancelCheck {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for CancelCheck {}

impl Hash for CancelCheck {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl fmt::Display for CancelCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PhysicalExpr for CancelCheck {
    fn data_type(&self, schema: &Schema) -> PlanResult<DataType> {
        self.inner.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> PlanResult<bool> {
        self.inner.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> PlanResult<ColumnarValue> {
        self.cancel.check()?;
        self.inner.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> PlanResult<Arc<dyn PhysicalExpr>> {
        Ok(match children.pop() {
            Some(inner) => Arc::new(Self { inner, cancel: Arc::clone(&self.cancel) }),
            None => self,
        })
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}
