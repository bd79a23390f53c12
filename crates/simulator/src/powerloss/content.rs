//! What a database holds after transaction N, and whether it does.
//!
//! Transaction N inserts rows of its own, most often a few and now and then more than a frame of
//! the log takes, notes N in a single row, and deletes the rows of a transaction that lies
//! [`WINDOW`] back.

use std::error::Error;

use remanent_engine::schema::{ColumnType, TableSchema, TableStorage, Value};
use remanent_engine::{Database, Result, Table};

use crate::random::Random;

/// The rows of so many transactions are there.
const WINDOW: u64 = 40;

/// After so many transactions rows are frozen, so that a checkpoint writes columns, which leave
/// memory then.
const FROZEN_EACH: u64 = 25;

/// The tables of the database.
pub(super) struct Tables {
    steps: Table,
    last: Table,
}

/// The tables, made if they are not there.
///
/// # Errors
/// The error of the database.
pub(super) fn tables(db: &Database) -> Result<Tables> {
    let steps = || {
        TableSchema::new("Step")
            .column("n", ColumnType::U64)
            .column("part", ColumnType::U32)
            .column("text", ColumnType::STRING)
            .primary_key(["n", "part"])
            .hash_index("quick", ["n", "part"])
            .storage(TableStorage::Paged)
    };
    let last = || {
        TableSchema::new("Last")
            .column("id", ColumnType::U32)
            .column("n", ColumnType::U64)
            .primary_key(["id"])
    };
    Ok(Tables {
        steps: db.table("Step").or_else(|_| db.create_table(steps()))?,
        last: db.table("Last").or_else(|_| db.create_table(last()))?,
    })
}

/// The number of the last transaction.
///
/// # Errors
/// The error of the database.
pub(super) fn last(db: &Database) -> Result<u64> {
    let Ok(table) = db.table("Last") else { return Ok(0) };
    let (column, tx) = (table.column("n")?, db.begin_read()?);
    let row = tx.find(&table, table.index("primary")?, &[0_u32.into()])?;
    Ok(row.and_then(|row| row.get(column)).unwrap_or(0))
}

/// Does transaction `n`.
///
/// # Errors
/// The error of the database.
pub(super) fn commit(db: &Database, tables: &Tables, n: u64) -> Result<()> {
    let Tables { steps, last } = tables;
    if n.is_multiple_of(FROZEN_EACH) {
        db.freeze_all(steps)?;
    }
    let (steps_key, last_key) = (steps.index("primary")?, last.index("primary")?);
    db.write(|tx| {
        for (part, text) in (0_u32..).zip(texts(n)) {
            let text = Value::String(&text);
            tx.insert_values(steps, &[Some(n.into()), Some(part.into()), Some(text)])?;
        }
        match tx.find(last, last_key, &[0_u32.into()])?.map(|row| row.id()) {
            Some(row) => tx.update_values(last, row, &[(last.column("n")?, n.into())])?,
            None => tx.insert_values(last, &[Some(0_u32.into()), Some(n.into())]).map(|_| ())?,
        }
        if n > WINDOW {
            let mut gone = Vec::new();
            tx.each(steps, steps_key, &[(n - WINDOW).into()], |row| {
                gone.push(row.id());
                Ok(())
            })?;
            gone.into_iter().try_for_each(|row| tx.delete(steps, row))?;
        }
        Ok(())
    })
}

/// With which transaction the database ends; all that there should be is there then, and nothing
/// else.
///
/// # Errors
/// A description.
pub(super) fn check(db: &Database) -> std::result::Result<u64, Box<dyn Error>> {
    if let Some(damage) = db.damage() {
        return Err(format!("damaged: {damage}").into());
    }
    let last = last(db)?;
    let Ok(steps) = db.table("Step") else {
        let nothing = if last == 0 { Ok(0) } else { Err("a table is missing") };
        return Ok(nothing?);
    };
    let tx = db.begin_read()?;
    let text_of = steps.column("text")?;
    let mut count = 0;
    for n in last.saturating_sub(WINDOW) + 1..=last {
        for (part, text) in (0_u32..).zip(texts(n)) {
            for index in ["primary", "quick"] {
                let index = steps.index(index)?;
                let row = tx.find(&steps, index, &[n.into(), part.into()])?;
                if row.and_then(|row| row.str(text_of)) != Some(text.as_str()) {
                    return Err(format!(
                        "it ends with {last}, and part {part} of {n} is not there or is another"
                    )
                    .into());
                }
            }
            count += 1;
        }
    }
    let rows = tx.scan(&steps)?.count();
    if rows != count {
        return Err(format!("it ends with {last} and has {rows} rows, not {count}").into());
    }
    Ok(last)
}

/// The texts of the rows of transaction `n`.
fn texts(n: u64) -> impl Iterator<Item = String> {
    let mut random = Random::new(n);
    let (count, length) = match random.below(30) {
        0 => (150 + random.below(150), 700),
        1..4 => (1, 1 + random.below(20_000)),
        _ => (1 + random.below(4), 1 + random.below(300)),
    };
    (0..count).map(move |part| {
        let letter = char::from(b'a' + ((n + part) % 26) as u8);
        format!("{n}.{part} ").chars().chain(std::iter::repeat_n(letter, length as usize)).collect()
    })
}
