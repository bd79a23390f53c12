//! Values as text and from text, as PostgreSQL writes and reads them.
//!
//! What is written can be read back as the same value of its type.

use std::fmt::Write;

use datafusion::arrow::datatypes::IntervalMonthDayNano;
use jiff::civil;
use jiff::fmt::temporal::Pieces;

use super::datum::Datum;
use super::sql_type::SqlType;
use crate::error::{Error, Result, SqlState};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Text of a caller.
///
/// # Errors
/// `BAD_ENCODING`, for bytes that are not UTF-8 and for zero bytes.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    let bad = || Error::new(SqlState::BAD_ENCODING, "invalid byte sequence for encoding \"UTF8\"");
    let text = std::str::from_utf8(bytes).map_err(|_| bad())?;
    if text.contains('\0') { Err(bad()) } else { Ok(text) }
}

/// Days since 1970-01-01, as text.
pub(crate) fn write_date(out: &mut String, days: i32) {
    let span = jiff::Span::new().try_days(days);
    match span.and_then(|span| civil::date(1970, 1, 1).checked_add(span)) {
        Ok(date) => write_str(out, format_args!("{date}")),
        Err(_) => write_str(out, format_args!("{days} days since 1970-01-01")),
    }
}

/// Microseconds since midnight, as text.
pub(crate) fn write_time(out: &mut String, micros: i64) {
    let (seconds, fraction) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write_str(out, format_args!("{hours:02}:{minutes:02}:{seconds:02}"));
    if fraction != 0 {
        let digits = format!("{fraction:06}");
        write_str(out, format_args!(".{}", digits.trim_end_matches('0')));
    }
}

/// Microseconds since 1970, as text.
pub(crate) fn write_timestamp(out: &mut String, micros: i64) {
    let days = micros.div_euclid(DAY);
    write_date(out, i32::try_from(days).unwrap_or(i32::MAX));
    out.push(' ');
    write_time(out, micros.rem_euclid(DAY));
}

/// An unscaled integer with its point put in.
pub(crate) fn write_decimal(out: &mut String, unscaled: i128, scale: u8) {
    if scale == 0 {
        return write_str(out, format_args!("{unscaled}"));
    }
    let sign = if unscaled < 0 { "-" } else { "" };
    let unit = 10_u128.pow(u32::from(scale));
    let (whole, rest) = (unscaled.unsigned_abs() / unit, unscaled.unsigned_abs() % unit);
    write_str(out, format_args!("{sign}{whole}.{rest:0width$}", width = usize::from(scale)));
}

/// A float, as short as it can be read back.
pub(crate) fn write_float(out: &mut String, number: f64, single: bool) {
    if number.is_nan() {
        out.push_str("NaN");
    } else if number.is_infinite() {
        out.push_str(if number > 0.0 { "Infinity" } else { "-Infinity" });
    } else {
        let size = number.abs();
        let far = size != 0.0 && !(1e-5..1e15).contains(&size);
        let text = match (single, far) {
            (true, false) => format!("{}", number as f32),
            (true, true) => format!("{:e}", number as f32),
            (false, false) => format!("{number}"),
            (false, true) => format!("{number:e}"),
        };
        match text.split_once('e') {
            Some((digits, power)) => {
                let power: i32 = power.parse().unwrap_or(0);
                let sign = if power < 0 { '-' } else { '+' };
                write_str(out, format_args!("{digits}e{sign}{:02}", power.abs()));
            }
            None => out.push_str(&text),
        }
    }
}

/// Bytes in hexadecimal digits, behind `\x`.
pub(crate) fn write_bytes(out: &mut String, bytes: &[u8]) {
    out.push_str("\\x");
    for byte in bytes {
        write_str(out, format_args!("{byte:02x}"));
    }
}

/// A list in braces; elements that could be misread are quoted.
pub(crate) fn write_list(out: &mut String, elements: &[Datum]) {
    out.push('{');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let text = match element {
            Datum::Null => "NULL".to_owned(),
            Datum::List(_) => element.to_string(),
            _ => quoted(element.to_string()),
        };
        out.push_str(&text);
    }
    out.push('}');
}

/// Months, days and nanoseconds.
pub(crate) fn write_interval(out: &mut String, interval: IntervalMonthDayNano) {
    let IntervalMonthDayNano { months, days, nanoseconds: nanos } = interval;
    let start = out.len();
    // What is positive says so behind what is not.
    let mut was_negative = false;
    let mut part = |number: i32, unit: &str| {
        if number != 0 {
            let space = if out.len() > start { " " } else { "" };
            let sign = if was_negative && number > 0 { "+" } else { "" };
            let plural = if number == 1 { "" } else { "s" };
            write_str(out, format_args!("{space}{sign}{number} {unit}{plural}"));
            was_negative = number < 0;
        }
    };
    part(months / 12, "year");
    part(months % 12, "mon");
    part(days, "day");
    if nanos != 0 || out.len() == start {
        if out.len() > start {
            out.push(' ');
        }
        match nanos < 0 {
            true => out.push('-'),
            false if was_negative => out.push('+'),
            false => {}
        }
        write_time(out, (nanos.unsigned_abs() / 1000) as i64);
    }
}

