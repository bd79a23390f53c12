//! Joins that stand on one another, with filters and projections between, become one operator.
//!
//! What gives rows to such an operator is looked through in the same way.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::error::Result as PlanResult;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::pipeline::aggregate::exec::GroupsExec;
use crate::pipeline::exec::PipelineExec;
use crate::pipeline::plan::Pipeline;
use crate::pipeline::sorting::SortedExec;
use crate::pipeline::top_k::exec::TopKExec;
use crate::rules::through::UNCHANGED;
use crate::scan::exec::ScanExec;

/// The rule, behind all that move joins, filters and projections.
#[derive(Debug)]
pub(crate) struct Pipelines;

impl PhysicalOptimizerRule for Pipelines {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        of_pipelines(plan)
    }

    fn name(&self) -> &str {
        "pipelines"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A plan whose joins are pipelines, from the last join on down.
fn of_pipelines(plan: Arc<dyn ExecutionPlan>) -> PlanResult<Arc<dyn ExecutionPlan>> {
    if let Some(pipeline) = Pipeline::of(&plan)? {
        let inputs = pipeline.inputs().into_iter().map(|input| of_pipelines(Arc::clone(input)));
        let pipeline = pipeline.with_inputs(inputs.collect::<PlanResult<_>>()?);
        return Ok(Arc::new(PipelineExec::new(pipeline, &plan)));
    }
    let children = plan.children();
    if children.is_empty() {
        return Ok(plan);
    }
    let children = children.into_iter().map(|child| of_pipelines(Arc::clone(child)));
    let children = children.collect::<PlanResult<_>>()?;
    plan.replace_children(children, UNCHANGED)
}

/// Whether an operator is one of ours; the others are DataFusion's.
pub(crate) fn is_native(plan: &dyn ExecutionPlan) -> bool {
    plan.is::<ScanExec>()
        || plan.is::<PipelineExec>()
        || plan.is::<GroupsExec>()
        || plan.is::<SortedExec>()
        || plan.is::<TopKExec>()
}
