//! One value by itself: a parameter, or a value of a result.
//!
//! A datum owns what it holds. Rows are read and written without it wherever there are many.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes as dt;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use remanent_engine::schema::{ColumnType, Value};

use super::sql_type::SqlType;
use super::{blanks, text};
use crate::error::{Error, Result, SqlState};

/// A value.
///
/// # Examples
/// ```
/// use remanent_sql::Datum;
/// assert_eq!(Datum::Decimal(1999, 2).to_string(), "19.99");
/// assert_eq!(Datum::Date(0).to_string(), "1970-01-01");
/// assert!(Datum::from(None::<i32>).is_null());
/// ```
#[derive(Clone, PartialEq, Debug)]
pub enum Datum {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number above what [`Datum::Int`] holds.
    UInt(u64),
    /// A float of 4 bytes.
    Real(f32),
    /// A float of 8 bytes.
    Double(f64),
    /// An unscaled integer, and the digits of it that stand after the point.
    Decimal(i128, u8),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970.
    Timestamp(i64),
    /// Microseconds since 1970 UTC.
    TimestampTz(i64),
    /// Months, days and nanoseconds.
    Interval(i32, i32, i64),
    /// Text.
    Text(Box<str>),
    /// Bytes.
    Bytes(Box<[u8]>),
    /// A list.
    List(Vec<Datum>),
}

impl Datum {
    /// Whether this is [`Datum::Null`].
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The whole number, if it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::UInt(number) => i64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value as text in PostgreSQL's format, or `None` for NULL.
    pub fn to_text(&self) -> Option<String> {
        (!self.is_null()).then(|| self.to_string())
    }

    pub(crate) fn integer(number: i128) -> Option<Self> {
        match i64::try_from(number) {
            Ok(number) => Some(Self::Int(number)),
            Err(_) => u64::try_from(number).ok().map(Self::UInt),
        }
    }

    fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Int(number) => Some(i128::from(*number)),
            Self::UInt(number) => Some(i128::from(*number)),
            _ => None,
        }
    }

    /// Whether a whole number is in the range of this type.
    pub(crate) fn fits(&self, sql_type: &SqlType) -> bool {
        let Some(number) = self.as_integer() else { return false };
        match sql_type {
            SqlType::TinyInt => i8::try_from(number).is_ok(),
            SqlType::SmallInt => i16::try_from(number).is_ok(),
            SqlType::Integer => i32::try_from(number).is_ok(),
            SqlType::BigInt => i64::try_from(number).is_ok(),
            SqlType::UTinyInt => u8::try_from(number).is_ok(),
            SqlType::USmallInt => u16::try_from(number).is_ok(),
            SqlType::UInteger => u32::try_from(number).is_ok(),
            SqlType::UBigInt => u64::try_from(number).is_ok(),
            _ => false,
        }
    }

    /// What a row of the engine holds.
    pub(crate) fn from_value(value: Value<'_>, sql_type: &SqlType) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::F32(number) => Self::Real(number),
            Value::F64(number) => Self::Double(number),
            Value::Bool(truth) => Self::Bool(truth),
            Value::Decimal(unscaled) => match sql_type {
                any if *any == SqlType::ANY_NUMERIC => shortened(unscaled),
                SqlType::Numeric { scale, .. } => Self::Decimal(unscaled, *scale),
                _ => Self::Decimal(unscaled, 0),
            },
            Value::Date(days) => Self::Date(days),
            Value::Time(micros) => Self::Time(micros),
            Value::Timestamp(micros) if *sql_type == SqlType::TimestampTz => {
                Self::TimestampTz(micros)
            }
            Value::Timestamp(micros) => Self::Timestamp(micros),
            Value::String(text) => Self::Text(text.into()),
            Value::Bytes(bytes) => Self::Bytes(bytes.into()),
            Value::Elements(elements) => {
                let element = match sql_type {
                    SqlType::Array(element) => element,
                    other => other,
                };
                Self::List(elements.iter().map(|value| Self::from_value(value, element)).collect())
            }
            integer => match integer.as_integer().and_then(Self::integer) {
                Some(datum) => datum,
                None => Self::Null,
            },
        }
    }

    /// The value for a column of the engine; it must have been [cast](Datum::cast) to the
    /// column's type. Lists are written elsewhere.
    pub(crate) fn to_value(&self, column: &ColumnType) -> Value<'_> {
        match (self, column) {
            (Self::Bool(truth), _) => Value::Bool(*truth),
            (Self::Int(number), ColumnType::I8) => Value::I8(*number as i8),
            (Self::Int(number), ColumnType::I16) => Value::I16(*number as i16),
            (Self::Int(number), ColumnType::I32) => Value::I32(*number as i32),
            (Self::Int(number), ColumnType::U8) => Value::U8(*number as u8),
            (Self::Int(number), ColumnType::U16) => Value::U16(*number as u16),
            (Self::Int(number), ColumnType::U32) => Value::U32(*number as u32),
            (Self::Int(number), ColumnType::U64) => Value::U64(*number as u64),
            (Self::Int(number), _) => Value::I64(*number),
            (Self::UInt(number), _) => Value::U64(*number),
            (Self::Real(number), _) => Value::F32(*number),
            (Self::Double(number), _) => Value::F64(*number),
            (Self::Decimal(unscaled, _), _) => Value::Decimal(*unscaled),
            (Self::Date(days), _) => Value::Date(*days),
            (Self::Time(micros), _) => Value::Time(*micros),
            (Self::Timestamp(micros) | Self::TimestampTz(micros), _) => Value::Timestamp(*micros),
            (Self::Text(text), _) => Value::String(text),
            (Self::Bytes(bytes), _) => Value::Bytes(bytes),
            (Self::Null | Self::Interval(..) | Self::List(_), _) => Value::Null,
        }
    }

    /// The same value as one of this type, as an assignment to a column converts it.
    ///
    /// # Errors
    /// `NUMBER_OUT_OF_RANGE`, `BAD_TEXT`, `TEXT_TOO_LONG`, `TYPE_MISMATCH`.
    pub(crate) fn cast(&self, to: &SqlType) -> Result<Self> {
        let mismatch = || {
            let text = format!("a value of another type cannot be assigned to {to}: {self}");
            Error::new(SqlState::TYPE_MISMATCH, text)
        };
        Ok(match (self, to) {
            (Self::Null, _) => Self::Null,
            (_, SqlType::Unknown) => self.clone(),
            (Self::Text(text), SqlType::Varchar(_) | SqlType::Char(_)) => {
                Self::Text(limited(text, to)?)
            }
            (Self::Text(_), SqlType::Text | SqlType::Json) => self.clone(),
            (Self::Text(text), other) => text::parse(text, other)?,
            (other, text) if text.is_text() => Self::Text(limited(&other.to_string(), to)?),
            (Self::Int(_) | Self::UInt(_), integer) if integer.is_integer() => {
                if !self.fits(to) {
                    return Err(out_of_range(to));
                }
                self.clone()
            }
            (Self::Int(_) | Self::UInt(_), SqlType::Numeric { precision, scale }) => {
                let number = self.as_integer().unwrap_or(0);
                decimal(number, 0, *precision, *scale).ok_or_else(|| out_of_range(to))?
            }
            (Self::Decimal(unscaled, from), SqlType::Numeric { precision, scale }) => {
                decimal(*unscaled, u32::from(*from), *precision, *scale)
                    .ok_or_else(|| out_of_range(to))?
            }
            (Self::Decimal(unscaled, from), integer) if integer.is_integer() => {
                let whole = text::rescale(*unscaled, u32::from(*from), 0);
                let datum = whole.and_then(Self::integer).filter(|datum| datum.fits(to));
                datum.ok_or_else(|| out_of_range(to))?
            }
            (Self::Real(_) | Self::Double(_), integer) if integer.is_integer() => {
                let number = self.as_f64().unwrap_or(f64::NAN).round_ties_even();
                let whole = (number.abs() < 1.7e19).then_some(number as i128);
                let datum = whole.and_then(Self::integer).filter(|datum| datum.fits(to));
                datum.ok_or_else(|| out_of_range(to))?
            }
            (Self::Real(_) | Self::Double(_), SqlType::Numeric { .. }) => {
                text::parse(&self.to_string(), to)?
            }
            (number, SqlType::Real) => Self::Real(number.as_f64().ok_or_else(mismatch)? as f32),
            (number, SqlType::Double) => Self::Double(number.as_f64().ok_or_else(mismatch)?),
            (Self::Bool(_), SqlType::Boolean)
            | (Self::Date(_), SqlType::Date)
            | (Self::Time(_), SqlType::Time)
            | (Self::Timestamp(_), SqlType::Timestamp)
            | (Self::TimestampTz(_), SqlType::TimestampTz)
            | (Self::Interval(..), SqlType::Interval)
            | (Self::Bytes(_), SqlType::Bytea) => self.clone(),
            (Self::Timestamp(micros), SqlType::TimestampTz) => Self::TimestampTz(*micros),
            (Self::TimestampTz(micros), SqlType::Timestamp) => Self::Timestamp(*micros),
            (Self::Timestamp(micros) | Self::TimestampTz(micros), SqlType::Date) => {
                Self::Date(micros.div_euclid(86_400_000_000) as i32)
            }
            (Self::Date(days), SqlType::Timestamp) => {
                Self::Timestamp(i64::from(*days) * 86_400_000_000)
            }
            (Self::Date(days), SqlType::TimestampTz) => {
                Self::TimestampTz(i64::from(*days) * 86_400_000_000)
            }
            (Self::List(elements), SqlType::Array(element)) => {
                let cast = elements.iter().map(|datum| datum.cast(element));
                Self::List(cast.collect::<Result<_>>()?)
            }
            _ => return Err(mismatch()),
        })
    }

    /// The same value as a parameter for which a column has this type. A number keeps the digits
    /// that it has beyond the column's, for it may be compared.
    ///
    /// # Errors
    /// As [`Datum::cast`].
    pub(crate) fn as_parameter(&self, to: &SqlType) -> Result<Self> {
        let scale_of = |to: &SqlType| match to {
            SqlType::Numeric { scale, .. } => Some(u32::from(*scale)),
            integer => integer.is_integer().then_some(0),
        };
        match (self, scale_of(to)) {
            (Self::Text(text), Some(scale)) if scale > 0 => {
                let spelled = text::parse_decimal(text.trim()).filter(|(_, own)| *own > scale);
                match spelled.and_then(|(unscaled, own)| Some((unscaled, u8::try_from(own).ok()?)))
                {
                    Some((unscaled, own)) => Ok(Self::Decimal(unscaled, own)),
                    None => self.cast(to),
                }
            }
            (Self::Decimal(_, own), Some(scale)) if u32::from(*own) > scale => Ok(self.clone()),
            // What is compared may be longer than what is kept.
            (Self::Text(text), None) if matches!(to, SqlType::Char(_)) => {
                Ok(Self::Text(blanks::without(text).into()))
            }
            _ => self.cast(to),
        }
    }

    fn as_f64(&self) -> Option<f64> {
        Some(match self {
            Self::Int(number) => *number as f64,
            Self::UInt(number) => *number as f64,
            Self::Real(number) => f64::from(*number),
            Self::Double(number) => *number,
            Self::Decimal(unscaled, scale) => decimal_as_f64(*unscaled, *scale),
            _ => return None,
        })
    }

    /// One element of an array of Arrow.
    ///
    /// # Errors
    /// What DataFusion finds wrong with the array.
    ///
    /// # Examples
    /// ```
    /// use datafusion::arrow::array::Int64Array;
    /// use remanent_sql::Datum;
    /// let numbers = Int64Array::from(vec![Some(7), None]);
    /// assert_eq!(Datum::from_array(&numbers, 0)?, Datum::Int(7));
    /// assert!(Datum::from_array(&numbers, 1)?.is_null());
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn from_array(array: &dyn Array, row: usize) -> Result<Self> {
        if array.is_null(row) {
            return Ok(Self::Null);
        }
        Ok(match array.data_type() {
            DataType::Boolean => Self::Bool(array.as_boolean().value(row)),
            DataType::Int32 => Self::Int(array.as_primitive::<dt::Int32Type>().value(row).into()),
            DataType::Int64 => Self::Int(array.as_primitive::<dt::Int64Type>().value(row)),
            DataType::Float64 => Self::Double(array.as_primitive::<dt::Float64Type>().value(row)),
            DataType::Utf8View => Self::Text(array.as_string_view().value(row).into()),
            DataType::Utf8 => Self::Text(array.as_string::<i32>().value(row).into()),
            DataType::Date32 => Self::Date(array.as_primitive::<dt::Date32Type>().value(row)),
            DataType::Decimal128(precision, scale) if *scale >= 0 => {
                let unscaled = array.as_primitive::<dt::Decimal128Type>().value(row);
                Self::of_decimal(unscaled, *precision, *scale)
            }
            _ => Self::from_scalar(ScalarValue::try_from_array(array, row)?)?,
        })
    }

    /// A value of DataFusion.
    pub(crate) fn from_scalar(scalar: ScalarValue) -> Result<Self> {
        use ScalarValue as S;
        let bytes = |bytes: Vec<u8>| Self::Bytes(bytes.into());
        Ok(match scalar {
            _ if scalar.is_null() => Self::Null,
            S::Boolean(Some(truth)) => Self::Bool(truth),
            S::Int8(Some(number)) => Self::Int(number.into()),
            S::Int16(Some(number)) => Self::Int(number.into()),
            S::Int32(Some(number)) => Self::Int(number.into()),
            S::Int64(Some(number)) => Self::Int(number),
            S::UInt8(Some(number)) => Self::Int(number.into()),
            S::UInt16(Some(number)) => Self::Int(number.into()),
            S::UInt32(Some(number)) => Self::Int(number.into()),
            S::UInt64(Some(number)) => i64::try_from(number).map_or(Self::UInt(number), Self::Int),
            S::Float32(Some(number)) => Self::Real(number),
            S::Float64(Some(number)) => Self::Double(number),
            S::Decimal32(Some(number), _, scale) => {
                Self::Decimal(number.into(), scale.max(0) as u8)
            }
            S::Decimal64(Some(number), _, scale) => {
                Self::Decimal(number.into(), scale.max(0) as u8)
            }
            S::Decimal128(Some(number), precision, scale) => {
                Self::of_decimal(number, precision, scale)
            }
            S::Date32(Some(days)) => Self::Date(days),
            S::Time64Microsecond(Some(micros)) => Self::Time(micros),
            S::Time64Nanosecond(Some(nanos)) => Self::Time(nanos.div_euclid(1000)),
            S::Time32Second(Some(seconds)) => Self::Time(i64::from(seconds) * 1_000_000),
            S::TimestampSecond(Some(at), zone) => moment(at.saturating_mul(1_000_000), zone),
            S::TimestampMillisecond(Some(at), zone) => moment(at.saturating_mul(1000), zone),
            S::TimestampMicrosecond(Some(at), zone) => moment(at, zone),
            S::TimestampNanosecond(Some(at), zone) => moment(at.div_euclid(1000), zone),
            S::IntervalMonthDayNano(Some(span)) => {
                Self::Interval(span.months, span.days, span.nanoseconds)
            }
            S::IntervalDayTime(Some(span)) => {
                Self::Interval(0, span.days, i64::from(span.milliseconds) * 1_000_000)
            }
            S::IntervalYearMonth(Some(months)) => Self::Interval(months, 0, 0),
            S::Utf8(Some(text)) | S::LargeUtf8(Some(text)) | S::Utf8View(Some(text)) => {
                Self::Text(text.into())
            }
            S::Binary(Some(value)) | S::LargeBinary(Some(value)) | S::BinaryView(Some(value)) => {
                bytes(value)
            }
            S::FixedSizeBinary(_, Some(value)) => bytes(value),
            S::Dictionary(_, inner) => Self::from_scalar(*inner)?,
            S::List(list) => Self::of_elements(&list.value(0))?,
            S::LargeList(list) => Self::of_elements(&list.value(0))?,
            S::FixedSizeList(list) => Self::of_elements(&list.value(0))?,
            other => Self::Text(other.to_string().into()),
        })
    }

    fn of_decimal(unscaled: i128, precision: u8, scale: i8) -> Self {
        let scale = scale.max(0) as u8;
        match (SqlType::Numeric { precision, scale }) == SqlType::ANY_NUMERIC {
            true => shortened(unscaled),
            false => Self::Decimal(unscaled, scale),
        }
    }

    fn of_elements(elements: &dyn Array) -> Result<Self> {
        let each = (0..elements.len()).map(|at| Self::from_array(elements, at));
        Ok(Self::List(each.collect::<Result<_>>()?))
    }

    /// The value for DataFusion; NULL is of the type that is given.
    pub(crate) fn to_scalar(&self, sql_type: &SqlType) -> Result<ScalarValue> {
        use ScalarValue as S;
        let zone = || Some(Arc::from("+00:00"));
        Ok(match self {
            Self::Null => S::try_from(&sql_type.to_arrow())?,
            Self::Bool(truth) => S::Boolean(Some(*truth)),
            Self::Int(number) => match sql_type {
                SqlType::TinyInt => S::Int8(Some(*number as i8)),
                SqlType::SmallInt => S::Int16(Some(*number as i16)),
                SqlType::Integer => S::Int32(Some(*number as i32)),
                SqlType::UTinyInt => S::UInt8(Some(*number as u8)),
                SqlType::USmallInt => S::UInt16(Some(*number as u16)),
                SqlType::UInteger => S::UInt32(Some(*number as u32)),
                SqlType::UBigInt => S::UInt64(Some(*number as u64)),
                _ => S::Int64(Some(*number)),
            },
            Self::UInt(number) => S::UInt64(Some(*number)),
            Self::Real(number) => S::Float32(Some(*number)),
            Self::Double(number) => S::Float64(Some(*number)),
            Self::Decimal(unscaled, scale) => S::Decimal128(Some(*unscaled), 38, *scale as i8),
            Self::Date(days) => S::Date32(Some(*days)),
            Self::Time(micros) => S::Time64Microsecond(Some(*micros)),
            Self::Timestamp(micros) => S::TimestampMicrosecond(Some(*micros), None),
            Self::TimestampTz(micros) => S::TimestampMicrosecond(Some(*micros), zone()),
            Self::Interval(months, days, nanos) => {
                let span = dt::IntervalMonthDayNano::new(*months, *days, *nanos);
                S::IntervalMonthDayNano(Some(span))
            }
            Self::Text(text) => S::Utf8View(Some(text.to_string())),
            Self::Bytes(bytes) => S::Binary(Some(bytes.to_vec())),
            Self::List(elements) => {
                let element = match sql_type {
                    SqlType::Array(element) => (**element).clone(),
                    _ => {
                        elements.iter().find(|e| !e.is_null()).map_or(SqlType::Text, Self::natural)
                    }
                };
                let scalars = elements.iter().map(|datum| datum.to_scalar(&element));
                let scalars = scalars.collect::<Result<Vec<_>>>()?;
                S::List(S::new_list(&scalars, &element.to_arrow(), true))
            }
        })
    }

    /// The type that a value has by itself.
    pub(crate) fn natural(&self) -> SqlType {
        match self {
            Self::Null => SqlType::Unknown,
            Self::Bool(_) => SqlType::Boolean,
            Self::Int(_) => SqlType::BigInt,
            Self::UInt(_) => SqlType::UBigInt,
            Self::Real(_) => SqlType::Real,
            Self::Double(_) => SqlType::Double,
            Self::Decimal(_, scale) => SqlType::Numeric { precision: 38, scale: *scale },
            Self::Date(_) => SqlType::Date,
            Self::Time(_) => SqlType::Time,
            Self::Timestamp(_) => SqlType::Timestamp,
            Self::TimestampTz(_) => SqlType::TimestampTz,
            Self::Interval(..) => SqlType::Interval,
            Self::Text(_) => SqlType::Text,
            Self::Bytes(_) => SqlType::Bytea,
            Self::List(elements) => {
                let element = elements.iter().find(|element| !element.is_null());
                SqlType::Array(Box::new(element.map_or(SqlType::Text, Self::natural)))
            }
        }
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        match self {
            Self::Null => {}
            Self::Bool(truth) => out.push(if *truth { 't' } else { 'f' }),
            Self::Int(number) => return write!(f, "{number}"),
            Self::UInt(number) => return write!(f, "{number}"),
            Self::Real(number) => text::write_float(&mut out, f64::from(*number), true),
            Self::Double(number) => text::write_float(&mut out, *number, false),
            Self::Decimal(unscaled, scale) => text::write_decimal(&mut out, *unscaled, *scale),
            Self::Date(days) => text::write_date(&mut out, *days),
            Self::Time(micros) => text::write_time(&mut out, *micros),
            Self::Timestamp(micros) => text::write_timestamp(&mut out, *micros),
            Self::TimestampTz(micros) => {
                text::write_timestamp(&mut out, *micros);
                out.push_str("+00");
            }
            Self::Interval(months, days, nanos) => {
                let interval = dt::IntervalMonthDayNano::new(*months, *days, *nanos);
                text::write_interval(&mut out, interval);
            }
            Self::Text(text) => return f.write_str(text),
            Self::Bytes(bytes) => text::write_bytes(&mut out, bytes),
            Self::List(elements) => text::write_list(&mut out, elements),
        }
        f.write_str(&out)
    }
}

