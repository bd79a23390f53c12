//! Aggregates are computed by `remanent-exec`, of a table's rows on encoded columns.
//!
//! An aggregate of functions that it knows becomes one operator with the scan on which it stands,
//! or takes the batches of another operator, and with a filter above it; all else stays
//! DataFusion's.

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
            let encoded = match GroupsExec::of(&plan)? {
                Some(encoded) => Some(encoded),
                None => GroupsExec::filtered(&plan),
            };
            Ok(match encoded {
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
