//! What all alternatives of a condition have in common, in front of them: in subqueries, and where
//! there are many.
//!
//! `(a = o.a AND b) OR (a = o.a AND c)` is `a = o.a AND (b OR c)`, also where something is NULL.
//! What names the rows around the subquery stands by itself then, and a join can answer it.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::split_binary_owned;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, lit};

/// A plan with such conditions in front.
///
/// # Errors
/// A fault of DataFusion's.
pub(super) fn factored(plan: LogicalPlan) -> PlanResult<LogicalPlan> {
    let plan = plan.transform_down(|node| {
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let changed = expr.transform_down(|expr| match is_sought(&expr)? {
                true => Ok(Transformed::new(in_front(expr), true, TreeNodeRecursion::Jump)),
                false => Ok(Transformed::no(expr)),
            })?;
            Ok(changed.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(plan.data)
}

/// Whether alternatives are looked through.
fn is_sought(expr: &Expr) -> PlanResult<bool> {
    if !matches!(expr, Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. })) {
        return Ok(false);
    }
    let is_outer = |expr: &Expr| Ok(matches!(expr, Expr::OuterReferenceColumn(..)));
    Ok(!is_deeper(expr, DEPTH_MAX) && (links(expr) >= LINKS_MIN || expr.exists(is_outer)?))
}

/// Conditions are looked through when AND and OR are nested so deep, at most: each takes a part of
/// the stack.
const DEPTH_MAX: usize = 128;

/// Of so many parts, what all alternatives have in common is sought in any condition: DataFusion
/// does the same later, and makes a tree of it that is as deep as there are parts.
const LINKS_MIN: usize = 128;

/// How many parts are linked by AND and OR.
fn links(expr: &Expr) -> usize {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And | Operator::Or, right }) => {
            links(left) + links(right)
        }
        _ => 1,
    }
}

/// Whether AND and OR are nested deeper than that.
fn is_deeper(expr: &Expr, levels: usize) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And | Operator::Or, right }) => {
            levels == 0 || is_deeper(left, levels - 1) || is_deeper(right, levels - 1)
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
            let rest = alternatives.into_iter().filter_map(|parts| linked(parts, Expr::and));
            let rest = if is_left { linked(rest.collect(), Expr::or) } else { None };
            let all = common.into_iter().chain(rest);
            linked(all.collect(), Expr::and).unwrap_or_else(|| lit(true))
        }
        other => other,
    }
}

/// Parts linked to a tree that is as flat as may be; `None` if there are none.
fn linked(mut parts: Vec<Expr>, link: fn(Expr, Expr) -> Expr) -> Option<Expr> {
    while parts.len() > 1 {
        let mut others = std::mem::take(&mut parts).into_iter();
        while let Some(one) = others.next() {
            parts.push(match others.next() {
                Some(other) => link(one, other),
                None => one,
            });
        }
    }
    parts.pop()
}