macro_rules! from {
    ($($from:ty => |$value:ident| $make:expr;)+) => {
        $(impl From<$from> for Datum {
            fn from($value: $from) -> Self { $make }
        })+
    };
}

from! {
    bool => |value| Self::Bool(value);
    i16 => |value| Self::Int(value.into());
    i32 => |value| Self::Int(value.into());
    i64 => |value| Self::Int(value);
    u32 => |value| Self::Int(value.into());
    f32 => |value| Self::Real(value);
    f64 => |value| Self::Double(value);
    &str => |value| Self::Text(value.into());
    String => |value| Self::Text(value.into());
    &[u8] => |value| Self::Bytes(value.into());
    Vec<u8> => |value| Self::Bytes(value.into());
}

impl<T: Into<Datum>> From<Option<T>> for Datum {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Text within the limit of its type, as it is kept: blanks beyond it go, and all blanks at the end
/// of CHAR, which come back when a value is shown ([`super::blanks`]).
///
/// # Errors
/// `TEXT_TOO_LONG`.
pub(crate) fn limited(text: &str, to: &SqlType) -> Result<Box<str>> {
    let cut = cut(text, to);
    if cut.len() < text.len() && text[cut.len()..].chars().any(|char| char != ' ') {
        let text = format!("value too long for type {to}");
        return Err(Error::new(SqlState::TEXT_TOO_LONG, text));
    }
    Ok(cut.into())
}

/// The same of text that is cast, of which what is too long is cut off.
pub(crate) fn cut<'t>(text: &'t str, to: &SqlType) -> &'t str {
    let (SqlType::Varchar(limit) | SqlType::Char(limit)) = to else { return text };
    let limit = *limit as usize;
    let end = match text.len() <= limit {
        true => text.len(),
        false => text.char_indices().nth(limit).map_or(text.len(), |(at, _)| at),
    };
    match to {
        SqlType::Char(_) => blanks::without(&text[..end]),
        _ => &text[..end],
    }
}

