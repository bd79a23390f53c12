//! Records of tables to whose rows SQL adds something: conditions, references, numbers.
//!
//! They are written by the statements that a program would write for them.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use remanent_sql::{Datum, SqlType};

use super::plan::{Given, Plan};
use crate::arrow::quoted;
use crate::session::Session;

/// What is done with a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Write {
    Insert,
    /// Insert, or change all but the key of the one with this key.
    Put,
    Update,
    Delete,
}

/// Does it to the record, or for [`Write::Delete`] to the one with the key, of these values; how
/// many rows that was about.
pub(crate) fn write(
    session: &Session,
    py: Python<'_>,
    table: &str,
    given: &Given<'_, '_>,
    write: Write,
) -> PyResult<u64> {
    // What they cannot be, is said before.
    given.values()?;
    let text = text(table, given, write);
    let values = given.parts().map(|(place, object, assigned)| match assigned {
        // It is the text already.
        Some(Datum::Text(text)) if is_json(given.plan, place) => PyString::new(py, text).into_any(),
        _ => object.clone(),
    });
    let values = PyTuple::new(py, values.collect::<Vec<_>>())?;
    let changed = session.execute(py, &text, Some(values.as_any()), false)?.changed();
    Ok(u64::try_from(changed).unwrap_or(0))
}

/// Does all of it or nothing: in a transaction of its own, or as a part of the one that is open.
pub(crate) fn whole<T>(
    session: &Session,
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T>,
) -> PyResult<T> {
    let [begin, end, back] = match session.transaction_status(py)? {
        "idle" => ["begin", "commit", "rollback"],
        _ => [
            "savepoint remanent_records",
            "release remanent_records",
            "rollback to remanent_records; release remanent_records",
        ],
    };
    let run = |text: &str| session.execute(py, text, None, false).map(drop);
    run(begin)?;
    let done = work();
    match done {
        Ok(_) => run(end)?,
        // What was wrong first, is said.
        Err(_) => drop(run(back)),
    }
    done
}

fn is_json(plan: &Plan, place: usize) -> bool {
    let column = plan.records.column(plan.fields[place].column);
    column.is_some_and(|column| *column.sql_type() == SqlType::Json)
}

fn text(table: &str, given: &Given<'_, '_>, write: Write) -> String {
    let (table, key) = (quoted(table), &given.plan.primary.fields);
    let name = |place: usize| {
        let column = given.plan.records.column(given.plan.fields[place].column);
        quoted(column.map_or("", |column| column.name()))
    };
    let numbered = || given.parts().enumerate().map(|(at, (place, ..))| (at + 1, place));
    let list = |items: Vec<String>| items.join(", ");
    let is_key = |place: usize| key.contains(&place);
    let of_key = numbered().filter(|(_, place)| is_key(*place));
    let of_key: Vec<_> = of_key.map(|(at, place)| format!("{} = ${at}", name(place))).collect();
    let of_key = of_key.join(" and ");
    let insert = || {
        let names = list(numbered().map(|(_, place)| name(place)).collect());
        let values = list(numbered().map(|(at, _)| format!("${at}")).collect());
        format!("insert into {table} ({names}) values ({values})")
    };
    let rest = || numbered().filter(|(_, place)| !is_key(*place));
    let changes = list(rest().map(|(at, place)| format!("{} = ${at}", name(place))).collect());
    match write {
        Write::Insert => insert(),
        Write::Put => {
            let key = list(key.iter().map(|&place| name(place)).collect());
            match changes.is_empty() {
                true => format!("{} on conflict ({key}) do nothing", insert()),
                false => format!("{} on conflict ({key}) do update set {changes}", insert()),
            }
        }
        // A column that stays what it is: there is nothing else to change.
        Write::Update if changes.is_empty() => {
            let first = name(key[0]);
            format!("update {table} set {first} = {first} where {of_key}")
        }
        Write::Update => format!("update {table} set {changes} where {of_key}"),
        Write::Delete => format!("delete from {table} where {of_key}"),
    }
}
