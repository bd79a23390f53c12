//! Aggregates that put values one behind the other take them in the order of the subquery that they
//! come from, and so do windows without an order: `array_agg(a) FROM (SELECT a FROM t ORDER BY b)`.
//!
//! PostgreSQL reads the rows of such a subquery as they come, sorted; programs rely on it.
//! DataFusion takes a sort away whose order nobody above asks for. So the order is said to be
//! wanted, by an operator over the sort that DataFusion itself takes away when orders have been
//! seen to. Of other aggregates the subquery is not sorted, and what it is by is not read.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::Distribution;
use datafusion::physical_expr_common::sort_expr::OrderingRequirements;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::output_requirements::OutputRequirementExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};

use crate::rules::through::UNCHANGED;

/// Aggregates whose value depends on the order of the rows.
const IN_ORDER: [&str; 4] = ["array_agg", "string_agg", "first_value", "last_value"];

/// The rule that takes sorts away whose order no aggregate wants.
#[derive(Debug)]
pub(crate) struct WithoutIdleSorts;

impl OptimizerRule for WithoutIdleSorts {
    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> PlanResult<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Aggregate(aggregate)
                if is_sorted(&aggregate.input) && !aggregate.aggr_expr.iter().any(wants_order) =>
            {
                let Aggregate { input, group_expr, aggr_expr, .. } = aggregate;
                let unsorted = Arc::new(without_sorts(Arc::unwrap_or_clone(input))?.data);
                let aggregate = Aggregate::try_new(unsorted, group_expr, aggr_expr)?;
                Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
            }
            other => Ok(Transformed::no(other)),
        }
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn name(&self) -> &str {
        "without_idle_sorts"
    }
}

/// Whether an expression has an aggregate that takes rows in the order in which they come.
fn wants_order(expr: &Expr) -> bool {
    let wants = |expr: &Expr| {
        Ok(match expr {
            Expr::AggregateFunction(call) => {
                call.params.order_by.is_empty() && IN_ORDER.contains(&call.func.name())
            }
            _ => false,
        })
    };
    expr.exists(wants).unwrap_or(true)
}

/// Whether [`without_sorts`] finds a sort.
fn is_sorted(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Sort(sort) => sort.fetch.is_none(),
        LogicalPlan::Projection(projection) => is_sorted(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_sorted(&alias.input),
        LogicalPlan::Filter(filter) => is_sorted(&filter.input),
        _ => false,
    }
}

/// A plan without the sorts that the order of its rows comes from.
fn without_sorts(plan: LogicalPlan) -> PlanResult<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
            let input = without_sorts(Arc::unwrap_or_clone(sort.input))?;
            Ok(Transformed::yes(input.data))
        }
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Filter(_) => {
            plan.map_children(without_sorts)
        }
        other => Ok(Transformed::no(other)),
    }
}

/// The rule.
#[derive(Debug)]
pub(crate) struct OrdersOfSubqueries;

impl PhysicalOptimizerRule for OrdersOfSubqueries {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let kept = plan.transform_up(|plan| {
            let input = match plan.children().as_slice() {
                [input] if takes_rows_as_they_come(&plan) => in_order(input)?,
                _ => None,
            };
            Ok(match input {
                Some(input) => Transformed::yes(plan.replace_children(vec![input], UNCHANGED)?),
                None => Transformed::no(plan),
            })
        })?;
        Ok(kept.data)
    }

    fn name(&self) -> &str {
        "orders_of_subqueries"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether what an operator computes depends on the order of its rows, and it asks for none.
fn takes_rows_as_they_come(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let mut functions = aggregate.aggr_expr().iter();
        return functions
            .any(|it| it.order_bys().is_empty() && IN_ORDER.contains(&it.fun().name()));
    }
    let is_window = plan.is::<WindowAggExec>() || plan.is::<BoundedWindowAggExec>();
    is_window && plan.required_input_ordering().iter().all(Option::is_none)
}

/// A plan whose rows come in the order of the sort below, if there is one that they come in.
fn in_order(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        let order = OrderingRequirements::from(sort.expr().clone());
        let (input, all) = (Arc::clone(plan), Distribution::SinglePartition);
        return Ok(Some(Arc::new(OutputRequirementExec::new(input, Some(order), all, None))));
    }
    let children = plan.children();
    let [input] = children.as_slice() else { return Ok(None) };
    if plan.maintains_input_order() != [true] {
        return Ok(None);
    }
    let kept = in_order(input)?;
    kept.map(|input| Arc::clone(plan).replace_children(vec![input], UNCHANGED)).transpose()
}
