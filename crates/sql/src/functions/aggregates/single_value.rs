//! The value of a subquery that stands for a value: of one row at most.
//!
//! DataFusion takes a subquery that refers to the rows around it only if it aggregates. A subquery
//! that selects a plain expression is made one that aggregates by this function, which answers the
//! expression's value, NULL without a row, and fails at the second row.

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};

use crate::error::{Error, SqlState};

/// The function's name, which no text of a statement can be.
pub(crate) const NAME: &str = "\u{1}single value";

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct SingleValue {
    signature: Signature,
}

impl SingleValue {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for SingleValue {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        Ok(types[0].clone())
    }

    /// It is still CHAR, say, where it was.
    fn return_field(&self, fields: &[FieldRef]) -> PlanResult<FieldRef> {
        let value = fields[0].as_ref().clone();
        Ok(value.with_name(NAME).with_nullable(true).into())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> PlanResult<Box<dyn Accumulator>> {
        let value = ScalarValue::try_from(args.return_field.data_type())?;
        Ok(Box::new(Single { value, rows: 0 }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> PlanResult<Vec<FieldRef>> {
        let value = Field::new("value", args.return_field.data_type().clone(), true);
        Ok(vec![value.into(), Field::new("rows", DataType::UInt64, true).into()])
    }
}

/// What one group has come to.
#[derive(Debug)]
struct Single {
    value: ScalarValue,
    rows: u64,
}

impl Single {
    fn add(&mut self, value: ScalarValue, rows: u64) -> PlanResult<()> {
        if rows == 0 {
            return Ok(());
        }
        self.rows += rows;
        if self.rows > 1 {
            let text = "more than one row returned by a subquery used as an expression";
            return Err(Error::new(SqlState::CARDINALITY, text).into());
        }
        self.value = value;
        Ok(())
    }
}

impl Accumulator for Single {
    fn update_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        let values = &values[0];
        if values.is_empty() {
            return Ok(());
        }
        self.add(ScalarValue::try_from_array(values, 0)?, values.len() as u64)
    }

    fn evaluate(&mut self) -> PlanResult<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.value.size()
    }

    fn state(&mut self) -> PlanResult<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), ScalarValue::UInt64(Some(self.rows))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> PlanResult<()> {
        for row in 0..states[0].len() {
            let rows = match ScalarValue::try_from_array(&states[1], row)? {
                ScalarValue::UInt64(Some(rows)) => rows,
                _ => 0,
            };
            self.add(ScalarValue::try_from_array(&states[0], row)?, rows)?;
        }
        Ok(())
    }
}
