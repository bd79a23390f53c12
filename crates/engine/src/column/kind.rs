//! How the types of columns are stored: as numbers, as values of a fixed size, or as bytes of any
//! length.
//!
//! Dates, times, decimals and truths are integers here; arrays have a fixed size; Char is
//! text of any length, for what it is padded with is no part of it. What is in a row's null bit is
//! not in the column's bytes.

use remanent_schema::{ColumnType, Value};

/// How a column's values are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Integers of so many bytes.
    Integer { size: usize, signed: bool },
    /// Floats of so many bytes.
    Float { size: usize },
    /// Values of so many bytes.
    Fixed { size: usize },
    /// Text or bytes; in a row padded to so many bytes with NUL, or in its variable part.
    Bytes { padded: Option<usize> },
    /// No bytes: whether a struct is there is known by the null bit alone.
    Nothing,
}

impl Kind {
    /// How values of this type are stored.
    pub(crate) fn of(column_type: &ColumnType) -> Self {
        let integer = |signed| Self::Integer { size: column_type.fixed_size() as usize, signed };
        match column_type {
            ColumnType::I8 | ColumnType::I16 | ColumnType::I32 | ColumnType::I64 => integer(true),
            ColumnType::U8 | ColumnType::U16 | ColumnType::U32 | ColumnType::U64 => integer(false),
            ColumnType::Bool => integer(false),
            ColumnType::Date | ColumnType::Time | ColumnType::Timestamp => integer(true),
            ColumnType::Decimal { .. } => integer(true),
            ColumnType::F32 => Self::Float { size: 4 },
            ColumnType::F64 => Self::Float { size: 8 },
            ColumnType::Char(size) => Self::Bytes { padded: Some(*size as usize) },
            ColumnType::Binary(_) | ColumnType::Array { .. } => {
                Self::Fixed { size: column_type.fixed_size() as usize }
            }
            ColumnType::String { .. } | ColumnType::Blob { .. } | ColumnType::Vector { .. } => {
                Self::Bytes { padded: None }
            }
            ColumnType::Struct(_) => Self::Nothing,
        }
    }

    /// Bytes of a value, if all have the same number.
    pub(crate) fn size(self) -> Option<usize> {
        match self {
            Self::Integer { size, .. } | Self::Float { size } | Self::Fixed { size } => Some(size),
            Self::Bytes { .. } => None,
            Self::Nothing => Some(0),
        }
    }
}

/// The integer in these bytes, of 1, 2, 4, 8 or 16.
#[inline]
pub(crate) fn read_integer(bytes: &[u8], signed: bool) -> i128 {
    match (bytes.len(), signed) {
        (1, true) => i128::from(bytes[0] as i8),
        (1, false) => i128::from(bytes[0]),
        (2, true) => i128::from(i16::from_le_bytes(head(bytes))),
        (2, false) => i128::from(u16::from_le_bytes(head(bytes))),
        (4, true) => i128::from(i32::from_le_bytes(head(bytes))),
        (4, false) => i128::from(u32::from_le_bytes(head(bytes))),
        (8, true) => i128::from(i64::from_le_bytes(head(bytes))),
        (8, false) => i128::from(u64::from_le_bytes(head(bytes))),
        _ => i128::from_le_bytes(head(bytes)),
    }
}

/// The unsigned number at index `i` of an array of 1, 2, 3 or 4-byte numbers, all of it; of 3, the
/// lower two bytes of all numbers are before the third of each.
#[inline]
pub(crate) fn read_number(bytes: &[u8], width: usize, i: usize) -> u32 {
    match width {
        1 => u32::from(bytes[i]),
        2 => u32::from(read_half(bytes, i * 2)),
        3 => {
            let third = bytes[bytes.len() / 3 * 2 + i];
            u32::from(read_half(bytes, i * 2)) | u32::from(third) << 16
        }
        _ => read_word(bytes, i * 4),
    }
}

/// The number in the two bytes from `at` on.
#[inline]
pub(crate) fn read_half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(head(&bytes[at..]))
}

/// The number in the four bytes from `at` on.
#[inline]
pub(crate) fn read_word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(head(&bytes[at..]))
}

/// The float in these bytes, of 4 or 8.
pub(crate) fn read_float(bytes: &[u8]) -> f64 {
    match bytes.len() {
        4 => f64::from(f32::from_le_bytes(head(bytes))),
        _ => f64::from_le_bytes(head(bytes)),
    }
}

/// The value of a column of this type that is stored as this integer.
pub(crate) fn value_of_integer(column_type: &ColumnType, number: i128) -> Value<'static> {
    match column_type {
        ColumnType::I8 => Value::I8(number as i8),
        ColumnType::I16 => Value::I16(number as i16),
        ColumnType::I32 => Value::I32(number as i32),
        ColumnType::I64 => Value::I64(number as i64),
        ColumnType::U8 => Value::U8(number as u8),
        ColumnType::U16 => Value::U16(number as u16),
        ColumnType::U32 => Value::U32(number as u32),
        ColumnType::U64 => Value::U64(number as u64),
        ColumnType::Bool => Value::Bool(number != 0),
        ColumnType::Date => Value::Date(number as i32),
        ColumnType::Time => Value::Time(number as i64),
        ColumnType::Timestamp => Value::Timestamp(number as i64),
        _ => Value::Decimal(number),
    }
}

#[inline]
fn head<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut head = [0; N];
    head.copy_from_slice(&bytes[..N]);
    head
}
