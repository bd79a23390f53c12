//! ceil, floor, round and trunc, as PostgreSQL has them.
//!
//! Of a numeric they are a numeric with the digits that are asked for, halves away from zero; of
//! anything else a float, halves to even. A numeric may need one digit more in front.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Field, FieldRef, Float64Type, Int32Type,
};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use crate::error::{Error, Result, SqlState};

/// Digits of a numeric, at most.
const DIGITS_MAX: i32 = 38;

/// The functions.
pub(crate) fn functions() -> [Arc<ScalarUDF>; 4] {
    [Way::Up, Way::Down, Way::Nearest, Way::TowardsZero]
        .map(|way| Arc::new(ScalarUDF::from(Rounding::new(way))))
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Way {
    Up,
    Down,
    Nearest,
    TowardsZero,
}

/// Digits after the point.
#[derive(Clone, Copy)]
struct Scales {
    /// Those that a number has.
    from: i32,
    /// Those that it is rounded to.
    digits: i32,
    /// Those that it is shown with.
    shown: i32,
}

impl Way {
    fn float(self, number: f64) -> f64 {
        match self {
            Self::Up => number.ceil(),
            Self::Down => number.floor(),
            Self::Nearest => number.round_ties_even(),
            Self::TowardsZero => number.trunc(),
        }
    }

    /// How often a positive unit is in a number.
    fn quotient(self, number: i128, unit: i128) -> i128 {
        let (down, rest) = (number.div_euclid(unit), number.rem_euclid(unit));
        let up = match self {
            Self::Up => rest > 0,
            Self::Down => false,
            Self::TowardsZero => rest > 0 && number < 0,
            Self::Nearest if number < 0 => rest > unit / 2,
            Self::Nearest => rest >= unit - unit / 2 && rest > 0,
        };
        down + i128::from(up)
    }

    /// A number, rounded, with other digits after the point.
    fn decimal(self, number: i128, scales: Scales) -> Option<i128> {
        let Scales { from, digits, shown } = scales;
        let power = |digits: i32| 10_i128.checked_pow(u32::try_from(digits).ok()?);
        let kept = digits.min(from);
        // A unit that no number reaches.
        let rounded = match power(from - kept) {
            Some(unit) => self.quotient(number, unit),
            None => 0,
        };
        match shown >= kept {
            true => rounded.checked_mul(power(shown - kept)?),
            false => Some(Self::TowardsZero.quotient(rounded, power(kept - shown)?)),
        }
    }
}

/// A function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Rounding {
    way: Way,
    signature: Signature,
    aliases: Vec<String>,
}

impl Rounding {
    fn new(way: Way) -> Self {
        let aliases = if way == Way::Up { vec!["ceiling".to_owned()] } else { Vec::new() };
        Self { way, signature: Signature::user_defined(Volatility::Immutable), aliases }
    }

    /// Digits in all and after the point of what is given out, for so many that are asked for.
    fn digits(precision: u8, scale: i8, asked: Option<i32>) -> (u8, i8) {
        let (precision, scale) = (i32::from(precision), i32::from(scale));
        let whole = (precision - scale + 1).min(DIGITS_MAX);
        let asked = asked.map_or(scale, |asked| asked.max(0));
        let scale = asked.min((DIGITS_MAX - whole).max(scale));
        ((whole + scale).min(DIGITS_MAX) as u8, scale as i8)
    }

    fn decimals(
        &self,
        numbers: &Decimal128Array,
        digits: Option<&ArrayRef>,
        to: &DataType,
    ) -> Result<ArrayRef> {
        let (DataType::Decimal128(_, from), DataType::Decimal128(precision, shown)) =
            (numbers.data_type(), to)
        else {
            return Err(Error::internal("a numeric is rounded to another type"));
        };
        let digits = digits.map(|digits| digits.as_primitive::<Int32Type>());
        let limit = 10_i128.pow(u32::from(*precision));
        let each = (0..numbers.len()).map(|row| {
            let digits = match digits {
                None => 0,
                Some(digits) if digits.is_null(row) => return Ok(None),
                Some(digits) => digits.value(row).clamp(-1000, 1000),
            };
            if numbers.is_null(row) {
                return Ok(None);
            }
            let (from, shown) = (i32::from(*from), i32::from(*shown));
            let scales = Scales { from, digits, shown };
            let rounded = self.way.decimal(numbers.value(row), scales);
            let rounded = rounded.filter(|rounded| rounded.abs() < limit);
            rounded.map(Some).ok_or_else(|| {
                Error::new(SqlState::NUMBER_OUT_OF_RANGE, "value overflows numeric format")
            })
        });
        let rounded = each.collect::<Result<Decimal128Array>>()?;
        Ok(Arc::new(rounded.with_data_type(to.clone())))
    }
}

impl ScalarUDFImpl for Rounding {
    fn name(&self) -> &str {
        match self.way {
            Way::Up => "ceil",
            Way::Down => "floor",
            Way::Nearest => "round",
            Way::TowardsZero => "trunc",
        }
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> PlanResult<Vec<DataType>> {
        use DataType as T;
        let with_digits = matches!(self.way, Way::Nearest | Way::TowardsZero);
        match types {
            [one @ T::Decimal128(..)] => Ok(vec![one.clone()]),
            [one] if one.is_numeric() || one.is_null() || one.is_string() => Ok(vec![T::Float64]),
            [one, digits] if with_digits && (digits.is_integer() || digits.is_null()) => {
                let one = match one {
                    T::Decimal128(..) => one.clone(),
                    T::Int8 | T::Int16 | T::Int32 => T::Decimal128(10, 0),
                    T::Int64 | T::Null => T::Decimal128(20, 0),
                    _ => return Err(unknown(self.name(), types)),
                };
                Ok(vec![one, T::Int32])
            }
            _ => Err(unknown(self.name(), types)),
        }
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Err(Error::internal("the type of what is rounded depends on the digits").into())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> PlanResult<FieldRef> {
        let data_type = match args.arg_fields[0].data_type() {
            DataType::Decimal128(precision, scale) => {
                let asked = match args.scalar_arguments.get(1) {
                    None => Some(0),
                    Some(digits) => digits.and_then(|digits| match digits {
                        ScalarValue::Int32(digits) => *digits,
                        ScalarValue::Int64(digits) => i32::try_from((*digits)?).ok(),
                        _ => None,
                    }),
                };
                let (precision, scale) = Self::digits(*precision, *scale, asked);
                DataType::Decimal128(precision, scale)
            }
            _ => DataType::Float64,
        };
        Ok(Arc::new(Field::new(self.name(), data_type, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let arrays = args.args.iter().map(|arg| arg.to_array(rows));
        let arrays = arrays.collect::<PlanResult<Vec<_>>>()?;
        let rounded: ArrayRef = match arrays[0].as_primitive_opt::<Decimal128Type>() {
            Some(numbers) => self.decimals(numbers, arrays.get(1), args.return_type())?,
            None => {
                let numbers = arrays[0].as_primitive::<Float64Type>();
                let rounded: Float64Array = numbers.unary(|number| self.way.float(number) + 0.0);
                Arc::new(rounded)
            }
        };
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&rounded, 0)?),
            false => ColumnarValue::Array(rounded),
        })
    }
}

fn unknown(name: &str, types: &[DataType]) -> datafusion::error::DataFusionError {
    let types: Vec<String> = types
        .iter()
        .map(|of| crate::values::sql_type::SqlType::from_arrow(of).to_string())
        .collect();
    let text = format!("function {name}({}) does not exist", types.join(", "));
    Error::new(SqlState::UNKNOWN_FUNCTION, text).into()
}
