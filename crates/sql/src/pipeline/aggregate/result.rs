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
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{self as dt, DataType, SchemaRef, TimeUnit};
use datafusion::execution::memory_pool::MemoryReservation;
use remanent_exec::{Aggregation, ArgumentKind, KeyKind};

use super::parts::Part;
use super::query::{Asked, KeyValues, Query};
use crate::error::{Error, Result, SqlState};
use crate::functions::aggregates::average::mean::Mean;
use crate::pipeline::flow::Columns;
use crate::pipeline::texts::{NumberedTexts, without_others};

/// Some groups as a batch.
///
/// # Errors
/// `NUMBER_OUT_OF_RANGE`.
pub(crate) fn batch_of(
    query: &Query,
    GivenPart { part, texts }: &GivenPart,
    columns: Option<&Columns>,
    groups: Range<usize>,
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let (keys, results) = schema.fields().split_at(query.key_values.len());
    let aggregation = &part.aggregation;
    let of = Groups { query, aggregation, texts: &texts.0, groups: groups.clone() };
    let keys = keys.iter().zip(&query.key_values).map(|(field, values)| match values {
        KeyValues::Key(key) => of.key(*key, field.data_type()),
        KeyValues::OfRow { key, column } => {
            let rows = aggregation.rows(groups.clone(), *key);
            let columns = columns.ok_or_else(|| Error::internal("a row of no relation"))?;
            columns.of_relation(*column, &rows)
        }
    });
    let results = results.iter().zip(&query.results);
    let results = results.map(|(field, asked)| of.result(*asked, field.data_type()));
    let arrays = keys.chain(results).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(groups.len()));
    without_others(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}

/// A part whose groups go out.
pub(crate) struct GivenPart {
    pub(crate) part: Part,
    pub(crate) texts: KeyTexts,
}

/// The texts of each key that is one, if there is room for them in one buffer.
#[derive(Clone)]
pub(crate) struct KeyTexts(Arc<Vec<Option<NumberedTexts>>>);

impl KeyTexts {
    /// Those of an aggregation.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn of(
        query: &Query,
        aggregation: &Aggregation,
        memory: &MemoryReservation,
    ) -> Result<Self> {
        let texts = query.plan.keys.iter().enumerate().map(|(key, of)| {
            let (bytes, ends) = aggregation.all_texts(key);
            let texts = match of.kind {
                KeyKind::Text => NumberedTexts::new(bytes, ends)?,
                _ => None,
            };
            memory.try_grow(texts.as_ref().map_or(0, NumberedTexts::bytes))?;
            Ok(texts)
        });
        Ok(Self(Arc::new(texts.collect::<Result<_>>()?)))
    }
}

/// Parts whose groups go out.
///
/// # Errors
/// `OUT_OF_MEMORY`.
pub(crate) fn given_parts(query: &Query, parts: Vec<Part>) -> Result<Vec<GivenPart>> {
    let parts = parts.into_iter().map(|part| {
        let texts = KeyTexts::of(query, &part.aggregation, part.room.reservation())?;
        Ok(GivenPart { part, texts })
    });
    parts.collect()
}

/// Some groups.
struct Groups<'g> {
    query: &'g Query,
    aggregation: &'g Aggregation,
    texts: &'g [Option<NumberedTexts>],
    groups: Range<usize>,
}

