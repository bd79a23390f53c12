//! count, min and max over windows, about whose order nothing is said.
//!
//! DataFusion takes their answers to be in order where frames move along rows that are, and leaves
//! out the sorting that a statement asks for; of windows with partitions that is wrong. Here they
//! become functions that say nothing of an order, and that can be interrupted: all rows of a window
//! come at once, and texts of megabytes take long to compare.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::WindowFunctionDefinition;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, GroupsAccumulator, ReversedUDAF, Signature,
};

use crate::limits::cancel::Cancel;

/// As many rows are added at once at most: some hundred texts of the largest size.
const ROWS_AT_ONCE: usize = 256;

/// The call of a window function that says nothing of an order.
pub(crate) fn unordered(expr: Expr) -> Expr {
    let Expr::WindowFunction(mut call) = expr else { return expr };
    if let WindowFunctionDefinition::AggregateUDF(function) = &call.fun
        && ["count", "min", "max"].contains(&function.name())
    {
        let function = Unordered { function: Arc::clone(function) };
        call.fun = WindowFunctionDefinition::AggregateUDF(Arc::new(AggregateUDF::from(function)));
    }
    Expr::WindowFunction(call)
}

/// The function, with the default that nothing is known of the order of its answers, and
/// accumulators that can be interrupted.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Unordered {
    function: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Unordered {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        self.function.signature()
    }

    fn coerce_types(&self, types: &[DataType]) -> PlanResult<Vec<DataType>> {
        self.function.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        self.function.return_type(types)
    }

    fn is_nullable(&self) -> bool {
        self.function.is_nullable()
    }

    fn default_value(&self, data_type: &DataType) -> PlanResult<ScalarValue> {
        self.function.default_value(data_type)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> PlanResult<Vec<FieldRef>> {
        self.function.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> PlanResult<Box<dyn Accumulator>> {
        Ok(Box::new(Interruptible { accumulator: self.function.accumulator(args)? }))
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> PlanResult<Box<dyn Accumulator>> {
        let accumulator = self.function.create_sliding_accumulator(args)?;
        Ok(Box::new(Interruptible { accumulator }))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.function.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> PlanResult<Box<dyn GroupsAccumulator>> {
        self.function.create_groups_accumulator(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// An accumulator that asks whether the statement goes on before each piece of rows.
#[derive(Debug)]
struct Interruptible {
    accumulator: Box<dyn Accumulator>,
}

impl Accumulator for Interruptible {
    fn update_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        let rows = values.first().map_or(0, |array| array.len());
        // Frames that slide bring a row or few at a time.
        if rows <= ROWS_AT_ONCE {
            Cancel::check_current()?;
            return self.accumulator.update_batch(values);
        }
        for start in (0..rows).step_by(ROWS_AT_ONCE) {
            Cancel::check_current()?;
            let length = ROWS_AT_ONCE.min(rows - start);
            let piece: Vec<_> = values.iter().map(|array| array.slice(start, length)).collect();
            self.accumulator.update_batch(&piece)?;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        self.accumulator.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.accumulator.supports_retract_batch()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> PlanResult<()> {
        self.accumulator.merge_batch(states)
    }

    fn evaluate(&mut self) -> PlanResult<ScalarValue> {
        self.accumulator.evaluate()
    }

    fn state(&mut self) -> PlanResult<Vec<ScalarValue>> {
        self.accumulator.state()
    }

    fn size(&self) -> usize {
        self.accumulator.size()
    }
}
