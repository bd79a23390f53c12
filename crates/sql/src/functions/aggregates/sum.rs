//! `sum`, with the types that PostgreSQL gives it: numbers of up to 4 bytes add up to a bigint,
//! which cannot overflow in as many rows as there are, and those of 8 bytes to a numeric.
//!
//! The adding is DataFusion's, but for decimals of many digits; here its input is made wide enough
//! first. The types are those of the function itself, so that whatever is bound around a sum knows
//! them.

mod decimal;

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF,
    Signature, Volatility,
};

use self::decimal::DecimalGroups;
pub(crate) use self::decimal::DecimalSum;
use crate::error::{Error, SqlState};
use crate::functions::aggregates::distinct::Distinct;

/// The name by which plans have it. A rule of DataFusion's takes what is named `sum` for a function
/// whose sums it may add up again by the same one; here these would be of another type.
pub(crate) const NAME: &str = "total";

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sum {
    adding: Arc<AggregateUDF>,
    signature: Signature,
    aliases: Vec<String>,
}

impl Sum {
    pub(crate) fn new() -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { adding: sum_udaf(), signature, aliases: vec!["sum".to_owned()] }
    }
}

/// What values of a type are made before they are added.
fn widened(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Int8 | DataType::Int16 | DataType::Int32 => DataType::Int64,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => DataType::UInt64,
        DataType::Int64 | DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Float16 | DataType::Float32 => DataType::Float64,
        other => other.clone(),
    }
}

impl AggregateUDFImpl for Sum {
    fn name(&self) -> &str {
        NAME
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The types as they are: asked again of what it answered, it must answer the same.
    fn coerce_types(&self, types: &[DataType]) -> PlanResult<Vec<DataType>> {
        match types {
            [DataType::Null] => Ok(vec![DataType::Int32]),
            [one] if one.is_numeric() => Ok(types.to_vec()),
            [DataType::Duration(_) | DataType::Interval(_)] => Ok(types.to_vec()),
            _ => {
                let names: Vec<String> = types.iter().map(ToString::to_string).collect();
                let text = format!("function sum({}) does not exist", names.join(", "));
                Err(Error::new(SqlState::UNKNOWN_FUNCTION, text).into())
            }
        }
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        let widened: Vec<DataType> = types.iter().map(widened).collect();
        self.adding.return_type(&widened)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> PlanResult<Vec<FieldRef>> {
        self.adding.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> PlanResult<Box<dyn Accumulator>> {
        let input = Input::of(&args);
        if decimal::may_overflow(&input.added_as) {
            let result = args.return_type().clone();
            return Ok(match args.is_distinct {
                true => {
                    let gathered = self.adding.accumulator(args)?;
                    Box::new(Distinct { gathered, begun: DecimalSum::new(&result) })
                }
                false => Box::new(DecimalSum::new(&result)),
            });
        }
        Ok(input.before(self.adding.accumulator(args)?))
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> PlanResult<Box<dyn Accumulator>> {
        let input = Input::of(&args);
        if decimal::may_overflow(&input.added_as) && !args.is_distinct {
            return Ok(Box::new(DecimalSum::new(args.return_type())));
        }
        Ok(input.before(self.adding.create_sliding_accumulator(args)?))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.adding.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> PlanResult<Box<dyn GroupsAccumulator>> {
        let input = Input::of(&args);
        if decimal::may_overflow(&input.added_as) {
            return Ok(Box::new(DecimalGroups::new(args.return_type())));
        }
        let sums = self.adding.create_groups_accumulator(args)?;
        Ok(if input.is_wide { sums } else { Box::new(WidenedGroups { input, sums }) })
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// What comes in, and as which type it is added.
#[derive(Debug)]
struct Input {
    added_as: DataType,
    is_wide: bool,
}

impl Input {
    fn of(args: &AccumulatorArgs<'_>) -> Self {
        let comes_as = args.expr_fields[0].data_type();
        let added_as = widened(comes_as);
        Self { is_wide: added_as == *comes_as, added_as }
    }

    fn widen(&self, values: &[ArrayRef]) -> PlanResult<[ArrayRef; 1]> {
        Ok([cast(&values[0], &self.added_as)?])
    }

    fn before(self, sum: Box<dyn Accumulator>) -> Box<dyn Accumulator> {
        if self.is_wide { sum } else { Box::new(Widened { input: self, sum }) }
    }
}

/// One sum.
#[derive(Debug)]
struct Widened {
    input: Input,
    sum: Box<dyn Accumulator>,
}

impl Accumulator for Widened {
    fn update_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        self.sum.update_batch(&self.input.widen(values)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        self.sum.retract_batch(&self.input.widen(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.sum.supports_retract_batch()
    }

    fn evaluate(&mut self) -> PlanResult<ScalarValue> {
        self.sum.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.sum.size()
    }

    fn state(&mut self) -> PlanResult<Vec<ScalarValue>> {
        self.sum.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> PlanResult<()> {
        self.sum.merge_batch(states)
    }
}

/// The sums of many groups.
struct WidenedGroups {
    input: Input,
    sums: Box<dyn GroupsAccumulator>,
}

impl GroupsAccumulator for WidenedGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> PlanResult<()> {
        self.sums.update_batch(&self.input.widen(values)?, groups, filter, count)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> PlanResult<ArrayRef> {
        self.sums.evaluate(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> PlanResult<Vec<ArrayRef>> {
        self.sums.state(emit_to)
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        count: usize,
    ) -> PlanResult<()> {
        self.sums.merge_batch(states, groups, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> PlanResult<Vec<ArrayRef>> {
        self.sums.convert_to_state(&self.input.widen(values)?, filter)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.sums.size()
    }
}
