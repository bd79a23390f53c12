//! Dates, moments and intervals: how far apart they are, and intervals times a number.
//!
//! An interval has months, days and a time, which are not made of each other: a month times a half
//! is fifteen days, and 24 hours are equal to a day without being one.

use datafusion::arrow::datatypes::DataType;
use jiff::civil;

use super::{Function, INTERVAL, MOMENT, is_moment, is_number, is_text};
use crate::error::{Error, Result, SqlState};
use crate::values::datum::Datum;

/// Microseconds of a day.
pub(crate) const DAY: i64 = 86_400_000_000;
const DAYS_OF_MONTH: i32 = 30;

pub(crate) const FUNCTIONS: &[Function] = &[
    Function { name: "age", types: of_dates, answer: age, is_strict: true },
    Function { name: "make_date", types: of_integers, answer: make_date, is_strict: true },
    Function { name: "justify_hours", types: of_interval, answer: justify_hours, is_strict: true },
    Function { name: "justify_days", types: of_interval, answer: justify_days, is_strict: true },
    Function { name: "justify_interval", types: of_interval, answer: justify, is_strict: true },
];

pub(crate) const DIFFERENCE: Function =
    Function { name: "moment_difference", types: of_moments, answer: difference, is_strict: true };
pub(crate) const TIMES: Function =
    Function { name: "interval_times", types: of_factor, answer: times, is_strict: true };
pub(crate) const DIVIDED: Function =
    Function { name: "interval_divided", types: of_factor, answer: divided, is_strict: true };
/// How long an interval is, where a month has thirty days: what intervals are compared by.
pub(crate) const LENGTH: Function =
    Function { name: "interval_length", types: of_length, answer: length, is_strict: true };

fn of_moments(types: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let is_ours = types.len() == 2 && types.iter().all(is_moment);
    is_ours.then(|| (vec![MOMENT; 2], INTERVAL))
}

/// Text as well, which is read as a moment.
fn of_dates(types: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let is_ours = types.len() == 2 && types.iter().all(|of| is_moment(of) || is_text(of));
    is_ours.then(|| (vec![MOMENT; 2], INTERVAL))
}

fn of_integers(types: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let is_whole = |of: &DataType| of.is_integer() || *of == DataType::Null;
    let is_ours = types.len() == 3 && types.iter().all(is_whole);
    is_ours.then(|| (vec![DataType::Int32; 3], DataType::Date32))
}

fn of_interval(types: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    matches!(types, [DataType::Interval(_) | DataType::Null]).then(|| (vec![INTERVAL], INTERVAL))
}

fn of_factor(types: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    match types {
        [DataType::Interval(_), number] if is_number(number) => {
            Some((vec![INTERVAL, DataType::Float64], INTERVAL))
        }
        _ => None,
    }
}

fn of_length(types: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let is_ours = matches!(types, [DataType::Interval(_)]);
    is_ours.then(|| (vec![INTERVAL], DataType::Decimal128(38, 0)))
}

/// The text of an interval with its time in words, where it has one in digits: `04:05:06` is
/// `4 hours 5 minutes 6 seconds`.
pub(crate) fn in_words(text: &str) -> Option<String> {
    let word = text.split_whitespace().find(|word| word.contains(':'))?;
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    let units = ["hours", "minutes", "seconds"];
    let parts: Vec<&str> = digits.split(':').collect();
    let is_number = |part: &&str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    if !(2..=3).contains(&parts.len()) || !parts.iter().all(is_number) {
        return None;
    }
    let words = parts.iter().zip(units).map(|(part, unit)| format!("{sign}{part} {unit}"));
    Some(text.replacen(word, &words.collect::<Vec<_>>().join(" "), 1))
}

/// Months, days and nanoseconds.
fn parts(value: &Datum) -> Result<(i32, i32, i64)> {
    match value {
        Datum::Interval(months, days, nanos) => Ok((*months, *days, *nanos)),
        _ => Err(Error::internal("no interval")),
    }
}

