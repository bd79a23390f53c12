//! Plans that are kept, and the copies of them that run.
//!
//! A plan is a template as long as nothing in it belongs to one execution: filters that joins,
//! sorts and aggregates fill while they run are made and pushed down in each copy, and what looks
//! for cancellation is put in there. A copy has none of what operators keep of an execution: rows
//! of build sides, filters, counts. Operators whose copies are known to share nothing are listed;
//! a plan with any other is not kept.

use std::sync::Arc;

use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::physical_planning_context::ScalarSubqueryResults;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec};
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};

use super::stages::StageExec;
use crate::scan::exec::ScanExec;

/// Operators that keep nothing but counts, which their copies have anew, and those of which
/// [`copied`] knows what else they keep.
const COPIED: [&str; 24] = [
    "AggregateExec",
    "BoundedWindowAggExec",
    "CoalescePartitionsExec",
    "CooperativeExec",
    "CrossJoinExec",
    "EmptyExec",
    "FilterExec",
    "GlobalLimitExec",
    "HashJoinExec",
    "LocalLimitExec",
    "NestedLoopJoinExec",
    "OffsetExec",
    "PipelineExec",
    "PlaceholderRowExec",
    "ProjectionExec",
    "ScalarSubqueryExec",
    "ScanExec",
    "SequentialUnionExec",
    "SharedExec",
    "SortExec",
    "SortExec(TopK)",
    "StageExec",
    "UnionExec",
    "WindowAggExec",
];

/// Children are the same operators as before, copied.
const COPIES: ReplaceChildrenOptions = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);

/// Whether copies of a plan share nothing but the values of subqueries, which are added to these.
pub(crate) fn can_be_copied(
    plan: &Arc<dyn ExecutionPlan>,
    values: &mut Vec<ScalarSubqueryResults>,
) -> bool {
    if let Some(subqueries) = plan.downcast_ref::<ScalarSubqueryExec>() {
        values.push(subqueries.results().clone());
    }
    let makes_filters = !plan.dynamic_expressions_produced().is_empty();
    let is_known = !makes_filters || plan.is::<AggregateExec>() || plan.is::<SortExec>();
    is_known
        && COPIED.contains(&plan.name())
        && plan.children().into_iter().all(|child| can_be_copied(child, values))
}

/// A copy of a plan that has not run.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn copied(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Arc<dyn ExecutionPlan>> {
    let children = plan.children().into_iter().map(copied).collect::<PlanResult<Vec<_>>>()?;
    copied_over(plan, children)
}

/// The same of an operator whose inputs have been copied.
///
/// # Errors
/// A fault of DataFusion's.
pub(super) fn copied_over(
    plan: &Arc<dyn ExecutionPlan>,
    children: Vec<Arc<dyn ExecutionPlan>>,
) -> PlanResult<Arc<dyn ExecutionPlan>> {
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>()
        && !aggregate.dynamic_expressions_produced().is_empty()
    {
        return with_own_filter(aggregate, children);
    }
    let copy = match children.is_empty() {
        true => Arc::clone(plan),
        false => Arc::clone(plan).replace_children(children, COPIES)?,
    };
    let keeps_more = copy.is::<HashJoinExec>()
        || copy.is::<SortExec>()
        || copy.is::<CrossJoinExec>()
        || copy.is::<ScalarSubqueryExec>()
        || copy.is::<ScanExec>()
        || copy.is::<StageExec>();
    if keeps_more { copy.reset_state() } else { Ok(copy) }
}

/// The aggregate over this input, with a filter that nobody else fills.
fn with_own_filter(
    aggregate: &AggregateExec,
    mut children: Vec<Arc<dyn ExecutionPlan>>,
) -> PlanResult<Arc<dyn ExecutionPlan>> {
    let input = children.pop().unwrap_or_else(|| Arc::clone(aggregate.input()));
    let copy = AggregateExec::try_new(
        *aggregate.mode(),
        aggregate.group_expr().clone(),
        aggregate.aggr_expr().to_vec(),
        aggregate.filter_expr().to_vec(),
        input,
        aggregate.input_schema(),
    )?;
    Ok(Arc::new(copy.with_limit_options(aggregate.limit_options())))
}
