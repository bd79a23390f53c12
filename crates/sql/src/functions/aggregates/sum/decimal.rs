//! Sums of decimals that may outgrow the type: they fail, where DataFusion's wrap.
//!
//! Numbers of up to 28 digits do not get there in 10,000,000,000 rows, and are left to it.

use std::mem::size_of_val;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array};
use datafusion::arrow::datatypes::{DataType, Decimal128Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use crate::error::{Error, SqlState};
use crate::functions::aggregates::totals::{Taken, Totals};

/// Numbers of so many digits are added without looking.
const SAFE_DIGITS: u8 = 28;

/// Whether sums of numbers of this type have to be checked.
pub(crate) fn may_overflow(added: &DataType) -> bool {
    matches!(added, DataType::Decimal128(digits, _) if *digits > SAFE_DIGITS)
}

fn out_of_range(result: &DataType) -> Error {
    let text = format!("a sum is out of the range of {result}");
    Error::new(SqlState::NUMBER_OUT_OF_RANGE, text)
}

/// The first number that is too large for the type of a sum.
fn limit(result: &DataType) -> PlanResult<u128> {
    match result {
        DataType::Decimal128(digits, _) => Ok(10_u128.pow((*digits).into())),
        other => Err(Error::internal(format!("a sum of decimals that is {other}")).into()),
    }
}

/// One sum, also of a window that rows enter before others leave it.
#[derive(Clone, Debug)]
pub(crate) struct DecimalSum {
    /// The sum is this, and so many times 2^128.
    total: i128,
    wraps: i64,
    count: usize,
    result: DataType,
}

impl DecimalSum {
    pub(crate) fn new(result: &DataType) -> Self {
        Self { total: 0, wraps: 0, count: 0, result: result.clone() }
    }

    #[inline]
    fn add(&mut self, value: i128) {
        let (total, wrapped) = self.total.overflowing_add(value);
        self.total = total;
        self.wraps += i64::from(wrapped) * value.signum() as i64;
    }

    #[inline]
    fn subtract(&mut self, value: i128) {
        let (total, wrapped) = self.total.overflowing_sub(value);
        self.total = total;
        self.wraps -= i64::from(wrapped) * value.signum() as i64;
    }
}

impl Accumulator for DecimalSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        let values = values[0].as_primitive::<Decimal128Type>();
        values.iter().flatten().for_each(|value| self.add(value));
        self.count += values.len() - values.null_count();
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        let values = values[0].as_primitive::<Decimal128Type>();
        values.iter().flatten().for_each(|value| self.subtract(value));
        self.count -= values.len() - values.null_count();
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> PlanResult<ScalarValue> {
        let limit = limit(&self.result)?;
        let sum = match self.count {
            0 => None,
            _ if self.wraps == 0 && self.total.unsigned_abs() < limit => Some(self.total),
            _ => return Err(out_of_range(&self.result).into()),
        };
        let sum = Decimal128Array::from(vec![sum]).with_data_type(self.result.clone());
        ScalarValue::try_from_array(&sum, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> PlanResult<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> PlanResult<()> {
        self.update_batch(states)
    }
}

/// The sums of many groups.
pub(crate) struct DecimalGroups {
    totals: Totals,
    result: DataType,
}

impl DecimalGroups {
    pub(crate) fn new(result: &DataType) -> Self {
        Self { totals: Totals::default(), result: result.clone() }
    }
}

impl GroupsAccumulator for DecimalGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> PlanResult<()> {
        self.totals.update(values[0].as_primitive(), groups, filter, count);
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> PlanResult<ArrayRef> {
        let Taken { sums, counts, are_exact } = self.totals.take(emit_to);
        let limit = limit(&self.result)?;
        if !are_exact || sums.iter().any(|sum| sum.unsigned_abs() >= limit) {
            return Err(out_of_range(&self.result).into());
        }
        let met = counts.iter().map(|count| *count > 0).collect();
        let sums = Decimal128Array::new(sums.into(), Some(met));
        Ok(Arc::new(sums.with_data_type(self.result.clone())))
    }

    fn state(&mut self, emit_to: EmitTo) -> PlanResult<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        count: usize,
    ) -> PlanResult<()> {
        self.update_batch(states, groups, None, count)
    }

    /// Each row as a group of its own.
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> PlanResult<Vec<ArrayRef>> {
        let mut sums = Self::new(&self.result);
        let groups: Vec<usize> = (0..values[0].len()).collect();
        sums.update_batch(values, &groups, filter, groups.len())?;
        sums.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.totals.size()
    }
}
