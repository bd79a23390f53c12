//! Arrays of Arrow into values of the engine, without copying text.
//!
//! An array is first cast to the one Arrow type that its column has ([`assign`]), which is where
//! ranges and lengths are checked; then each value is read as the column's type.

use std::sync::Arc;

use datafusion::arrow::array::*;
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes as dt;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::util::display::FormatOptions;
use remanent_engine::schema::{ColumnType, ColumnValues, Value};

use super::datum::{Datum, decimal_as_f64, limited};
use super::sql_type::SqlType;
use super::text;
use crate::error::{Error, Result, SqlState};

/// Reads the values of one column.
pub(crate) struct ColumnReader<'a> {
    array: Typed<'a>,
    nulls: Option<&'a datafusion::arrow::buffer::NullBuffer>,
}

enum Typed<'a> {
    Bool(&'a BooleanArray),
    I8(&'a Int8Array),
    I16(&'a Int16Array),
    I32(&'a Int32Array),
    I64(&'a Int64Array),
    U8(&'a UInt8Array),
    U16(&'a UInt16Array),
    U32(&'a UInt32Array),
    U64(&'a UInt64Array),
    F32(&'a Float32Array),
    F64(&'a Float64Array),
    Decimal(&'a Decimal128Array),
    Date(&'a Date32Array),
    Time(&'a Time64MicrosecondArray),
    Timestamp(&'a TimestampMicrosecondArray),
    Text(&'a StringViewArray),
    Bytes(&'a BinaryArray),
    /// The elements of every list, one list behind the other, and where each begins.
    List(Vec<Vec<Value<'a>>>),
    Null,
}

/// The array as one of the column's type, as an assignment converts it.
///
/// # Errors
/// `NUMBER_OUT_OF_RANGE`, `BAD_TEXT`, `TEXT_TOO_LONG`, `TYPE_MISMATCH`.
pub(crate) fn assign(array: &ArrayRef, to: &SqlType) -> Result<ArrayRef> {
    let target = to.to_arrow();
    let from_text =
        matches!(array.data_type(), DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8);
    let through_text = from_text && !matches!(to, SqlType::Text | SqlType::Json);
    if through_text {
        return from_texts(array, to);
    }
    if *array.data_type() == target {
        return Ok(Arc::clone(array));
    }
    if is_mismatch(array.data_type(), &target) {
        let from = SqlType::from_arrow(array.data_type());
        let text = format!("a value of type {from} cannot be assigned to one of type {to}");
        return Err(Error::new(SqlState::TYPE_MISMATCH, text).hint("Write a CAST."));
    }
    if let (Some(numbers), true) =
        (array.as_primitive_opt::<dt::Decimal128Type>(), *to == SqlType::Double)
    {
        let scale = u8::try_from(numbers.scale()).unwrap_or(0);
        let floats: Float64Array = numbers.unary(|unscaled| decimal_as_f64(unscaled, scale));
        return Ok(Arc::new(floats));
    }
    let rounded = match (array.data_type(), to.is_integer()) {
        (DataType::Float32 | DataType::Float64 | DataType::Decimal128(..), true) => {
            return by_value(array, to);
        }
        _ => array,
    };
    let options = CastOptions { safe: false, format_options: FormatOptions::default() };
    let cast = cast_with_options(rounded, &target, &options)?;
    if matches!(to, SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Uuid) {
        return from_texts(&cast, to);
    }
    Ok(cast)
}

/// Text is read as values of the type; text of limited length is checked.
fn from_texts(array: &ArrayRef, to: &SqlType) -> Result<ArrayRef> {
    let views = match array.data_type() {
        DataType::Utf8View => Arc::clone(array),
        _ => datafusion::arrow::compute::cast(array, &DataType::Utf8View)?,
    };
    let texts = views.as_string_view();
    if let SqlType::Varchar(limit) = to {
        let mut long = texts.iter().flatten().filter(|text| text.len() > *limit as usize);
        long.try_for_each(|text| limited(text, to).map(drop))?;
        return Ok(Arc::clone(&views));
    }
    let data = texts.iter().map(|text| match text {
        None => Ok(Datum::Null),
        Some(text) if to.is_text() && *to != SqlType::Uuid => Ok(Datum::Text(limited(text, to)?)),
        Some(text) => text::parse(text, to),
    });
    super::arrow_in::array_of(&data.collect::<Result<Vec<_>>>()?, to)
}

fn by_value(array: &ArrayRef, to: &SqlType) -> Result<ArrayRef> {
    let data = (0..array.len()).map(|row| Datum::from_array(array, row)?.cast(to));
    super::arrow_in::array_of(&data.collect::<Result<Vec<_>>>()?, to)
}

/// Casts that Arrow would do and SQL does not without being told to.
fn is_mismatch(from: &DataType, to: &DataType) -> bool {
    let is_number = |t: &DataType| t.is_numeric();
    let is_moment = |t: &DataType| {
        matches!(t, DataType::Date32 | DataType::Timestamp(..) | DataType::Time64(_))
    };
    (is_number(from) && (is_moment(to) || *to == DataType::Boolean))
        || (is_moment(from) && is_number(to))
        || (*from == DataType::Boolean && (is_number(to) || is_moment(to)))
        || (matches!(to, DataType::List(_)) != matches!(from, DataType::List(_))
            && *from != DataType::Null
            && *to != DataType::Utf8View)
}

impl<'a> ColumnReader<'a> {
    /// A reader of an array that was [assigned](assign) to a column of this type.
    ///
    /// # Errors
    /// An array of another type, which is a fault of the caller.
    pub(crate) fn new(array: &'a ArrayRef, stored: &ColumnType) -> Result<Self> {
        macro_rules! primitive {
            ($type:ty) => {
                array.as_primitive_opt::<$type>()
            };
        }
        let typed = match (stored, array.data_type()) {
            (_, DataType::Null) => Some(Typed::Null),
            (ColumnType::Bool, _) => array.as_boolean_opt().map(Typed::Bool),
            (ColumnType::I8, _) => primitive!(dt::Int8Type).map(Typed::I8),
            (ColumnType::I16, _) => primitive!(dt::Int16Type).map(Typed::I16),
            (ColumnType::I32, _) => primitive!(dt::Int32Type).map(Typed::I32),
            (ColumnType::I64, _) => primitive!(dt::Int64Type).map(Typed::I64),
            (ColumnType::U8, _) => primitive!(dt::UInt8Type).map(Typed::U8),
            (ColumnType::U16, _) => primitive!(dt::UInt16Type).map(Typed::U16),
            (ColumnType::U32, _) => primitive!(dt::UInt32Type).map(Typed::U32),
            (ColumnType::U64, _) => primitive!(dt::UInt64Type).map(Typed::U64),
            (ColumnType::F32, _) => primitive!(dt::Float32Type).map(Typed::F32),
            (ColumnType::F64, _) => primitive!(dt::Float64Type).map(Typed::F64),
            (ColumnType::Decimal { .. }, _) => primitive!(dt::Decimal128Type).map(Typed::Decimal),
            (ColumnType::Date, _) => primitive!(dt::Date32Type).map(Typed::Date),
            (ColumnType::Time, _) => primitive!(dt::Time64MicrosecondType).map(Typed::Time),
            (ColumnType::Timestamp, _) => {
                primitive!(dt::TimestampMicrosecondType).map(Typed::Timestamp)
            }
            (ColumnType::Char(_) | ColumnType::String { .. }, _) => {
                array.as_string_view_opt().map(Typed::Text)
            }
            (ColumnType::Binary(_) | ColumnType::Blob { .. }, _) => {
                array.as_binary_opt::<i32>().map(Typed::Bytes)
            }
            (ColumnType::Array { element, .. } | ColumnType::Vector { element, .. }, _) => {
                array.as_list_opt::<i32>().map(|list| lists(list, element)).transpose()?
            }
            (ColumnType::Struct(_), _) => None,
        };
        let wrong = || Error::internal(format!("{} for a column of {stored}", array.data_type()));
        Ok(Self { array: typed.ok_or_else(wrong)?, nulls: array.nulls() })
    }

    /// The values as they lie side by side, if none is NULL and the engine takes them so.
    pub(crate) fn numbers(&self) -> Option<ColumnValues<'a>> {
        if self.has_nulls() {
            return None;
        }
        Some(match &self.array {
            Typed::I32(array) => ColumnValues::I32(array.values()),
            Typed::Date(array) => ColumnValues::I32(array.values()),
            Typed::I64(array) => ColumnValues::I64(array.values()),
            Typed::Time(array) => ColumnValues::I64(array.values()),
            Typed::Timestamp(array) => ColumnValues::I64(array.values()),
            Typed::Decimal(array) => ColumnValues::Decimal(array.values()),
            _ => return None,
        })
    }

    /// Whether the values are text, none of them NULL.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.array, Typed::Text(_)) && !self.has_nulls()
    }

    /// The text of a row of a column of text.
    #[inline]
    pub(crate) fn text(&self, row: usize) -> &'a str {
        match &self.array {
            Typed::Text(array) => array.value(row),
            _ => "",
        }
    }

    fn has_nulls(&self) -> bool {
        self.nulls.is_some_and(|nulls| nulls.null_count() > 0)
    }

    /// The value of a row.
    #[inline]
    pub(crate) fn value(&'a self, row: usize) -> Value<'a> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Value::Null;
        }
        match &self.array {
            Typed::Text(array) => Value::String(array.value(row)),
            Typed::Bytes(array) => Value::Bytes(array.value(row)),
            Typed::List(lists) => Value::List(&lists[row]),
            fixed => fixed.scalar(row).unwrap_or(Value::Null),
        }
    }
}

impl<'a> Typed<'a> {
    /// A value of a type of fixed size.
    #[inline]
    fn scalar(&self, row: usize) -> Option<Value<'a>> {
        Some(match self {
            Self::Bool(array) => Value::Bool(array.value(row)),
            Self::I8(array) => Value::I8(array.value(row)),
            Self::I16(array) => Value::I16(array.value(row)),
            Self::I32(array) => Value::I32(array.value(row)),
            Self::I64(array) => Value::I64(array.value(row)),
            Self::U8(array) => Value::U8(array.value(row)),
            Self::U16(array) => Value::U16(array.value(row)),
            Self::U32(array) => Value::U32(array.value(row)),
            Self::U64(array) => Value::U64(array.value(row)),
            Self::F32(array) => Value::F32(array.value(row)),
            Self::F64(array) => Value::F64(array.value(row)),
            Self::Decimal(array) => Value::Decimal(array.value(row)),
            Self::Date(array) => Value::Date(array.value(row)),
            Self::Time(array) => Value::Time(array.value(row)),
            Self::Timestamp(array) => Value::Timestamp(array.value(row)),
            Self::Text(_) | Self::Bytes(_) | Self::List(_) | Self::Null => return None,
        })
    }
}

/// The elements of lists, each as a value of the element's type.
fn lists<'a>(list: &'a ListArray, element: &ColumnType) -> Result<Typed<'a>> {
    let reader = ColumnReader::new(list.values(), element)?;
    let offsets = list.value_offsets();
    let rows = offsets.windows(2).map(|ends| {
        let values = (ends[0]..ends[1]).map(|at| reader.element(at as usize));
        values.collect::<Result<Vec<_>>>()
    });
    Ok(Typed::List(rows.collect::<Result<_>>()?))
}

impl<'a> ColumnReader<'a> {
    /// An element of a list: of a fixed size, and never NULL.
    fn element(&self, row: usize) -> Result<Value<'a>> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            let text = "a list in a table has no NULL among its elements";
            return Err(Error::new(SqlState::NOT_NULL_VIOLATION, text));
        }
        let value = self.array.scalar(row);
        value.ok_or_else(|| Error::internal("a list of elements without a fixed size"))
    }
}
