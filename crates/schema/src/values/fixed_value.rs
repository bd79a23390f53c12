//! One value in a fixed place: the bytes of scalars, arrays and structs inside arrays.
//!
//! `write_fixed` checks that the value is one the type accepts, and fills the place entirely, so
//! that equal values are equal bytes. `read_fixed` is total: any bytes of the right length read as
//! some value. It knows nothing of rows, leaves or NULL.

use crate::error::Fault;
use crate::values::column_type::{ColumnType, decimal_size, struct_offsets};
use crate::values::elements::Elements;
use crate::values::value::Value;

/// Reads a value of a fixed type from exactly its bytes.
#[inline]
pub(crate) fn read_fixed<'a>(column_type: &'a ColumnType, bytes: &'a [u8]) -> Value<'a> {
    match column_type {
        ColumnType::I8 => Value::I8(i8::from_le_bytes(head(bytes))),
        ColumnType::I16 => Value::I16(i16::from_le_bytes(head(bytes))),
        ColumnType::I32 => Value::I32(i32::from_le_bytes(head(bytes))),
        ColumnType::I64 => Value::I64(i64::from_le_bytes(head(bytes))),
        ColumnType::U8 => Value::U8(bytes[0]),
        ColumnType::U16 => Value::U16(u16::from_le_bytes(head(bytes))),
        ColumnType::U32 => Value::U32(u32::from_le_bytes(head(bytes))),
        ColumnType::U64 => Value::U64(u64::from_le_bytes(head(bytes))),
        ColumnType::F32 => Value::F32(f32::from_le_bytes(head(bytes))),
        ColumnType::F64 => Value::F64(f64::from_le_bytes(head(bytes))),
        ColumnType::Bool => Value::Bool(bytes[0] != 0),
        ColumnType::Decimal { precision, .. } => Value::Decimal(read_decimal(*precision, bytes)),
        ColumnType::Date => Value::Date(i32::from_le_bytes(head(bytes))),
        ColumnType::Time => Value::Time(i64::from_le_bytes(head(bytes))),
        ColumnType::Timestamp => Value::Timestamp(i64::from_le_bytes(head(bytes))),
        ColumnType::Char(_) => Value::String(utf8(strip_nul(bytes))),
        ColumnType::Binary(_) => Value::Bytes(bytes),
        ColumnType::Array { .. } | ColumnType::Struct(_) => {
            Value::Elements(Elements::new(bytes, column_type))
        }
        // Variable types have no fixed place.
        ColumnType::String { .. } | ColumnType::Blob { .. } | ColumnType::Vector { .. } => {
            Value::Null
        }
    }
}

/// Writes `value` into exactly the bytes of its place.
#[inline]
pub(crate) fn write_fixed(
    column_type: &ColumnType,
    value: &Value<'_>,
    out: &mut [u8],
) -> Result<(), Fault> {
    match (column_type, value) {
        // The common case first: the value has the column's own type.
        (ColumnType::I8, Value::I8(number)) => put(out, number.to_le_bytes()),
        (ColumnType::I16, Value::I16(number)) => put(out, number.to_le_bytes()),
        (ColumnType::I32, Value::I32(number)) => put(out, number.to_le_bytes()),
        (ColumnType::I64, Value::I64(number)) => put(out, number.to_le_bytes()),
        (ColumnType::U8, Value::U8(number)) => put(out, number.to_le_bytes()),
        (ColumnType::U16, Value::U16(number)) => put(out, number.to_le_bytes()),
        (ColumnType::U32, Value::U32(number)) => put(out, number.to_le_bytes()),
        (ColumnType::U64, Value::U64(number)) => put(out, number.to_le_bytes()),
        (ColumnType::F32, Value::F32(number)) => put(out, number.to_le_bytes()),
        (ColumnType::F32, Value::F64(number)) => put(out, narrow(*number)?.to_le_bytes()),
        (ColumnType::F64, Value::F64(number)) => put(out, number.to_le_bytes()),
        (ColumnType::F64, Value::F32(number)) => put(out, f64::from(*number).to_le_bytes()),
        (ColumnType::Bool, Value::Bool(truth)) => put(out, [u8::from(*truth)]),
        (ColumnType::Decimal { precision, .. }, Value::Decimal(unscaled)) => {
            write_decimal(*precision, *unscaled, out)?;
        }
        (ColumnType::Date, Value::Date(days)) => put(out, days.to_le_bytes()),
        (ColumnType::Time, Value::Time(micros)) => put(out, micros.to_le_bytes()),
        (ColumnType::Timestamp, Value::Timestamp(micros)) => put(out, micros.to_le_bytes()),
        (ColumnType::Char(_), Value::String(text)) => write_char(text, out)?,
        (ColumnType::Binary(_), Value::Bytes(bytes)) => write_binary(bytes, out)?,
        (ColumnType::Array { element, count }, composite) => {
            write_elements(element, Some(*count as usize), composite, out)?;
        }
        (ColumnType::Struct(fields), composite) => {
            let values = members(composite, fields.len())?;
            out.fill(0);
            for (index, (field, offset)) in struct_offsets(fields).enumerate() {
                let place = &mut out[offset as usize..];
                let size = field.column_type.fixed_size() as usize;
                write_fixed(&field.column_type, &values.get(index), &mut place[..size])?;
            }
        }
        (integer, value) => write_integer(integer, value, out)?,
    }
    Ok(())
}

