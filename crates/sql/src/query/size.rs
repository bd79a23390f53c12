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

/// The levels that a plan has at most: its operators, and the expressions of each.
///
/// # Errors
/// `TOO_COMPLEX`.
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
