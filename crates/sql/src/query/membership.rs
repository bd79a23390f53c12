//! IN and NOT IN with a query, where their answer may be NULL.
//!
//! The planner makes a join of a condition that stands by itself, or that is one of several which
//! all have to hold, and heeds NULL there. Anywhere else it knows only whether a value was found:
//! NOT IN would be true of a NULL, and of a list that has one. So it is said there in full what the
//! answer is, as the standard has it: NULL if the value was not found and is NULL, or if a value of
//! the list is. Among the columns of a result the planner refuses both.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, BinaryOperator, Expr, Query, UnaryOperator, VisitMut, VisitorMut,
};

use crate::change::parse_expression;
use crate::error::{Error, Result};

/// Says in full what IN and NOT IN mean in a query block, subqueries of which are left alone.
///
/// # Errors
/// None that a query could cause.
pub(super) fn in_full(select: &mut ast::Select) -> Result<()> {
    for condition in select.selection.iter_mut().chain(&mut select.having) {
        all_hold(condition)?;
    }
    for join in select.from.iter_mut().flat_map(|table| &mut table.joins) {
        if let Some(condition) = condition_of(&mut join.join_operator) {
            all_hold(condition)?;
        }
    }
    Ok(())
}

fn condition_of(join: &mut ast::JoinOperator) -> Option<&mut Expr> {
    use ast::JoinOperator as J;
    let (J::Join(constraint)
    | J::Inner(constraint)
    | J::Left(constraint)
    | J::LeftOuter(constraint)
    | J::Right(constraint)
    | J::RightOuter(constraint)
    | J::FullOuter(constraint)) = join
    else {
        return None;
    };
    match constraint {
        ast::JoinConstraint::On(condition) => Some(condition),
        _ => None,
    }
}

/// Conditions that all have to hold.
fn all_hold(expr: &mut Expr) -> Result<()> {
    match expr {
        Expr::Nested(inner) => all_hold(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            all_hold(left)?;
            all_hold(right)
        }
        Expr::InSubquery { .. } => Ok(()),
        Expr::UnaryOp { op: UnaryOperator::Not, expr: inner } if is_membership(inner) => Ok(()),
        other => holds(other),
    }
}

/// A condition of which only matters whether it holds.
fn holds(expr: &mut Expr) -> Result<()> {
    match expr {
        Expr::Nested(inner) => holds(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            holds(left)?;
            holds(right)
        }
        // Found or not: that it may be NULL makes no difference.
        Expr::InSubquery { negated: false, .. } => Ok(()),
        Expr::InSubquery { expr: value, subquery, negated: true } => {
            let text = format!(
                "({value} NOT IN ({subquery}) AND ({value} IS NOT NULL OR NOT EXISTS ({subquery})) \
                 AND NOT {})",
                has_null(subquery)
            );
            *expr = parse_expression(&text)?;
            Ok(())
        }
        other => as_value(other),
    }
}

/// An expression whose value may be seen.
fn as_value(expr: &mut Expr) -> Result<()> {
    match expr.visit(&mut Values { depth: 0 }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn is_membership(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_membership(inner),
        other => matches!(other, Expr::InSubquery { .. }),
    }
}

fn has_null(subquery: &Query) -> String {
    format!("EXISTS (SELECT 1 FROM ({subquery}) AS of_list(of_value) WHERE of_value IS NULL)")
}

/// Visits an expression without the queries in it.
struct Values {
    depth: usize,
}

impl VisitorMut for Values {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let Expr::InSubquery { expr: value, subquery, negated } = expr else {
            return ControlFlow::Continue(());
        };
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        let (found, missing) = if *negated { ("FALSE", "TRUE") } else { ("TRUE", "FALSE") };
        let text = format!(
            "CASE WHEN {value} IN ({subquery}) THEN {found} \
             WHEN {value} IS NULL AND EXISTS ({subquery}) THEN NULL \
             WHEN {} THEN NULL ELSE {missing} END",
            has_null(subquery)
        );
        match parse_expression(&text) {
            Ok(full) => {
                *expr = full;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}
