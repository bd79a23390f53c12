//! Long chains of sums and products as one call, from when they are bound until they are checked.
//!
//! The binder makes `a + b + c` a tree as deep as the chain is long, and asks at each level for the
//! types and the names of all that is below: time by the square of the length, and more. So numbers
//! behind the first few of a chain become arguments of one function, which stands for what it
//! links and has the same name and type. Where arithmetic is checked, the function is gone.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::DFSchema;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::checked;
use crate::error::Error;

/// Chains up to this length stay as they are.
const SHORT: usize = 16;

/// The names of the function.
pub(crate) const SUM: &str = "+-";
pub(crate) const PRODUCT: &str = "*";

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Linked {
    /// Each between two arguments.
    operators: Vec<Operator>,
    signature: Signature,
}

/// An operation of two numbers as a part of a chain, if its left one is a long one; or the
/// operation as it was.
pub(crate) fn lengthened(
    expr: RawBinaryExpr,
    schema: &DFSchema,
) -> Result<Expr, Box<RawBinaryExpr>> {
    let Some(operator) = operator_of(&expr.op) else { return Err(Box::new(expr)) };
    let is_number = |expr: &Expr| {
        let is_parameter = matches!(expr, Expr::Placeholder(_));
        !is_parameter && expr.get_type(schema).is_ok_and(|of| of.is_numeric())
    };
    if !is_number(&expr.right) {
        return Err(Box::new(expr));
    }
    let RawBinaryExpr { op, left, right } = expr;
    let (mut operators, mut args) = match left {
        Expr::ScalarFunction(call) if chain_of(&call, operator).is_some() => {
            (operators_of(&call).to_vec(), call.args)
        }
        left if is_long(&left, operator) && spine(&left).into_iter().all(is_number) => {
            taken_apart(left)
        }
        left => return Err(Box::new(RawBinaryExpr { op, left, right })),
    };
    operators.push(operator);
    args.push(right);
    let signature = Signature::any(args.len(), Volatility::Immutable);
    let function = Arc::new(ScalarUDF::from(Linked { operators, signature }));
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)))
}

fn operator_of(op: &BinaryOperator) -> Option<Operator> {
    match op {
        BinaryOperator::Plus => Some(Operator::Plus),
        BinaryOperator::Minus => Some(Operator::Minus),
        BinaryOperator::Multiply => Some(Operator::Multiply),
        _ => None,
    }
}

/// Whether two operators may stand in one chain.
fn is_one(one: Operator, other: Operator) -> bool {
    let is_sum = |operator| matches!(operator, Operator::Plus | Operator::Minus);
    one == other || (is_sum(one) && is_sum(other))
}

/// The operators of a chain, if a call is one.
pub(crate) fn operators_of(call: &ScalarFunction) -> &[Operator] {
    let chain = call.func.inner().downcast_ref::<Linked>();
    chain.map_or(&[], |chain| chain.operators.as_slice())
}

/// The chain that a call is, if it can be lengthened by an operator.
fn chain_of(call: &ScalarFunction, operator: Operator) -> Option<&[Operator]> {
    let operators = operators_of(call);
    operators.first().filter(|first| is_one(**first, operator)).map(|_| operators)
}

/// Whether a chain goes down to the left for more than a few links.
fn is_long(mut expr: &Expr, operator: Operator) -> bool {
    for _ in 0..SHORT {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, .. }) if is_one(*op, operator) => expr = left,
            _ => return false,
        }
    }
    true
}

/// What the few links of a chain that has just become long are between.
fn spine(mut expr: &Expr) -> Vec<&Expr> {
    let mut found = Vec::new();
    for _ in 0..SHORT {
        let Expr::BinaryExpr(BinaryExpr { left, right, .. }) = expr else { break };
        found.push(right.as_ref());
        expr = left;
    }
    found.push(expr);
    found
}

/// The same with the operators between them, from left to right.
fn taken_apart(expr: Expr) -> (Vec<Operator>, Vec<Expr>) {
    let (mut operators, mut args) = (Vec::new(), Vec::new());
    let mut rest = expr;
    for _ in 0..SHORT {
        match rest {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                operators.push(op);
                args.push(*right);
                rest = *left;
            }
            other => {
                rest = other;
                break;
            }
        }
    }
    args.push(rest);
    operators.reverse();
    args.reverse();
    (operators, args)
}

/// Numbers with operators between them, as they are spelled.
pub(crate) fn spelled(
    operators: &[Operator],
    args: &[Expr],
    spell: impl Fn(&Expr) -> String,
) -> String {
    let mut spelled = args.first().map(&spell).unwrap_or_default();
    for (operator, right) in operators.iter().zip(args.iter().skip(1)) {
        spelled.push_str(&format!(" {operator} {}", spell(right)));
    }
    spelled
}

impl ScalarUDFImpl for Linked {
    fn name(&self) -> &str {
        if self.operators.contains(&Operator::Multiply) { PRODUCT } else { SUM }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        let mut steps = self.operators.iter().zip(&types[1..]);
        steps.try_fold(types[0].clone(), |left, (operator, right)| {
            BinaryTypeCoercer::new(&left, operator, right).get_result_type()
        })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> PlanResult<FieldRef> {
        let types = args.arg_fields.iter().map(|field| field.data_type().clone());
        let data_type = self.return_type(&types.collect::<Vec<_>>())?;
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), data_type, nullable)))
    }

    /// Of constants that are wanted before arithmetic is checked: a LIMIT, arguments of a table.
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let Some((first, others)) = args.args.split_first() else {
            return Err(Error::internal("a chain of no numbers").into());
        };
        let mut result = first.clone();
        for (operator, right) in self.operators.iter().zip(others) {
            let (left_type, right_type) = (result.data_type(), right.data_type());
            let coercer = BinaryTypeCoercer::new(&left_type, operator, &right_type);
            let (types, to) = (coercer.get_input_types()?, coercer.get_result_type()?);
            let (left, right) = (result.cast_to(&types.0, None)?, right.cast_to(&types.1, None)?);
            result = checked::operate(*operator, &left, &right, args.number_rows, &to)?;
        }
        Ok(result)
    }

    fn schema_name(&self, args: &[Expr]) -> PlanResult<String> {
        Ok(spelled(&self.operators, args, |expr| expr.schema_name().to_string()))
    }

    fn display_name(&self, args: &[Expr]) -> PlanResult<String> {
        Ok(spelled(&self.operators, args, ToString::to_string))
    }
}
