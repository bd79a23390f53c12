//! The rule that orders joins by cost.
//!
//! It goes through a plan from the top. Regions of joins are taken apart, the groups of their
//! aggregates cut down to those that are needed, their relations ordered in the same way, and the
//! whole is put together as the cheapest tree. Joins that are no part of a region, the outer ones,
//! keep their place; only their smaller side becomes the one that the hash table is made of.
//! What always holds: the result has the same rows, and its fields the same order and names. A
//! region that cannot be put together again stays as it is.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::logical_expr::{Expr, Join, LogicalPlan};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::enumerate::cheapest;
use super::estimate::estimate;
use super::model::model;
use super::needed_groups;
use super::rebuild::{rebuild, restore};
use super::region::{Output, is_region, take_apart};

/// See the module.
#[derive(Debug)]
pub(super) struct OrderJoins;

impl OptimizerRule for OrderJoins {
    fn name(&self) -> &str {
        "order_joins"
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if !plan.exists(|node| Ok(matches!(node, LogicalPlan::Join(_))))? {
            return Ok(Transformed::no(plan));
        }
        order(plan, config)
    }
}

fn order(plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    if is_region(&plan) {
        let ordered = order_region(plan.clone(), config);
        // The plan is right as it is: a query is better slow than refused.
        debug_assert!(ordered.is_ok(), "{ordered:?}");
        return Ok(ordered.map_or_else(|_| Transformed::no(plan), Transformed::yes));
    }
    let plan = plan.map_subqueries(|subquery| order(subquery, config))?;
    let plan = plan.transform_data(|plan| plan.map_children(|child| order(child, config)))?;
    plan.transform_data(|plan| match plan {
        LogicalPlan::Join(join) => smaller_side_first(join),
        other => Ok(Transformed::no(other)),
    })
}

fn order_region(plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<LogicalPlan> {
    let (mut region, output) = take_apart(plan)?;
    needed_groups::restrict(&mut region, config.alias_generator())?;
    for relation in &mut region.relations {
        let plan = std::mem::take(&mut relation.plan);
        relation.plan = order(plan, config)?.data;
    }
    for predicate in &mut region.predicates {
        *predicate = order_in_subqueries(std::mem::take(predicate), config)?;
    }
    let model = model(region, &output)?;
    rebuild(&model, &cheapest(&model.graph), &output)
}

/// Orders joins in the subqueries that an expression holds.
fn order_in_subqueries(expr: Expr, config: &dyn OptimizerConfig) -> Result<Expr> {
    let ordered = expr.transform_down(|expr| match expr {
        Expr::ScalarSubquery(mut subquery) => {
            let plan = Arc::unwrap_or_clone(subquery.subquery);
            subquery.subquery = Arc::new(order(plan, config)?.data);
            Ok(Transformed::yes(Expr::ScalarSubquery(subquery)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(ordered.data)
}

/// Exchanges the sides of an outer join if the right one is clearly smaller.
fn smaller_side_first(join: Join) -> Result<Transformed<LogicalPlan>> {
    let outer = matches!(join.join_type, JoinType::Left | JoinType::Right | JoinType::Full);
    if !outer || estimate(&join.left).rows <= 1.2 * estimate(&join.right).rows {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let output = Output { columns: join.schema.columns(), schema: Arc::clone(&join.schema) };
    let swapped = Join::try_new(
        join.right,
        join.left,
        join.on.into_iter().map(|(left, right)| (right, left)).collect(),
        join.filter,
        join.join_type.swap(),
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    Ok(Transformed::yes(restore(LogicalPlan::Join(swapped), &output)?))
}
