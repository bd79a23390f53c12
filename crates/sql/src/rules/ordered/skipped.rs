//! OFFSET without LIMIT skips rows in their order, and those alone.
//!
//! DataFusion takes a sort away whose order nobody above asks for, pushes another one below what
//! skips rows, and adds up what two offsets skip though a sort stands between them: it knows limits
//! by the number of rows that they let through. So an offset alone is an operator of ours, which
//! asks for the order of the sort below and lets nothing past it.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr_common::sort_expr::OrderingRequirements;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use crate::rules::through::{Through, UNCHANGED, Way};

/// The rule.
#[derive(Debug)]
pub(crate) struct SkippedInOrder;

impl PhysicalOptimizerRule for SkippedInOrder {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let kept = plan.transform_up(|plan| {
            let limit = plan.downcast_ref::<GlobalLimitExec>();
            match limit.filter(|limit| limit.fetch().is_none()) {
                Some(limit) => Ok(Transformed::yes(skipping(limit.skip(), limit.input())?)),
                None => Ok(Transformed::no(plan)),
            }
        })?;
        Ok(kept.data)
    }

    fn name(&self) -> &str {
        "skipped_in_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A plan without so many of its first rows. They are skipped below projections, which may drop
/// what the order is by.
fn skipping(skip: usize, plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Arc<dyn ExecutionPlan>> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let input = skipping(skip, projection.input())?;
        return Arc::clone(plan).replace_children(vec![input], UNCHANGED);
    }
    let order = plan.output_ordering().cloned().map(OrderingRequirements::from);
    Ok(Through::over(Arc::clone(plan), Offset { skip, order }))
}

/// Skips rows.
#[derive(Clone, Debug)]
struct Offset {
    skip: usize,
    /// The order in which they are wanted.
    order: Option<OrderingRequirements>,
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Offset: {} rows", self.skip)
    }
}

impl Way for Offset {
    const NAME: &'static str = "OffsetExec";

    const IS_OF_ALL: bool = true;

    fn order(&self) -> Option<OrderingRequirements> {
        self.order.clone()
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        GlobalLimitExec::new(Arc::clone(input), self.skip, None).execute(partition, context)
    }
}
