//! Parameters, as they come.
//!
//! Text stays text, for the SQL layer casts it to what the parameter is; binary values are of the
//! type that the client has declared, or that was described to it.

use std::ops::RangeInclusive;

use bytes::{Buf, Bytes};
pub(crate) use remanent_sql::utf8 as str;
use remanent_sql::{Datum, Error, SqlState, SqlType};

use super::{EPOCH_DAYS, EPOCH_MICROS, Format, decimal, oid};

/// A parameter of the type with this number.
///
/// # Errors
/// `BAD_TEXT` for text that is not UTF-8; `BAD_BINARY` for a value that is not one of its type.
pub(crate) fn value(bytes: Option<&Bytes>, oid: u32, format: Format) -> Result<Datum, Error> {
    let Some(bytes) = bytes else { return Ok(Datum::Null) };
    if format == Format::Text {
        return text(bytes);
    }
    let sql_type = oid::to_sql(oid).unwrap_or(SqlType::Text);
    if sql_type == SqlType::Text {
        return text(bytes);
    }
    let datum = binary(bytes.clone(), oid, &sql_type).ok_or_else(|| {
        let text = format!("incorrect binary data format for a parameter of type {sql_type}");
        Error::new(SqlState::BAD_BINARY, text)
    })?;
    match is_in_calendar(&datum) {
        true => Ok(datum),
        false => {
            let text = format!("a parameter of type {sql_type} is out of range");
            Err(Error::new(SqlState::DATETIME_OUT_OF_RANGE, text))
        }
    }
}

/// Days since 1970 of the years -9999 to 9999, which text has.
const DAYS: RangeInclusive<i64> = -4_371_587..=2_932_896;
/// Microseconds of a day.
const DAY_MICROS: i64 = 86_400_000_000;

/// Whether a date, a time, or those of a list can be written as text.
fn is_in_calendar(datum: &Datum) -> bool {
    match datum {
        Datum::Date(days) => DAYS.contains(&i64::from(*days)),
        Datum::Time(micros) => (0..DAY_MICROS).contains(micros),
        Datum::Timestamp(micros) | Datum::TimestampTz(micros) => {
            DAYS.contains(&micros.div_euclid(DAY_MICROS))
        }
        Datum::List(elements) => elements.iter().all(is_in_calendar),
        _ => true,
    }
}

/// Text.
///
/// # Errors
/// `BAD_ENCODING`.
pub(crate) fn text(bytes: &[u8]) -> Result<Datum, Error> {
    Ok(Datum::from(str(bytes)?))
}

fn binary(mut bytes: Bytes, oid: u32, sql_type: &SqlType) -> Option<Datum> {
    let from = &mut bytes;
    let datum = match sql_type {
        SqlType::Boolean => Datum::Bool(from.try_get_u8().ok()? != 0),
        SqlType::SmallInt => Datum::from(from.try_get_i16().ok()?),
        SqlType::Integer => Datum::from(from.try_get_i32().ok()?),
        SqlType::BigInt if oid == 26 => Datum::from(from.try_get_u32().ok()?),
        SqlType::BigInt => Datum::from(from.try_get_i64().ok()?),
        SqlType::Real => Datum::from(from.try_get_f32().ok()?),
        SqlType::Double => Datum::from(from.try_get_f64().ok()?),
        SqlType::Numeric { .. } => {
            let (unscaled, scale) = decimal::read(from.split_to(from.len()))?;
            Datum::Decimal(unscaled, scale)
        }
        SqlType::Date => Datum::Date(from.try_get_i32().ok()?.saturating_add(EPOCH_DAYS)),
        SqlType::Time => Datum::Time(from.try_get_i64().ok()?),
        SqlType::Timestamp => Datum::Timestamp(moment(from)?),
        SqlType::TimestampTz => Datum::TimestampTz(moment(from)?),
        SqlType::Interval => {
            let micros = from.try_get_i64().ok()?;
            let days = from.try_get_i32().ok()?;
            Datum::Interval(from.try_get_i32().ok()?, days, micros.checked_mul(1000)?)
        }
        SqlType::Uuid => Datum::from(uuid(from.try_get_u128().ok()?)),
        SqlType::Bytea => Datum::from(&from.split_to(from.len())[..]),
        SqlType::Array(_) => list(from)?,
        _ => {
            // JSONB has its version in front, and is what a column of JSON may be given.
            let is_versioned = sql_type == &SqlType::Json && from.first() == Some(&1);
            if is_versioned {
                from.advance(1);
            } else if oid == oid::JSONB {
                return None;
            }
            text(&from.split_to(from.len())).ok()?
        }
    };
    from.is_empty().then_some(datum)
}

fn moment(from: &mut Bytes) -> Option<i64> {
    Some(from.try_get_i64().ok()?.saturating_add(EPOCH_MICROS))
}

fn uuid(number: u128) -> String {
    let digits = format!("{number:032x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}

/// A list of one dimension, or of none.
fn list(from: &mut Bytes) -> Option<Datum> {
    let dimensions = from.try_get_u32().ok()?;
    let _has_nulls = from.try_get_u32().ok()?;
    let oid = from.try_get_u32().ok()?;
    if dimensions == 0 {
        return Some(Datum::List(Vec::new()));
    }
    if dimensions != 1 {
        return None;
    }
    let count = from.try_get_u32().ok()?;
    let _first = from.try_get_u32().ok()?;
    let mut elements = Vec::new();
    for _ in 0..count {
        let length = from.try_get_i32().ok()?;
        let Ok(length) = usize::try_from(length) else {
            elements.push(Datum::Null);
            continue;
        };
        if length > from.len() {
            return None;
        }
        let bytes = from.split_to(length);
        elements.push(value(Some(&bytes), oid, Format::Binary).ok()?);
    }
    Some(Datum::List(elements))
}
