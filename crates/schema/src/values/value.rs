//! A value that is known only at run time: what SQL, the C interface and tests read and write.
//!
//! Values borrow: reading a string from a row gives a reference into the row, and nothing here
//! touches the heap. Numbers carry their own width; which column accepts which value is decided
//! where rows are written. Composite values are a list when written and a lazy view when read.

use std::fmt;

use crate::values::elements::Elements;
use crate::values::scalar::{CharArray, Date, Decimal, Time, Timestamp};

/// A borrowed value of any column type.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// assert_eq!(Value::from(7u8), Value::I64(7));
/// assert_eq!(Value::from("Ulm").to_string(), "Ulm");
/// assert_eq!(Value::from(None::<i32>), Value::Null);
/// let list = [Value::I32(1), Value::I32(2)];
/// assert_eq!(Value::List(&list).to_string(), "[1, 2]");
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A signed 1-byte integer.
    I8(i8),
    /// A signed 2-byte integer.
    I16(i16),
    /// A signed 4-byte integer.
    I32(i32),
    /// A signed 8-byte integer.
    I64(i64),
    /// An unsigned 1-byte integer.
    U8(u8),
    /// An unsigned 2-byte integer.
    U16(u16),
    /// An unsigned 4-byte integer.
    U32(u32),
    /// An unsigned 8-byte integer.
    U64(u64),
    /// A 4-byte float.
    F32(f32),
    /// An 8-byte float.
    F64(f64),
    /// True or false.
    Bool(bool),
    /// An unscaled integer; the column's scale applies.
    Decimal(i128),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since the epoch, UTC.
    Timestamp(i64),
    /// The text of a Char or String column.
    String(&'a str),
    /// The bytes of a Binary or Blob column; also accepted by arrays and vectors of U8.
    Bytes(&'a [u8]),
    /// The elements of an array, vector or array struct, to be written.
    List(&'a [Value<'a>]),
    /// The elements of an array, vector or array struct, as read from a row.
    Elements(Elements<'a>),
}

impl<'a> Value<'a> {
    /// Whether this is [`Value::Null`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert!(Value::from(None::<&str>).is_null());
    /// assert!(!Value::from("").is_null());
    /// ```
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The number, if this is an integer of any width.
    ///
    /// # Examples
    /// ```
    /// use remanent_schema::Value;
    /// assert_eq!(Value::U8(7).as_integer(), Some(7));
    /// assert_eq!(Value::F64(7.0).as_integer(), None);
    /// ```
    #[inline]
    pub fn as_integer(&self) -> Option<i128> {
        Some(match *self {
            Value::I8(number) => i128::from(number),
            Value::I16(number) => i128::from(number),
            Value::I32(number) => i128::from(number),
            Value::I64(number) => i128::from(number),
            Value::U8(number) => i128::from(number),
            Value::U16(number) => i128::from(number),
            Value::U32(number) => i128::from(number),
            Value::U64(number) => i128::from(number),
            _ => return None,
        })
    }

    /// The number, if this is a float of either width.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(Value::F32(0.5).as_float(), Some(0.5));
    /// assert_eq!(Value::I32(1).as_float(), None);
    /// ```
    #[inline]
    pub fn as_float(&self) -> Option<f64> {
        match *self {
            Value::F32(number) => Some(f64::from(number)),
            Value::F64(number) => Some(number),
            _ => None,
        }
    }

    /// The truth, if this is a Bool.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(Value::from(true).as_bool(), Some(true));
    /// assert_eq!(Value::U8(1).as_bool(), None);
    /// ```
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Value::Bool(truth) => Some(truth),
            _ => None,
        }
    }

    /// The text, if this is a string.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(Value::from("Ulm").as_str(), Some("Ulm"));
    /// assert_eq!(Value::Bytes(b"Ulm").as_str(), None);
    /// ```
    #[inline]
    pub fn as_str(&self) -> Option<&'a str> {
        match *self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if these are bytes.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(Value::Bytes(&[1, 2]).as_bytes(), Some(&[1, 2][..]));
    /// assert_eq!(Value::from("Ulm").as_bytes(), None);
    /// ```
    #[inline]
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        match *self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The kind of value, for messages.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(Value::from(7u16).kind_name(), "U16");
    /// assert_eq!(Value::from(None::<u16>).kind_name(), "NULL");
    /// ```
    pub fn kind_name(&self) -> &'static str {
        match self {
            Value::Null => "NULL",
            Value::I8(_) => "I8",
            Value::I16(_) => "I16",
            Value::I32(_) => "I32",
            Value::I64(_) => "I64",
            Value::U8(_) => "U8",
            Value::U16(_) => "U16",
            Value::U32(_) => "U32",
            Value::U64(_) => "U64",
            Value::F32(_) => "F32",
            Value::F64(_) => "F64",
            Value::Bool(_) => "Bool",
            Value::Decimal(_) => "Decimal",
            Value::Date(_) => "Date",
            Value::Time(_) => "Time",
            Value::Timestamp(_) => "Timestamp",
            Value::String(_) => "String",
            Value::Bytes(_) => "Bytes",
            Value::List(_) | Value::Elements(_) => "List",
        }
    }

    /// How many elements a composite value has, and the one at `index`.
    fn composite(&self) -> Option<(usize, impl Fn(usize) -> Value<'a>)> {
        let this = *self;
        let len = match this {
            Value::List(values) => values.len(),
            Value::Elements(elements) => elements.len(),
            _ => return None,
        };
        Some((len, move |index| match this {
            Value::List(values) => values[index],
            Value::Elements(elements) => elements.get(index).unwrap_or(Value::Null),
            _ => Value::Null,
        }))
    }
}

