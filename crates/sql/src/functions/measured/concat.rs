//! `||` of texts.
//!
//! A chain of them is one call, for each level of a plan's expression is named by all that is
//! below; and it is known how large the results will be before they are made.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DFSchema, ExprSchema, ScalarValue};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::check_size;
use super::growth::Size;

/// The function: of all texts one behind the other, NULL if one of them is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Concatenated {
    signature: Signature,
}

/// The call for `||` of two texts, of which the left one may be a chain that this lengthens.
pub(crate) fn call(binary: BinaryExpr, schema: &dyn ExprSchema) -> PlanResult<Expr> {
    let (left, right) = (binary.left.get_type(schema)?, binary.right.get_type(schema)?);
    if !type_of(&left, &right).is_ok_and(|of| of.is_string()) {
        return Ok(Expr::BinaryExpr(binary));
    }
    let mut args = match *binary.left {
        Expr::ScalarFunction(chain) if chain.func.inner().is::<Concatenated>() => chain.args,
        left => vec![left],
    };
    args.push(*binary.right);
    let signature = Signature::any(args.len(), Volatility::Immutable);
    let function = Arc::new(ScalarUDF::from(Concatenated { signature }));
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)))
}

/// Chains up to this length stay as the binder makes them.
const SHORT: usize = 16;

/// `||` of two texts as a part of a chain, if its left one is a long one, while a statement is
/// bound; or the operation as it was.
pub(crate) fn lengthened(
    expr: RawBinaryExpr,
    schema: &DFSchema,
) -> Result<Expr, Box<RawBinaryExpr>> {
    let is_text = |expr: &Expr| {
        let is_parameter = matches!(expr, Expr::Placeholder(_));
        !is_parameter && expr.get_type(schema).is_ok_and(|of| of.is_string())
    };
    if expr.op != BinaryOperator::StringConcat || !is_text(&expr.right) {
        return Err(Box::new(expr));
    }
    let RawBinaryExpr { op, left, right } = expr;
    let mut args = match left {
        Expr::ScalarFunction(chain) if chain.func.inner().is::<Concatenated>() => chain.args,
        left => match spine(&left).filter(|texts| texts.iter().all(|text| is_text(text))) {
            Some(texts) => texts.into_iter().rev().cloned().collect(),
            None => return Err(Box::new(RawBinaryExpr { op, left, right })),
        },
    };
    args.push(right);
    let signature = Signature::any(args.len(), Volatility::Immutable);
    let function = Arc::new(ScalarUDF::from(Concatenated { signature }));
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)))
}

/// The texts of a chain that has just become long, from right to left.
fn spine(mut expr: &Expr) -> Option<Vec<&Expr>> {
    let mut found = Vec::new();
    for _ in 0..SHORT {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) => {
                found.push(right.as_ref());
                expr = left;
            }
            _ => return None,
        }
    }
    found.push(expr);
    Some(found)
}

fn type_of(left: &DataType, right: &DataType) -> PlanResult<DataType> {
    BinaryTypeCoercer::new(left, &Operator::StringConcat, right).get_result_type()
}

fn spelled(args: &[Expr], spell: impl Fn(&Expr) -> String) -> String {
    let args: Vec<String> = args.iter().map(spell).collect();
    args.join(" || ")
}

fn concatenated(texts: &[ArrayRef], rows: usize) -> PlanResult<ArrayRef> {
    let texts: Vec<_> = texts.iter().map(|array| array.as_string_view()).collect();
    let mut size = Size::default();
    for row in 0..rows {
        let bytes = texts.iter().map(|texts| texts.views()[row] as u32 as usize).sum();
        size.total += bytes;
        size.largest = size.largest.max(bytes);
    }
    check_size(size)?;
    let mut built = StringViewBuilder::with_capacity(rows);
    let mut value = String::new();
    for row in 0..rows {
        if texts.iter().any(|texts| texts.is_null(row)) {
            built.append_null();
            continue;
        }
        value.clear();
        texts.iter().for_each(|texts| value.push_str(texts.value(row)));
        built.append_value(&value);
    }
    Ok(Arc::new(built.finish()))
}

impl ScalarUDFImpl for Concatenated {
    fn name(&self) -> &str {
        "||"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        types[1..].iter().try_fold(types[0].clone(), |left, right| type_of(&left, right))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> PlanResult<FieldRef> {
        let types = args.arg_fields.iter().map(|field| field.data_type().clone());
        let data_type = self.return_type(&types.collect::<Vec<_>>())?;
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), data_type, nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        // Rows share the text of a constant that is a view.
        let view = |arg: &ColumnarValue| arg.cast_to(&DataType::Utf8View, None)?.to_array(rows);
        let texts = args.args.iter().map(view);
        let result = concatenated(&texts.collect::<PlanResult<Vec<_>>>()?, rows)?;
        let result = cast(&result, args.return_type())?;
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?),
            false => ColumnarValue::Array(result),
        })
    }

    fn schema_name(&self, args: &[Expr]) -> PlanResult<String> {
        Ok(spelled(args, |expr| expr.schema_name().to_string()))
    }

    fn display_name(&self, args: &[Expr]) -> PlanResult<String> {
        Ok(spelled(args, ToString::to_string))
    }
}
