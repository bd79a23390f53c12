//! What completion offers: names of the database.
//!
//! They are asked for in a session of their own, when somebody completes, so that a block of the
//! caller that has failed is in nobody's way.

use std::cell::RefCell;

use remanent_sql::{Datum, Session};

/// Tables and views with their schemas.
const TABLES: &str = "select n.nspname, c.relname from pg_catalog.pg_class c \
     join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
     where c.relkind in ('r', 'v', 'S') order by 2";

/// Columns with their tables.
const COLUMNS: &str = "select c.relname, a.attname from pg_catalog.pg_attribute a \
     join pg_catalog.pg_class c on c.oid = a.attrelid \
     where c.relkind in ('r', 'v') order by 1, a.attnum";

/// The schemas.
const SCHEMAS: &str = "select nspname from pg_catalog.pg_namespace order by 1";

/// Asks for names.
pub(crate) struct Names(RefCell<Session>);

impl Names {
    pub(crate) fn new(session: Session) -> Self {
        Self(RefCell::new(session))
    }

    /// Tables, views and sequences: by themselves, and behind their schema if it is not the one
    /// that needs none.
    pub(crate) fn tables(&self) -> Vec<String> {
        let name = |row: Vec<String>| match row[0].as_str() {
            "public" => quoted(&row[1]),
            schema => format!("{}.{}", quoted(schema), quoted(&row[1])),
        };
        self.ask(TABLES).into_iter().map(name).collect()
    }

    pub(crate) fn schemas(&self) -> Vec<String> {
        self.ask(SCHEMAS).into_iter().flatten().map(|name| quoted(&name)).collect()
    }

    /// Pairs of a table and a column of it.
    pub(crate) fn columns(&self) -> Vec<(String, String)> {
        self.ask(COLUMNS)
            .into_iter()
            .map(|mut row| {
                let column = row.pop().unwrap_or_default();
                (row.pop().unwrap_or_default(), quoted(&column))
            })
            .collect()
    }

    fn ask(&self, query: &str) -> Vec<Vec<String>> {
        let Ok(mut session) = self.0.try_borrow_mut() else { return Vec::new() };
        let Ok(answer) = session.query(query, &[]) else { return Vec::new() };
        let texts =
            |row: &Vec<Datum>| row.iter().map(|d| d.to_text().unwrap_or_default()).collect();
        answer.rows.iter().map(texts).collect()
    }
}

/// A name as it has to be written.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty();
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
