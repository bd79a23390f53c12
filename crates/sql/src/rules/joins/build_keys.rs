//! Hash joins tell scans the keys of their build side as bits, collected as its rows pass.
//!
//! DataFusion's joins push a filter to the scans of their probe side that is filled when the build
//! side has been read: bounds, and a list of the keys or a look-up of each, which for several
//! columns is one of all of them at once. The same keys, column by column, are collected on the way
//! into the join, and the scan, which finds them by the number of that filter, compares them with
//! encoded values.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::common::NullEquality;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ExecutionPlanProperties, ReplaceChildrenOptions,
};

use crate::rules::through::{Through, Way};
use crate::scan::build_keys::BuildKeys;
use crate::scan::exec::ScanExec;

/// What a join knows of its inputs stays as it is.
const UNCHANGED: ReplaceChildrenOptions = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);

/// The rule, which stands behind all that push filters to scans.
#[derive(Debug)]
pub(crate) struct CollectBuildKeys;

impl PhysicalOptimizerRule for CollectBuildKeys {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let mut wanted = HashSet::new();
        plan.apply(|plan| {
            if let Some(scan) = plan.downcast_ref::<ScanExec>() {
                wanted.extend(scan.runtime_filters());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        if wanted.is_empty() {
            return Ok(plan);
        }
        let mut collected: Vec<Arc<BuildKeys>> = Vec::new();
        let plan = plan.transform_up(|plan| {
            let Some(join) = plan.downcast_ref::<HashJoinExec>() else {
                return Ok(Transformed::no(plan));
            };
            let Some(keys) = keys_of(join).filter(|keys| wanted.contains(&keys.filter())) else {
                return Ok(Transformed::no(plan));
            };
            let keys = Arc::new(keys);
            collected.push(Arc::clone(&keys));
            let build = Through::over(Arc::clone(join.left()), Collect(keys));
            let sides = vec![build, Arc::clone(join.right())];
            Ok(Transformed::yes(plan.replace_children(sides, UNCHANGED)?))
        })?;
        let plan = plan.data.transform_up(|plan| {
            let told = plan.downcast_ref::<ScanExec>().and_then(|scan| scan.told_of(&collected));
            Ok(told.map_or_else(|| Transformed::no(plan), |scan| Transformed::yes(Arc::new(scan))))
        })?;
        Ok(plan.data)
    }

    fn name(&self) -> &str {
        "collect_build_keys"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The keys of a join's build side that can be collected, if it tells scans of them, and is read
/// whole before the other side.
fn keys_of(join: &HashJoinExec) -> Option<BuildKeys> {
    let is_one = *join.partition_mode() == PartitionMode::CollectLeft
        && join.left().output_partitioning().partition_count() == 1;
    if !is_one || join.null_equality() != NullEquality::NullEqualsNothing {
        return None;
    }
    let filters = join.dynamic_expressions_produced();
    let filter = filters.first()?.expression_id()?;
    let schema = join.left().schema();
    let columns = join.on().iter().map(|(build, probe)| {
        let column = build.downcast_ref::<Column>()?.index();
        let data_type = schema.field(column).data_type();
        let is_same = probe.data_type(&join.right().schema()).ok()? == *data_type;
        (is_same && BuildKeys::can_be(data_type)).then_some(column)
    });
    let columns: Vec<_> = columns.collect();
    columns.iter().any(Option::is_some).then(|| BuildKeys::new(filter, columns))
}

/// Rows of a build side, whose keys are collected.
#[derive(Clone, Debug)]
struct Collect(Arc<BuildKeys>);

impl fmt::Display for Collect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Way for Collect {
    const NAME: &'static str = "BuildKeysExec";

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        self.0.collect(input, partition, context)
    }
}
