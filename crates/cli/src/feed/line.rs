//! A line of the feed: a change as an object of JSON.
//!
//! Rows come as JSON from the server and stand in it as they are; what a change does not have is
//! left out.

use std::fmt;

use serde_json::Value;
use tokio_postgres::SimpleQueryRow;

/// What is asked for, in this order.
pub(super) const COLUMNS: [&str; 9] = [
    "lsn",
    "position",
    "number",
    "kind",
    "table_schema",
    "table_name",
    "old_row",
    "new_row",
    "definition",
];

/// What these are called in a line, and whether they are JSON already.
const KEYS: [(&str, bool); 9] = [
    ("lsn", true),
    ("position", true),
    ("number", true),
    ("kind", false),
    ("schema", false),
    ("table", false),
    ("old", true),
    ("new", true),
    ("definition", false),
];

/// A change.
pub(super) struct Line<'r> {
    values: [Option<&'r str>; 9],
}

impl<'r> Line<'r> {
    pub(super) fn of(row: &'r SimpleQueryRow) -> Self {
        Self { values: std::array::from_fn(|place| row.get(place)) }
    }

    /// The line that says up to where everything was read.
    pub(super) fn commit(lsn: u64) -> String {
        format!("{{\"lsn\":{lsn},\"kind\":\"commit\"}}")
    }

    pub(super) fn lsn(&self) -> u64 {
        self.number_at(0)
    }

    pub(super) fn number(&self) -> u64 {
        self.number_at(2)
    }

    pub(super) fn is_commit(&self) -> bool {
        self.values[3] == Some("commit")
    }

    fn number_at(&self, place: usize) -> u64 {
        self.values[place].and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = KEYS.iter().zip(self.values).filter_map(|(key, value)| Some((key, value?)));
        for (place, ((key, is_json), value)) in given.enumerate() {
            f.write_str(if place == 0 { "{" } else { "," })?;
            write!(f, "\"{key}\":")?;
            match is_json {
                true => f.write_str(value)?,
                false => write!(f, "{}", Value::from(value))?,
            }
        }
        f.write_str("}")
    }
}
