//! What the parser takes into an operand that stands outside of it.
//!
//! Behind `IS DISTINCT FROM` it reads a whole expression, so that `a IS DISTINCT FROM b AND c` has
//! `b AND c` as its right side. Here the operators AND, OR and NOT get their operands back. What
//! was taken apart is put into parentheses, so that its text, which views and checks are kept as,
//! is read as it is meant.

use std::convert::Infallible;
use std::mem;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, UnaryOperator, Value, VisitMut, VisitorMut,
};

/// Mends all expressions of a statement, or of a part of one.
pub(crate) fn mend(node: &mut impl VisitMut) {
    let ControlFlow::Continue(()) = node.visit(&mut Mender);
}

/// Puts signs that follow each other apart by parentheses: statements are put together from printed
/// parts, and `- -` would be the beginning of a comment in them.
pub(crate) fn part_signs(node: &mut impl VisitMut) {
    let ControlFlow::Continue(()) = node.visit(&mut Signs);
}

struct Signs;

impl VisitorMut for Signs {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        let is_sign = |op: &UnaryOperator| matches!(op, UnaryOperator::Minus | UnaryOperator::Plus);
        let starts_with_sign = |inner: &Expr| match inner {
            Expr::UnaryOp { op, .. } => is_sign(op),
            Expr::Value(value) => match &value.value {
                Value::Number(number, _) => number.starts_with(['-', '+']),
                _ => false,
            },
            _ => false,
        };
        match expr {
            Expr::UnaryOp { op, expr: inner } if is_sign(op) && starts_with_sign(inner) => {
                nest(inner);
            }
            Expr::BinaryOp { right, .. } if starts_with_sign(right) => nest(right),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn nest(expr: &mut Box<Expr>) {
    let inner = mem::replace(expr.as_mut(), Expr::Value(Value::Null.into()));
    **expr = Expr::Nested(Box::new(inner));
}

struct Mender;

impl VisitorMut for Mender {
    type Break = Infallible;

    /// Operands are visited before what they are operands of, and are right by then.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right)
                if is_connective(right) =>
            {
                bind_first(expr);
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr: operand } if is_connective(operand) => {
                bind_first(expr);
            }
            _ => raise_or(expr),
        }
        ControlFlow::Continue(())
    }
}

fn is_connective(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. })
}

/// An operator whose last operand is of ANDs and ORs gets the first of what they connect instead.
fn bind_first(expr: &mut Expr) {
    let Some(last) = last_operand(expr) else { return };
    let mut connected = take(last);
    let first = first_connected(&mut connected);
    *last = take(first);
    *first = Expr::Nested(Box::new(take(expr)));
    *expr = connected;
}

fn last_operand(expr: &mut Expr) -> Option<&mut Expr> {
    match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => Some(right),
        Expr::UnaryOp { expr, .. } => Some(expr),
        _ => None,
    }
}

fn first_connected(expr: &mut Expr) -> &mut Expr {
    if is_connective(expr)
        && let Expr::BinaryOp { left, .. } = expr
    {
        return first_connected(left);
    }
    expr
}

/// `x AND (p OR q)`, whose parentheses nobody wrote, is `(x AND p) OR q`.
fn raise_or(expr: &mut Expr) {
    let Expr::BinaryOp { op: BinaryOperator::And, right, .. } = expr else { return };
    if !matches!(**right, Expr::BinaryOp { op: BinaryOperator::Or, .. }) {
        return;
    }
    let mut or = take(right);
    if let Expr::BinaryOp { left: first, .. } = &mut or {
        **right = take(first);
        **first = take(expr);
        raise_or(first);
    }
    *expr = or;
}

fn take(expr: &mut Expr) -> Expr {
    mem::replace(expr, Expr::value(Value::Null))
}

#[cfg(test)]
mod tests;
