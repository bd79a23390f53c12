//! NOT IN of a value that turns out to be a constant.
//!
//! A value that is not in a list of which one is NULL, or that is NULL itself, is neither in it nor
//! not; DataFusion's join by keys heeds that. Where the value is found to be a constant there is no
//! key, and the join would go by its condition alone, whose NULL is false. Here the condition of
//! such a join is one that holds for NULL as well.

use datafusion::common::JoinType;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Expr, Join, LogicalPlan};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The rule of DataFusion's behind which this one stands: it finds keys.
pub(crate) const BEHIND: &str = "extract_equijoin_predicate";

/// The rule.
#[derive(Debug)]
pub(crate) struct NotInConstants;

impl OptimizerRule for NotInConstants {
    fn name(&self) -> &str {
        "not_in_constants"
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> PlanResult<Transformed<LogicalPlan>> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Join(join)
                if join.null_aware
                    && join.join_type == JoinType::LeftAnti
                    && join.on.is_empty() =>
            {
                let filter = join.filter.map(|filter| Expr::IsNotFalse(Box::new(filter)));
                let join = Join { filter, null_aware: false, ..join };
                Ok(Transformed::yes(LogicalPlan::Join(join)))
            }
            other => Ok(Transformed::no(other)),
        })
    }
}
