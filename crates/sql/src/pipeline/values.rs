//! Values as arrays: expressions that are computed of them, and the slices that they have.
//!
//! What `remanent-exec` cannot compute of encoded values is evaluated as ever, for the rows that
//! are left of a part of a segment, and given to it as the slice that the array has.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, RecordBatch, RecordBatchOptions,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{self as dt, DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use remanent_exec::{Given, NumberRange, Refused, Slice, Texts};

use super::memo::Memo;
use crate::error::{Error, Result};

/// An expression over some columns of a scan.
#[derive(Clone, Debug)]
pub(crate) struct Computed {
    /// Places of the columns among those of the scan.
    columns: Vec<usize>,
    schema: SchemaRef,
    /// Over these columns alone.
    expr: Arc<dyn PhysicalExpr>,
    /// What it said of the numbers of its only column.
    memo: Option<Arc<Memo>>,
}

impl Computed {
    /// An expression over the columns of a scan with this schema.
    ///
    /// # Errors
    /// A fault in the expression.
    pub(crate) fn new(expr: &Arc<dyn PhysicalExpr>, scan: &Schema) -> PlanResult<Self> {
        let used = collect_columns(expr);
        let mut columns: Vec<usize> = used.iter().map(Column::index).collect();
        columns.sort_unstable();
        let moved = Arc::clone(expr).transform_up(|expr| {
            let Some(column) = expr.downcast_ref::<Column>() else {
                return Ok(Transformed::no(expr));
            };
            let place = columns.binary_search(&column.index()).unwrap_or_default();
            Ok(Transformed::yes(Arc::new(Column::new(column.name(), place))))
        })?;
        let mut schema = scan.project(&columns)?;
        let memo = if columns.len() == 1 { Memo::of(expr, scan)? } else { None };
        if memo.is_some() {
            // It is computed of null as well, whether there are nulls or not.
            let nullable = |field: &Arc<Field>| field.as_ref().clone().with_nullable(true);
            schema = Schema::new(schema.fields().iter().map(nullable).collect::<Vec<_>>());
        }
        Ok(Self { columns, schema: Arc::new(schema), expr: moved.data, memo })
    }

    /// What is never asked for its values.
    pub(crate) fn none() -> Self {
        let expr =
            datafusion::physical_expr::expressions::lit(datafusion::common::ScalarValue::Null);
        Self { columns: Vec::new(), schema: Arc::new(Schema::empty()), expr, memo: None }
    }

    /// Places of the columns that it is computed of.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The values for so many rows; `array` gives the array of a scan's column.
    ///
    /// # Errors
    /// Whatever is met in evaluating it.
    pub(crate) fn values(
        &self,
        rows: usize,
        array: impl FnMut(usize) -> Result<ArrayRef>,
    ) -> Result<Values> {
        Values::of(&self.array(rows, array)?)
    }

    /// The same as an array.
    ///
    /// # Errors
    /// Whatever is met in evaluating it.
    pub(crate) fn array(
        &self,
        rows: usize,
        array: impl FnMut(usize) -> Result<ArrayRef>,
    ) -> Result<ArrayRef> {
        let arrays = self.columns.iter().copied().map(array).collect::<Result<Vec<_>>>()?;
        if let (Some(memo), [values]) = (&self.memo, arrays.as_slice()) {
            let results = memo.results(values, |values| {
                let rows = values.len();
                self.evaluated(vec![values], rows)
            })?;
            if let Some(results) = results {
                return Ok(results);
            }
        }
        self.evaluated(arrays, rows)
    }

    fn evaluated(&self, arrays: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
        Ok(self.expr.evaluate(&batch)?.into_array(rows)?)
    }
}

/// An array whose values are given to an aggregation.
pub(crate) struct Values {
    array: ArrayRef,
    /// A bit for each row that is null.
    nulls: Option<Vec<u64>>,
    /// The least and the greatest number, if somebody has looked.
    range: Option<NumberRange>,
}

