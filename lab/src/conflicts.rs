//! `lab conflicts`: refusals among clients on keys of their own, beside PostgreSQL.
//!
//! A program of its own measures them; here its records become tables of reads and of changes: a
//! line for each statement, for each contender the share of refusals and the commits in a second.

use serde_json::Value;

use crate::record::Record;
use crate::text_table::{TextTable, contenders, number};

/// The word on the command line and in records.
pub(crate) const NAME: &str = "conflicts";

/// One line about it.
pub(crate) const SUMMARY: &str =
    "four clients on keys of their own: refusals (`lab conflicts --help`)";

/// Who takes part.
pub(crate) const CONTENDERS: &str = "remanent (its server), postgresql";

/// A table of reads and one of changes.
pub(crate) fn text_tables(records: &[Record]) -> Vec<TextTable> {
    let all: Vec<&Record> = records.iter().collect();
    ["read", "change"].iter().map(|phase| text_table(phase, &all)).collect()
}

fn text_table(phase: &str, records: &[&Record]) -> TextTable {
    let names = contenders(records, phase);
    let statement =
        |record: &Record| record.extra.get("statement").and_then(Value::as_str).map(str::to_owned);
    let mut statements: Vec<String> = Vec::new();
    for record in records.iter().filter(|record| record.phase == phase) {
        statements.extend(statement(record).filter(|text| !statements.contains(text)));
    }
    let found = |name: &String, wanted: &String| {
        let mut records = records.iter().copied();
        records.find(|it| it.contender == *name && statement(it).as_ref() == Some(wanted))
    };
    let line = |wanted: &String| {
        let share = |record: &Record| {
            let share = record.extra.get("refused_share").and_then(Value::as_f64)?;
            Some(format!("{:.1} %", share * 100.0))
        };
        let rate = |record: &Record| record.wall_ns().map(|ns| format!("{:.0}", 1e9 / ns));
        let of_name = |name| {
            let record = found(name, wanted);
            [number(record, share), number(record, rate)]
        };
        (wanted.clone(), names.iter().flat_map(of_name).collect())
    };
    TextTable {
        title: format!("{phase}s: refused, and commits a second"),
        columns: names.iter().flat_map(|name| [name.clone(), "commits/s".to_owned()]).collect(),
        lines: statements.iter().map(line).collect(),
    }
}

#[cfg(test)]
#[path = "conflicts_tests.rs"]
mod tests;
