//! Sorts of all rows are ours.
//!
//! Those that keep a few rows stay DataFusion's, which tells scans below them which rows may still
//! be among them; so do sorts by keys that are neither numbers nor texts.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::pipeline::sorting::SortedExec;

/// The rule, behind all that move sorts.
#[derive(Debug)]
pub(crate) struct NativeSorts;

impl PhysicalOptimizerRule for NativeSorts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let plan = plan.transform_up(|plan| {
            Ok(match SortedExec::of(&plan)? {
                Some(sorted) => Transformed::yes(Arc::new(sorted)),
                None => Transformed::no(plan),
            })
        })?;
        Ok(plan.data)
    }

    fn name(&self) -> &str {
        "native_sorts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
