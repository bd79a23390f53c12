//! `to_char`: a moment, an interval or a number as a pattern says.
//!
//! The patterns are PostgreSQL's. What is no pattern stands for itself, as does what is in double
//! quotes. Patterns that depend on a locale, Roman numerals and exponents are refused.

use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano, TimeUnit};
use jiff::civil;

use super::numbers;
use crate::error::{Error, Result};
use crate::functions::moments::{DAY, day_of};
use crate::functions::{Function, INTERVAL, TEXT, is_number, is_text};
use crate::values::datum::Datum;

pub(in crate::functions) const FUNCTIONS: &[Function] =
    &[Function { name: "to_char", types: of_value, answer: to_char, is_strict: true }];

fn of_value(types: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    let [value, pattern] = types else { return None };
    let taken = match value {
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Date32 => DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Interval(_) => INTERVAL,
        number if is_number(number) => number.clone(),
        _ => return None,
    };
    is_text(pattern).then(|| (vec![taken, TEXT], TEXT))
}

fn to_char(values: &[Datum]) -> Result<Datum> {
    let pattern = values[1].as_str().unwrap_or_default();
    let text = match &values[0] {
        Datum::Timestamp(micros) => moment(*micros, false, pattern)?,
        Datum::TimestampTz(micros) => moment(*micros, true, pattern)?,
        Datum::Interval(months, days, nanos) => {
            interval(IntervalMonthDayNano::new(*months, *days, *nanos), pattern)?
        }
        number => numbers::shown(number, pattern)?,
    };
    Ok(Datum::from(text))
}

/// What the fields of a pattern are filled with.
struct Fields {
    /// None of an interval.
    date: Option<civil::Date>,
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    has_zone: bool,
}

fn moment(micros: i64, has_zone: bool, pattern: &str) -> Result<String> {
    let (date, time) = day_of(micros)?;
    let seconds = time / 1_000_000;
    written(
        &Fields {
            date: Some(date),
            year: i64::from(date.year()),
            month: i64::from(date.month()),
            day: i64::from(date.day()),
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            micros: time % 1_000_000,
            has_zone,
        },
        pattern,
    )
}

fn interval(interval: IntervalMonthDayNano, pattern: &str) -> Result<String> {
    let IntervalMonthDayNano { months, days, nanoseconds: nanos } = interval;
    let micros = nanos / 1000;
    let seconds = micros / 1_000_000;
    written(
        &Fields {
            date: None,
            year: i64::from(months / 12),
            month: i64::from(months % 12),
            day: i64::from(days),
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            micros: micros % 1_000_000,
            has_zone: false,
        },
        pattern,
    )
}

/// All patterns, of those that begin alike the longer first.
const PATTERNS: &[&str] = &[
    "Y,YYY", "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "IDDD", "ID", "IW", "I", "MONTH",
    "Month", "month", "MON", "Mon", "mon", "MM", "MI", "MS", "DAY", "Day", "day", "DY", "Dy", "dy",
    "DDD", "DD", "D", "WW", "W", "CC", "J", "Q", "HH24", "HH12", "HH", "SSSSS", "SSSS", "SS", "US",
    "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "A.M.", "P.M.", "a.m.", "p.m.", "AM", "PM", "am",
    "pm", "B.C.", "A.D.", "b.c.", "a.d.", "BC", "AD", "bc", "ad", "TZH", "TZM", "TZ", "tz", "OF",
    "RM", "rm",
];

fn written(fields: &Fields, pattern: &str) -> Result<String> {
    let mut out = String::new();
    let (mut rest, mut fills) = (pattern, true);
    while let Some(first) = rest.chars().next() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"').unwrap_or(quoted.len());
            out.push_str(&quoted[..end]);
            rest = quoted.get(end + 1..).unwrap_or_default();
            continue;
        }
        if let Some(prefix) = ["FM", "fm", "FX", "fx", "TM"].iter().find(|it| rest.starts_with(*it))
        {
            fills &= !prefix.eq_ignore_ascii_case("fm");
            rest = &rest[2..];
            continue;
        }
        // Numbers are meant whatever the case; of words it says which one is wanted.
        let is_it = |name: &&&str| {
            rest.starts_with(**name)
                || (is_numeric(name)
                    && rest.get(..name.len()).is_some_and(|text| text.eq_ignore_ascii_case(name)))
        };
        let Some(name) = PATTERNS.iter().find(is_it) else {
            let skipped = if first == '\\' { rest[1..].chars().next() } else { Some(first) };
            out.extend(skipped);
            let length = if first == '\\' { 1 } else { 0 } + skipped.map_or(0, char::len_utf8);
            rest = &rest[length..];
            continue;
        };
        rest = &rest[name.len()..];
        let text = field(fields, name, fills)?;
        out.push_str(&text);
        if let Some(ordinal) = ["TH", "th"].iter().find(|it| rest.starts_with(*it))
            && is_numeric(name)
        {
            let ending = ending_of(&text);
            out.push_str(&if *ordinal == "TH" { ending.to_uppercase() } else { ending.to_owned() });
            rest = &rest[2..];
        }
        fills = true;
    }
    Ok(out)
}

/// Whether a pattern is written as a number, not as a word.
fn is_numeric(name: &str) -> bool {
    let words = ["MON", "DAY", "DY", "AM", "PM", "A.M.", "P.M.", "BC", "AD", "B.C.", "A.D.", "RM"];
    let word = name.to_uppercase();
    !words.contains(&word.as_str()) && !["MONTH", "TZ", "TZH", "TZM", "OF"].contains(&word.as_str())
}