impl Groups<'_> {
    /// The keys.
    fn key(&self, key: usize, data_type: &DataType) -> Result<ArrayRef> {
        let groups = || self.groups.clone();
        let nulls = self.aggregation.valid(groups(), key).map(NullBuffer::from);
        if self.query.plan.keys[key].kind != KeyKind::Text {
            let numbers = self.aggregation.numbers(groups(), key);
            return array_of(numbers.into_iter().map(i128::from), nulls, data_type);
        }
        let texts = match &self.texts[key] {
            Some(texts) => texts.array(&self.aggregation.text_numbers(groups(), key), nulls),
            None => self.copied_texts(key, nulls.as_ref())?,
        };
        match data_type {
            DataType::Utf8View => Ok(texts),
            other => Ok(cast(&texts, other)?),
        }
    }

    /// Texts that are keys, of which there are more than one buffer has room for.
    fn copied_texts(&self, key: usize, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
        let texts = self.aggregation.texts(self.groups.clone(), key).into_iter().enumerate();
        let texts = texts.map(|(at, text)| {
            let text = std::str::from_utf8(text);
            let text = text.map_err(|_| Error::internal("a key that is no text"))?;
            Ok(nulls.is_none_or(|nulls| nulls.is_valid(at)).then_some(text))
        });
        Ok(Arc::new(texts.collect::<Result<StringViewArray>>()?))
    }

    /// What a function says.
    fn result(&self, asked: Asked, data_type: &DataType) -> Result<ArrayRef> {
        match asked {
            Asked::Count(argument) => {
                let counts = self.counts(argument).into_iter().map(i128::from);
                array_of(counts, None, data_type)
            }
            Asked::Sum(argument) if self.is_float(argument) => {
                Ok(self.floats(argument, |sum, _| sum))
            }
            Asked::Sum(argument) => {
                let sums = self.sums("a sum", argument, data_type)?;
                let counts = self.counts(Some(argument));
                check(sums.iter().zip(&counts), "a sum", data_type)?;
                array_of(sums.into_iter(), nulls_of(&counts), data_type)
            }
            Asked::Average { argument, .. } if self.is_float(argument) => {
                Ok(self.floats(argument, |sum, count| sum / count as f64))
            }
            Asked::Average { argument, scale } => self.means(argument, scale, data_type),
            Asked::Extreme { argument, aggregate } => {
                let extremes = self.aggregation.extremes(self.groups.clone(), aggregate);
                let counts = self.counts(Some(argument));
                array_of(extremes.into_iter(), nulls_of(&counts), data_type)
            }
        }
    }

    /// Whether an argument's values are floats.
    fn is_float(&self, argument: usize) -> bool {
        self.query.plan.arguments[argument].kind == ArgumentKind::Float
    }

    fn counts(&self, argument: Option<usize>) -> Vec<i64> {
        self.aggregation.counts(self.groups.clone(), argument)
    }

    fn sums(&self, what: &str, argument: usize, data_type: &DataType) -> Result<Vec<i128>> {
        let sums = self.aggregation.sums(self.groups.clone(), argument);
        sums.ok_or_else(|| out_of_range(what, data_type))
    }

    fn means(&self, argument: usize, scale: i8, data_type: &DataType) -> Result<ArrayRef> {
        let mean = Mean::new(scale, data_type)?;
        let (sums, counts) =
            (self.sums("an average", argument, data_type)?, self.counts(Some(argument)));
        let means = sums.into_iter().zip(&counts);
        let means = means.map(|(sum, count)| mean.of(sum, count.unsigned_abs()));
        let means = means.collect::<Result<Vec<_>>>()?;
        array_of(means.into_iter(), nulls_of(&counts), data_type)
    }

    fn floats(&self, argument: usize, of: impl Fn(f64, i64) -> f64) -> ArrayRef {
        let sums = self.aggregation.float_sums(self.groups.clone(), argument);
        let counts = self.counts(Some(argument));
        let floats = sums.iter().zip(&counts).map(|(sum, count)| of(*sum, *count));
        Arc::new(Float64Array::new(floats.collect(), nulls_of(&counts)))
    }
}

/// Which groups have no value, if there are such.
fn nulls_of(counts: &[i64]) -> Option<NullBuffer> {
    let has_value = |count: &i64| *count > 0;
    (!counts.iter().all(has_value)).then(|| counts.iter().map(has_value).collect())
}

/// Whole numbers as an array of a type.
///
/// # Errors
/// A fault: no such type has whole numbers.
pub(crate) fn array_of(
    numbers: impl Iterator<Item = i128>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    macro_rules! of {
        ($arrow:ident) => {{
            let native = |number| number as <dt::$arrow as dt::ArrowPrimitiveType>::Native;
            let array = PrimitiveArray::<dt::$arrow>::new(numbers.map(native).collect(), nulls);
            Arc::new(array.with_data_type(data_type.clone()))
        }};
    }
    Ok(match data_type {
        DataType::Boolean => {
            Arc::new(BooleanArray::new(numbers.map(|number| number != 0).collect(), nulls))
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
        DataType::Timestamp(TimeUnit::Nanosecond, _) => of!(TimestampNanosecondType),
        DataType::Decimal128(..) => {
            let array = Decimal128Array::new(numbers.collect(), nulls);
            Arc::new(array.with_data_type(data_type.clone()))
        }
        other => return Err(Error::internal(format!("an aggregate that is {other}"))),
    })
}

/// Checks that numbers of groups that have one fit into a type.
///
/// # Errors
/// `NUMBER_OUT_OF_RANGE`.
pub(crate) fn check<'n>(
    mut numbers: impl Iterator<Item = (&'n i128, &'n i64)>,
    what: &str,
    data_type: &DataType,
) -> Result<()> {
    let limit = match data_type {
        DataType::Decimal128(digits, _) => 10_u128.pow((*digits).into()),
        DataType::UInt64 => 1 << 64,
        _ => 1 << 63,
    };
    match numbers.all(|(number, count)| *count == 0 || number.unsigned_abs() < limit) {
        true => Ok(()),
        false => Err(out_of_range(what, data_type)),
    }
}

fn out_of_range(what: &str, data_type: &DataType) -> Error {
    let text = format!("{what} is out of the range of {data_type}");
    Error::new(SqlState::NUMBER_OUT_OF_RANGE, text)
}
