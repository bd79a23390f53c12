//! What all alternatives of a subquery's condition have in common, in front of them.
//!
//! `(a = o.a AND b) OR (a = o.a AND c)` is `a = o.a AND (b OR c)`, also where something is NULL.
//! What names the rows around the subquery stands by itself then, and a join can answer it.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::logical_plan::Filter;
use datafusion::logical_expr::utils::{conjunction, disjunction, split_binary_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, lit};

/// The plan of a subquery, with such conditions in its filters.
///
/// # Errors
/// A fault of DataFusion's.
pub(super) fn factored(plan: LogicalPlan) -> PlanResult<LogicalPlan> {
    let plan = plan.transform_down(|node| {
        let LogicalPlan::Filter(filter) = &node else { return Ok(Transformed::no(node)) };
        let is_outer = |expr: &Expr| Ok(matches!(expr, Expr::OuterReferenceColumn(..)));
        let is_deep = is_deeper(&filter.predicate, DEPTH_MAX);
        if is_deep || !has_alternatives(&filter.predicate) || !filter.predicate.exists(is_outer)? {
            return Ok(Transformed::no(node));
        }
        let predicate = in_front(filter.predicate.clone());
        let filter = Filter::try_new(predicate, filter.input.clone())?;
        Ok(Transformed::yes(LogicalPlan::Filter(filter)))
    })?;
    Ok(plan.data)
}

/// Conditions are looked through when AND and OR are nested so deep, at most: each takes a part of
/// the stack.
const DEPTH_MAX: usize = 128;

/// Whether AND and OR are nested deeper than that.
fn is_deeper(expr: &Expr, levels: usize) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And | Operator::Or, right }) => {
            levels == 0 || is_deeper(left, levels - 1) || is_deeper(right, levels - 1)
        }
        _ => false,
    }
}

/// Whether a condition has OR below nothing but AND.
fn has_alternatives(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => true,
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            has_alternatives(left) || has_alternatives(right)
        }
        _ => false,
    }
}

/// A condition with what all alternatives have in common in front of them.
fn in_front(expr: Expr) -> Expr {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            in_front(*left).and(in_front(*right))
        }
        Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => {
            let alternatives = split_binary_owned(expr, Operator::Or).into_iter();
            let parts = |it| split_binary_owned(in_front(it), Operator::And);
            let mut alternatives: Vec<Vec<Expr>> = alternatives.map(parts).collect();
            let mut common = alternatives[0].clone();
            common.retain(|part| {
                !part.is_volatile() && alternatives.iter().all(|others| others.contains(part))
            });
            alternatives.iter_mut().for_each(|parts| parts.retain(|it| !common.contains(it)));
            // An alternative of which nothing is left holds whenever the others may.
            let is_left = !alternatives.iter().any(Vec::is_empty);
            let rest = alternatives.into_iter().filter_map(conjunction);
            let rest = if is_left { disjunction(rest) } else { None };
            let all = common.into_iter().chain(rest);
            conjunction(all).unwrap_or_else(|| lit(true))
        }
        other => other,
    }
}