impl Values {
    /// The values of an array, texts as views and truths as numbers.
    ///
    /// # Errors
    /// None that is expected.
    pub(crate) fn of(array: &ArrayRef) -> Result<Self> {
        let array = match array.data_type() {
            DataType::Boolean => cast(array, &DataType::UInt8)?,
            DataType::Utf8 | DataType::LargeUtf8 => cast(array, &DataType::Utf8View)?,
            _ => Arc::clone(array),
        };
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        // What stands in the place of null is not to be taken for a large number.
        let array = match array.as_primitive_opt::<dt::Decimal128Type>() {
            Some(decimals) if nulls.is_some() => {
                let values = decimals.iter().map(Option::unwrap_or_default);
                let values = Decimal128Array::from_iter_values(values);
                Arc::new(values.with_data_type(array.data_type().clone()))
            }
            _ => array,
        };
        let nulls = nulls.map(|nulls| {
            let words = nulls.inner().bit_chunks().iter_padded();
            words.take(array.len().div_ceil(64)).map(|valid| !valid).collect()
        });
        Ok(Self { array, nulls, range: None })
    }

    /// The same, of which it is known how large the numbers are: for those that are read again and
    /// again.
    pub(crate) fn with_range(mut self) -> Self {
        self.range = self.given().find_range();
        self
    }

    /// Whether each is a text, or a number of 8 bytes.
    pub(crate) fn can_be_key(&self) -> bool {
        match self.array.as_primitive_opt::<dt::Decimal128Type>() {
            Some(decimals) => decimals.values().iter().all(|it| i64::try_from(*it).is_ok()),
            None => !matches!(self.given().values, Slice::F64(_) | Slice::Other),
        }
    }

    /// The values, if an aggregation takes such; else only which of them are null.
    pub(crate) fn given(&self) -> Given<'_> {
        let array = &self.array;
        macro_rules! slice {
            ($kind:ident, $arrow:ident) => {
                Slice::$kind(array.as_primitive::<dt::$arrow>().values())
            };
        }
        let values = match array.data_type() {
            DataType::Int8 => slice!(I8, Int8Type),
            DataType::Int16 => slice!(I16, Int16Type),
            DataType::Int32 => slice!(I32, Int32Type),
            DataType::Int64 => slice!(I64, Int64Type),
            DataType::UInt8 => slice!(U8, UInt8Type),
            DataType::UInt16 => slice!(U16, UInt16Type),
            DataType::UInt32 => slice!(U32, UInt32Type),
            DataType::Date32 => slice!(I32, Date32Type),
            DataType::Time64(TimeUnit::Microsecond) => slice!(I64, Time64MicrosecondType),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                slice!(I64, TimestampMicrosecondType)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                slice!(I64, TimestampNanosecondType)
            }
            DataType::Decimal128(..) => slice!(I128, Decimal128Type),
            DataType::Float64 => slice!(F64, Float64Type),
            DataType::Utf8View => Slice::Texts(self),
            _ => Slice::Other,
        };
        Given { values, nulls: self.nulls.as_deref(), range: self.range }
    }
}

impl Texts for Values {
    fn rows(&self) -> usize {
        self.array.len()
    }

    fn get(&self, row: usize) -> &[u8] {
        self.array.as_string_view().value(row).as_bytes()
    }

    /// Within one array, the same view leads to the same text.
    fn view(&self, row: usize) -> u128 {
        self.array.as_string_view().views()[row]
    }
}

/// Digits of numbers that 8 bytes have room for.
const DIGITS_MAX: u8 = 18;

/// Whether values of a type are whole numbers, or unscaled decimals, of at most 8 bytes.
pub(crate) fn is_whole(data_type: &DataType) -> bool {
    is_integer(data_type)
        || match data_type {
            DataType::Date32
            | DataType::Time64(TimeUnit::Microsecond)
            | DataType::Timestamp(TimeUnit::Microsecond | TimeUnit::Nanosecond, _) => true,
            DataType::Decimal128(digits, _) => *digits <= DIGITS_MAX,
            _ => false,
        }
}

pub(crate) fn is_integer(data_type: &DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::UInt8 | D::UInt16 | D::UInt32)
}

/// Does what takes memory out of a reservation.
///
/// # Errors
/// `OUT_OF_MEMORY`.
pub(crate) fn with_memory<T>(
    reservation: &mut MemoryReservation,
    take: impl FnOnce(&mut dyn FnMut(usize) -> bool) -> Result<T, Refused>,
) -> Result<T> {
    let mut reason: Option<DataFusionError> = None;
    let taken = take(&mut |bytes| {
        let resized = reservation.try_resize(bytes);
        reason = resized.err();
        reason.is_none()
    });
    taken.map_err(|Refused| match reason {
        Some(reason) => reason.into(),
        None => Error::internal("memory that nobody refused"),
    })
}