fn quoted(text: String) -> String {
    let plain = !text.is_empty()
        && !text.eq_ignore_ascii_case("null")
        && !text.contains(|c: char| c.is_whitespace() || "{}\",\\".contains(c));
    if plain {
        return text;
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn write_str(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// A value of this type from its text.
///
/// # Errors
/// `BAD_TEXT`, `BAD_DATETIME`, `NUMBER_OUT_OF_RANGE`.
pub(crate) fn parse(text: &str, sql_type: &SqlType) -> Result<Datum> {
    let trimmed = text.trim();
    let bad = || bad_text(text, sql_type);
    Ok(match sql_type {
        SqlType::Boolean => Datum::Bool(parse_bool(trimmed).ok_or_else(bad)?),
        integer if integer.is_integer() => parse_integer(trimmed, sql_type)?,
        SqlType::Real => Datum::Real(parse_float(trimmed).ok_or_else(bad)? as f32),
        SqlType::Double => Datum::Double(parse_float(trimmed).ok_or_else(bad)?),
        SqlType::Numeric { scale, .. } => {
            let (unscaled, digits) = parse_decimal(trimmed).ok_or_else(bad)?;
            let rescaled = rescale(unscaled, digits, *scale).ok_or_else(|| out_of_range(text))?;
            Datum::Decimal(rescaled, *scale)
        }
        SqlType::Date => Datum::Date(parse_date(trimmed).ok_or_else(|| bad_time(text))?),
        SqlType::Time => Datum::Time(parse_time(trimmed).ok_or_else(|| bad_time(text))?),
        SqlType::Timestamp => {
            Datum::Timestamp(parse_timestamp(trimmed).ok_or_else(|| bad_time(text))?)
        }
        SqlType::TimestampTz => {
            Datum::TimestampTz(parse_moment(trimmed).ok_or_else(|| bad_time(text))?)
        }
        SqlType::Bytea => Datum::Bytes(parse_bytes(text).ok_or_else(bad)?.into()),
        SqlType::Array(element) => Datum::List(parse_list(trimmed, element)?),
        SqlType::Uuid => Datum::Text(parse_uuid(trimmed).ok_or_else(bad)?.into()),
        _ => Datum::Text(text.into()),
    })
}

fn parse_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "t" | "true" | "yes" | "y" | "on" | "1" => Some(true),
        "f" | "false" | "no" | "n" | "off" | "0" => Some(false),
        _ => None,
    }
}

fn parse_integer(text: &str, sql_type: &SqlType) -> Result<Datum> {
    let number: i128 = text.parse().map_err(|_| bad_text(text, sql_type))?;
    Datum::integer(number).filter(|datum| datum.fits(sql_type)).ok_or_else(|| {
        let text = format!("value \"{text}\" is out of range for type {sql_type}");
        Error::new(SqlState::NUMBER_OUT_OF_RANGE, text)
    })
}

fn parse_float(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        "nan" => Some(f64::NAN),
        "infinity" | "inf" => Some(f64::INFINITY),
        "-infinity" | "-inf" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok(),
    }
}

