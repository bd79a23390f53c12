//! Parts that stand several times in a plan, and are run once.
//!
//! A WITH query that is named twice stands twice in the plan, and so may a subquery. Where rules
//! have made the same of both, and groups or windows are computed in it, its rows are kept for the
//! second reader. Parts that differ in what is asked of them, as a condition or the columns, stay
//! apart: each reads less than both together would. (Common subexpressions of plans: Sellis,
//! Multiple-Query Optimization, ACM TODS 1988.)

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::DFSchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use crate::error::Error;
use crate::rules::sequential_union::nothing_known_but_types;
use crate::rules::through::{Through, Way};
use crate::transaction::scope::Current;

/// The plan, after all other rules, with the parts that are shared under the same number.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn with_shared_parts(plan: LogicalPlan) -> PlanResult<LogicalPlan> {
    let mut times: HashMap<LogicalPlan, usize> = HashMap::new();
    let mut may_share = true;
    plan.apply_with_subqueries(|node| {
        // What is run again and again reads other rows each time.
        may_share &= !matches!(node, LogicalPlan::RecursiveQuery(_));
        if is_costly(node) {
            *times.entry(node.clone()).or_default() += 1;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    times.retain(|_, times| *times > 1);
    if times.is_empty() || !may_share {
        return Ok(plan);
    }
    let mut numbers: HashMap<LogicalPlan, usize> = HashMap::new();
    let shared = plan.transform_down_with_subqueries(|node| {
        if !times.contains_key(&node) || !is_the_same_each_time(&node)? {
            return Ok(Transformed::no(node));
        }
        let next = numbers.len() + 1;
        let number = *numbers.entry(node.clone()).or_insert(next);
        let node = Arc::new(Shared { number, input: node });
        let shared = LogicalPlan::Extension(Extension { node });
        // What is within it is shared with it.
        Ok(Transformed::new(shared, true, TreeNodeRecursion::Jump))
    })?;
    Ok(shared.data)
}

/// Whether there are groups or windows in it, whose rows nothing but filters and expressions is
/// between.
fn is_costly(plan: &LogicalPlan) -> bool {
    use LogicalPlan::{Aggregate, Distinct, Filter, Projection, SubqueryAlias, Union, Window};
    match plan {
        Aggregate(_) | Distinct(_) | Window(_) => true,
        Projection(of) => is_costly(&of.input),
        Filter(of) => is_costly(&of.input),
        SubqueryAlias(of) => is_costly(&of.input),
        Union(of) => of.inputs.iter().all(|input| is_costly(input)),
        _ => false,
    }
}

/// Whether it has the same rows each time that it is run: it reads nothing of a query around it,
/// and calls nothing that answers otherwise each time.
fn is_the_same_each_time(plan: &LogicalPlan) -> PlanResult<bool> {
    let differs = plan.exists(|node| {
        let is_volatile = node.expressions().iter().any(Expr::is_volatile);
        Ok(is_volatile || !node.all_out_ref_exprs().is_empty())
    })?;
    Ok(!differs)
}

/// A part with its number.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Shared {
    number: usize,
    input: LogicalPlan,
}

impl PartialOrd for Shared {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.number.partial_cmp(&other.number)
    }
}

impl UserDefinedLogicalNodeCore for Shared {
    fn name(&self) -> &str {
        "Shared"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared: part {}", self.number)
    }

    fn with_exprs_and_inputs(
        &self,
        _: Vec<Expr>,
        mut inputs: Vec<LogicalPlan>,
    ) -> PlanResult<Self> {
        let input = inputs.pop().ok_or_else(|| Error::internal("nothing to share"))?;
        Ok(Self { number: self.number, input })
    }
}

/// Plans the operator.
pub(super) struct PlanShared;

#[async_trait]
impl ExtensionPlanner for PlanShared {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> PlanResult<Option<Arc<dyn ExecutionPlan>>> {
        let Some(shared) = node.as_any().downcast_ref::<Shared>() else { return Ok(None) };
        let part = Part { number: shared.number };
        Ok(inputs.first().map(|input| Through::over(Arc::clone(input), part)))
    }
}

/// The rows of a part, which are made by whoever reads them first.
#[derive(Clone, Debug)]
struct Part {
    number: usize,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared: part {}", self.number)
    }
}

impl Way for Part {
    const NAME: &'static str = "SharedExec";
    // Else a sort above would be put below, into one of them.
    const KEEPS_ORDER: bool = false;

    /// Nothing is known of the rows but their types: no reader asks more of the part than others.
    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        nothing_known_but_types(input)
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let current = Current::of(&context)?;
        let rows = current.shared.rows(self.number, || {
            let consumer = MemoryConsumer::new("rows that several parts of a query read");
            let reservation = consumer.register(context.memory_pool());
            Ok((input.execute(partition, Arc::clone(&context))?, reservation))
        })?;
        let mut place = 0;
        let stream = futures::stream::poll_fn(move |waiting| {
            let batch = rows.poll_batch(place, waiting);
            place += usize::from(batch.is_ready());
            batch
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(input.schema(), stream)))
    }
}
