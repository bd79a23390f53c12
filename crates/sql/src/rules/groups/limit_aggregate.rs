//! Conditions about no column stay above aggregates of all rows.
//!
//! An aggregate without GROUP BY has one row even of no rows. DataFusion checks a condition that
//! names no column below it, for all columns that it names are those of groups; then the row is
//! there whatever the condition says. It does not go below a limit, so here such an aggregate is
//! limited to its one row. What is constant has been seen to before.

use datafusion::common::Result as PlanResult;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::AnalyzerRule;

/// The rule.
#[derive(Debug)]
pub(crate) struct LimitScalarAggregate;

impl AnalyzerRule for LimitScalarAggregate {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        let kept = plan.transform_up_with_subqueries(|plan| match &plan {
            LogicalPlan::Filter(filter)
                if split_conjunction(&filter.predicate).into_iter().any(is_about_no_column) =>
            {
                plan.map_children(|input| input.transform_up(limited))
            }
            _ => Ok(Transformed::no(plan)),
        })?;
        Ok(kept.data)
    }

    fn name(&self) -> &str {
        "limit_scalar_aggregate"
    }
}

/// Whether a condition depends on a subquery and on no row.
fn is_about_no_column(condition: &Expr) -> bool {
    let is_subquery = |expr: &Expr| Ok(matches!(expr, Expr::ScalarSubquery(_)));
    condition.column_refs().is_empty() && condition.exists(is_subquery).unwrap_or(false)
}

/// An aggregate of all rows, limited to its row; other plans as they are.
fn limited(plan: LogicalPlan) -> PlanResult<Transformed<LogicalPlan>> {
    match &plan {
        LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
            let limited = LogicalPlanBuilder::from(plan).limit(0, Some(1))?.build()?;
            Ok(Transformed::yes(limited))
        }
        _ => Ok(Transformed::no(plan)),
    }
}
