//! Operators on moments and intervals, as functions: the difference of two moments is an interval,
//! an interval times a number is one, and intervals are compared by how long they are.
//!
//! Where a type is not known yet the operation is left as it is.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, Operator, binary_expr};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::linked;
use crate::functions::measured::concat;
use crate::functions::moments::{DIFFERENCE, DIVIDED, LENGTH, TIMES};
use crate::functions::{Function, MOMENT, is_number};
use crate::limits::cancel::Cancel;

/// Puts them in where types are known.
#[derive(Debug)]
pub(crate) struct Operators;

impl ExprPlanner for Operators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> PlanResult<PlannerResult<RawBinaryExpr>> {
        // The binder does not look itself.
        Cancel::check_current()?;
        // What is in a long chain of numbers or texts is neither moment nor interval.
        let longer = linked::lengthened(expr, schema);
        let expr = match longer.or_else(|expr| concat::lengthened(*expr, schema)) {
            Ok(chain) => return Ok(PlannerResult::Planned(chain)),
            Err(expr) => *expr,
        };
        if !concerns(&expr.op) {
            return Ok(PlannerResult::Original(expr));
        }
        let Ok(right) = expr.right.get_type(schema) else {
            return Ok(PlannerResult::Original(expr));
        };
        // The left one may be a long chain, and nothing here is added to a whole number.
        let is_sum = matches!(expr.op, BinaryOperator::Plus | BinaryOperator::Minus);
        if right.is_integer() && is_sum && is_chain(&expr.left) {
            return Ok(PlannerResult::Original(expr));
        }
        let Ok(left) = expr.left.get_type(schema) else {
            return Ok(PlannerResult::Original(expr));
        };
        let is_interval = |of: &DataType| matches!(of, DataType::Interval(_));
        let is_time = |of: &DataType| matches!(of, DataType::Timestamp(..));
        let is_day = |of: &DataType| is_time(of) || *of == DataType::Date32;
        let RawBinaryExpr { op, left: one, right: other } = expr;
        let planned = match op {
            BinaryOperator::Multiply if is_interval(&left) && is_number(&right) => {
                call(&TIMES, vec![one, other])
            }
            BinaryOperator::Multiply if is_number(&left) && is_interval(&right) => {
                call(&TIMES, vec![other, one])
            }
            BinaryOperator::Divide if is_interval(&left) && is_number(&right) => {
                call(&DIVIDED, vec![one, other])
            }
            BinaryOperator::Minus
                if is_day(&left) && is_day(&right) && (is_time(&left) || is_time(&right)) =>
            {
                call(&DIFFERENCE, vec![one, other])
            }
            // A day with a span is a moment, also where the span has whole days.
            BinaryOperator::Plus | BinaryOperator::Minus
                if left == DataType::Date32 && is_interval(&right) =>
            {
                let moment = Expr::Cast(Cast::new(Box::new(one), MOMENT));
                let sign =
                    if op == BinaryOperator::Plus { Operator::Plus } else { Operator::Minus };
                binary_expr(moment, sign, other)
            }
            BinaryOperator::Plus if is_interval(&left) && right == DataType::Date32 => {
                binary_expr(one, Operator::Plus, Expr::Cast(Cast::new(Box::new(other), MOMENT)))
            }
            ref compared if is_interval(&left) && is_interval(&right) => {
                match comparison(compared) {
                    Some(by) => {
                        binary_expr(call(&LENGTH, vec![one]), by, call(&LENGTH, vec![other]))
                    }
                    None => return original(op, one, other),
                }
            }
            op => return original(op, one, other),
        };
        Ok(PlannerResult::Planned(planned))
    }
}

/// Whether an operator has to do with moments or intervals at all.
fn concerns(op: &BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(op, Op::Plus | Op::Minus | Op::Multiply | Op::Divide) || comparison(op).is_some()
}

/// Whether an expression is a sum, difference or product by itself.
fn is_chain(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryExpr(_))
}

fn original(
    op: BinaryOperator,
    left: Expr,
    right: Expr,
) -> PlanResult<PlannerResult<RawBinaryExpr>> {
    Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
}

fn comparison(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        _ => return None,
    })
}

fn call(function: &Function, args: Vec<Expr>) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(function.called(), args))
}