/// Writes the elements of an array or a vector, one after the other, filling `out`.
/// `count` is the number an array must have; a vector's is what `out` was measured for.
pub(crate) fn write_elements(
    element: &ColumnType,
    count: Option<usize>,
    composite: &Value<'_>,
    out: &mut [u8],
) -> Result<(), Fault> {
    let size = element.fixed_size() as usize;
    let count = count.unwrap_or(out.len() / size.max(1));
    let values = members(composite, count)?;
    if let (ColumnType::U8, Members::Bytes(bytes)) = (element, &values) {
        put_slice(out, bytes);
        return Ok(());
    }
    for index in 0..count {
        write_fixed(element, &values.get(index), &mut out[index * size..][..size])?;
    }
    Ok(())
}

/// How many members a composite value has.
pub(crate) fn member_count(composite: &Value<'_>) -> Result<usize, Fault> {
    match composite {
        Value::List(values) => Ok(values.len()),
        Value::Elements(elements) => Ok(elements.len()),
        Value::Bytes(bytes) => Ok(bytes.len()),
        other => Err(Fault::WrongType { found: other.kind_name() }),
    }
}

/// The text without the NULs that pad it.
#[inline]
pub(crate) fn strip_nul(bytes: &[u8]) -> &[u8] {
    let mut len = bytes.len();
    while len > 0 && bytes[len - 1] == 0 {
        len -= 1;
    }
    &bytes[..len]
}

/// Bytes of a row as text.
///
/// # Panics
/// If they are not UTF-8, which no row written by this crate is.
#[inline]
pub(crate) fn utf8(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text in a row is UTF-8")
}

/// The first `N` bytes.
#[inline]
pub(crate) fn head<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("a place is as long as its type")
}

/// Whether an unscaled integer has at most `precision` digits.
#[inline]
pub(crate) const fn decimal_fits(precision: u8, unscaled: i128) -> bool {
    unscaled.unsigned_abs() < 10u128.pow(precision as u32)
}

/// A decimal's integer from its 8 or 16 bytes.
#[inline]
pub(crate) fn read_decimal(precision: u8, bytes: &[u8]) -> i128 {
    match decimal_size(precision) {
        8 => i128::from(i64::from_le_bytes(head(bytes))),
        _ => i128::from_le_bytes(head(bytes)),
    }
}

fn write_decimal(precision: u8, unscaled: i128, out: &mut [u8]) -> Result<(), Fault> {
    if !decimal_fits(precision, unscaled) {
        return Err(Fault::OutOfRange);
    }
    let bytes = unscaled.to_le_bytes();
    put_slice(out, &bytes[..decimal_size(precision)]);
    Ok(())
}

/// An integer of another width than the column's, if it fits.
fn write_integer(column_type: &ColumnType, value: &Value<'_>, out: &mut [u8]) -> Result<(), Fault> {
    macro_rules! narrowed {
        ($number:expr, $target:ty) => {
            put(out, <$target>::try_from($number).map_err(|_| Fault::OutOfRange)?.to_le_bytes())
        };
    }
    let wrong = Fault::WrongType { found: value.kind_name() };
    let number = value.as_integer().ok_or(wrong)?;
    match column_type {
        ColumnType::I8 => narrowed!(number, i8),
        ColumnType::I16 => narrowed!(number, i16),
        ColumnType::I32 => narrowed!(number, i32),
        ColumnType::I64 => narrowed!(number, i64),
        ColumnType::U8 => narrowed!(number, u8),
        ColumnType::U16 => narrowed!(number, u16),
        ColumnType::U32 => narrowed!(number, u32),
        ColumnType::U64 => narrowed!(number, u64),
        _ => return Err(wrong),
    }
    Ok(())
}

/// The nearest 4-byte float, unless a finite number would become infinite.
pub(crate) fn narrow(number: f64) -> Result<f32, Fault> {
    let narrowed = number as f32;
    if narrowed.is_infinite() && number.is_finite() {
        return Err(Fault::OutOfRange);
    }
    Ok(narrowed)
}

fn write_char(text: &str, out: &mut [u8]) -> Result<(), Fault> {
    let bytes = strip_nul(text.as_bytes());
    if bytes.len() > out.len() {
        return Err(Fault::TooLong { len: bytes.len(), max: out.len() });
    }
    let (content, padding) = out.split_at_mut(bytes.len());
    content.copy_from_slice(bytes);
    padding.fill(0);
    Ok(())
}

fn write_binary(bytes: &[u8], out: &mut [u8]) -> Result<(), Fault> {
    if bytes.len() != out.len() {
        return Err(Fault::WrongLength { len: bytes.len(), expected: out.len() });
    }
    out.copy_from_slice(bytes);
    Ok(())
}

/// The members of a composite value that is to be written.
enum Members<'a> {
    List(&'a [Value<'a>]),
    Elements(Elements<'a>),
    Bytes(&'a [u8]),
}

impl<'a> Members<'a> {
    fn get(&self, index: usize) -> Value<'a> {
        match self {
            Members::List(values) => values[index],
            Members::Elements(elements) => elements.get(index).unwrap_or(Value::Null),
            Members::Bytes(bytes) => Value::U8(bytes[index]),
        }
    }
}

/// The members of `composite`, which must be `expected` many.
fn members<'a>(composite: &Value<'a>, expected: usize) -> Result<Members<'a>, Fault> {
    let len = member_count(composite)?;
    if len != expected {
        return Err(Fault::WrongLength { len, expected });
    }
    Ok(match *composite {
        Value::List(values) => Members::List(values),
        Value::Elements(elements) => Members::Elements(elements),
        Value::Bytes(bytes) => Members::Bytes(bytes),
        other => {
            return Err(Fault::WrongType { found: other.kind_name() });
        }
    })
}

#[inline]
fn put<const N: usize>(out: &mut [u8], bytes: [u8; N]) {
    put_slice(out, &bytes);
}

#[inline]
fn put_slice(out: &mut [u8], bytes: &[u8]) {
    out[..bytes.len()].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests;
