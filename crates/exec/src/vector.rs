//! Decoded values of one column, one for each row that was asked for.
//!
//! Each type of column has one kind of vector. What stands at the place of a null row is arbitrary.

use remanent_engine::schema::Value;

use crate::text_view::TextViews;

/// A column's values, and which rows have one.
#[derive(Debug)]
pub struct Decoded<'t> {
    /// A value for each row.
    pub values: Vector<'t>,
    /// Whether each row has a value; `None` if all have.
    pub valid: Option<Vec<bool>>,
}

/// Values, by the type of the column.
#[derive(Debug)]
pub enum Vector<'t> {
    /// Of `Bool`.
    Bool(Vec<bool>),
    /// Of `I8`.
    I8(Vec<i8>),
    /// Of `I16`.
    I16(Vec<i16>),
    /// Of `I32`; days of `Date`.
    I32(Vec<i32>),
    /// Of `I64`; microseconds of `Time` and `Timestamp`.
    I64(Vec<i64>),
    /// Of `U8`.
    U8(Vec<u8>),
    /// Of `U16`.
    U16(Vec<u16>),
    /// Of `U32`.
    U32(Vec<u32>),
    /// Of `U64`.
    U64(Vec<u64>),
    /// Of `F32`.
    F32(Vec<f32>),
    /// Of `F64`.
    F64(Vec<f64>),
    /// Unscaled integers of `Decimal`.
    I128(Vec<i128>),
    /// Of `Char` and `String`.
    Text(TextViews),
    /// Of all other types: binary, arrays, vectors, and whether structs are there.
    Values(Vec<Value<'t>>),
}

impl Vector<'_> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(values) => values.len(),
            Self::I8(values) => values.len(),
            Self::I16(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::U8(values) => values.len(),
            Self::U16(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::I128(values) => values.len(),
            Self::Text(texts) => texts.len(),
            Self::Values(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