/// An unscaled integer and its digits after the point.
pub(crate) fn parse_decimal(text: &str) -> Option<(i128, u32)> {
    let (digits, power) = match text.split_once(['e', 'E']) {
        Some((digits, power)) => (digits, power.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let joined = format!("{whole}{fraction}");
    let unscaled: i128 = joined.parse().ok()?;
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(power)?;
    if scale >= 0 {
        return Some((unscaled, scale as u32));
    }
    let factor = 10_i128.checked_pow(scale.unsigned_abs())?;
    Some((unscaled.checked_mul(factor)?, 0))
}

/// The same number with other digits after the point, rounded half away from zero.
pub(crate) fn rescale(unscaled: i128, from: u32, to: u8) -> Option<i128> {
    let to = u32::from(to);
    if from <= to {
        return unscaled.checked_mul(10_i128.checked_pow(to - from)?);
    }
    let Some(divisor) = 10_i128.checked_pow(from - to) else {
        return Some(0);
    };
    let (quotient, rest) = (unscaled / divisor, unscaled % divisor);
    let up = rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
    Some(if up { quotient + unscaled.signum() } else { quotient })
}

fn parse_date(text: &str) -> Option<i32> {
    days_of(text.split([' ', 'T']).next()?.parse().ok()?)
}

fn days_of(date: civil::Date) -> Option<i32> {
    date.since((jiff::Unit::Day, civil::date(1970, 1, 1))).ok().map(|span| span.get_days())
}

fn parse_time(text: &str) -> Option<i64> {
    text.parse().ok().map(micros_of)
}

fn micros_of(time: civil::Time) -> i64 {
    let seconds =
        i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60 + i64::from(time.second());
    seconds * 1_000_000 + i64::from(time.subsec_nanosecond()) / 1000
}

/// Moments are put together by hand: those of jiff end 26 hours before the year 10000 begins.
fn parse_timestamp(text: &str) -> Option<i64> {
    let moment: civil::DateTime = text.parse().ok()?;
    Some(i64::from(days_of(moment.date())?) * DAY + micros_of(moment.time()))
}

/// A moment with an offset from UTC; without one it is UTC.
fn parse_moment(text: &str) -> Option<i64> {
    if let Some(micros) = parse_timestamp(text).filter(|_| !has_offset(text)) {
        return Some(micros);
    }
    let zulu = text.strip_suffix("UTC").map(|rest| format!("{}Z", rest.trim_end()));
    let mut text = zulu.unwrap_or_else(|| text.to_owned());
    // PostgreSQL writes whole hours alone.
    let place = text.len().wrapping_sub(3);
    if text.as_bytes().get(place).is_some_and(|sign| b"+-".contains(sign)) && has_offset(&text) {
        text.push_str(":00");
    }
    let pieces = Pieces::parse(&text).ok()?;
    let offset = pieces.to_numeric_offset().filter(|_| pieces.time_zone_annotation().is_none())?;
    let of_place = i64::from(days_of(pieces.date())?) * DAY + micros_of(pieces.time()?);
    Some(of_place - i64::from(offset.seconds()) * 1_000_000)
}

fn has_offset(text: &str) -> bool {
    let time = text.split_once([' ', 'T']).map_or("", |(_, time)| time);
    time.contains(['+', '-', 'Z', 'z'])
}

fn parse_bytes(text: &str) -> Option<Vec<u8>> {
    let Some(digits) = text.strip_prefix("\\x") else {
        return Some(text.as_bytes().to_vec());
    };
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    let pairs = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
    pairs.collect::<Result<_, _>>().ok()
}

fn parse_uuid(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|&c| !"-{}".contains(c)).collect();
    if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let digits = digits.to_ascii_lowercase();
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Some(parts.join("-"))
}

fn parse_list(text: &str, element: &SqlType) -> Result<Vec<Datum>> {
    let list = SqlType::Array(Box::new(element.clone()));
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let inner = inner.ok_or_else(|| bad_text(text, &list))?;
    if inner.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut elements = Vec::new();
    let (mut word, mut was_quoted, mut in_quotes) = (String::new(), false, false);
    let mut finish = |word: &mut String, was_quoted: &mut bool| -> Result<()> {
        let is_null = !*was_quoted && word.trim().eq_ignore_ascii_case("null");
        elements.push(if is_null { Datum::Null } else { parse(word, element)? });
        word.clear();
        *was_quoted = false;
        Ok(())
    };
    let mut chars = inner.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => (in_quotes, was_quoted) = (!in_quotes, true),
            '\\' => word.extend(chars.next()),
            ',' if !in_quotes => finish(&mut word, &mut was_quoted)?,
            other => word.push(other),
        }
    }
    finish(&mut word, &mut was_quoted)?;
    Ok(elements)
}

fn bad_text(text: &str, sql_type: &SqlType) -> Error {
    let text = format!("invalid input syntax for type {sql_type}: \"{text}\"");
    Error::new(SqlState::BAD_TEXT, text)
}

/// Text that is no date or time; or it is written as one, and there is none such.
fn bad_time(text: &str) -> Error {
    let numbers = |word: &str, sign: char| {
        let mut parts = word.trim().split(sign);
        let is_number = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        };
        let count = parts.clone().count();
        parts.all(is_number).then_some(count)
    };
    let words: Vec<&str> = text.trim().split([' ', 'T']).filter(|word| !word.is_empty()).collect();
    let is_day = |word: &str| numbers(word, '-') == Some(3);
    let is_time = |word: &str| matches!(numbers(word, ':'), Some(2 | 3));
    if !words.is_empty() && words.iter().all(|word| is_day(word) || is_time(word)) {
        let text = format!("date/time field value out of range: \"{text}\"");
        return Error::new(SqlState::DATETIME_OUT_OF_RANGE, text);
    }
    Error::new(SqlState::BAD_DATETIME, format!("\"{text}\" is not a date or time"))
}

fn out_of_range(text: &str) -> Error {
    Error::new(SqlState::NUMBER_OUT_OF_RANGE, format!("\"{text}\" is out of range"))
}
