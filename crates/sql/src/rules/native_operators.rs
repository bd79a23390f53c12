//! Aggregates and sorts are ours.
//!
//! An aggregate of functions that `remanent-exec` knows becomes one operator with the scan on which
//! it stands, or takes the batches of another operator, and with a filter above it. Sorts that keep
//! a few rows are another operator than those that keep all, and tell scans which they still want.
//! All else stays DataFusion's.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::pipeline::aggregate::exec::GroupsExec;
use crate::pipeline::sorting::SortedExec;
use crate::pipeline::top_k::exec::TopKExec;
use crate::pipeline::window::exec::WindowExec;

/// The rule, which stands behind all others: what scans are told of is known then.
#[derive(Debug)]
pub(crate) struct NativeOperators;

impl PhysicalOptimizerRule for NativeOperators {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let plan = plan.transform_up(|plan| {
            if let Some(groups) = GroupsExec::of(&plan)? {
                return Ok(Transformed::yes(Arc::new(groups)));
            }
            if let Some(groups) = GroupsExec::filtered(&plan) {
                return Ok(Transformed::yes(Arc::new(groups)));
            }
            if let Some(window) = WindowExec::of(&plan)? {
                return Ok(Transformed::yes(Arc::new(window)));
            }
            if let Some(first) = TopKExec::of(&plan)? {
                return Ok(Transformed::yes(Arc::new(first)));
            }
            Ok(match SortedExec::of(&plan)? {
                Some(sorted) => Transformed::yes(Arc::new(sorted)),
                None => Transformed::no(plan),
            })
        })?;
        Ok(plan.data)
    }

    fn name(&self) -> &str {
        "native_operators"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
