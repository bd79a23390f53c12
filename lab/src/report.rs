//! The report: one HTML page from all records of a directory, with nothing outside itself.
//!
//! Records are put together by workload and by run, the newest run first and open, earlier ones
//! folded. Ratios are made within a run. The page has its style and its drawings inside, so
//! that it can be sent to somebody as it is.

mod page;

mod over_readers;

mod time_series;

mod text_tables;

mod bursts;

mod by_size;

mod media;

mod chart;

mod lines;

use std::fs;
use std::path::{Path, PathBuf};

use lab_harness::Outcome;

use crate::record::{self, Record};

/// The page's name below the output directory.
const PAGE: &str = "report.html";

/// Reads all records of a directory and writes the page beside them.
///
/// # Errors
///
/// When there are no records, or they cannot be read, or the page cannot be written.
pub(crate) fn write(directory: &Path) -> Outcome<PathBuf> {
    let records = record::read_all(directory)?;
    if records.is_empty() {
        return Err(format!("{} has no records", directory.display()).into());
    }
    let path = directory.join(PAGE);
    fs::write(&path, page::page(&runs(records)))?;
    Ok(path)
}

/// The records of one run of one workload.
struct Run {
    workload: String,
    /// The moment it began, as the records say.
    name: String,
    records: Vec<Record>,
}

/// Workloads in alphabetical order; of each, the newest run first.
fn runs(records: Vec<Record>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for record in records {
        let known =
            runs.iter_mut().find(|run| run.workload == record.workload && run.name == record.run);
        match known {
            Some(run) => run.records.push(record),
            None => runs.push(Run {
                workload: record.workload.clone(),
                name: record.run.clone(),
                records: vec![record],
            }),
        }
    }
    runs.reverse();
    runs.sort_by(|left, right| left.workload.cmp(&right.workload));
    runs
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
