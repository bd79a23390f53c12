//! The average of what was added up and counted before, part by part.
//!
//! It takes a sum and a count for each part, and gives what `avg` gives of all their values.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct MergedAverage {
    /// `avg`.
    average: Arc<AggregateUDF>,
    /// The type of the values.
    of: DataType,
    result: DataType,
    signature: Signature,
}

impl MergedAverage {
    /// The average of values of a type.
    ///
    /// # Errors
    /// There is no average of such.
    pub(crate) fn new(average: &Arc<AggregateUDF>, of: &DataType) -> PlanResult<Self> {
        let result = average.return_type(std::slice::from_ref(of))?;
        let signature = Signature::any(2, Volatility::Immutable);
        Ok(Self { average: Arc::clone(average), of: of.clone(), result, signature })
    }

    fn field(&self) -> FieldRef {
        Arc::new(Field::new("value", self.of.clone(), true))
    }

    fn result_field(&self) -> FieldRef {
        Arc::new(Field::new("average", self.result.clone(), true))
    }
}

impl AggregateUDFImpl for MergedAverage {
    fn name(&self) -> &str {
        "merged_average"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(self.result.clone())
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> PlanResult<Vec<FieldRef>> {
        self.average.state_fields(StateFieldsArgs {
            input_fields: &[self.field()],
            return_field: self.result_field(),
            ..args
        })
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> PlanResult<Box<dyn Accumulator>> {
        let schema = Schema::new(vec![self.field()]);
        let value = Arc::new(Column::new("value", 0)) as Arc<dyn PhysicalExpr>;
        let average = self.average.accumulator(AccumulatorArgs {
            return_field: self.result_field(),
            schema: &schema,
            exprs: &[value],
            expr_fields: &[self.field()],
            ..args
        })?;
        let parts = self.average.state_fields(StateFieldsArgs {
            name: args.name,
            input_fields: &[self.field()],
            return_field: self.result_field(),
            ordering_fields: &[],
            is_distinct: false,
        })?;
        Ok(Box::new(Merging { average, parts }))
    }
}

/// An average on its way.
#[derive(Debug)]
struct Merging {
    average: Box<dyn Accumulator>,
    /// What it keeps of a part: how many values there are, and their sum.
    parts: Vec<FieldRef>,
}

impl Accumulator for Merging {
    fn update_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        let [sums, counts] = [&values[0], &values[1]];
        let types = self.parts.iter().map(|part| part.data_type());
        let parts = [counts, sums].into_iter().zip(types);
        let parts = parts.map(|(part, data_type)| cast(part, data_type));
        self.average.merge_batch(&parts.collect::<Result<Vec<_>, _>>()?)
    }

    fn evaluate(&mut self) -> PlanResult<ScalarValue> {
        self.average.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.average.size()
    }

    fn state(&mut self) -> PlanResult<Vec<ScalarValue>> {
        self.average.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> PlanResult<()> {
        self.average.merge_batch(states)
    }
}
