//! `lab tpch`, `lab tpcds`, `lab ssb`, `lab shapes`: queries are measured by a program of its own,
//! which alone links DataFusion.
//!
//! Here its records become tables: for each scale one of CPU times, with a line for each query and
//! a column for each contender.

use crate::record::Record;
use crate::text_table::{TextTable, contenders, number};
use std::collections::BTreeSet;

/// The program, and its benchmark if it is told no other.
pub(crate) const NAME: &str = "tpch";

/// The words on the command line and in records, with a line about each.
pub(crate) const BENCHMARKS: [(&str, &str); 4] = [
    (NAME, "the 22 queries of TPC-H, one thread on one core (`lab tpch --help`)"),
    ("tpcds", "the 99 queries of TPC-DS, in the same way"),
    ("ssb", "the 13 queries of the Star Schema Benchmark, in the same way"),
    ("shapes", "36 queries of shapes that these leave out, in the same way"),
];

/// Whether a workload is one of these.
pub(crate) fn has(workload: &str) -> bool {
    BENCHMARKS.iter().any(|(name, _)| *name == workload)
}

/// Who takes part; the program itself has their configuration (`lab tpch list`).
pub(crate) const CONTENDERS: &str = "duckdb, duckdb-file, hyper, datafusion, datafusion-ordered";

/// A table of CPU times for each scale.
pub(crate) fn text_tables(records: &[Record]) -> Vec<TextTable> {
    let word = |record: &Record| record.extra.get("scale").map(ToString::to_string);
    let scales: BTreeSet<String> = records.iter().filter_map(word).collect();
    let of_scale = |scale: &String| {
        let records: Vec<&Record> =
            records.iter().filter(|record| word(record).as_ref() == Some(scale)).collect();
        text_table(scale, &records)
    };
    scales.iter().map(of_scale).collect()
}

fn text_table(scale: &str, records: &[&Record]) -> TextTable {
    let names = contenders(records, "query");
    let query = |record: &Record| record.extra.get("query").and_then(serde_json::Value::as_u64);
    let queries: BTreeSet<u64> = records.iter().filter_map(|record| query(record)).collect();
    let found = |name: &str, wanted: u64| {
        let mut records = records.iter().copied();
        records.find(|record| record.contender == name && query(record) == Some(wanted))
    };
    let line = |&wanted: &u64| {
        let ms = |record: &Record| record.cpu_ns().map(|ns| format!("{:.1}", ns / 1e6));
        (wanted.to_string(), names.iter().map(|name| number(found(name, wanted), ms)).collect())
    };
    let mut lines: Vec<(String, Vec<String>)> = queries.iter().map(line).collect();
    let times = |name: &String| -> Option<Vec<f64>> {
        queries.iter().map(|&query| Some(found(name, query)?.cpu_ns()? / 1e6)).collect()
    };
    let of_all = |what: fn(&[f64]) -> f64| -> Vec<String> {
        let shown = |times: Vec<f64>| format!("{:.1}", what(&times));
        names.iter().map(|name| times(name).map_or("-".to_owned(), shown)).collect()
    };
    lines.push(("total".to_owned(), of_all(|times| times.iter().sum())));
    lines.push(("geometric mean".to_owned(), of_all(geometric_mean)));
    TextTable { title: format!("scale factor {scale}: CPU ms"), columns: names, lines }
}

fn geometric_mean(times: &[f64]) -> f64 {
    (times.iter().map(|time| time.ln()).sum::<f64>() / times.len() as f64).exp()
}

#[cfg(test)]
#[path = "tpch_tests.rs"]
mod tests;
