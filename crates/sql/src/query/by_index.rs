//! ORDER BY that an index answers: rows of a range come in the order of its index as it is, and the
//! first few of all rows are found in one.
//!
//! A sort stands above projections of columns, if not above the scan itself. It goes, and the scan
//! reads as many rows as it would have let through.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use super::scan::ScanExec;

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
            let Some(sort) = plan.downcast_ref::<SortExec>() else {
                return Ok(Transformed::no(plan));
            };
            Ok(match in_order(sort.input(), sort.expr(), sort.fetch())? {
                Some(input) => Transformed::yes(input),
                None => Transformed::no(plan),
            })
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
