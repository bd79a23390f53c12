//! Arithmetic that does not wrap.
//!
//! DataFusion adds, subtracts, multiplies and negates whole numbers modulo their size, and gives
//! infinity for floats. Here each such operation becomes a call of a function that fails instead,
//! before constants are folded. So do those of decimals, which Arrow checks too, but slowly.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ExprSchema, ScalarValue};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;

use super::{converted, decimal};
use crate::error::{Error, Result, SqlState};
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
        let function = |operator| Arc::new(ScalarUDF::from(Checked::new(operator)));
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

    fn call(&self, operator: Operator, args: Vec<Expr>) -> Option<Expr> {
        let function = self.function(operator)?;
        Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), args)))
    }

    fn rewrite(&self, expr: Expr, schema: &dyn ExprSchema) -> PlanResult<Transformed<Expr>> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let all_are = |is: fn(&DataType) -> bool| {
                    [&left, &right].iter().all(|expr| expr.get_type(schema).is_ok_and(|of| is(&of)))
                };
                let is_whole = all_are(DataType::is_integer)
                    || all_are(|of| matches!(of, DataType::Decimal128(..)));
                let is_ours = (is_whole && op != Operator::Divide)
                    || all_are(|of| matches!(of, DataType::Float64));
                match is_ours.then(|| self.call(op, vec![*left.clone(), *right.clone()])).flatten()
                {
                    Some(call) => Ok(Transformed::yes(call)),
                    None => Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
                }
            }
            Expr::Negative(inner) => {
                let of = inner.get_type(schema)?;
                if !of.is_signed_integer() && of != DataType::Float64 {
                    return Ok(Transformed::no(Expr::Negative(inner)));
                }
                let args = vec![Expr::Literal(ScalarValue::new_zero(&of)?, None), *inner.clone()];
                let call = self.call(Operator::Minus, args);
                Ok(Transformed::yes(call.unwrap_or(Expr::Negative(inner))))
            }
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

impl AnalyzerRule for CheckedArithmetic {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            let mut schema = merge_schema(&plan.inputs());
            if let LogicalPlan::TableScan(scan) = &plan {
                schema.merge(&DFSchema::try_from_qualified_schema(
                    scan.table_name.clone(),
                    &scan.source.schema(),
                )?);
            }
            let names = NamePreserver::new(&plan);
            let rewritten = plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.transform_up(|expr| self.rewrite(expr, &schema))?;
                Ok(rewritten.update_data(|expr| name.restore(expr)))
            })?;
            // What stands below may be NULL now where it was not, or the other way round.
            rewritten.map_data(LogicalPlan::recompute_schema)
        })?;
        Ok(rewritten.data)
    }

    fn name(&self) -> &str {
        "checked_arithmetic"
    }
}

/// An operation of whole numbers or decimals that fails where the result does not fit.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    operator: Operator,
    signature: Signature,
}

impl Checked {
    fn new(operator: Operator) -> Self {
        Self { operator, signature: Signature::any(2, Volatility::Immutable) }
    }

    fn apply(&self, left: &ArrayRef, right: &ArrayRef) -> PlanResult<ArrayRef> {
        let result = match self.operator {
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
        self.check_floats(floats, left.as_primitive(), right.as_primitive())?;
        // Zero with a sign equals zero without, which Arrow tells apart.
        let floats: Float64Array = floats.unary(|number| number + 0.0);
        Ok(Arc::new(floats))
    }

    /// Checks that nothing finite became infinite.
    fn check_floats(
        &self,
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
            if self.operator == Operator::Divide && right == 0.0 && !left.is_nan() {
                return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
            }
            if result.is_infinite() && left.is_finite() && right.is_finite() {
                let text = "value out of range: overflow";
                return Err(Error::new(SqlState::NUMBER_OUT_OF_RANGE, text));
            }
        }
        Ok(())
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.operator {
            Operator::Plus => "+",
            Operator::Minus => "-",
            Operator::Divide => "/",
            _ => "*",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        let operator = self.operator;
        let coercer = datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer::new(
            &types[0], &operator, &types[1],
        );
        coercer.get_result_type()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let [left, right] = args.args.as_slice() else {
            return Err(Error::internal("an operation of two numbers").into());
        };
        let to = args.return_type();
        if let Some(result) = decimal::apply(self.operator, (left, right), to) {
            return Ok(ColumnarValue::Array(result));
        }
        // Whole numbers are made of one size first; decimals keep their digits after the point.
        let array = |value: &ColumnarValue| match to {
            DataType::Decimal128(..) => value.to_array(rows),
            _ => value.cast_to(to, None)?.into_array(rows),
        };
        let result = self.apply(&array(left)?, &array(right)?)?;
        let result = if result.data_type() == to { result } else { cast(&result, to)? };
        if is_scalar {
            let scalar = ScalarValue::try_from_array(&result, 0)?;
            return Ok(ColumnarValue::Scalar(scalar));
        }
        Ok(ColumnarValue::Array(result))
    }

    fn display_name(&self, args: &[Expr]) -> PlanResult<String> {
        Ok(match args {
            [left, right] => format!("{left} {} {right}", self.name()),
            _ => self.name().to_owned(),
        })
    }
}
