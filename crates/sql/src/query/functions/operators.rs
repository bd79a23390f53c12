//! Operators on moments and intervals, as functions: the difference of two moments is an interval,
//! an interval times a number is one, and intervals are compared by how long they are.
//!
//! Where a type is not known yet the operation is left as it is.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, binary_expr};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::moments::{DIFFERENCE, DIVIDED, LENGTH, TIMES};
use super::{Function, is_number};

/// Puts them in where types are known.
#[derive(Debug)]
pub(in crate::query) struct Operators;

impl ExprPlanner for Operators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> PlanResult<PlannerResult<RawBinaryExpr>> {
        let types = (expr.left.get_type(schema), expr.right.get_type(schema));
        let (Ok(left), Ok(right)) = types else { return Ok(PlannerResult::Original(expr)) };
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
