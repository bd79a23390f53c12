//! What a function says of each number that a column may have, computed once.
//!
//! A table has dates of some years, and quantities up to some number: a function of such a column
//! is computed for each number between the least and the greatest, and then looked up for each row.
//! It is not where that fails for a number, which may be one that no row has, or where there are
//! too many numbers.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, UInt32Array,
};
use datafusion::arrow::compute::{max, min, take};
use datafusion::arrow::datatypes::{self as dt, DataType, Schema};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::Volatility;
use datafusion::physical_expr::expressions::{CaseExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use crate::error::Result;
use crate::functions::arithmetic::checked::operators_of;

/// Numbers of which it is computed at once.
const STEP: i64 = 1 << 10;

/// Numbers between the least and the greatest, at most.
const NUMBERS_MAX: i64 = 1 << 14;

/// What a function says of numbers.
#[derive(Debug, Default)]
pub(super) struct Memo(Mutex<State>);

#[derive(Clone, Debug)]
enum State {
    /// So many rows have been seen.
    Seen(i64),
    /// Of the numbers from one on, and at last of null.
    Known { low: i64, count: i64, results: ArrayRef },
    /// It is not worth it.
    Off,
}

impl Default for State {
    fn default() -> Self {
        Self::Seen(0)
    }
}

impl Memo {
    /// Where to keep what an expression over such columns says, if it takes longer than a look-up.
    /// It is computed of numbers that no row may have: so it does nothing but answer, and neither
    /// the answer nor what it is made of, constants aside, is a text, which may be large.
    ///
    /// # Errors
    /// A fault in the expression.
    pub(super) fn of(
        expr: &Arc<dyn PhysicalExpr>,
        columns: &Schema,
    ) -> PlanResult<Option<Arc<Self>>> {
        let (mut is_long, mut is_safe) = (false, true);
        expr.apply(|part| {
            let call = part.downcast_ref::<ScalarFunctionExpr>();
            let is_function = call.is_some_and(|call| operators_of(call.fun()).is_none());
            is_long |= is_function || part.is::<CaseExpr>();
            is_safe &=
                call.is_none_or(|call| call.fun().signature().volatility == Volatility::Immutable);
            let is_small = |data_type: DataType| {
                data_type.primitive_width().is_some() || data_type == DataType::Boolean
            };
            is_safe &= part.is::<Literal>() || is_small(part.data_type(columns)?);
            is_safe &= !part.is_volatile_node();
            Ok(if is_safe { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        })?;
        Ok((is_long && is_safe).then(Arc::default))
    }

    /// The results for some values of the column; `None` if they have to be computed. `compute`
    /// computes them for an array.
    pub(super) fn results(
        &self,
        values: &ArrayRef,
        compute: impl FnOnce(ArrayRef) -> Result<ArrayRef>,
    ) -> Result<Option<ArrayRef>> {
        macro_rules! of {
            ($type:ident) => {
                self.found(values.as_primitive::<dt::$type>(), compute)
            };
        }
        match values.data_type() {
            DataType::Int8 => of!(Int8Type),
            DataType::Int16 => of!(Int16Type),
            DataType::Int32 => of!(Int32Type),
            DataType::Int64 => of!(Int64Type),
            DataType::Date32 => of!(Date32Type),
            DataType::Decimal128(..) => of!(Decimal128Type),
            _ => Ok(None),
        }
    }

    fn found<T: ArrowPrimitiveType>(
        &self,
        values: &PrimitiveArray<T>,
        compute: impl FnOnce(ArrayRef) -> Result<ArrayRef>,
    ) -> Result<Option<ArrayRef>>
    where
        T::Native: TryFrom<i64> + TryInto<i64>,
    {
        let ends = min(values).zip(max(values));
        let Some((least, greatest)) = ends else { return Ok(None) };
        let (Ok(least), Ok(greatest)) = (least.try_into(), greatest.try_into()) else {
            return Ok(None);
        };
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (wanted, seen) = match state {
            State::Off => return Ok(None),
            State::Known { low, count, results } if low <= least && greatest < low + count => {
                return Ok(Some(looked_up(values, low, count, &results)?));
            }
            State::Known { low, count, .. } => {
                ((least.min(low), greatest.max(low + count - 1)), i64::MAX)
            }
            State::Seen(rows) => ((least, greatest), rows + values.len() as i64),
        };
        let low = wanted.0.div_euclid(STEP).saturating_mul(STEP);
        let steps = wanted.1.saturating_sub(low).div_euclid(STEP).saturating_add(1);
        let count = steps.saturating_mul(STEP);
        let known = match count {
            _ if low.checked_add(count).is_none() => State::Off,
            ..=NUMBERS_MAX if seen < count => State::Seen(seen),
            ..=NUMBERS_MAX => {
                let numbers = (low..low + count).map(|number| T::Native::try_from(number).ok());
                let numbers: PrimitiveArray<T> = numbers.chain([None]).collect();
                let numbers = numbers.with_data_type(values.data_type().clone());
                match compute(Arc::new(numbers)) {
                    Ok(results) => State::Known { low, count, results },
                    Err(_) => State::Off,
                }
            }
            _ => State::Off,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = known.clone();
        match known {
            State::Known { low, count, results } => {
                Ok(Some(looked_up(values, low, count, &results)?))
            }
            _ => Ok(None),
        }
    }
}

/// The results for values, each of which is one of `count` numbers from `low` on, or null.
fn looked_up<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    low: i64,
    count: i64,
    results: &ArrayRef,
) -> Result<ArrayRef>
where
    T::Native: TryInto<i64>,
{
    let place = |value: T::Native| {
        let number: Option<i64> = value.try_into().ok();
        number.map_or(count, |number| number.wrapping_sub(low)) as u32
    };
    let places: Vec<u32> = match values.nulls() {
        None => values.values().iter().map(|value| place(*value)).collect(),
        Some(_) => values.iter().map(|value| value.map_or(count as u32, place)).collect(),
    };
    Ok(take(results, &UInt32Array::from(places), None)?)
}
