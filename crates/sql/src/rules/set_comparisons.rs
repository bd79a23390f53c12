//! DataFusion's rule for comparisons with ANY and ALL, for plans that have some.
//!
//! It rewrites all expressions of a plan in each pass, whether there is one or not; and most of
//! them have become IN and EXISTS before they were bound. To look for one takes less.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The name of the rule.
pub(crate) const RULE: &str = "rewrite_set_comparison";

/// The rule, where it has something to do.
#[derive(Debug)]
pub(crate) struct SetComparisons(pub(crate) Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for SetComparisons {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> PlanResult<Transformed<LogicalPlan>> {
        match compares(&plan)? {
            true => self.0.rewrite(plan, config),
            false => Ok(Transformed::no(plan)),
        }
    }
}

/// Whether there is such a comparison in a plan or its subqueries.
fn compares(plan: &LogicalPlan) -> PlanResult<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= expr.exists(|expr| Ok(matches!(expr, Expr::SetComparison(_))))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}