/// Integers are equal when the numbers are, whatever their width, and so are floats; composite
/// values are equal element by element; NULL equals NULL. Other kinds equal only their own kind.
impl PartialEq for Value<'_> {
    fn eq(&self, other: &Value<'_>) -> bool {
        if let (Some(a), Some(b)) = (self.as_integer(), other.as_integer()) {
            return a == b;
        }
        if let (Some(a), Some(b)) = (self.as_float(), other.as_float()) {
            return a == b;
        }
        if let (Some((len, a)), Some((other_len, b))) = (self.composite(), other.composite()) {
            return len == other_len && (0..len).all(|index| a(index) == b(index));
        }
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Decimal(a), Value::Decimal(b)) => a == b,
            (Value::Date(a), Value::Date(b)) => a == b,
            (Value::Time(a), Value::Time(b)) => a == b,
            (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            _ => false,
        }
    }
}

/// Decimals are shown unscaled, times as their counts: a value does not know its column.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.as_integer() {
            return write!(f, "{number}");
        }
        if let Some((len, element)) = self.composite() {
            f.write_str("[")?;
            for index in 0..len {
                let comma = if index == 0 { "" } else { ", " };
                write!(f, "{comma}{}", element(index))?;
            }
            return f.write_str("]");
        }
        match self {
            Value::F32(number) => write!(f, "{number}"),
            Value::F64(number) => write!(f, "{number}"),
            Value::Bool(truth) => write!(f, "{truth}"),
            Value::Decimal(unscaled) => write!(f, "{unscaled}"),
            Value::Date(count) => write!(f, "{count}"),
            Value::Time(count) | Value::Timestamp(count) => write!(f, "{count}"),
            Value::String(text) => f.write_str(text),
            Value::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            _ => f.write_str("NULL"),
        }
    }
}

macro_rules! value_from {
    ($($source:ty => $variant:ident),* $(,)?) => {$(
        impl<'a> From<$source> for Value<'a> {
            #[inline]
            fn from(value: $source) -> Value<'a> {
                Value::$variant(value)
            }
        }
    )*};
}

value_from! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64, bool => Bool, &'a str => String, &'a [u8] => Bytes,
    &'a [Value<'a>] => List, Elements<'a> => Elements,
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Value<'a> {
        Value::String(text)
    }
}

impl<'a> From<&'a Vec<u8>> for Value<'a> {
    fn from(bytes: &'a Vec<u8>) -> Value<'a> {
        Value::Bytes(bytes)
    }
}

macro_rules! value_from_newtype {
    ($($source:ident),* $(,)?) => {$(
        impl From<$source> for Value<'_> {
            #[inline]
            fn from(value: $source) -> Self {
                Value::$source(value.0)
            }
        }
    )*};
}

value_from_newtype! { Date, Time, Timestamp }

impl<const P: u8, const S: u8> From<Decimal<P, S>> for Value<'_> {
    #[inline]
    fn from(value: Decimal<P, S>) -> Self {
        Value::Decimal(value.0)
    }
}

impl<'a, const N: usize> From<&'a CharArray<N>> for Value<'a> {
    #[inline]
    fn from(value: &'a CharArray<N>) -> Value<'a> {
        Value::String(value.as_str())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    #[inline]
    fn from(value: Option<T>) -> Value<'a> {
        value.map_or(Value::Null, Into::into)
    }
}

#[cfg(test)]
mod tests;
