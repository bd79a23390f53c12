//! `lab tpch`: TPC-H is measured by a program of its own, which alone links DataFusion.
//!
//! This program starts it, with the profile that compiles it in less time, and shows its records on
//! the page with those of all others: for each scale a table of CPU times, a line for each query
//! and a column for each contender.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use lab_harness::Outcome;

use crate::record::Record;
use crate::report;
use crate::sheet::{Sheet, contenders, number};

/// The word on the command line and in records.
pub(crate) const NAME: &str = "tpch";

/// One line about it.
pub(crate) const SUMMARY: &str =
    "the 22 queries of TPC-H, one thread on one core (`lab tpch --help`)";

/// Who takes part; the program itself has their configuration (`lab tpch list`).
pub(crate) const CONTENDERS: &str = "duckdb, duckdb-file, hyper, datafusion, datafusion-ordered";

/// Runs the program with these arguments, then writes the page.
///
/// # Errors
///
/// When it cannot be started or the page not be written.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<ExitCode> {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--profile", "analytics", "--package", "lab-tpch"]);
    command.args(["--manifest-path", workspace, "--"]).args(arguments);
    let status = command.status()?;
    let out = out_of(arguments);
    if out.join(Record::file_name(NAME)).exists() {
        report::write(&out)?;
    }
    Ok(u8::try_from(status.code().unwrap_or(1)).map_or(ExitCode::FAILURE, ExitCode::from))
}

fn out_of(arguments: &[OsString]) -> PathBuf {
    let place = arguments.iter().position(|argument| argument == "--out");
    place.and_then(|place| arguments.get(place + 1)).map_or("target/lab".into(), PathBuf::from)
}

/// A table of CPU times for each scale.
pub(crate) fn sheets(records: &[Record]) -> Vec<Sheet> {
    let word = |record: &Record| record.extra.get("scale").map(ToString::to_string);
    let scales: BTreeSet<String> = records.iter().filter_map(word).collect();
    let of_scale = |scale: &String| {
        let records: Vec<&Record> =
            records.iter().filter(|record| word(record).as_ref() == Some(scale)).collect();
        sheet(scale, &records)
    };
    scales.iter().map(of_scale).collect()
}

fn sheet(scale: &str, records: &[&Record]) -> Sheet {
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
    Sheet { title: format!("scale factor {scale}: CPU ms"), columns: names, lines }
}

fn geometric_mean(times: &[f64]) -> f64 {
    (times.iter().map(|time| time.ln()).sum::<f64>() / times.len() as f64).exp()
}

#[cfg(test)]
#[path = "tpch_tests.rs"]
mod tests;
