//! How large a plan is before it is optimised.
//!
//! A short text can stand for a huge plan: each reference to a view or to a named query is a copy
//! of its plan, so some that refer to each other twice double it each time. Rules would go through
//! it again and again, so it is refused first.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::error::{Error, Result, SqlState};
use crate::statement::LEVELS_MAX;

/// Operators of a plan, those of its subqueries included.
const OPERATORS_MAX: usize = 20_000;

/// Parts of an expression once it is simplified, where that multiplies them.
const PARTS_MAX: u64 = 1 << 18;

/// The levels that a plan has at most: its operators, and the expressions of each.
///
/// # Errors
/// `TOO_COMPLEX`, also for expressions that become huge when they are simplified.
pub(crate) fn levels_of(plan: &LogicalPlan) -> Result<usize> {
    let mut left = vec![(plan, 1)];
    let (mut operators, mut deepest) = (0, 0);
    while let Some((plan, level)) = left.pop() {
        operators += 1;
        deepest = deepest.max(level);
        if operators > OPERATORS_MAX || deepest > 4 * LEVELS_MAX {
            let text = "the statement is too complex: its views, named queries and subqueries \
                        together are too many operators";
            return Err(Error::new(SqlState::TOO_COMPLEX, text));
        }
        left.extend(plan.inputs().into_iter().map(|input| (input, level + 1)));
        plan.apply_expressions(|expr| {
            // The closure cannot lend what it is given, so what is nested is measured by itself.
            deepest = deepest.max(level + levels_of_expr(expr)?);
            let (parts, simplified) = parts_of(expr)?;
            if simplified > PARTS_MAX.max(parts * 8) {
                let text =
                    "the statement is too complex: COALESCE, BETWEEN or IN within each other";
                return Err(Error::new(SqlState::TOO_COMPLEX, text).into());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(deepest)
}

/// The levels of an expression and of the queries in it.
fn levels_of_expr(expr: &Expr) -> datafusion::error::Result<usize> {
    let mut levels = 0;
    let mut level = vec![expr];
    while !level.is_empty() {
        levels += 1;
        let mut next = Vec::new();
        for expr in level {
            let subquery = match expr {
                Expr::ScalarSubquery(subquery) => Some(subquery),
                Expr::InSubquery(within) => Some(&within.subquery),
                Expr::Exists(exists) => Some(&exists.subquery),
                Expr::SetComparison(compared) => Some(&compared.subquery),
                _ => None,
            };
            if let Some(subquery) = subquery {
                levels = levels.max(levels_of(&subquery.subquery)?);
            }
            expr.apply_children(|child| {
                next.push(child);
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        level = next;
    }
    Ok(levels)
}

/// Lists up to this length become a comparison with each element.
const SHORT_LIST: usize = 3;

/// How many parts an expression has, and how many once it is simplified: some of what it is made of
/// stands there twice or more then, and so on in what that is made of.
fn parts_of(expr: &Expr) -> datafusion::error::Result<(u64, u64)> {
    let times = match expr {
        Expr::ScalarFunction(call) if CHOICES.contains(&call.func.name()) => 2,
        Expr::Between(_) => 2,
        Expr::InList(list) if list.list.len() <= SHORT_LIST => list.list.len() as u64,
        _ => 1,
    };
    let (mut parts, mut simplified) = (1_u64, 1_u64);
    expr.apply_children(|child| {
        let (more, multiplied) = parts_of(child)?;
        parts = parts.saturating_add(more);
        simplified = simplified.saturating_add(multiplied.saturating_mul(times));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok((parts, simplified))
}

/// Functions that become a CASE with two of each of their arguments.
const CHOICES: [&str; 4] = ["coalesce", "nvl", "ifnull", "nvl2"];
