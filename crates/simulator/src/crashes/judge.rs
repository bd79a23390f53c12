//! Whether a database that was opened after something happened is what it may be.
//!
//! The content of a database is compared as a whole: every table with its schema, every row with
//! its number and bytes. Indexes are held against the rows: as many entries, in order, and each row
//! found by its key.

use std::hash::{DefaultHasher, Hash, Hasher};

use remanent_engine::schema::IndexKind;
use remanent_engine::{Database, Find, Result};

/// The states that may be found, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Allowed {
    pub(super) lowest: usize,
    pub(super) highest: usize,
}

/// The content of a database as a number: equal if it is equal, and hardly otherwise.
///
/// # Errors
/// The error of the database.
pub(super) fn digest(db: &Database) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    let tx = db.begin_read()?;
    for name in db.table_names() {
        let table = match db.table(&name) {
            Ok(table) => table,
            Err(_) => db.set(&name)?.relation().clone(),
        };
        name.hash(&mut hasher);
        let mut indexes: Vec<_> = table.indexes().map(|(name, _)| name.to_owned()).collect();
        indexes.sort();
        indexes.hash(&mut hasher);
        for row in tx.scan(&table)? {
            (row.id().number(), row.bytes()).hash(&mut hasher);
        }
        // Rows that cannot be read are no end of the table.
        tx.status()?;
    }
    Ok(hasher.finish())
}

/// Compares all indexes with the rows.
///
/// # Errors
/// The error of the database, or what does not fit.
pub(super) fn check_indexes(db: &Database) -> std::result::Result<(), String> {
    let words = |error: remanent_engine::Error| error.to_string();
    let tx = db.begin_read().map_err(words)?;
    for name in db.table_names() {
        let table = db.table(&name).map_err(words)?;
        let schema = table.schema();
        let count = tx.scan(&table).map_err(words)?.count();
        for (index, handle) in table.indexes() {
            let Some(parts) = schema.indexes.iter().find(|schema| schema.name == index) else {
                continue;
            };
            let columns: Vec<_> =
                parts.parts.iter().filter_map(|part| table.column(&part.column).ok()).collect();
            for row in tx.scan(&table).map_err(words)? {
                let key: Vec<_> = columns.iter().map(|&column| row.value(column)).collect();
                if parts.unique {
                    let found = tx.find(&table, handle, &key).map_err(words)?;
                    if found.map(|row| row.id()) != Some(row.id()) {
                        return Err(format!("`{name}`.{index} does not find row {:?}", row.id()));
                    }
                } else if parts.kind == IndexKind::Ordered {
                    let mut cursor = tx.cursor(&table, handle).map_err(words)?;
                    let mut found = cursor.find(Find::Equal, &key).map_err(words)?;
                    while found.is_some_and(|found| found.id() != row.id()) {
                        found = cursor.next();
                    }
                    if found.is_none() {
                        return Err(format!("`{name}`.{index} does not find row {:?}", row.id()));
                    }
                }
            }
            if parts.kind == IndexKind::Ordered {
                let mut cursor = tx.cursor(&table, handle).map_err(words)?;
                let mut entries = usize::from(cursor.first().is_some());
                while entries > 0 && cursor.next().is_some() {
                    entries += 1;
                }
                if entries != count {
                    return Err(format!("`{name}`.{index}: {entries} entries, {count} rows"));
                }
            }
        }
    }
    Ok(())
}

/// Whether the database is in one of the states that are allowed, and which.
///
/// # Errors
/// A description of what is wrong with it.
pub(super) fn judge(
    db: &Database,
    states: &[u64],
    allowed: Allowed,
) -> std::result::Result<usize, String> {
    let found = digest(db).map_err(|error| error.to_string())?;
    let Allowed { lowest, highest } = allowed;
    let state = states[lowest..=highest].iter().position(|&state| state == found);
    let Some(state) = state else {
        let known = states.iter().position(|&state| state == found);
        return Err(match known {
            Some(known) => format!("state {known} was found, not {lowest} to {highest}"),
            None => format!("what was found never was; states {lowest} to {highest} are right"),
        });
    };
    check_indexes(db)?;
    Ok(lowest + state)
}
