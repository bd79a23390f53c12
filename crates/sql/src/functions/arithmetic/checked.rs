//! Arithmetic that does not wrap.
//!
//! DataFusion adds, subtracts, multiplies and negates whole numbers modulo their size, and gives
//! infinity for floats. Here each such operation becomes a call of a function that fails instead,
//! before constants are folded. So do those of decimals, which Arrow checks too, but slowly.
//!
//! A chain of additions and subtractions, or of multiplications, becomes one call with all numbers:
//! what plans it would otherwise take time by the cube of its length, for each level is named by
//! all that is below.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{ExprSchema, ScalarValue};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, binary_expr,
};
use datafusion::optimizer::AnalyzerRule;

use super::{Operands, any_numeric, converted, decimal, linked};
use crate::error::{Error, Result, SqlState};
use crate::functions::expressions::rewrite_all;
use crate::values::sql_type::SqlType;

/// The rule.
#[derive(Debug)]
pub(crate) struct CheckedArithmetic {
    add: Arc<ScalarUDF>,
    subtract: Arc<ScalarUDF>,
    multiply: Arc<ScalarUDF>,
    divide: Arc<ScalarUDF>,
}

impl CheckedArithmetic {
    pub(crate) fn new() -> Self {
        let function = |operator| Arc::new(ScalarUDF::from(Checked::new(vec![operator])));
        Self {
            add: function(Operator::Plus),
            subtract: function(Operator::Minus),
            multiply: function(Operator::Multiply),
            divide: function(Operator::Divide),
        }
    }

    /// The function of an operation; only floats are divided by one of these.
    fn function(&self, operator: Operator) -> Option<&Arc<ScalarUDF>> {
        match operator {
            Operator::Plus => Some(&self.add),
            Operator::Minus => Some(&self.subtract),
            Operator::Multiply => Some(&self.multiply),
            Operator::Divide => Some(&self.divide),
            _ => None,
        }
    }

    /// The call for an operation of two numbers of these types, of which the left one may be a
    /// chain that this lengthens.
    fn call(
        &self,
        operator: Operator,
        operands: Operands<Expr>,
        types: Operands<&DataType>,
    ) -> Option<Expr> {
        let mut function = Arc::clone(self.function(operator)?);
        let mut args = match operands.left {
            Expr::ScalarFunction(call) => match lengthened(&call, operator) {
                Some(operators) => {
                    let mut chain = Checked::new(operators);
                    chain.result = type_of(types.left, operator, types.right).ok();
                    function = Arc::new(ScalarUDF::from(chain));
                    call.args
                }
                None => vec![Expr::ScalarFunction(call)],
            },
            left => vec![left],
        };
        args.push(operands.right);
        Some(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)))
    }

    /// A long chain as calls, each as long as its numbers are of one type, with what makes numbers
    /// of several types fit.
    fn parted(&self, chain: ScalarFunction, schema: &dyn ExprSchema) -> PlanResult<Expr> {
        let operators = linked::operators_of(&chain).to_vec();
        let mut args = chain.args.into_iter();
        let first = args.next().ok_or_else(|| Error::internal("a chain of no numbers"))?;
        let mut of = first.get_type(schema)?;
        let mut run = Run::of(first);
        for (operator, right) in operators.into_iter().zip(args) {
            let right_type = right.get_type(schema)?;
            let coercer = BinaryTypeCoercer::new(&of, &operator, &right_type);
            let (types, result) = (coercer.get_input_types()?, coercer.get_result_type()?);
            if of != types.0 {
                run = Run::of(cast_between(run.into_expr(), &of, &types.0));
            }
            let right = cast_between(right, &right_type, &types.1);
            if is_checked(operator, &types.0, &types.1) {
                run.args.push(right);
                run.operators.push(operator);
                run.result = Some(result.clone());
            } else {
                run = Run::of(binary_expr(run.into_expr(), operator, right));
            }
            of = result;
        }
        Ok(run.into_expr())
    }

    fn rewrite(&self, expr: Expr, schema: &dyn ExprSchema) -> PlanResult<Transformed<Expr>> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let types = self
                    .function(op)
                    .and_then(|_| Some((known_type(&left, schema)?, known_type(&right, schema)?)));
                let Some((one, other)) = types.filter(|(one, other)| is_checked(op, one, other))
                else {
                    return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
                };
                let operands = Operands { left: *left, right: *right };
                let call = self.call(op, operands, Operands { left: &one, right: &other });
                Ok(Transformed::yes(call.ok_or_else(|| Error::internal("an operation"))?))
            }
            Expr::Negative(inner) => {
                let of = inner.get_type(schema)?;
                if !of.is_signed_integer() && of != DataType::Float64 {
                    return Ok(Transformed::no(Expr::Negative(inner)));
                }
                let zero = Expr::Literal(ScalarValue::new_zero(&of)?, None);
                let operands = Operands { left: zero, right: *inner };
                let types = Operands { left: &of, right: &of };
                let call = self.call(Operator::Minus, operands, types);
                Ok(Transformed::yes(call.ok_or_else(|| Error::internal("an operation"))?))
            }
            Expr::ScalarFunction(call) if !linked::operators_of(&call).is_empty() => {
                Ok(Transformed::yes(self.parted(call, schema)?))
            }
            Expr::ScalarFunction(call) => match any_numeric::operand(&call) {
                Some(operand) => {
                    let of = operand.get_type(schema)?;
                    let resolved = any_numeric::resolved(operand.clone(), &of);
                    Ok(Transformed::yes(self.rewrite(resolved, schema)?.data))
                }
                None => Ok(Transformed::no(Expr::ScalarFunction(call))),
            },
            Expr::Cast(cast) => {
                let from = cast.expr.get_type(schema)?;
                Ok(match converted::call(&cast, &from) {
                    Some(call) => Transformed::yes(call),
                    None => Transformed::no(Expr::Cast(cast)),
                })
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

/// A part of a long chain that one call can compute.
struct Run {
    operators: Vec<Operator>,
    args: Vec<Expr>,
    result: Option<DataType>,
}

impl Run {
    fn of(first: Expr) -> Self {
        Self { operators: Vec::new(), args: vec![first], result: None }
    }

    fn into_expr(mut self) -> Expr {
        if self.operators.is_empty() {
            return self.args.pop().unwrap_or_default();
        }
        let mut chain = Checked::new(self.operators);
        chain.result = self.result;
        Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::from(chain)), self.args))
    }
}

