//! The inputs of a UNION, one after another.
//!
//! DataFusion reads them side by side, in tasks that it spawns. A query here is one task of one
//! thread, whoever reads it: a transaction is read by one thread at a time, and what a query runs
//! in is known on the thread that reads it.

use std::fmt;
use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{
    ChildrenPropertiesMode, ReplaceChildrenOptions, SchedulingType,
};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties,
};
use futures::{StreamExt, TryStreamExt};

/// The rule; it comes before those that see to it that partitions become one.
#[derive(Debug)]
pub(crate) struct ChainUnions;

impl PhysicalOptimizerRule for ChainUnions {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let chained = plan.transform_up(|plan| {
            Ok(match plan.is::<UnionExec>() {
                true => Transformed::yes(chain(plan)),
                false => Transformed::no(plan),
            })
        })?;
        Ok(chained.data)
    }

    fn name(&self) -> &str {
        "chain_unions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Makes an outer join not know that a column of its inputs is the same in all rows: it would
/// think so of its own rows, too, of which some have NULL there, and not sort by it.
#[derive(Debug)]
pub(crate) struct ForgetConstants;

impl PhysicalOptimizerRule for ForgetConstants {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let forgetful = plan.transform_up(|plan| {
            let Some(join_type) = type_of_join(plan.as_ref()) else {
                return Ok(Transformed::no(plan));
            };
            let may_be_null = match join_type {
                JoinType::Left => [false, true],
                JoinType::Right => [true, false],
                JoinType::Full => [true, true],
                _ => [false, false],
            };
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            let mut changed = false;
            let children = plan.children().into_iter().zip(may_be_null);
            let children = children.map(|(child, may_be_null)| {
                let forgets = may_be_null && !child.equivalence_properties().constants().is_empty();
                changed |= forgets;
                if forgets { chain(Arc::clone(child)) } else { Arc::clone(child) }
            });
            let children: Vec<Arc<dyn ExecutionPlan>> = children.collect();
            match changed {
                true => Ok(Transformed::yes(plan.replace_children(children, options)?)),
                false => Ok(Transformed::no(plan)),
            }
        })?;
        Ok(forgetful.data)
    }

    fn name(&self) -> &str {
        "forget_constants"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn type_of_join(plan: &dyn ExecutionPlan) -> Option<JoinType> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return Some(*join.join_type());
    }
    if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        return Some(join.join_type());
    }
    plan.downcast_ref::<NestedLoopJoinExec>().map(|join| *join.join_type())
}

fn chain(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    Arc::new(ChainExec::new(plan))
}

/// Gives the rows of its input's partitions, one partition after another.
#[derive(Debug)]
struct ChainExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl ChainExec {
    /// Of the values, nothing is known but their types.
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let equal = EquivalenceProperties::new(input.schema());
        let properties = PlanProperties::new(
            equal,
            Partitioning::UnknownPartitioning(1),
            input.pipeline_behavior(),
            input.boundedness(),
        )
        .with_scheduling_type(SchedulingType::NonCooperative);
        Self { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for ChainExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChainExec")
    }
}

impl ExecutionPlan for ChainExec {
    fn name(&self) -> &str {
        "ChainExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        Ok(match children.pop() {
            Some(input) => Arc::new(Self::new(input)),
            None => self,
        })
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(
        &self,
        _: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let partitions = 0..self.input.output_partitioning().partition_count();
        let input = Arc::clone(&self.input);
        let streams = futures::stream::iter(partitions)
            .map(move |partition| input.execute(partition, Arc::clone(&context)));
        let rows = streams.try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
