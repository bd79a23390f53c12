//! Filters that give out all columns, before projections are pushed down.
//!
//! DataFusion lets a filter leave columns out by itself, and later pushes what is computed of its
//! columns below it: but takes them for those that go in, which have other places. Where a column
//! of the condition is called as another one in its place among those given out, the query fails or
//! is answered wrongly. So what a filter leaves out is an operator above it for that rule, which
//! puts both together again.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;

/// The rule.
#[derive(Debug)]
pub(crate) struct WideFilters;

/// The rule of DataFusion's that it comes before.
pub(crate) const BEFORE: &str = "ProjectionPushdown";

impl PhysicalOptimizerRule for WideFilters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        Ok(plan.transform_up(widened)?.data)
    }

    fn name(&self) -> &str {
        "wide_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn widened(plan: Arc<dyn ExecutionPlan>) -> PlanResult<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = plan.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(plan)) };
    let Some(places) = filter.projection() else { return Ok(Transformed::no(plan)) };
    let schema = filter.input().schema();
    let column = |place: &usize| {
        let name = schema.field(*place).name().clone();
        ProjectionExpr { expr: Arc::new(Column::new(&name, *place)), alias: name }
    };
    let columns: Vec<ProjectionExpr> = places.iter().map(column).collect();
    let wide = FilterExecBuilder::from(filter).apply_projection(None)?.build()?;
    let narrow = ProjectionExec::try_new(columns, Arc::new(wide))?;
    Ok(Transformed::yes(Arc::new(narrow)))
}

#[cfg(test)]
mod tests;