/// A number of one type as one of another, as a cast between them is made.
fn cast_between(expr: Expr, from: &DataType, to: &DataType) -> Expr {
    if from == to {
        return expr;
    }
    let cast = Cast::new(Box::new(expr), to.clone());
    converted::call(&cast, from).unwrap_or(Expr::Cast(cast))
}

impl AnalyzerRule for CheckedArithmetic {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        rewrite_all(plan, |expr, schema| self.rewrite(expr, schema))
    }

    fn name(&self) -> &str {
        "checked_arithmetic"
    }
}

/// The operators of a chain that a call is, with one more behind them, if that belongs to it.
fn lengthened(call: &ScalarFunction, operator: Operator) -> Option<Vec<Operator>> {
    let chain = call.func.inner().downcast_ref::<Checked>()?;
    let is_sum = |operator: &Operator| matches!(operator, Operator::Plus | Operator::Minus);
    let is_one = chain.operators.iter().all(|own| match operator {
        Operator::Multiply => *own == Operator::Multiply,
        Operator::Plus | Operator::Minus => is_sum(own),
        _ => false,
    });
    is_one.then(|| chain.operators.iter().copied().chain([operator]).collect())
}

/// Operations of numbers, from left to right, that fail where a result does not fit.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    /// The operators, one behind the other: no two functions in a plan that is sent may have one
    /// name.
    name: String,
    /// Each between two arguments.
    operators: Vec<Operator>,
    /// Of a chain, what it gives: whoever lengthens it need not ask all its numbers.
    result: Option<DataType>,
    signature: Signature,
}

/// The operators between the arguments of a function, from the left to the right, if it is one of
/// checked operations.
pub(crate) fn operators_of(function: &ScalarUDF) -> Option<&[Operator]> {
    let checked = function.inner().downcast_ref::<Checked>()?;
    Some(&checked.operators)
}

/// The function of these operators.
pub(crate) fn of_operators(operators: Vec<Operator>) -> ScalarUDF {
    ScalarUDF::from(Checked::new(operators))
}

/// The type of an expression, without asking again what a chain gives.
fn known_type(expr: &Expr, schema: &dyn ExprSchema) -> Option<DataType> {
    if let Expr::ScalarFunction(call) = expr
        && let Some(chain) = call.func.inner().downcast_ref::<Checked>()
        && chain.result.is_some()
    {
        return chain.result.clone();
    }
    expr.get_type(schema).ok()
}

/// Whether an operation of these types is one of ours.
fn is_checked(operator: Operator, left: &DataType, right: &DataType) -> bool {
    let both = |is: fn(&DataType) -> bool| is(left) && is(right);
    let is_whole = both(DataType::is_integer) || both(|of| matches!(of, DataType::Decimal128(..)));
    (is_whole && operator != Operator::Divide) || both(|of| matches!(of, DataType::Float64))
}

