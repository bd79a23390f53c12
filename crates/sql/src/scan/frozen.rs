//! Decoded columns of frozen segments as arrays of Arrow.
//!
//! Numbers and texts are taken over as `remanent-exec` has decoded them. An array may outlive the
//! transaction, so nothing in it leads into the database.

use std::sync::Arc;

use datafusion::arrow::array::*;
use datafusion::arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use datafusion::arrow::datatypes as dt;
use remanent_engine::{ColumnHandle, Encoding, EncodingSummary, FrozenColumn, FrozenRows};
use remanent_exec::{Decoded, Rows, TextViews, Vector, decode};

use crate::error::{Error, Result};
use crate::values::arrow_in::array_of;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// Views of a dictionary's texts, and the bytes that they lead into.
pub(crate) struct Dictionary {
    views: remanent_exec::Dictionary,
    text: Buffer,
}

/// The views of a column's dictionary, if it is one of text. Rows are read only if its values come
/// with them.
///
/// # Errors
/// As the engine.
pub(crate) fn dictionary(
    rows: &FrozenRows<'_>,
    column: ColumnHandle,
) -> Result<Option<Dictionary>> {
    let summary = rows.summary(column)?;
    let EncodingSummary::Dictionary { values, .. } = summary.encoding() else { return Ok(None) };
    let views = match values {
        Some(values) => remanent_exec::Dictionary::of(summary.column_type(), &values),
        None => match rows.column(column)?.encoding() {
            Encoding::Dictionary { values, .. } => {
                remanent_exec::Dictionary::of(summary.column_type(), &values)
            }
            _ => None,
        },
    };
    Ok(views.map(|(views, text)| Dictionary { views, text: Buffer::from_vec(text) }))
}

/// The array of these rows of a column.
///
/// # Errors
/// A fault of the caller: a type that the column does not have.
pub(crate) fn array(
    column: &FrozenColumn<'_>,
    sql_type: &SqlType,
    dictionary: Option<&Dictionary>,
    rows: Rows<'_>,
) -> Result<ArrayRef> {
    let decoded = decode(column, dictionary.map(|dictionary| &dictionary.views), rows);
    array_of_decoded(decoded, sql_type, dictionary.map(|dictionary| &dictionary.text))
}

/// The array of decoded values, which were decoded with the dictionary that has this text, if with
/// any.
///
/// # Errors
/// A fault of the caller: values of another type.
pub(crate) fn array_of_decoded(
    decoded: Decoded<'_>,
    sql_type: &SqlType,
    dictionary: Option<&Buffer>,
) -> Result<ArrayRef> {
    let nulls = decoded.valid.map(|valid| NullBuffer::new(BooleanBuffer::from(valid)));
    macro_rules! primitive {
        ($type:ident, $values:ident) => {
            Arc::new(PrimitiveArray::<dt::$type>::new($values.into(), nulls))
        };
    }
    Ok(match (decoded.values, sql_type) {
        (Vector::Bool(values), SqlType::Boolean) => {
            Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls))
        }
        (Vector::I8(values), SqlType::TinyInt) => primitive!(Int8Type, values),
        (Vector::I16(values), SqlType::SmallInt) => primitive!(Int16Type, values),
        (Vector::I32(values), SqlType::Integer) => primitive!(Int32Type, values),
        (Vector::I32(values), SqlType::Date) => primitive!(Date32Type, values),
        (Vector::I64(values), SqlType::BigInt) => primitive!(Int64Type, values),
        (Vector::I64(values), SqlType::Time) => primitive!(Time64MicrosecondType, values),
        (Vector::I64(values), SqlType::Timestamp | SqlType::TimestampTz) => {
            let array = TimestampMicrosecondArray::new(values.into(), nulls);
            Arc::new(array.with_data_type(sql_type.to_arrow()))
        }
        (Vector::U8(values), SqlType::UTinyInt) => primitive!(UInt8Type, values),
        (Vector::U16(values), SqlType::USmallInt) => primitive!(UInt16Type, values),
        (Vector::U32(values), SqlType::UInteger) => primitive!(UInt32Type, values),
        (Vector::U64(values), SqlType::UBigInt) => primitive!(UInt64Type, values),
        (Vector::F32(values), SqlType::Real) => primitive!(Float32Type, values),
        (Vector::F64(values), SqlType::Double) => primitive!(Float64Type, values),
        (Vector::I128(values), SqlType::Numeric { .. }) => {
            let array = Decimal128Array::new(values.into(), nulls);
            Arc::new(array.with_data_type(sql_type.to_arrow()))
        }
        (Vector::Text(texts), of) if of.is_text() => text_array(texts, dictionary, nulls)?,
        (Vector::Values(values), _) => {
            let data = values.into_iter().map(|value| Datum::from_value(value, sql_type));
            array_of(&data.collect::<Vec<_>>(), sql_type)?
        }
        (_, other) => {
            return Err(Error::internal(format!("a frozen column that is no {other}")));
        }
    })
}

fn text_array(
    texts: TextViews,
    dictionary: Option<&Buffer>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let (views, own) = texts.into_parts();
    let text = match (own, dictionary) {
        (Some(own), _) => Buffer::from_vec(own),
        (None, Some(text)) => text.clone(),
        (None, None) => return Err(Error::internal("a dictionary without its text")),
    };
    // SAFETY: `remanent-exec` alone makes views, each of the bytes that it leads to in the buffer
    // that comes with them, or in that of the dictionary that they were decoded with; and these are
    // whole values of a column of text, which the engine has checked to be UTF-8 when they came in.
    let array = unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(views), [text], nulls) };
    Ok(Arc::new(array))
}
