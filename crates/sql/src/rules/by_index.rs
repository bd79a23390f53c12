//! What the order of an index answers: ORDER BY over a range of it, the first few of all rows, the
//! least and the greatest value.
//!
//! A sort stands above projections of columns, if not above the scan itself. It goes, and the scan
//! reads as many rows as it would have let through. `min` and `max` get the one row that matters.

use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use crate::scan::exec::ScanExec;

/// The rule.
#[derive(Debug)]
pub(crate) struct OrderByIndex;

impl PhysicalOptimizerRule for OrderByIndex {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let ordered = plan.transform_up(|plan| {
            let ordered = if let Some(sort) = plan.downcast_ref::<SortExec>() {
                in_order(sort.input(), sort.expr(), sort.fetch())?
            } else if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
                of_one_row(aggregate, &plan)?
            } else {
                None
            };
            Ok(ordered.map_or_else(|| Transformed::no(plan), Transformed::yes))
        })?;
        Ok(ordered.data)
    }

    fn name(&self) -> &str {
        "order_by_index"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The least or the greatest value of a column, of the row that has it.
fn of_one_row(
    aggregate: &AggregateExec,
    plan: &Arc<dyn ExecutionPlan>,
) -> PlanResult<Option<Arc<dyn ExecutionPlan>>> {
    let ([function], [None]) = (aggregate.aggr_expr(), aggregate.filter_expr()) else {
        return Ok(None);
    };
    let descending = match function.fun().name() {
        "min" => false,
        "max" => true,
        _ => return Ok(None),
    };
    let (args, options) = (function.expressions(), SortOptions { descending, nulls_first: false });
    let [column] = args.as_slice() else { return Ok(None) };
    if !column.is::<Column>() || !aggregate.group_expr().is_empty() {
        return Ok(None);
    }
    let order = LexOrdering::new([PhysicalSortExpr::new(Arc::clone(column), options)]);
    let Some(order) = order else { return Ok(None) };
    let Some(input) = in_order(aggregate.input(), &order, Some(1))? else { return Ok(None) };
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Ok(Some(Arc::clone(plan).replace_children(vec![input], options)?))
}

/// The first rows of a plan in an order, if a scan can give them so.
fn in_order(
    plan: &Arc<dyn ExecutionPlan>,
    order: &LexOrdering,
    fetch: Option<usize>,
) -> PlanResult<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return Ok(scan.in_order(order, fetch).map(|scan| Arc::new(scan) as Arc<_>));
    }
    let Some(projection) = plan.downcast_ref::<ProjectionExec>() else { return Ok(None) };
    let below = order.iter().map(|sort| {
        let place = sort.expr.downcast_ref::<Column>()?.index();
        let expr = &projection.expr().get(place)?.expr;
        expr.is::<Column>().then(|| PhysicalSortExpr::new(Arc::clone(expr), sort.options))
    });
    let below = below.collect::<Option<Vec<_>>>().and_then(LexOrdering::new);
    let Some(below) = below else { return Ok(None) };
    let Some(input) = in_order(projection.input(), &below, fetch)? else { return Ok(None) };
    let exprs = projection.expr().to_vec();
    Ok(Some(Arc::new(ProjectionExec::try_new(exprs, input)?)))
}
