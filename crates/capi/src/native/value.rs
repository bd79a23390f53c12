//! Values as C gives and gets them: a kind, a length, and one word.
//!
//! The word is a number, or the address of text or bytes. Which kinds a column takes is the
//! engine's to say; here a value only changes its shape. Text must be UTF-8.

use std::ffi::c_void;

use remanent_engine::schema::{ColumnType, Value};

use super::status::*;
use crate::ffi::InPtr;

/// No value.
pub const REM_NULL: u32 = 0;
/// Signed, 1 byte.
pub const REM_I8: u32 = 1;
/// Signed, 2 bytes.
pub const REM_I16: u32 = 2;
/// Signed, 4 bytes.
pub const REM_I32: u32 = 3;
/// Signed, 8 bytes.
pub const REM_I64: u32 = 4;
/// Unsigned, 1 byte.
pub const REM_U8: u32 = 5;
/// Unsigned, 2 bytes.
pub const REM_U16: u32 = 6;
/// Unsigned, 4 bytes.
pub const REM_U32: u32 = 7;
/// Unsigned, 8 bytes.
pub const REM_U64: u32 = 8;
/// IEEE 754, 4 bytes; as a value, `real`.
pub const REM_F32: u32 = 9;
/// IEEE 754, 8 bytes; as a value, `real`.
pub const REM_F64: u32 = 10;
/// As a value, `integer` 0 or 1.
pub const REM_BOOL: u32 = 11;
/// A scaled integer: `integer`, or `data` to 16 bytes and `length` 16.
pub const REM_DECIMAL: u32 = 12;
/// Days since 1970: `integer`.
pub const REM_DATE: u32 = 13;
/// Microseconds since midnight: `integer`.
pub const REM_TIME: u32 = 14;
/// Microseconds since 1970, UTC: `integer`.
pub const REM_TIMESTAMP: u32 = 15;
/// UTF-8 of at most `size` bytes, in a fixed place.
pub const REM_CHAR: u32 = 16;
/// Exactly `size` bytes.
pub const REM_BINARY: u32 = 17;
/// UTF-8 of any length: `data` and `length`.
pub const REM_STRING: u32 = 18;
/// Bytes of any length: `data` and `length`.
pub const REM_BLOB: u32 = 19;
/// `size` elements.
pub const REM_ARRAY: u32 = 20;
/// Fields.
pub const REM_STRUCT: u32 = 21;
/// Any number of elements.
pub const REM_VECTOR: u32 = 22;

/// A value: see the kinds for what `as_` holds.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct rem_value {
    /// One of REM_NULL .. REM_BLOB.
    pub kind: u32,
    /// Bytes of text, of bytes, or of a long decimal.
    pub length: u32,
    /// The number, or where the bytes are.
    pub word: rem_word,
}

/// The content of a value.
#[repr(C)]
#[derive(Clone, Copy)]
pub union rem_word {
    /// A signed number.
    pub integer: i64,
    /// An unsigned number.
    pub natural: u64,
    /// A floating point number.
    pub real: f64,
    /// Text or bytes.
    pub data: *const c_void,
}

impl Default for rem_value {
    fn default() -> Self {
        Self { kind: REM_NULL, length: 0, word: rem_word { integer: 0 } }
    }
}

impl rem_value {
    /// The value, for as long as the call takes.
    #[inline(always)]
    pub(super) fn put_into(&self, value: &mut Value<'_>) -> Outcome {
        // SAFETY: every word is a number, and C fills the one that the kind names.
        let (integer, natural) = unsafe { (self.word.integer, self.word.natural) };
        match self.kind {
            REM_U32 => *value = Value::U32(u32::try_from(natural).or(Err(REM_VALUE_OUT_OF_RANGE))?),
            REM_I32 => *value = Value::I32(i32::try_from(integer).or(Err(REM_VALUE_OUT_OF_RANGE))?),
            REM_U64 => *value = Value::U64(natural),
            REM_I64 => *value = Value::I64(integer),
            _ => *value = self.other()?,
        }
        Ok(())
    }

