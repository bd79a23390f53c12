//! What a server answers to a statement, and whether two answers say the same.
//!
//! Values come in PostgreSQL's binary formats, so that a value is one row of bytes and nothing of
//! how it would be shown. Numerics are compared digit by digit, but for zeros at their end and for
//! those of which Remanent keeps fewer digits; floats nearly.

use std::error::Error as StdError;
use std::pin::pin;

use futures::TryStreamExt;
use tokio_postgres::Client;
use tokio_postgres::types::{FromSql, Type};

use crate::accepted;

/// Rows of an answer that are compared.
const ROWS_MAX: usize = 10_000;

/// The bytes of a value of any type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Raw(Vec<u8>);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(raw.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A value as it is compared and shown.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cell {
    Null,
    Float(f64),
    /// The digits, without zeros at the end, and nearly the number.
    Numeric(String, f64),
    Text(String),
}

/// What a statement was answered.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Rows {
        columns: Vec<(String, Type)>,
        rows: Vec<Vec<Cell>>,
    },
    /// More rows than are compared.
    Many,
    Changed(u64),
    Refused {
        state: String,
        message: String,
    },
    /// The connection is gone, or the answer cannot be read.
    Lost(#[allow(dead_code, reason = "it is shown")] String),
}

/// How a statement is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// As text, without rows.
    Text,
    /// Prepared; of a change without RETURNING its number of rows.
    Prepared { ordered: bool },
}

/// Asks one server.
pub(crate) async fn ask(client: &Client, text: &str, way: Way) -> Answer {
    let answered = match way {
        Way::Text => client.batch_execute(text).await.map(|()| Answer::Changed(0)),
        Way::Prepared { .. } => prepared(client, text).await,
    };
    answered.unwrap_or_else(|error| match error.code() {
        Some(code) => {
            let message = error.as_db_error().map(|error| error.message().to_owned());
            Answer::Refused { state: code.code().to_owned(), message: message.unwrap_or_default() }
        }
        None => Answer::Lost(error.to_string()),
    })
}

async fn prepared(client: &Client, text: &str) -> Result<Answer, tokio_postgres::Error> {
    let statement = client.prepare(text).await?;
    if statement.columns().is_empty() {
        return client.execute(&statement, &[]).await.map(Answer::Changed);
    }
    let columns = statement.columns().iter();
    let columns: Vec<(String, Type)> =
        columns.map(|column| (column.name().to_owned(), column.type_().clone())).collect();
    let mut found = pin!(client.query_raw(&statement, Vec::<i32>::new()).await?);
    let mut rows = Vec::new();
    while let Some(row) = found.try_next().await? {
        if rows.len() >= ROWS_MAX {
            return Ok(Answer::Many);
        }
        let cells = columns.iter().enumerate().map(|(place, (_, of))| {
            let value: Option<Raw> = row.try_get(place)?;
            Ok(value.map_or(Cell::Null, |Raw(bytes)| cell(&bytes, of)))
        });
        rows.push(cells.collect::<Result<Vec<_>, tokio_postgres::Error>>()?);
    }
    Ok(Answer::Rows { columns, rows })
}

fn cell(bytes: &[u8], of: &Type) -> Cell {
    let whole = |bytes: &[u8]| {
        let first = if bytes.first().is_some_and(|byte| byte & 0x80 != 0) { -1_i64 } else { 0 };
        bytes.iter().fold(first, |number, byte| number << 8 | i64::from(*byte))
    };
    match *of {
        Type::NUMERIC => numeric(bytes),
        Type::FLOAT8 => Cell::Float(f64::from_bits(whole(bytes) as u64)),
        Type::FLOAT4 => Cell::Float(f64::from(f32::from_bits(whole(bytes) as u32))),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN => {
            Cell::Text(String::from_utf8_lossy(bytes).into_owned())
        }
        // Numbers that are compared to the last digit.
        Type::INT2 | Type::INT4 | Type::INT8 | Type::DATE | Type::TIMESTAMP | Type::TIMESTAMPTZ => {
            Cell::Text(whole(bytes).to_string())
        }
        _ => Cell::Text(format!("{bytes:?}")),
    }
}

/// The number that the digits to the base 10000 are.
fn numeric(bytes: &[u8]) -> Cell {
    let word = |place: usize| match bytes.get(place * 2..place * 2 + 2) {
        Some(two) => i16::from_be_bytes([two[0], two[1]]),
        None => 0,
    };
    let (count, weight, sign) = (word(0), word(1), word(2) as u16);
    if sign == 0xC000 {
        return Cell::Float(f64::NAN);
    }
    let of_weight = |at: i16| match weight - at {
        place if (0..count).contains(&place) => word(4 + place as usize),
        _ => 0,
    };
    let mut text: String =
        (0..=weight.max(0)).rev().map(|at| format!("{:04}", of_weight(at))).collect();
    text = text.trim_start_matches('0').to_owned();
    let last = weight - count + 1;
    let behind: String = (last..0).rev().map(|at| format!("{:04}", of_weight(at))).collect();
    text = format!("{text}.{}", behind.trim_end_matches('0'));
    if sign == 0x4000 && text != "." {
        text.insert(0, '-');
    }
    let number = format!("0{}0", text.trim_start_matches('-')).parse().unwrap_or(f64::NAN);
    Cell::Numeric(text, if sign == 0x4000 { -number } else { number })
}

