//! Aggregates are computed by `remanent-exec`, of a table's rows on encoded columns.
//!
//! An aggregate of functions that it knows becomes one operator with the scan on which it stands,
//! or takes the batches of another operator; what stands between and above stays DataFusion's.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::pipeline::aggregate::exec::GroupsExec;

/// The rule, which stands behind all others: what scans are told of is known then.
#[derive(Debug)]
pub(crate) struct EncodedAggregates;

impl PhysicalOptimizerRule for EncodedAggregates {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let plan = plan.transform_up(|plan| {
            Ok(match GroupsExec::of(&plan)? {
                Some(encoded) => Transformed::yes(Arc::new(encoded)),
                None => Transformed::no(plan),
            })
        })?;
        Ok(plan.data)
    }

    fn name(&self) -> &str {
        "encoded_aggregates"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
