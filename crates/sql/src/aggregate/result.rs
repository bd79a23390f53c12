//! Groups of an aggregation as arrays.
//!
//! Sums have become whole numbers of 16 bytes; here they are checked against the type that the
//! function has, and divided for averages.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringViewArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{self as dt, DataType, SchemaRef, TimeUnit};
use remanent_exec::{Aggregation, ArgumentKind};

use super::query::{Asked, Query};
use crate::error::{Error, Result, SqlState};

/// Some groups as a batch.
///
/// # Errors
/// `NUMBER_OUT_OF_RANGE`.
pub(crate) fn batch_of(
    query: &Query,
    aggregation: &Aggregation,
    groups: Range<usize>,
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let (keys, results) = schema.fields().split_at(query.keys.len());
    let keys = keys.iter().enumerate().map(|(key, field)| {
        let is_text = query.plan.keys[key].is_text;
        key_of(aggregation, key, is_text, groups.clone(), field.data_type())
    });
    let results = results.iter().zip(&query.results).map(|(field, asked)| {
        let groups = Groups { query, aggregation, groups: groups.clone() };
        groups.result_of(*asked, field.data_type())
    });
    let arrays = keys.chain(results).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(groups.len()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}

/// The keys of groups.
fn key_of(
    aggregation: &Aggregation,
    key: usize,
    is_text: bool,
    groups: Range<usize>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    if is_text {
        let texts = groups.map(|group| {
            let text = aggregation.text(group, key).map(std::str::from_utf8);
            text.transpose().map_err(|_| Error::internal("a key that is no text"))
        });
        let texts: ArrayRef = Arc::new(texts.collect::<Result<StringViewArray>>()?);
        return match data_type {
            DataType::Utf8View => Ok(texts),
            other => Ok(cast(&texts, other)?),
        };
    }
    let numbers = groups.map(|group| aggregation.number(group, key).map(i128::from));
    array_of(numbers, data_type)
}

/// Whole numbers as an array of a type.
fn array_of(numbers: impl Iterator<Item = Option<i128>>, data_type: &DataType) -> Result<ArrayRef> {
    macro_rules! of {
        ($arrow:ident) => {{
            let native = |number| number as <dt::$arrow as dt::ArrowPrimitiveType>::Native;
            let array: PrimitiveArray<dt::$arrow> = numbers.map(|it| it.map(native)).collect();
            Arc::new(array.with_data_type(data_type.clone()))
        }};
    }
    Ok(match data_type {
        DataType::Boolean => {
            Arc::new(numbers.map(|it| it.map(|it| it != 0)).collect::<BooleanArray>())
        }
        DataType::Int8 => of!(Int8Type),
        DataType::Int16 => of!(Int16Type),
        DataType::Int32 => of!(Int32Type),
        DataType::Int64 => of!(Int64Type),
        DataType::UInt8 => of!(UInt8Type),
        DataType::UInt16 => of!(UInt16Type),
        DataType::UInt32 => of!(UInt32Type),
        DataType::UInt64 => of!(UInt64Type),
        DataType::Date32 => of!(Date32Type),
        DataType::Time64(TimeUnit::Microsecond) => of!(Time64MicrosecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => of!(TimestampMicrosecondType),
        DataType::Decimal128(..) => {
            let array: Decimal128Array = numbers.collect();
            Arc::new(array.with_data_type(data_type.clone()))
        }
        other => return Err(Error::internal(format!("an aggregate that is {other}"))),
    })
}

/// Some groups.
struct Groups<'g> {
    query: &'g Query,
    aggregation: &'g Aggregation,
    groups: Range<usize>,
}

impl Groups<'_> {
    fn result_of(&self, asked: Asked, data_type: &DataType) -> Result<ArrayRef> {
        match asked {
            Asked::Count(argument) => {
                let count = |group| Some(self.aggregation.count(group, argument).into());
                array_of(self.groups.clone().map(count), data_type)
            }
            Asked::Sum(argument) if self.is_float(argument) => {
                Ok(Arc::new(self.floats(argument, |sum, _| sum)))
            }
            Asked::Sum(argument) => {
                self.numbers(argument, data_type, |group| self.sum(group, argument, data_type))
            }
            Asked::Average { argument, .. } if self.is_float(argument) => {
                Ok(Arc::new(self.floats(argument, |sum, count| sum / count as f64)))
            }
            Asked::Average { argument, scale } => {
                let power = power_between(scale, data_type)?;
                self.numbers(argument, data_type, |group| {
                    let count = i128::from(self.aggregation.count(group, Some(argument)));
                    let sum = self.aggregation.sum(group, argument);
                    // What is left of a division is less than there are rows.
                    let mean = sum.and_then(|sum| {
                        let whole = (sum / count).checked_mul(power)?;
                        Some(whole + sum % count * power / count)
                    });
                    let mean = mean.filter(|mean| mean.unsigned_abs() < limit_of(data_type));
                    mean.ok_or_else(|| out_of_range("an average", data_type))
                })
            }
            Asked::Extreme { argument, aggregate } => self.numbers(argument, data_type, |group| {
                Ok(self.aggregation.extreme(group, aggregate))
            }),
        }
    }

    /// Whether an argument's values are floats.
    fn is_float(&self, argument: usize) -> bool {
        self.query.plan.arguments[argument].kind == ArgumentKind::Float
    }

    fn sum(&self, group: usize, argument: usize, data_type: &DataType) -> Result<i128> {
        let sum = self.aggregation.sum(group, argument);
        let sum = sum.filter(|sum| sum.unsigned_abs() < limit_of(data_type));
        sum.ok_or_else(|| out_of_range("a sum", data_type))
    }

    /// What is said of groups that have a value of an argument.
    fn numbers(
        &self,
        argument: usize,
        data_type: &DataType,
        number: impl Fn(usize) -> Result<i128>,
    ) -> Result<ArrayRef> {
        let numbers = self.groups.clone().map(|group| {
            let has_value = self.aggregation.count(group, Some(argument)) > 0;
            has_value.then(|| number(group)).transpose()
        });
        let numbers = numbers.collect::<Result<Vec<_>>>()?;
        array_of(numbers.into_iter(), data_type)
    }

    fn floats(&self, argument: usize, of: impl Fn(f64, i64) -> f64) -> Float64Array {
        let floats = self.groups.clone().map(|group| {
            let count = self.aggregation.count(group, Some(argument));
            (count > 0).then(|| of(self.aggregation.float_sum(group, argument), count))
        });
        floats.collect()
    }
}

/// What a number of so many digits behind the point is multiplied with to have as many as a type.
fn power_between(scale: i8, data_type: &DataType) -> Result<i128> {
    let more = match data_type {
        DataType::Decimal128(_, to) => u32::try_from(to - scale).ok(),
        _ => None,
    };
    let power = more.and_then(|more| 10_i128.checked_pow(more));
    power.ok_or_else(|| Error::internal("an average with fewer digits"))
}

/// The first number that is too large for a type.
fn limit_of(data_type: &DataType) -> u128 {
    match data_type {
        DataType::Decimal128(digits, _) => 10_u128.pow((*digits).into()),
        DataType::UInt64 => 1 << 64,
        _ => 1 << 63,
    }
}

fn out_of_range(what: &str, data_type: &DataType) -> Error {
    let text = format!("{what} is out of the range of {data_type}");
    Error::new(SqlState::NUMBER_OUT_OF_RANGE, text)
}