/// What is different between the answers of Remanent and of PostgreSQL, in words.
pub(crate) enum Verdict {
    Same,
    /// The judge refuses to compute something; whether it does so without any row is to be asked.
    OfNoRow,
    /// Both may be right, and what follows is no longer about the same rows.
    Apart,
    /// Remanent says that it does not do this.
    Unsupported(String),
    Different(String),
}

/// Judges the first answer, which is Remanent's.
pub(crate) fn compare(text: &str, ours: &Answer, theirs: &Answer, way: Way) -> Verdict {
    let differ = |what: &str| Verdict::Different(what.to_owned());
    match (ours, theirs) {
        (Answer::Lost(_), _) => differ("the connection is lost"),
        (_, Answer::Lost(_)) => differ("the judge is lost"),
        (Answer::Refused { state, .. }, _) if state == "XX000" => differ("an internal error"),
        (Answer::Many, Answer::Many) => Verdict::Apart,
        (Answer::Refused { state, .. }, Answer::Many) if state == "53200" => Verdict::Apart,
        (Answer::Refused { state, message }, Answer::Refused { state: judged, .. }) => {
            match state[..2] == judged[..2] || accepted::states(state, judged, message) {
                true => Verdict::Same,
                false => differ("another SQLSTATE"),
            }
        }
        (Answer::Refused { state, message }, _) => match accepted::unsupported(state, message) {
            true => Verdict::Unsupported(format!("{state} {message}")),
            false => differ("refused"),
        },
        (_, Answer::Refused { state, .. }) => match accepted::of_no_row(ours, state) {
            true => Verdict::OfNoRow,
            false if accepted::of_one_row(text, state) => Verdict::Apart,
            false => differ("not refused"),
        },
        (Answer::Changed(one), Answer::Changed(other)) => match one == other {
            true => Verdict::Same,
            false => differ("another number of rows"),
        },
        (Answer::Rows { columns, rows }, Answer::Rows { columns: named, rows: judged }) => {
            for (one, other) in columns.iter().zip(named) {
                if one.0 != other.0 {
                    return differ("another name of a column");
                }
                if one.1 != other.1 && !accepted::types(text, &one.1, &other.1) {
                    return differ("another type of a column");
                }
            }
            let is_ordered = way == Way::Prepared { ordered: true };
            let pairs = columns.iter().zip(named);
            let blanks: Vec<bool> =
                pairs.map(|(one, other)| accepted::blanks(&one.1, &other.1)).collect();
            let (rows, judged) = (without_blanks(rows, &blanks), without_blanks(judged, &blanks));
            match columns.len() == named.len() && same_rows(&rows, &judged, is_ordered) {
                true => Verdict::Same,
                false => differ("other rows"),
            }
        }
        _ => differ("another kind of answer"),
    }
}

/// The rows without the blanks at the end of values in these columns.
fn without_blanks(rows: &[Vec<Cell>], columns: &[bool]) -> Vec<Vec<Cell>> {
    let without = |(cell, &cut): (&Cell, &bool)| match cell {
        Cell::Text(text) if cut => Cell::Text(text.trim_end_matches(' ').to_owned()),
        other => other.clone(),
    };
    rows.iter().map(|row| row.iter().zip(columns).map(without).collect()).collect()
}

fn same_rows(ours: &[Vec<Cell>], theirs: &[Vec<Cell>], is_ordered: bool) -> bool {
    if ours.len() != theirs.len() {
        return false;
    }
    let same = |(one, other): (&Vec<Cell>, &Vec<Cell>)| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_near(one, other))
    };
    if is_ordered {
        return ours.iter().zip(theirs).all(same);
    }
    // Numbers that are nearly equal may sort apart: rows are then sought one by one.
    let mut left: Vec<&Vec<Cell>> = theirs.iter().collect();
    ours.iter().all(|row| match left.iter().position(|other| same((row, other))) {
        Some(place) => {
            left.swap_remove(place);
            true
        }
        None => false,
    })
}

fn is_near(one: &Cell, other: &Cell) -> bool {
    match (one, other) {
        (Cell::Float(one), Cell::Float(other)) => {
            let scale = one.abs().max(other.abs());
            (one.is_nan() && other.is_nan())
                || one == other
                || (one - other).abs() <= scale * accepted::FLOATS_APART
        }
        (Cell::Numeric(one, number), Cell::Numeric(other, judged)) => {
            let behind = |text: &str| text.rsplit_once('.').map_or(0, |(_, behind)| behind.len());
            let is_long = behind(one).max(behind(other)) >= accepted::DIGITS;
            let scale = number.abs().max(judged.abs()).max(1e-3);
            let is_near = (number - judged).abs() <= scale * 1e-9 + accepted::NUMERICS_APART;
            one == other || (is_long && is_near)
        }
        (one, other) => one == other,
    }
}

/// An answer in words, of many rows the first ones.
pub(crate) fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Rows { columns, rows } => {
            let names: Vec<String> =
                columns.iter().map(|(name, of)| format!("{name} {of}")).collect();
            let mut lines = vec![format!("({}) {} rows", names.join(", "), rows.len())];
            for row in rows.iter().take(12) {
                let cells: Vec<String> = row.iter().map(|cell| format!("{cell:?}")).collect();
                lines.push(format!("    {}", cells.join(" | ")));
            }
            lines.join("\n")
        }
        other => format!("{other:?}"),
    }
}
