//! The inputs of a UNION, one after another.
//!
//! DataFusion reads them side by side, in tasks that it spawns. A query here is one task of one
//! thread, whoever reads it: a transaction is read by one thread at a time, and what a query runs
//! in is known on the thread that reads it.

use std::fmt;
use std::sync::Arc;

use datafusion::common::JoinType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{
    ChildrenPropertiesMode, ReplaceChildrenOptions, SchedulingType,
};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use futures::{StreamExt, TryStreamExt};

use super::through::{Through, Way};
use crate::pipeline::told::SEQUENTIAL_UNION;

/// The rule; it comes before those that see to it that partitions become one.
#[derive(Debug)]
pub(crate) struct SequentialUnions;

impl PhysicalOptimizerRule for SequentialUnions {
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
/// think so of its own rows, too, of which some have NULL there, and not sort by it. Of a constant
/// among its columns any join would know it until others of its columns are left out: what was
/// not sorted then is refused.
#[derive(Debug)]
pub(crate) struct StripConstants;

impl PhysicalOptimizerRule for StripConstants {
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
                let may_be_lost = may_be_null || has_literal(child.as_ref());
                let forgets = may_be_lost && !child.equivalence_properties().constants().is_empty();
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

/// Whether rows have a constant that was selected.
fn has_literal(plan: &dyn ExecutionPlan) -> bool {
    let projection = plan.downcast_ref::<ProjectionExec>();
    projection.is_some_and(|it| it.expr().iter().any(|item| item.expr.is::<Literal>()))
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
    Through::over(plan, Chain)
}

/// Properties of rows in one partition, of whose order and values nothing is known.
pub(crate) fn nothing_known_but_types(input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
    let equal = EquivalenceProperties::new(input.schema());
    let properties = PlanProperties::new(
        equal,
        Partitioning::UnknownPartitioning(1),
        input.pipeline_behavior(),
        input.boundedness(),
    );
    Arc::new(properties.with_scheduling_type(SchedulingType::NonCooperative))
}

/// One partition after another; of the values, nothing is known but their types.
#[derive(Clone, Debug)]
struct Chain;

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAME)
    }
}

impl Way for Chain {
    const NAME: &'static str = SEQUENTIAL_UNION;
    const KEEPS_ORDER: bool = false;

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        nothing_known_but_types(input)
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        _: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let partitions = 0..input.output_partitioning().partition_count();
        let (schema, input) = (input.schema(), Arc::clone(input));
        let streams = futures::stream::iter(partitions)
            .map(move |partition| input.execute(partition, Arc::clone(&context)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, streams.try_flatten())))
    }
}
