//! Casts that PostgreSQL makes by rules of its own: from text, into text, and to whole numbers.
//!
//! Text is read as an assignment to a column reads it. A numeric becomes a whole number rounded
//! half away from zero, a float half to even; a numeric becomes the float that is next to it. Each
//! such cast becomes a call of a function before constants are folded; all others are left to
//! Arrow, and can be moved about by the planner.

use std::sync::Arc;

use datafusion::arrow::array::Array;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::Result;
use crate::values::arrow_in::array_of;
use crate::values::arrow_out::assign;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// The call that makes a cast from this type, if it is one of ours.
pub(crate) fn call(cast: &Cast, from: &DataType) -> Option<Expr> {
    let to = cast.field.data_type();
    if !is_ours(from, to) {
        return None;
    }
    let args = vec![cast.expr.as_ref().clone()];
    let function = Arc::new(to_type(to.clone()));
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)))
}

/// The function that makes values of a type.
pub(crate) fn to_type(to: DataType) -> ScalarUDF {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::from(Converted { name: format!("cast to {to}"), to, signature })
}

/// The type of which a function makes values, if it is such a one.
pub(crate) fn type_of(function: &ScalarUDF) -> Option<&DataType> {
    Some(&function.inner().downcast_ref::<Converted>()?.to)
}

fn is_ours(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    let is_broken = matches!(from, T::Float32 | T::Float64 | T::Decimal128(..));
    match (from, to) {
        (T::Utf8 | T::Utf8View | T::LargeUtf8, to) => {
            is_signed(to)
                || matches!(
                    to,
                    T::Float32 | T::Float64 | T::Decimal128(..) | T::Boolean | T::Date32
                )
                || matches!(to, T::Timestamp(TimeUnit::Microsecond, _))
                || matches!(to, T::Time64(_))
        }
        (from, T::Utf8 | T::Utf8View | T::LargeUtf8) => {
            is_broken || matches!(from, T::Boolean | T::Timestamp(..) | T::Interval(_))
        }
        (T::Decimal128(..), T::Float64 | T::Float32) => true,
        (_, to) => is_broken && is_signed(to),
    }
}

fn is_signed(data_type: &DataType) -> bool {
    use DataType as T;
    matches!(data_type, T::Int8 | T::Int16 | T::Int32 | T::Int64)
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Converted {
    /// Another one for each type: no two functions in a plan that is sent may have one name.
    name: String,
    to: DataType,
    signature: Signature,
}

impl Converted {
    fn convert(&self, array: &Arc<dyn Array>) -> Result<Arc<dyn Array>> {
        let to = SqlType::from_arrow(&self.to);
        if to != SqlType::Text {
            let converted = assign(array, &to)?;
            return Ok(match *converted.data_type() == self.to {
                true => converted,
                false => datafusion::arrow::compute::cast(&converted, &self.to)?,
            });
        }
        let texts = (0..array.len()).map(|row| {
            Ok(match Datum::from_array(array.as_ref(), row)? {
                Datum::Null => Datum::Null,
                Datum::Bool(truth) => Datum::from(if truth { "true" } else { "false" }),
                other => Datum::from(other.to_string()),
            })
        });
        let texts = array_of(&texts.collect::<Result<Vec<_>>>()?, &to)?;
        Ok(datafusion::arrow::compute::cast(&texts, &self.to)?)
    }
}

impl ScalarUDFImpl for Converted {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(self.to.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        match &args.args[0] {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(self.convert(array)?)),
            ColumnarValue::Scalar(scalar) => {
                let converted = self.convert(&scalar.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&converted, 0)?))
            }
        }
    }

    fn display_name(&self, args: &[Expr]) -> PlanResult<String> {
        let arg = args.first().map(ToString::to_string).unwrap_or_default();
        Ok(format!("CAST({arg} AS {})", SqlType::from_arrow(&self.to)))
    }
}
