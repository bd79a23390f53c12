//! `avg`, with the types that PostgreSQL gives it: of whole numbers and numerics a numeric, of
//! floats a float.
//!
//! An average of decimals has 16 digits after the point at least, as PostgreSQL's has, and its last
//! one is rounded; that of floats is DataFusion's.

mod decimal;
pub(crate) mod mean;

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::error::Result as PlanResult;
use datafusion::functions_aggregate::average::avg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature,
    Volatility,
};

use self::decimal::{AverageGroups, DecimalAverage, Types};
use crate::error::{Error, SqlState};
use crate::functions::aggregates::distinct::Distinct;
use crate::functions::arithmetic::division::exact;

/// Digits after the point of an average, at least.
const SCALE_MIN: i8 = 16;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Average {
    averaging: Arc<AggregateUDF>,
    signature: Signature,
}

impl Average {
    pub(crate) fn new() -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { averaging: avg_udaf(), signature }
    }
}

impl AggregateUDFImpl for Average {
    fn name(&self) -> &str {
        "avg"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> PlanResult<Vec<DataType>> {
        match types {
            [one] if exact(one).is_some() => Ok(exact(one).into_iter().collect()),
            [DataType::Float16 | DataType::Float32 | DataType::Float64] => {
                Ok(vec![DataType::Float64])
            }
            [DataType::Duration(_)] => Ok(types.to_vec()),
            _ => {
                let names: Vec<String> = types.iter().map(ToString::to_string).collect();
                let text = format!("function avg({}) does not exist", names.join(", "));
                Err(Error::new(SqlState::UNKNOWN_FUNCTION, text).into())
            }
        }
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        match exact(&types[0]) {
            Some(DataType::Decimal128(_, scale)) => {
                Ok(DataType::Decimal128(38, scale.saturating_add(4).clamp(SCALE_MIN, 38)))
            }
            _ => self.averaging.return_type(types),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> PlanResult<Vec<FieldRef>> {
        let types = Types::of(args.input_fields[0].data_type(), args.return_type());
        match types.filter(|_| !args.is_distinct) {
            Some(types) => Ok(types.state(args.name)),
            None => self.averaging.state_fields(args),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> PlanResult<Box<dyn Accumulator>> {
        Ok(match Types::of(args.expr_fields[0].data_type(), args.return_type()) {
            Some(types) if args.is_distinct => {
                let gathered = self.averaging.accumulator(args)?;
                Box::new(Distinct { gathered, begun: DecimalAverage::new(types) })
            }
            Some(types) => Box::new(DecimalAverage::new(types)),
            None => self.averaging.accumulator(args)?,
        })
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> PlanResult<Box<dyn Accumulator>> {
        match Types::of(args.expr_fields[0].data_type(), args.return_type()) {
            Some(types) if !args.is_distinct => Ok(Box::new(DecimalAverage::new(types))),
            _ => self.averaging.create_sliding_accumulator(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.averaging.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> PlanResult<Box<dyn GroupsAccumulator>> {
        match Types::of(args.expr_fields[0].data_type(), args.return_type()) {
            Some(types) => Ok(Box::new(AverageGroups::new(types))),
            None => self.averaging.create_groups_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}
