//! Definitions of SQL that cannot be read, of a database that was read into memory.
//!
//! Their rows are there and everything else works, but whoever looks after a database should know
//! of them before somebody misses a view or a check.

use std::sync::Arc;

use remanent_engine::Database;
use remanent_sql::SqlDatabase;

/// Tables in which SQL keeps what it has defined, now and in version 0.1.
const CATALOGS: [&str; 2] = ["sql:catalog", "sql:objects"];

/// What cannot be read, in words; nothing of a database that SQL never saw.
pub(crate) fn of(db: Database) -> Vec<String> {
    let names = db.table_names();
    if !CATALOGS.iter().any(|catalog| names.iter().any(|name| name == catalog)) {
        return Vec::new();
    }
    match SqlDatabase::new(Arc::new(db)) {
        Ok(db) => db.set_aside().iter().map(ToString::to_string).collect(),
        Err(error) => vec![format!("the catalog of SQL cannot be read: {error}")],
    }
}