fn micros(value: &Datum) -> Result<i64> {
    match value {
        Datum::Timestamp(micros) | Datum::TimestampTz(micros) => Ok(*micros),
        _ => Err(Error::internal("no moment")),
    }
}

fn out_of_range() -> Error {
    Error::new(SqlState::DATETIME_OUT_OF_RANGE, "interval out of range")
}

/// Day and microseconds of the day.
pub(crate) fn day_of(micros: i64) -> Result<(civil::Date, i64)> {
    let days = micros.div_euclid(DAY);
    let date = jiff::Span::new().try_days(days);
    let date = date.and_then(|span| civil::date(1970, 1, 1).checked_add(span));
    let beyond = |_| Error::new(SqlState::DATETIME_OUT_OF_RANGE, "timestamp out of range");
    Ok((date.map_err(beyond)?, micros.rem_euclid(DAY)))
}

/// Years, months, days and a time from the second moment to the first one, as people count: by the
/// calendar, days left over by the month of the earlier one.
fn age(values: &[Datum]) -> Result<Datum> {
    let (one, other) = (micros(&values[0])?, micros(&values[1])?);
    let ((from, from_time), (to, to_time)) = (day_of(one.min(other))?, day_of(one.max(other))?);
    let year_months = (i32::from(to.year()) - i32::from(from.year())) * 12;
    let mut months = year_months + i32::from(to.month()) - i32::from(from.month());
    let mut days = i32::from(to.day()) - i32::from(from.day());
    let mut time = to_time - from_time;
    if time < 0 {
        (time, days) = (time + DAY, days - 1);
    }
    if days < 0 {
        (days, months) = (days + i32::from(from.days_in_month()), months - 1);
    }
    let sign = if one < other { -1 } else { 1 };
    Ok(Datum::Interval(sign * months, sign * days, i64::from(sign) * time * 1000))
}

/// Days and a time from the second moment to the first one.
fn difference(values: &[Datum]) -> Result<Datum> {
    let apart = micros(&values[0])?.checked_sub(micros(&values[1])?).ok_or_else(out_of_range)?;
    let days = i32::try_from(apart / DAY).map_err(|_| out_of_range())?;
    Ok(Datum::Interval(0, days, apart % DAY * 1000))
}

fn times(values: &[Datum]) -> Result<Datum> {
    let Datum::Double(factor) = values[1] else { return Err(Error::internal("no number")) };
    scaled(&values[0], |part| part * factor)
}

fn divided(values: &[Datum]) -> Result<Datum> {
    let Datum::Double(divisor) = values[1] else { return Err(Error::internal("no number")) };
    if divisor == 0.0 {
        return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
    }
    scaled(&values[0], |part| part / divisor)
}

/// An interval each part of which is made another; what is left over of a month goes to the days,
/// of a day to the time.
fn scaled(interval: &Datum, by: impl Fn(f64) -> f64) -> Result<Datum> {
    let (months, days, nanos) = parts(interval)?;
    let rounded = |seconds: f64| (seconds * 1e6).round_ties_even() / 1e6;
    let whole = |part: f64| {
        let fits = part.is_finite() && part.abs() < f64::from(i32::MAX);
        fits.then_some(part as i32).ok_or_else(out_of_range)
    };
    let (all_months, all_days) = (by(f64::from(months)), by(f64::from(days)));
    let (new_months, mut new_days) = (whole(all_months)?, whole(all_days)?);
    let left = rounded((all_months - f64::from(new_months)) * f64::from(DAYS_OF_MONTH));
    let seconds_of_day = DAY as f64 / 1e6;
    let mut seconds = all_days - f64::from(new_days) + left - left.trunc();
    seconds = rounded(seconds * seconds_of_day);
    if seconds.abs() >= seconds_of_day {
        let more = whole(seconds / seconds_of_day)?;
        new_days += more;
        seconds -= f64::from(more) * seconds_of_day;
    }
    let new_days = new_days.checked_add(whole(left)?).ok_or_else(out_of_range)?;
    let micros = (by(nanos as f64 / 1e3) + seconds * 1e6).round_ties_even();
    if !micros.is_finite() || micros.abs() * 1e3 >= i64::MAX as f64 {
        return Err(out_of_range());
    }
    Ok(Datum::Interval(new_months, new_days, micros as i64 * 1000))
}

