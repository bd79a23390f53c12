//! Sums, differences and products of decimals, in the 8 bytes that nearly all of them fit into.
//!
//! Decimals take 16 bytes in Arrow, whose operations look for an overflow of 16 bytes in every row.
//! Two numbers of 8 bytes cannot have a product, or a sum after moving the point by up to 18
//! digits, that does not fit into 16. So here a batch is computed as if all of its numbers were so
//! small, and checked afterwards: if one was not, Arrow does the batch again.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Decimal128Type};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{ColumnarValue, Operator};

/// Digits by which a point is moved here, at most: 10 to this power fits into 8 bytes.
const MOVED_MAX: u32 = 18;

/// One side of an operation.
enum Side<'v> {
    Rows(&'v Decimal128Array),
    /// The same number for all rows.
    One(i128),
}

impl<'v> Side<'v> {
    fn of(value: &'v ColumnarValue) -> Option<(Self, u32)> {
        let scale = |data_type: &DataType| match data_type {
            DataType::Decimal128(_, scale) => u32::try_from(*scale).ok(),
            _ => None,
        };
        Some(match value {
            ColumnarValue::Array(array) => {
                let scale = scale(array.data_type())?;
                (Self::Rows(array.as_primitive_opt::<Decimal128Type>()?), scale)
            }
            ColumnarValue::Scalar(ScalarValue::Decimal128(Some(number), _, of)) => {
                (Self::One(*number), u32::try_from(*of).ok()?)
            }
            ColumnarValue::Scalar(_) => return None,
        })
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        match self {
            Self::Rows(array) => array.nulls(),
            Self::One(_) => None,
        }
    }
}

/// The results of an operation as this type; `None` if Arrow has to say what they are.
pub(crate) fn apply(
    operator: Operator,
    left: &ColumnarValue,
    right: &ColumnarValue,
    to: &DataType,
) -> Option<ArrayRef> {
    let DataType::Decimal128(_, result_scale) = to else { return None };
    let result_scale = u32::try_from(*result_scale).ok()?;
    let ((left, left_scale), (right, right_scale)) = (Side::of(left)?, Side::of(right)?);
    let power = |scale: u32| {
        let digits = result_scale.checked_sub(scale).filter(|digits| *digits <= MOVED_MAX)?;
        10_i64.checked_pow(digits).map(i128::from)
    };
    let values = match operator {
        Operator::Multiply if left_scale + right_scale == result_scale => {
            each(&left, &right, |a, b| a * b)
        }
        Operator::Plus | Operator::Minus => {
            let (left_power, right_power) = (power(left_scale)?, power(right_scale)?);
            match operator {
                Operator::Plus => each(&left, &right, |a, b| a * left_power + b * right_power),
                _ => each(&left, &right, |a, b| a * left_power - b * right_power),
            }
        }
        _ => None,
    }?;
    let nulls = NullBuffer::union(left.nulls(), right.nulls());
    let array = Decimal128Array::new(values.into(), nulls);
    Some(Arc::new(array.with_data_type(to.clone())))
}

/// What an operation makes of each two numbers; `None` if one of them needs more than 8 bytes, or
/// if none of the sides has rows.
#[inline]
fn each(
    left: &Side<'_>,
    right: &Side<'_>,
    operation: impl Fn(i128, i128) -> i128,
) -> Option<Vec<i128>> {
    let mut is_wide = false;
    let mut narrow = |number: i128| {
        let low = number as i64;
        is_wide |= i128::from(low) != number;
        i128::from(low)
    };
    let values = match (left, right) {
        (Side::Rows(left), Side::Rows(right)) => {
            let pairs = left.values().iter().zip(right.values().iter());
            pairs.map(|(&a, &b)| operation(narrow(a), narrow(b))).collect()
        }
        (Side::Rows(left), Side::One(right)) => {
            let right = narrow(*right);
            left.values().iter().map(|&a| operation(narrow(a), right)).collect()
        }
        (Side::One(left), Side::Rows(right)) => {
            let left = narrow(*left);
            right.values().iter().map(|&b| operation(left, narrow(b))).collect()
        }
        (Side::One(_), Side::One(_)) => return None,
    };
    (!is_wide).then_some(values)
}
