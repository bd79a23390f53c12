//! Statements that were prepared, by their texts and the kinds of their parameters.
//!
//! A catalog that has changed since is the session's business, which then plans them anew.

use std::collections::HashMap;
use std::sync::Arc;

use remanent_sql::{Datum, Prepared, Result, SqlType, Tag};

use crate::values::parameters::{Names, Rewritten};

/// So many are kept; then all are forgotten.
const KEPT_MAX: usize = 512;
/// What a text without a statement has done.
pub(super) const NOTHING: Tag = Tag { verb: "", rows: None };
/// First words of statements that say what becomes of transactions, and of those that must be one
/// of their own.
const ALONE: &[&str] = &[
    "begin",
    "start",
    "commit",
    "end",
    "rollback",
    "abort",
    "set",
    "show",
    "reset",
    "discard",
    "vacuum",
    "alter",
    "checkpoint",
    "prepare",
    "deallocate",
];

/// A statement, and how its parameters are named.
pub(super) struct Known {
    pub(super) statement: Prepared,
    pub(super) names: Names,
}

/// Those of one session.
#[derive(Default)]
pub(super) struct Kept(HashMap<(String, Vec<u8>), Arc<Known>>);

impl Kept {
    pub(super) fn get(&self, key: &(String, Vec<u8>)) -> Option<Arc<Known>> {
        self.0.get(key).map(Arc::clone)
    }

    pub(super) fn keep(&mut self, key: (String, Vec<u8>), known: Arc<Known>) {
        if self.0.len() >= KEPT_MAX {
            self.0.clear();
        }
        self.0.insert(key, known);
    }
}

/// Prepares a statement for parameters such as these. Types come from where the parameters stand;
/// where that says nothing, from the values.
pub(super) fn prepare(
    session: &mut remanent_sql::Session,
    text: Rewritten,
    values: &[Datum],
) -> Result<Known> {
    let parsed = session.parse(&text.text)?;
    let by_place = session.prepare(&parsed, &[])?;
    let types = by_place.parameters.iter().zip(values);
    let given: Vec<SqlType> = types
        .map(|(by_place, value)| match by_place {
            SqlType::Text | SqlType::Unknown => type_of(value),
            _ => SqlType::Unknown,
        })
        .collect();
    let says_nothing = given.iter().all(|known| *known == SqlType::Unknown);
    let statement = match says_nothing {
        true => by_place,
        // Text may be what is meant, and a number cannot stand there.
        false => session.prepare(&parsed, &given).unwrap_or(by_place),
    };
    Ok(Known { statement, names: text.names })
}

/// The type of a value that is not text.
fn type_of(value: &Datum) -> SqlType {
    match value {
        Datum::Bool(_) => SqlType::Boolean,
        Datum::Int(_) => SqlType::BigInt,
        Datum::Double(_) => SqlType::Double,
        Datum::Decimal(_, scale) => SqlType::Numeric { precision: 38, scale: *scale },
        Datum::Date(_) => SqlType::Date,
        Datum::Time(_) => SqlType::Time,
        Datum::Timestamp(_) => SqlType::Timestamp,
        Datum::TimestampTz(_) => SqlType::TimestampTz,
        Datum::Interval(..) => SqlType::Interval,
        Datum::Bytes(_) => SqlType::Bytea,
        _ => SqlType::Unknown,
    }
}

/// Whether no transaction begins before a statement.
pub(super) fn stands_alone(text: &str) -> bool {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let word = &text[..end];
    ALONE.iter().any(|alone| word.eq_ignore_ascii_case(alone))
}
