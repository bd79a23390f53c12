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
    BinaryOperator, Expr, Statement, UnaryOperator, Value, VisitMut, VisitorMut,
};

/// Mends all expressions of a statement.
pub(crate) fn mend(statement: &mut Statement) {
    let ControlFlow::Continue(()) = statement.visit(&mut Mender);
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
mod tests {
    use crate::statement::Statement;

    #[test]
    fn and_or_and_not_get_their_operands_back() {
        let cases = [
            ("a IS DISTINCT FROM b AND c", "(a IS DISTINCT FROM b) AND c"),
            ("a IS NOT DISTINCT FROM b OR c AND d", "(a IS NOT DISTINCT FROM b) OR c AND d"),
            ("a IS DISTINCT FROM b AND c OR d", "(a IS DISTINCT FROM b) AND c OR d"),
            ("x AND a IS DISTINCT FROM b OR c", "x AND (a IS DISTINCT FROM b) OR c"),
            ("NOT a IS DISTINCT FROM b AND c", "(NOT (a IS DISTINCT FROM b)) AND c"),
            (
                "a IS DISTINCT FROM b AND c IS DISTINCT FROM d AND e",
                "(a IS DISTINCT FROM b) AND (c IS DISTINCT FROM d) AND e",
            ),
            ("a IS DISTINCT FROM (b AND c)", "a IS DISTINCT FROM (b AND c)"),
            ("a IS DISTINCT FROM b + 1", "a IS DISTINCT FROM b + 1"),
        ];
        for (text, meant) in cases {
            let [text, meant] = [text, meant].map(|text| format!("SELECT {text}"));
            let statement = |text: &str| Statement::parse(text).expect("it is a statement").ast;
            assert_eq!(statement(&text).to_string(), meant);
            // Read again, it stays what it is, and has the structure that parentheses would give.
            assert_eq!(statement(&meant).to_string(), meant);
        }
    }

    #[test]
    fn or_is_outermost() {
        let text = "SELECT x AND a IS DISTINCT FROM b OR c OR d";
        let meant = "SELECT ((x AND (a IS DISTINCT FROM b)) OR c) OR d";
        let found = format!("{:?}", Statement::parse(text).expect("it is a statement").ast);
        let meant = Statement::parse(meant).expect("it is a statement").ast;
        let shape = |text: &str| text.matches("op: Or, right: Identifier").count();
        assert_eq!(shape(&found), shape(&format!("{meant:?}")));
        assert_eq!(shape(&found), 2);
    }
}