fn length(values: &[Datum]) -> Result<Datum> {
    let (months, days, nanos) = parts(&values[0])?;
    let days = i128::from(months) * i128::from(DAYS_OF_MONTH) + i128::from(days);
    Ok(Datum::Decimal(days * i128::from(DAY) * 1000 + i128::from(nanos), 0))
}

fn justify_hours(values: &[Datum]) -> Result<Datum> {
    let (months, days, nanos) = parts(&values[0])?;
    let day = DAY * 1000;
    let more = i32::try_from(nanos / day).map_err(|_| out_of_range())?;
    let (mut days, mut nanos) = (days.checked_add(more).ok_or_else(out_of_range)?, nanos % day);
    if days > 0 && nanos < 0 {
        (days, nanos) = (days - 1, nanos + day);
    } else if days < 0 && nanos > 0 {
        (days, nanos) = (days + 1, nanos - day);
    }
    Ok(Datum::Interval(months, days, nanos))
}

fn justify_days(values: &[Datum]) -> Result<Datum> {
    let (months, days, nanos) = parts(&values[0])?;
    let more = days / DAYS_OF_MONTH;
    let (mut months, mut days) =
        (months.checked_add(more).ok_or_else(out_of_range)?, days % DAYS_OF_MONTH);
    if months > 0 && days < 0 {
        (months, days) = (months - 1, days + DAYS_OF_MONTH);
    } else if months < 0 && days > 0 {
        (months, days) = (months + 1, days - DAYS_OF_MONTH);
    }
    Ok(Datum::Interval(months, days, nanos))
}

fn justify(values: &[Datum]) -> Result<Datum> {
    let Datum::Interval(months, days, nanos) = justify_days(&[justify_hours(values)?])? else {
        return Err(Error::internal("no interval"));
    };
    let day = DAY * 1000;
    // Days and time have one sign; it must be that of the months.
    let (mut months, mut days, mut nanos) = (months, days, nanos);
    if months > 0 && (days < 0 || (days == 0 && nanos < 0)) {
        (months, days) = (months - 1, days + DAYS_OF_MONTH);
    } else if months < 0 && (days > 0 || (days == 0 && nanos > 0)) {
        (months, days) = (months + 1, days - DAYS_OF_MONTH);
    }
    if days > 0 && nanos < 0 {
        (days, nanos) = (days - 1, nanos + day);
    } else if days < 0 && nanos > 0 {
        (days, nanos) = (days + 1, nanos - day);
    }
    Ok(Datum::Interval(months, days, nanos))
}

fn make_date(values: &[Datum]) -> Result<Datum> {
    let part = |place: usize| values[place].as_i64().unwrap_or_default();
    let made = civil::Date::new(
        i16::try_from(part(0)).unwrap_or_default(),
        i8::try_from(part(1)).unwrap_or_default(),
        i8::try_from(part(2)).unwrap_or_default(),
    );
    let days = made.ok().filter(|date| date.year() > 0).and_then(|date| {
        date.since((jiff::Unit::Day, civil::date(1970, 1, 1))).ok().map(|span| span.get_days())
    });
    days.map(Datum::Date).ok_or_else(|| {
        let text =
            format!("date field value out of range: {}-{:02}-{:02}", part(0), part(1), part(2));
        Error::new(SqlState::DATETIME_OUT_OF_RANGE, text)
    })
}
