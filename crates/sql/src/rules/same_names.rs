//! Filters that are pushed down past columns of one name.
//!
//! DataFusion looks for the columns of a filter by their names when it pushes the filter below an
//! operator, and takes the first of several of one name: the query fails or is answered wrongly.
//! For its rule a sieve stands above each operator where that may happen. It lets through what
//! joins tell of their keys, where the first of the name is the one that is meant, and stops all
//! else; the filter is then checked where it stands.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::common::JoinType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterDescription, FilterDescription, FilterPushdownPhase,
};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;

use super::through::{Through, Way};

/// The names of the rule begin with this.
pub(crate) const RULE: &str = "FilterPushdown";

/// The rule, on plans with sieves.
#[derive(Debug)]
pub(crate) struct SameNames(pub(crate) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for SameNames {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        without(self.0.optimize(with(plan)?, config)?)
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        without(self.0.optimize_with_context(with(plan)?, context)?)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn with(plan: Arc<dyn ExecutionPlan>) -> PlanResult<Arc<dyn ExecutionPlan>> {
    let sifted = plan.transform_up(|plan| {
        let is_ambiguous = (plan.is::<ProjectionExec>() && has_twins(&plan.schema()))
            || plan.children().iter().any(|child| has_twins(&child.schema()));
        Ok(match is_ambiguous {
            true => Transformed::yes(Through::over(plan, Sieve)),
            false => Transformed::no(plan),
        })
    })?;
    Ok(sifted.data)
}

fn without(plan: Arc<dyn ExecutionPlan>) -> PlanResult<Arc<dyn ExecutionPlan>> {
    let plain = plan.transform_up(|plan| {
        Ok(match plan.children().as_slice() {
            [input] if plan.is::<Through<Sieve>>() => Transformed::yes(Arc::clone(input)),
            _ => Transformed::no(plan),
        })
    })?;
    Ok(plain.data)
}

fn has_twins(schema: &Schema) -> bool {
    let mut seen = HashSet::new();
    !schema.fields().iter().all(|field| seen.insert(field.name()))
}

/// Stops filters.
#[derive(Clone, Debug)]
struct Sieve;

impl fmt::Display for Sieve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAME)
    }
}

impl Way for Sieve {
    const NAME: &'static str = "SieveExec";

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        input.execute(partition, context)
    }

    fn filters(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        phase: FilterPushdownPhase,
        filters: &[Arc<dyn PhysicalExpr>],
    ) -> PlanResult<FilterDescription> {
        let stopped = ChildFilterDescription::all_unsupported(filters);
        let mut through = Vec::new();
        // In this phase whoever has a filter checks it by itself, and what is below checks it, too.
        if phase == FilterPushdownPhase::Post {
            for filter in filters {
                if is_found(input, filter)? {
                    through.push(Arc::clone(filter));
                }
            }
        }
        Ok(FilterDescription::new().with_child(stopped.with_self_filters(through)))
    }
}

/// Whether all columns of a filter above an operator are found below it by their names.
fn is_found(plan: &Arc<dyn ExecutionPlan>, filter: &Arc<dyn PhysicalExpr>) -> PlanResult<bool> {
    let mut is_found = true;
    filter.apply(|part| {
        if let Some(column) = part.downcast_ref::<Column>() {
            is_found &= is_first(plan, column);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(is_found)
}

fn is_first(plan: &Arc<dyn ExecutionPlan>, column: &Column) -> bool {
    let is_at = |schema: &Schema, place: usize| {
        schema.index_of(column.name()).is_ok_and(|first| first == place)
    };
    if let Some(join) = plan.downcast_ref::<HashJoinExec>()
        && KEEP_BOTH.contains(join.join_type())
    {
        let place = match join.projection.as_ref() {
            Some(kept) => kept.get(column.index()).copied(),
            None => Some(column.index()),
        };
        let (left, right) = (join.left().schema(), join.right().schema());
        return place.is_some_and(|place| match place.checked_sub(left.fields().len()) {
            None => is_at(&left, place),
            Some(place) => is_at(&right, place),
        });
    }
    let is_alone = |schema: &Schema| {
        schema.fields().iter().filter(|field| field.name() == column.name()).count() <= 1
    };
    is_alone(&plan.schema()) && plan.children().iter().all(|child| is_alone(&child.schema()))
}

/// Joins whose rows have the columns of both sides.
const KEEP_BOTH: [JoinType; 4] = [JoinType::Inner, JoinType::Left, JoinType::Right, JoinType::Full];
