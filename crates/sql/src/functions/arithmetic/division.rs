//! Division of numerics, with as many digits after the point as PostgreSQL gives at least.
//!
//! A plan has to know the digits of all quotients before it sees one. They are 16 after the point,
//! or what the operands have if that is more, as long as the digits before it have room. The last
//! one is rounded half away from zero.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, i256};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::Operands;
use crate::error::{Error, Result, SqlState};

/// Digits of a numeric, at most.
const DIGITS_MAX: i16 = 38;

/// Digits after the point of a quotient, where there is room.
const SCALE_MIN: i16 = 16;

/// Digits before it that room is kept for, at most: a numeric that says nothing of its digits has
/// room for more than anybody has.
const WHOLE_MAX: i16 = DIGITS_MAX - SCALE_MIN;

/// The numeric type that has all numbers of a type, unless it is one of floats.
pub(crate) fn exact(data_type: &DataType) -> Option<DataType> {
    use DataType as T;
    match data_type {
        T::Int8 | T::Int16 | T::Int32 | T::UInt8 | T::UInt16 => Some(T::Decimal128(10, 0)),
        T::Int64 | T::UInt32 | T::UInt64 => Some(T::Decimal128(20, 0)),
        T::Decimal128(..) => Some(data_type.clone()),
        _ => None,
    }
}

/// The function.
pub(crate) static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(Division { signature }))
});

/// A quotient, if these are the types of a division of numerics.
pub(crate) fn call(operands: Operands<&Expr>, types: Operands<&DataType>) -> Option<Expr> {
    let is_numeric = |of: &DataType| matches!(of, DataType::Decimal128(..));
    let are_exact = exact(types.left).is_some() && exact(types.right).is_some();
    if !are_exact || !(is_numeric(types.left) || is_numeric(types.right)) {
        return None;
    }
    let args = vec![operands.left.clone(), operands.right.clone()];
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), args)))
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Division {
    signature: Signature,
}

impl ScalarUDFImpl for Division {
    fn name(&self) -> &str {
        "quotient"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> PlanResult<Vec<DataType>> {
        let types = types
            .iter()
            .map(|of| exact(of).ok_or_else(|| Error::internal("a quotient of other types").into()));
        types.collect()
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        let [Some(DataType::Decimal128(p1, s1)), Some(DataType::Decimal128(_, s2))] =
            [exact(&types[0]), exact(&types[1])]
        else {
            return Err(Error::internal("a quotient of other types").into());
        };
        let (p1, s1, s2) = (i16::from(p1), i16::from(s1), i16::from(s2));
        let whole = (p1 - s1 + s2).min(WHOLE_MAX);
        let least = s1.max(s2);
        let scale = SCALE_MIN.max(least).min((DIGITS_MAX - whole).max(least));
        let precision = (whole + scale).clamp(1, DIGITS_MAX);
        Ok(DataType::Decimal128(precision as u8, scale as i8))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let (left, right) = (args.args[0].to_array(rows)?, args.args[1].to_array(rows)?);
        let quotients = divided(&left, &right, args.return_type())?;
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&quotients, 0)?),
            false => ColumnarValue::Array(quotients),
        })
    }

    fn display_name(&self, args: &[Expr]) -> PlanResult<String> {
        Ok(match args {
            [left, right] => format!("{left} / {right}"),
            _ => "/".to_owned(),
        })
    }
}

fn divided(left: &ArrayRef, right: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let scale = |of: &DataType| match of {
        DataType::Decimal128(_, scale) => i16::from(*scale),
        _ => 0,
    };
    let moved = scale(to) - scale(left.data_type()) + scale(right.data_type());
    let DataType::Decimal128(precision, _) = to else {
        return Err(Error::internal("a quotient that is no numeric"));
    };
    let limit = 10_i128.pow(u32::from(*precision));
    let power = u32::try_from(moved).ok().and_then(|moved| 10_i128.checked_pow(moved));
    let power = power.ok_or_else(|| Error::internal("a quotient with fewer digits"))?;
    let (left, right) =
        (left.as_primitive::<Decimal128Type>(), right.as_primitive::<Decimal128Type>());
    let each = left.iter().zip(right.iter()).map(|(left, right)| {
        let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
        if right == 0 {
            return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
        }
        let found = quotient(left, power, right).filter(|found| found.abs() < limit);
        found.map(Some).ok_or_else(|| {
            Error::new(SqlState::NUMBER_OUT_OF_RANGE, "value overflows numeric format")
        })
    });
    let quotients = each.collect::<Result<Decimal128Array>>()?;
    Ok(Arc::new(quotients.with_data_type(to.clone())))
}

/// `left * power / right`, rounded half away from zero.
fn quotient(left: i128, power: i128, right: i128) -> Option<i128> {
    let (whole, rest) = match left.checked_mul(power) {
        Some(left) => (left.checked_div(right)?, left.checked_rem(right)?),
        None => {
            let left = i256::from_i128(left).checked_mul(i256::from_i128(power))?;
            let right = i256::from_i128(right);
            let whole = left.checked_div(right)?.to_i128()?;
            (whole, left.checked_rem(right)?.to_i128()?)
        }
    };
    let is_up = rest.unsigned_abs() >= right.unsigned_abs().div_ceil(2) && rest != 0;
    let is_negative = (left < 0) != (right < 0);
    Some(if is_up { whole + if is_negative { -1 } else { 1 } } else { whole })
}