/// A number of a type that says nothing of digits, without those that say nothing.
fn shortened(mut unscaled: i128) -> Datum {
    let SqlType::Numeric { mut scale, .. } = SqlType::ANY_NUMERIC else {
        return Datum::Decimal(unscaled, 0);
    };
    while scale > 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        scale -= 1;
    }
    Datum::Decimal(unscaled, scale)
}

fn decimal(unscaled: i128, from: u32, precision: u8, scale: u8) -> Option<Datum> {
    let rescaled = text::rescale(unscaled, from, scale)?;
    let fits = rescaled.unsigned_abs() < 10_u128.pow(u32::from(precision));
    fits.then_some(Datum::Decimal(rescaled, scale))
}

/// The float that is next to a number.
pub(crate) fn decimal_as_f64(unscaled: i128, scale: u8) -> f64 {
    // Both are exact, so that the quotient is rounded once.
    if unscaled.unsigned_abs() < 1 << 53 && scale <= 22 {
        return unscaled as f64 / 10_f64.powi(i32::from(scale));
    }
    let mut text = String::new();
    text::write_decimal(&mut text, unscaled, scale);
    text.parse().unwrap_or(f64::NAN)
}

fn moment(micros: i64, zone: Option<Arc<str>>) -> Datum {
    if zone.is_some() { Datum::TimestampTz(micros) } else { Datum::Timestamp(micros) }
}

fn out_of_range(to: &SqlType) -> Error {
    Error::new(SqlState::NUMBER_OUT_OF_RANGE, format!("{to} out of range"))
}
