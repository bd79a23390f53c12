//! Long chains of AND or OR as flat trees.
//!
//! The parser makes `a OR b OR c OR d` a tree as deep as the chain is long. Both operators may be
//! taken together in any order, so a long chain becomes a tree whose depth grows with the number of
//! digits of its length only: what is planned of it takes time in proportion to its length, and no
//! recursion goes deep. It is printed as it was written.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{self, BinaryOperator, Expr, VisitMut, VisitorMut};

/// Chains up to this length stay as they are.
const SHORT: usize = 8;

/// Makes all long chains in something flat.
pub(super) fn flatten(part: &mut impl VisitMut) {
    let _ = part.visit(&mut Flatten);
}

struct Flatten;

impl VisitorMut for Flatten {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(op) = link_of(expr)
            && is_long(expr, &op)
        {
            let mut operands = take_operands(expr, &op);
            *expr = tree(&mut operands, &op);
        }
        ControlFlow::Continue(())
    }
}

fn link_of(expr: &Expr) -> Option<BinaryOperator> {
    match expr {
        Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => {
            Some(op.clone())
        }
        _ => None,
    }
}

/// Whether a chain goes down to the left for more than a few links.
fn is_long(mut expr: &Expr, link: &BinaryOperator) -> bool {
    for _ in 0..SHORT {
        match expr {
            Expr::BinaryOp { left, op, .. } if op == link => expr = left,
            _ => return false,
        }
    }
    true
}

/// What a chain links, from the last to the first. Each link is taken apart before it is dropped,
/// so that nothing recurses.
fn take_operands(expr: &mut Expr, link: &BinaryOperator) -> Vec<Expr> {
    let mut operands = Vec::new();
    let mut rest = std::mem::replace(expr, nothing());
    loop {
        match rest {
            Expr::BinaryOp { left, op, right } if op == *link => {
                operands.push(*right);
                rest = *left;
            }
            first => {
                operands.push(first);
                return operands;
            }
        }
    }
}

/// A tree of operands that come from the last to the first.
fn tree(operands: &mut Vec<Expr>, link: &BinaryOperator) -> Expr {
    fn part(operands: &mut Vec<Expr>, count: usize, op: &BinaryOperator) -> Expr {
        if count <= 1 {
            return operands.pop().unwrap_or_else(nothing);
        }
        let left = Box::new(part(operands, count / 2, op));
        let right = Box::new(part(operands, count - count / 2, op));
        Expr::BinaryOp { left, op: op.clone(), right }
    }
    let count = operands.len();
    part(operands, count, link)
}

fn nothing() -> Expr {
    Expr::Value(ast::Value::Null.into())
}
