//! Default values: what a column holds when a row is written without it.
//!
//! The owned twin of [`Value`]: a schema outlives whatever its defaults were read from. Whether a
//! default fits its column is checked when the schema is validated, by the code that writes rows.

use crate::values::scalar::{Date, Decimal, Time, Timestamp};
use crate::values::value::Value;

/// An owned scalar value, kept in a schema.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let schema = TableSchema::new("Part")
///     .column("price", ColumnType::Decimal { precision: 12, scale: 2 })
///     .default(Decimal::<12, 2>(1999));
/// assert_eq!(schema.columns[0].default, Some(DefaultValue::Decimal(1999)));
/// assert!(schema.validate().is_ok());
/// ```
#[derive(Clone, Debug)]
pub enum DefaultValue {
    /// For columns of any signed or unsigned integer type.
    Signed(i64),
    /// For columns of any signed or unsigned integer type.
    Unsigned(u64),
    /// For F32 and F64 columns.
    Float(f64),
    /// For Bool columns.
    Bool(bool),
    /// The unscaled integer of a Decimal column.
    Decimal(i128),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since the epoch, UTC.
    Timestamp(i64),
    /// For Char and String columns.
    String(String),
    /// For Binary and Blob columns.
    Bytes(Vec<u8>),
}

impl DefaultValue {
    /// The default as a value that can be written to a row.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::{DefaultValue, Value};
    /// assert_eq!(DefaultValue::from("x").as_value(), Value::String("x"));
    /// ```
    #[inline]
    pub fn as_value(&self) -> Value<'_> {
        match self {
            DefaultValue::Signed(number) => Value::I64(*number),
            DefaultValue::Unsigned(number) => Value::U64(*number),
            DefaultValue::Float(number) => Value::F64(*number),
            DefaultValue::Bool(truth) => Value::Bool(*truth),
            DefaultValue::Decimal(unscaled) => Value::Decimal(*unscaled),
            DefaultValue::Date(days) => Value::Date(*days),
            DefaultValue::Time(micros) => Value::Time(*micros),
            DefaultValue::Timestamp(micros) => Value::Timestamp(*micros),
            DefaultValue::String(text) => Value::String(text),
            DefaultValue::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

/// Floats are equal when their bits are, so that schemas compare exactly.
impl PartialEq for DefaultValue {
    fn eq(&self, other: &DefaultValue) -> bool {
        use DefaultValue::*;
        match (self, other) {
            (Signed(a), Signed(b)) => a == b,
            (Unsigned(a), Unsigned(b)) => a == b,
            (Float(a), Float(b)) => a.to_bits() == b.to_bits(),
            (Bool(a), Bool(b)) => a == b,
            (Decimal(a), Decimal(b)) => a == b,
            (Date(a), Date(b)) => a == b,
            (Time(a), Time(b)) | (Timestamp(a), Timestamp(b)) => a == b,
            (String(a), String(b)) => a == b,
            (Bytes(a), Bytes(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for DefaultValue {}

macro_rules! default_from {
    ($($source:ty => $variant:ident),* $(,)?) => {$(
        impl From<$source> for DefaultValue {
            fn from(value: $source) -> DefaultValue {
                DefaultValue::$variant(value.into())
            }
        }
    )*};
}

default_from! {
    i8 => Signed, i16 => Signed, i32 => Signed, i64 => Signed,
    u8 => Unsigned, u16 => Unsigned, u32 => Unsigned, u64 => Unsigned,
    f32 => Float, f64 => Float, bool => Bool,
    &str => String, String => String, &[u8] => Bytes, Vec<u8> => Bytes,
}

macro_rules! default_from_newtype {
    ($($source:ident),* $(,)?) => {$(
        impl From<$source> for DefaultValue {
            fn from(value: $source) -> DefaultValue {
                DefaultValue::$source(value.0)
            }
        }
    )*};
}

default_from_newtype! { Date, Time, Timestamp }

impl<const P: u8, const S: u8> From<Decimal<P, S>> for DefaultValue {
    fn from(value: Decimal<P, S>) -> DefaultValue {
        DefaultValue::Decimal(value.0)
    }
}

#[cfg(test)]
mod tests;
