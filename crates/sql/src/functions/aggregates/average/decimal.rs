//! Averages of decimals on their way: one, and those of many groups.
//!
//! What is kept of a part is how many values there are and their sum, in this order.

use std::mem::size_of_val;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, UInt64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::mean::{Mean, out_of_range};
use crate::functions::aggregates::sum::DecimalSum;
use crate::functions::aggregates::totals::{Taken, Totals};

/// The types of values and of their average.
#[derive(Debug, Clone)]
pub(super) struct Types {
    scale: i8,
    result: DataType,
}

impl Types {
    /// Those of an average, if it is one of decimals.
    pub(super) fn of(value: &DataType, result: &DataType) -> Option<Self> {
        match (value, result) {
            (DataType::Decimal128(_, scale), DataType::Decimal128(..)) => {
                Some(Self { scale: *scale, result: result.clone() })
            }
            _ => None,
        }
    }

    fn sum(&self) -> DataType {
        DataType::Decimal128(38, self.scale)
    }

    /// What is kept of a part.
    pub(super) fn state(&self, name: &str) -> Vec<FieldRef> {
        let field =
            |what, data_type| Arc::new(Field::new(format!("{name}[{what}]"), data_type, true));
        vec![field("count", DataType::UInt64), field("sum", self.sum())]
    }

    fn mean(&self) -> PlanResult<Mean> {
        Ok(Mean::new(self.scale, &self.result)?)
    }
}

/// One average, also of a window that rows enter before others leave it.
#[derive(Clone, Debug)]
pub(super) struct DecimalAverage {
    sum: DecimalSum,
    count: u64,
    types: Types,
}

impl DecimalAverage {
    pub(super) fn new(types: Types) -> Self {
        Self { sum: DecimalSum::new(&types.sum()), count: 0, types }
    }
}

impl Accumulator for DecimalAverage {
    fn update_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        self.count += (values[0].len() - values[0].null_count()) as u64;
        self.sum.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        self.count -= (values[0].len() - values[0].null_count()) as u64;
        self.sum.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> PlanResult<ScalarValue> {
        let mean = match self.sum.evaluate()? {
            ScalarValue::Decimal128(Some(sum), ..) => Some(self.types.mean()?.of(sum, self.count)?),
            _ => None,
        };
        let mean = Decimal128Array::from(vec![mean]).with_data_type(self.types.result.clone());
        ScalarValue::try_from_array(&mean, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> PlanResult<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::UInt64(Some(self.count)), self.sum.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> PlanResult<()> {
        let counts = states[0].as_primitive::<UInt64Type>();
        self.count += counts.iter().flatten().sum::<u64>();
        self.sum.update_batch(&states[1..])
    }
}

/// The averages of many groups.
pub(super) struct AverageGroups {
    totals: Totals,
    types: Types,
}

impl AverageGroups {
    pub(super) fn new(types: Types) -> Self {
        Self { totals: Totals::default(), types }
    }

    fn take(&mut self, emit_to: EmitTo) -> PlanResult<Taken> {
        let taken = self.totals.take(emit_to);
        match taken.are_exact {
            true => Ok(taken),
            false => Err(out_of_range(&self.types.result).into()),
        }
    }
}

impl GroupsAccumulator for AverageGroups {
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
        let Taken { sums, counts, .. } = self.take(emit_to)?;
        let mean = self.types.mean()?;
        let means = sums.into_iter().zip(&counts).map(|(sum, count)| mean.of(sum, *count));
        let means = means.collect::<Result<Vec<_>, _>>()?;
        let met = counts.iter().map(|count| *count > 0).collect();
        let means = Decimal128Array::new(means.into(), Some(met));
        Ok(Arc::new(means.with_data_type(self.types.result.clone())))
    }

    fn state(&mut self, emit_to: EmitTo) -> PlanResult<Vec<ArrayRef>> {
        let Taken { sums, counts, .. } = self.take(emit_to)?;
        let sums = Decimal128Array::from(sums).with_data_type(self.types.sum());
        Ok(vec![Arc::new(UInt64Array::from(counts)), Arc::new(sums)])
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        count: usize,
    ) -> PlanResult<()> {
        let [counts, sums] = [&states[0], &states[1]];
        self.totals.merge(sums.as_primitive(), counts.as_primitive(), groups, count);
        Ok(())
    }

    /// Each row as a group of its own.
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> PlanResult<Vec<ArrayRef>> {
        let mut averages = Self::new(self.types.clone());
        let groups: Vec<usize> = (0..values[0].len()).collect();
        averages.update_batch(values, &groups, filter, groups.len())?;
        averages.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.totals.size()
    }
}