/// What stands behind a number that counts.
fn ending_of(number: &str) -> &'static str {
    let teens = ["11", "12", "13"].iter().any(|teen| number.ends_with(teen));
    match number.chars().last() {
        Some('1') if !teens => "st",
        Some('2') if !teens => "nd",
        Some('3') if !teens => "rd",
        _ => "th",
    }
}

fn field(fields: &Fields, name: &str, fills: bool) -> Result<String> {
    let number = |value: i64, digits: usize| match fills {
        true if value < 0 => format!("{value:0width$}", width = digits + 1),
        true => format!("{value:0digits$}"),
        false => value.to_string(),
    };
    let Fields { year, month, day, hour, minute, second, micros, .. } = *fields;
    let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    Ok(match name {
        "YYYY" => number(year, 4),
        "Y,YYY" => format!("{},{:03}", year / 1000, year % 1000),
        "YYY" => number(year % 1000, 3),
        "YY" => number(year % 100, 2),
        "Y" => number(year % 10, 1),
        "CC" => number((year + 99) / 100, 2),
        "MM" => number(month, 2),
        "DD" => number(day, 2),
        "HH24" => number(hour, 2),
        "HH12" | "HH" => number(twelve, 2),
        "MI" => number(minute, 2),
        "SS" => number(second, 2),
        "SSSS" | "SSSSS" => number((hour * 60 + minute) * 60 + second, 1),
        "MS" | "FF3" => format!("{:03}", micros / 1000),
        "US" | "FF6" => format!("{micros:06}"),
        "FF1" => (micros / 100_000).to_string(),
        "FF2" => format!("{:02}", micros / 10_000),
        "FF4" => format!("{:04}", micros / 100),
        "FF5" => format!("{:05}", micros / 10),
        "Q" => number((month + 2) / 3, 1),
        "AM" | "PM" | "am" | "pm" | "A.M." | "P.M." | "a.m." | "p.m." => {
            let letter = if hour % 24 >= 12 { "P" } else { "A" };
            name.replacen(['A', 'P'], letter, 1).replacen(['a', 'p'], &letter.to_lowercase(), 1)
        }
        "OF" if fields.has_zone => "+00".to_owned(),
        "TZH" if fields.has_zone => "+00".to_owned(),
        "TZM" if fields.has_zone => "00".to_owned(),
        "TZ" if fields.has_zone => "UTC".to_owned(),
        "tz" if fields.has_zone => "utc".to_owned(),
        "OF" | "TZH" | "TZM" => "+00"[..if name == "TZM" { 0 } else { 3 }].to_owned(),
        "TZ" | "tz" => String::new(),
        name => match fields.date {
            Some(date) => of_date(date, name, fills)?,
            None => {
                let text = format!("to_char of an interval with {name}");
                return Err(Error::unsupported(text));
            }
        },
    })
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// What only a date has.
fn of_date(date: civil::Date, name: &str, fills: bool) -> Result<String> {
    let number = |value: i64, digits: usize| match fills {
        true => format!("{value:0digits$}"),
        false => value.to_string(),
    };
    let (iso, day_of_year) = (date.iso_week_date(), i64::from(date.day_of_year()));
    let iso_year = i64::from(iso.year());
    let iso_day = i64::from(date.weekday().to_monday_one_offset());
    let sunday = date.weekday().to_sunday_zero_offset();
    let month = MONTHS[date.month() as usize - 1];
    let day = DAYS[sunday as usize];
    // As the pattern has it, and a whole name is as wide as the longest.
    let word = |word: &str, is_whole: bool| {
        let text = match name.chars().collect::<Vec<_>>()[..] {
            [first, second, ..] if first.is_uppercase() && second.is_uppercase() => {
                word.to_uppercase()
            }
            [first, ..] if first.is_uppercase() => word.to_owned(),
            _ => word.to_lowercase(),
        };
        if is_whole && fills { format!("{text:<9}") } else { text }
    };
    Ok(match name {
        "IYYY" => number(iso_year, 4),
        "IYY" => number(iso_year % 1000, 3),
        "IY" => number(iso_year % 100, 2),
        "I" => number(iso_year % 10, 1),
        "IW" => number(i64::from(iso.week()), 2),
        "ID" => number(iso_day, 1),
        "IDDD" => number((i64::from(iso.week()) - 1) * 7 + iso_day, 3),
        "MONTH" | "Month" | "month" => word(month, true),
        "MON" | "Mon" | "mon" => word(&month[..3], false),
        "DAY" | "Day" | "day" => word(day, true),
        "DY" | "Dy" | "dy" => word(&day[..3], false),
        "DDD" => number(day_of_year, 3),
        "D" => number(i64::from(sunday) + 1, 1),
        "WW" => number((day_of_year - 1) / 7 + 1, 2),
        "W" => number((i64::from(date.day()) - 1) / 7 + 1, 1),
        "J" => {
            let span = date.since((jiff::Unit::Day, civil::date(1970, 1, 1)));
            let days = span.map(|span| i64::from(span.get_days())).unwrap_or_default();
            number(days + JULIAN, 1)
        }
        "BC" | "AD" => "AD".to_owned(),
        "bc" | "ad" => "ad".to_owned(),
        "B.C." | "A.D." => "A.D.".to_owned(),
        "b.c." | "a.d." => "a.d.".to_owned(),
        other => return Err(Error::unsupported(format!("to_char with {other}"))),
    })
}

/// The number of 1970-01-01 among days since 4714 BC.
const JULIAN: i64 = 2_440_588;

const _: () = assert!(DAY == 86_400_000_000);
