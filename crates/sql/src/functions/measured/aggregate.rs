//! Functions of groups whose values grow with the group: one text or one array of all its rows.
//!
//! What they have gathered is checked after each batch, and what they give out before it is
//! copied into a column.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::functions_aggregate::string_agg::string_agg_udaf;
use datafusion::logical_expr::expr::AggregateFunctionParams;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
};

use super::growth::{Size, largest_of, scalar_size};
use super::{as_view, check_list, check_size};
use crate::limits::cancel::Cancel;
use crate::limits::heap;

/// The functions.
pub(crate) fn aggregates() -> [Arc<AggregateUDF>; 2] {
    [array_agg_udaf(), string_agg_udaf()].map(measured)
}

fn measured(inner: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(MeasuredAggregate { inner }))
}

/// A function whose values are measured. Texts are given out as views, which joins do not copy.
#[derive(Debug, PartialEq, Eq, Hash)]
struct MeasuredAggregate {
    inner: Arc<AggregateUDF>,
}

impl MeasuredAggregate {
    fn function(&self) -> &dyn AggregateUDFImpl {
        self.inner.inner().as_ref()
    }
}

impl AggregateUDFImpl for MeasuredAggregate {
    fn name(&self) -> &str {
        self.function().name()
    }

    fn aliases(&self) -> &[String] {
        self.function().aliases()
    }

    fn signature(&self) -> &Signature {
        self.function().signature()
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> PlanResult<String> {
        self.function().schema_name(params)
    }

    fn human_display(&self, params: &AggregateFunctionParams) -> PlanResult<String> {
        self.function().human_display(params)
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        Ok(as_view(self.function().return_type(types)?))
    }

    fn return_field(&self, fields: &[FieldRef]) -> PlanResult<FieldRef> {
        let field: Field = self.function().return_field(fields)?.as_ref().clone();
        let data_type = as_view(field.data_type().clone());
        Ok(Arc::new(field.with_data_type(data_type)))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> PlanResult<Vec<FieldRef>> {
        self.function().state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> PlanResult<Box<dyn Accumulator>> {
        Ok(Box::new(MeasuredValue::of(self.function().accumulator(args)?)))
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> PlanResult<Box<dyn Accumulator>> {
        Ok(Box::new(MeasuredValue::of(self.function().create_sliding_accumulator(args)?)))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.function().groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> PlanResult<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(MeasuredGroups(self.function().create_groups_accumulator(args)?)))
    }

    fn with_beneficial_ordering(
        self: Arc<Self>,
        beneficial: bool,
    ) -> PlanResult<Option<Arc<dyn AggregateUDFImpl>>> {
        let changed = self.inner.as_ref().clone().with_beneficial_ordering(beneficial)?;
        Ok(changed.map(|inner| Arc::new(Self { inner: Arc::new(inner) }) as Arc<_>))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.function().order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.function().reverse_expr() {
            ReversedUDAF::Reversed(inner) => ReversedUDAF::Reversed(measured(inner)),
            other => other,
        }
    }

    fn coerce_types(&self, types: &[DataType]) -> PlanResult<Vec<DataType>> {
        self.function().coerce_types(types)
    }

    fn is_nullable(&self) -> bool {
        self.function().is_nullable()
    }

    fn default_value(&self, data_type: &DataType) -> PlanResult<ScalarValue> {
        self.function().default_value(data_type)
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.function().supports_null_handling_clause()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.function().supports_within_group_clause()
    }
}

/// The value of one group, or of each row of a window.
#[derive(Debug)]
struct MeasuredValue {
    inner: Box<dyn Accumulator>,
    /// Bytes of all values that were given out.
    given: usize,
}

impl MeasuredValue {
    fn of(inner: Box<dyn Accumulator>) -> Self {
        Self { inner, given: 0 }
    }

    /// A text has room for twice what it is.
    fn check(&self) -> PlanResult<()> {
        let bytes = self.inner.size() / 2;
        check_size(Size { total: 0, largest: bytes })
    }

    /// Checks that there is room for one more value, and for a copy of those that were given out: a
    /// window keeps them until it has one for each row of a batch, and then makes a column of them.
    /// What the thread holds is no less than what is kept.
    fn check_given(&mut self, bytes: usize) -> PlanResult<()> {
        self.given = self.given.saturating_add(bytes);
        let kept = self.given.min(heap::own());
        check_size(Size { total: bytes.saturating_add(kept), largest: bytes })
    }
}

impl Accumulator for MeasuredValue {
    fn update_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        self.inner.update_batch(values)?;
        self.check()
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn evaluate(&mut self) -> PlanResult<ScalarValue> {
        let value = self.inner.evaluate()?;
        let bytes = scalar_size(&value);
        match value {
            ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) => {
                self.check_given(bytes)?;
                Ok(ScalarValue::Utf8View(text))
            }
            list => {
                check_list(bytes)?;
                self.check_given(bytes)?;
                Ok(list)
            }
        }
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> PlanResult<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> PlanResult<()> {
        self.inner.merge_batch(states)?;
        self.check()
    }
}

/// The values of many groups.
struct MeasuredGroups(Box<dyn GroupsAccumulator>);

impl GroupsAccumulator for MeasuredGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> PlanResult<()> {
        self.0.update_batch(values, groups, filter, count)?;
        Ok(Cancel::check_current()?)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> PlanResult<ArrayRef> {
        let values = self.0.evaluate(emit_to)?;
        let largest = largest_of(&values);
        if matches!(values.data_type(), DataType::Utf8 | DataType::LargeUtf8) {
            check_size(Size { total: 0, largest })?;
            return Ok(cast(&values, &DataType::Utf8View)?);
        }
        check_list(largest)?;
        Ok(values)
    }

    fn state(&mut self, emit_to: EmitTo) -> PlanResult<Vec<ArrayRef>> {
        self.0.state(emit_to)
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        count: usize,
    ) -> PlanResult<()> {
        self.0.merge_batch(states, groups, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> PlanResult<Vec<ArrayRef>> {
        self.0.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}