    fn other<'a>(&self) -> Outcome<Value<'a>> {
        // SAFETY: as above.
        let (integer, natural, real, data) =
            unsafe { (self.word.integer, self.word.natural, self.word.real, self.word.data) };
        let bytes = || InPtr::from(data.cast::<u8>()).slice(self.length as usize);
        let bytes = || bytes().ok_or(REM_NULL_ARGUMENT);
        Ok(match self.kind {
            REM_NULL => Value::Null,
            REM_I8 => Value::I8(integer.try_into().map_err(|_| REM_VALUE_OUT_OF_RANGE)?),
            REM_I16 => Value::I16(integer.try_into().map_err(|_| REM_VALUE_OUT_OF_RANGE)?),
            REM_U8 => Value::U8(natural.try_into().map_err(|_| REM_VALUE_OUT_OF_RANGE)?),
            REM_U16 => Value::U16(natural.try_into().map_err(|_| REM_VALUE_OUT_OF_RANGE)?),
            REM_F32 => Value::F32(real as f32),
            REM_F64 => Value::F64(real),
            REM_BOOL => Value::Bool(integer != 0),
            REM_DECIMAL if self.length == 16 => {
                let words = bytes()?.try_into().map_err(|_| REM_VALUE_OUT_OF_RANGE)?;
                Value::Decimal(i128::from_le_bytes(words))
            }
            REM_DECIMAL => Value::Decimal(integer.into()),
            REM_DATE => Value::Date(integer.try_into().map_err(|_| REM_VALUE_OUT_OF_RANGE)?),
            REM_TIME => Value::Time(integer),
            REM_TIMESTAMP => Value::Timestamp(integer),
            REM_STRING | REM_CHAR => {
                Value::String(std::str::from_utf8(bytes()?).or(Err(REM_BAD_TEXT))?)
            }
            REM_BLOB | REM_BINARY => Value::Bytes(bytes()?),
            _ => return Err(REM_BAD_ARGUMENT),
        })
    }

    /// A value that was read; `raw` is its bytes in the row.
    pub(super) fn of(value: &Value<'_>, raw: &[u8]) -> Self {
        let (integer, kind) = match *value {
            Value::Null => (0, REM_NULL),
            Value::I8(number) => (number.into(), REM_I8),
            Value::I16(number) => (number.into(), REM_I16),
            Value::I32(number) => (number.into(), REM_I32),
            Value::I64(number) => (number, REM_I64),
            Value::U8(number) => (number.into(), REM_U8),
            Value::U16(number) => (number.into(), REM_U16),
            Value::U32(number) => (number.into(), REM_U32),
            Value::U64(number) => (number as i64, REM_U64),
            Value::Bool(truth) => (truth.into(), REM_BOOL),
            Value::Date(days) => (days.into(), REM_DATE),
            Value::Time(count) => (count, REM_TIME),
            Value::Timestamp(count) => (count, REM_TIMESTAMP),
            Value::Decimal(scaled) if raw.len() <= 8 => (scaled as i64, REM_DECIMAL),
            Value::F32(number) => return Self::real(REM_F32, number.into()),
            Value::F64(number) => return Self::real(REM_F64, number),
            Value::Decimal(_) => return Self::bytes(REM_DECIMAL, raw),
            Value::String(text) => return Self::bytes(REM_STRING, text.as_bytes()),
            Value::Bytes(bytes) => return Self::bytes(REM_BLOB, bytes),
            Value::List(_) | Value::Elements(_) => return Self::bytes(REM_VECTOR, raw),
        };
        Self { kind, length: 0, word: rem_word { integer } }
    }

    fn real(kind: u32, real: f64) -> Self {
        Self { kind, length: 0, word: rem_word { real } }
    }

    fn bytes(kind: u32, bytes: &[u8]) -> Self {
        let word = rem_word { data: bytes.as_ptr().cast() };
        Self { kind, length: bytes.len() as u32, word }
    }
}

/// The kind of a column.
pub(super) fn kind_of(column_type: &ColumnType) -> u32 {
    match column_type {
        ColumnType::I8 => REM_I8,
        ColumnType::I16 => REM_I16,
        ColumnType::I32 => REM_I32,
        ColumnType::I64 => REM_I64,
        ColumnType::U8 => REM_U8,
        ColumnType::U16 => REM_U16,
        ColumnType::U32 => REM_U32,
        ColumnType::U64 => REM_U64,
        ColumnType::F32 => REM_F32,
        ColumnType::F64 => REM_F64,
        ColumnType::Bool => REM_BOOL,
        ColumnType::Decimal { .. } => REM_DECIMAL,
        ColumnType::Date => REM_DATE,
        ColumnType::Time => REM_TIME,
        ColumnType::Timestamp => REM_TIMESTAMP,
        ColumnType::Char(_) => REM_CHAR,
        ColumnType::Binary(_) => REM_BINARY,
        ColumnType::String { .. } => REM_STRING,
        ColumnType::Blob { .. } => REM_BLOB,
        ColumnType::Array { .. } => REM_ARRAY,
        ColumnType::Struct(_) => REM_STRUCT,
        ColumnType::Vector { .. } => REM_VECTOR,
    }
}