impl Checked {
    fn new(operators: Vec<Operator>) -> Self {
        let signature = Signature::any(operators.len() + 1, Volatility::Immutable);
        let name = operators.iter().map(Operator::to_string).collect();
        Self { name, operators, result: None, signature }
    }
}

/// One operation of two arrays.
fn apply(operator: Operator, left: &ArrayRef, right: &ArrayRef) -> PlanResult<ArrayRef> {
    let result = match operator {
        Operator::Plus => numeric::add(left, right),
        Operator::Minus => numeric::sub(left, right),
        Operator::Divide => numeric::div(left, right),
        _ => numeric::mul(left, right),
    };
    let result = result.map_err(|error| match Error::from(error) {
        error if error.state() == SqlState::NUMBER_OUT_OF_RANGE => {
            let text = match SqlType::from_arrow(left.data_type()) {
                SqlType::Numeric { .. } => "value overflows numeric format".to_owned(),
                of => format!("{of} out of range"),
            };
            Error::new(SqlState::NUMBER_OUT_OF_RANGE, text)
        }
        other => other,
    })?;
    let Some(floats) = result.as_primitive_opt::<Float64Type>() else { return Ok(result) };
    check_floats(operator, floats, left.as_primitive(), right.as_primitive())?;
    // Zero with a sign equals zero without, which Arrow tells apart.
    let floats: Float64Array = floats.unary(|number| number + 0.0);
    Ok(Arc::new(floats))
}

/// Checks that nothing finite became infinite.
fn check_floats(
    operator: Operator,
    results: &Float64Array,
    left: &Float64Array,
    right: &Float64Array,
) -> Result<()> {
    // Values at places that are NULL are whatever they are.
    if results.values().iter().all(|result| result.is_finite()) {
        return Ok(());
    }
    for row in (0..results.len()).filter(|row| results.is_valid(*row)) {
        let (result, left, right) = (results.value(row), left.value(row), right.value(row));
        if operator == Operator::Divide && right == 0.0 && !left.is_nan() {
            return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
        }
        if result.is_infinite() && left.is_finite() && right.is_finite() {
            let text = "value out of range: overflow";
            return Err(Error::new(SqlState::NUMBER_OUT_OF_RANGE, text));
        }
    }
    Ok(())
}

/// What an operation of two types gives.
fn type_of(left: &DataType, operator: Operator, right: &DataType) -> PlanResult<DataType> {
    BinaryTypeCoercer::new(left, &operator, right).get_result_type()
}

/// The result of one operation of so many rows, or of two constants, which are of the types that
/// it takes.
///
/// # Errors
/// `NUMBER_OUT_OF_RANGE`, `DIVISION_BY_ZERO`.
pub(crate) fn operate(
    operator: Operator,
    left: &ColumnarValue,
    right: &ColumnarValue,
    rows: usize,
    to: &DataType,
) -> PlanResult<ColumnarValue> {
    if let Some(result) = decimal::apply(operator, left, right, to) {
        return Ok(ColumnarValue::Array(result));
    }
    let is_scalar = [left, right].iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    let rows = if is_scalar { 1 } else { rows };
    // Whole numbers are made of one size first; decimals keep their digits after the point.
    let array = |value: &ColumnarValue| match to {
        DataType::Decimal128(..) => value.to_array(rows),
        _ => value.cast_to(to, None)?.into_array(rows),
    };
    let result = apply(operator, &array(left)?, &array(right)?)?;
    let result = if result.data_type() == to { result } else { cast(&result, to)? };
    if is_scalar {
        let scalar = ScalarValue::try_from_array(&result, 0)?;
        return Ok(ColumnarValue::Scalar(scalar));
    }
    Ok(ColumnarValue::Array(result))
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        let mut steps = self.operators.iter().zip(&types[1..]);
        steps.try_fold(types[0].clone(), |left, (operator, right)| type_of(&left, *operator, right))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let Some((first, others)) = args.args.split_first() else {
            return Err(Error::internal("an operation of no numbers").into());
        };
        let mut result = first.clone();
        for (place, (operator, right)) in self.operators.iter().zip(others).enumerate() {
            let to = match place + 1 == self.operators.len() {
                true => args.return_type().clone(),
                false => type_of(&result.data_type(), *operator, &right.data_type())?,
            };
            result = operate(*operator, &result, right, args.number_rows, &to)?;
        }
        Ok(result)
    }

    fn schema_name(&self, args: &[Expr]) -> PlanResult<String> {
        Ok(linked::spelled(&self.operators, args, |expr| expr.schema_name().to_string()))
    }

    fn display_name(&self, args: &[Expr]) -> PlanResult<String> {
        Ok(linked::spelled(&self.operators, args, ToString::to_string))
    }
}
