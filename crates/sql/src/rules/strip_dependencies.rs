//! Groups of joined rows, and rows of arrays, of which a key of one table is not a key.
//!
//! DataFusion knows of the columns that a key determines and goes on to leave out what is sorted or
//! grouped by and determined by others. Of the groups of joined rows it concludes too much: that
//! the key of one table, if it is among the columns grouped by, determines all of them, those of
//! other tables included. So what is grouped like this is put below an operator of which no key is
//! known; the groups have a key of their own, the columns grouped by. And of the rows that an array
//! becomes it thinks that the key beside it is still one.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, Dependency, FunctionalDependencies};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, Extension, LogicalPlan, UserDefinedLogicalNode,
    UserDefinedLogicalNodeCore,
};
use datafusion::optimizer::{AnalyzerRule, OptimizerConfig, OptimizerRule};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use crate::error::Error;

/// The rule.
#[derive(Debug)]
pub(crate) struct StripDependencies;

/// The rules before which keys are forgotten once more: they leave out what keys determine, and
/// what has become of a plan meanwhile may have keys that it had not.
pub(crate) const BEFORE: [&str; 2] = ["eliminate_duplicated_expr", "optimize_projections"];

impl AnalyzerRule for StripDependencies {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        Ok(forgetful(plan, LogicalPlan::recompute_schema)?.data)
    }

    fn name(&self) -> &str {
        "strip_dependencies"
    }
}

impl OptimizerRule for StripDependencies {
    fn name(&self) -> &str {
        "strip_dependencies"
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> PlanResult<Transformed<LogicalPlan>> {
        forgetful(plan, Ok)
    }
}

/// The plan without misleading keys, each of whose operators is made ready first.
fn forgetful(
    plan: LogicalPlan,
    ready: fn(LogicalPlan) -> PlanResult<LogicalPlan>,
) -> PlanResult<Transformed<LogicalPlan>> {
    let groups = |plan: &LogicalPlan| {
        use LogicalPlan::{Aggregate, Distinct, Unnest};
        Ok(matches!(plan, Aggregate(_) | Distinct(_) | Unnest(_)))
    };
    if !plan.exists(groups)? {
        return Ok(Transformed::no(plan));
    }
    let mut changed = false;
    plan.transform_up_with_subqueries(|plan| {
        let node = match ready(plan)? {
            LogicalPlan::Aggregate(of) if is_misled(of.input.schema(), Some(&of.group_expr)) => {
                let input = Arc::new(forgetting(of.input)?);
                let made = Aggregate::try_new(input, of.group_expr, of.aggr_expr)?;
                Transformed::yes(LogicalPlan::Aggregate(made))
            }
            LogicalPlan::Distinct(Distinct::All(input)) if is_misled(input.schema(), None) => {
                let input = Arc::new(forgetting(input)?);
                Transformed::yes(LogicalPlan::Distinct(Distinct::All(input)))
            }
            // Each row has become several.
            LogicalPlan::Unnest(of) if !of.input.schema().functional_dependencies().is_empty() => {
                let input = forgetting(Arc::clone(&of.input))?;
                let node = LogicalPlan::Unnest(of);
                Transformed::yes(node.with_new_exprs(node.expressions(), vec![input])?)
            }
            other => Transformed::no(other),
        };
        changed |= node.transformed;
        match changed && !node.transformed {
            true => node.map_data(LogicalPlan::recompute_schema),
            false => Ok(node),
        }
    })
}

/// Whether too much would be concluded of rows that are grouped by these, or by all columns.
fn is_misled(schema: &DFSchema, groups: Option<&[Expr]>) -> bool {
    let fields = schema.field_names();
    let groups = match groups {
        Some(groups) => groups.iter().map(|group| group.schema_name().to_string()).collect(),
        None => fields.clone(),
    };
    schema.functional_dependencies().iter().any(|key| {
        let named = |place: &usize| groups.contains(&fields[*place]);
        let determined = |group: &String| {
            let mut places = key.source_indices.iter().chain(&key.target_indices);
            places.any(|place| fields[*place] == *group)
        };
        key.mode == Dependency::Multi
            && key.source_indices.iter().all(named)
            && !groups.iter().all(determined)
    })
}

fn forgetting(input: Arc<LogicalPlan>) -> PlanResult<LogicalPlan> {
    let node = Arc::new(Forgetting::new(Arc::unwrap_or_clone(input))?);
    Ok(LogicalPlan::Extension(Extension { node }))
}

/// Rows as they are, of which no key is known.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Forgetting {
    input: LogicalPlan,
    schema: DFSchemaRef,
}

impl Forgetting {
    fn new(input: LogicalPlan) -> PlanResult<Self> {
        let schema = DFSchema::clone(input.schema());
        let schema = schema.with_functional_dependencies(FunctionalDependencies::empty())?;
        Ok(Self { input, schema: Arc::new(schema) })
    }
}

/// The rows of an operator that only forgets their keys.
pub(crate) fn remembered(plan: &LogicalPlan) -> Option<&LogicalPlan> {
    let LogicalPlan::Extension(extension) = plan else { return None };
    extension.node.as_any().downcast_ref::<Forgetting>().map(|forgetting| &forgetting.input)
}

impl PartialOrd for Forgetting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.input.partial_cmp(&other.input)
    }
}

impl UserDefinedLogicalNodeCore for Forgetting {
    fn name(&self) -> &str {
        "Forgetting"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Forgetting: keys")
    }

    fn with_exprs_and_inputs(
        &self,
        _: Vec<Expr>,
        mut inputs: Vec<LogicalPlan>,
    ) -> PlanResult<Self> {
        let input = inputs.pop().ok_or_else(|| Error::internal("nothing to forget of"))?;
        Self::new(input)
    }

    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output.to_vec()])
    }
}

/// Plans the operator: as what is below it.
pub(crate) struct PlanForgetting;

#[async_trait]
impl ExtensionPlanner for PlanForgetting {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> PlanResult<Option<Arc<dyn ExecutionPlan>>> {
        Ok(inputs.first().filter(|_| node.as_any().is::<Forgetting>()).cloned())
    }
}
