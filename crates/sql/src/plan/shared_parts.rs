//! Parts of a plan that are run once, and read several times ([`crate::rules::shared_parts`]).
//!
//! Whoever reads first runs the part, as far as it reads; its rows are kept for the others.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use crate::rules::sequential_union::nothing_known_but_types;
use crate::rules::shared_parts::Shared;
use crate::rules::through::{Through, Way};
use crate::transaction::scope::Current;

/// Plans the operator.
pub(super) struct PlanShared;

#[async_trait]
impl ExtensionPlanner for PlanShared {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> PlanResult<Option<Arc<dyn ExecutionPlan>>> {
        let Some(shared) = node.as_any().downcast_ref::<Shared>() else { return Ok(None) };
        let part = Part { number: shared.number };
        Ok(inputs.first().map(|input| Through::over(Arc::clone(input), part)))
    }
}

/// The rows of a part, which are made by whoever reads them first.
#[derive(Clone, Debug)]
struct Part {
    number: usize,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared: part {}", self.number)
    }
}

impl Way for Part {
    const NAME: &'static str = "SharedExec";
    // Else a sort above would be put below, into one of them.
    const KEEPS_ORDER: bool = false;

    /// Nothing is known of the rows but their types: no reader asks more of the part than others.
    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        nothing_known_but_types(input)
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let current = Current::of(&context)?;
        let rows = current.shared.rows(self.number, || {
            let consumer = MemoryConsumer::new("rows that several parts of a query read");
            let reservation = consumer.register(context.memory_pool());
            Ok((input.execute(partition, Arc::clone(&context))?, reservation))
        })?;
        let mut place = 0;
        let stream = futures::stream::poll_fn(move |waiting| {
            let batch = rows.poll_batch(place, waiting);
            place += usize::from(batch.is_ready());
            batch
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(input.schema(), stream)))
    }
}
