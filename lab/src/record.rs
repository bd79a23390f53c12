//! One measured phase, as one line of JSON: the laboratory's only output format.
//!
//! Fields that do not apply are left out. A record whose answers were wrong says so and carries
//! no time. Records are only ever appended; everything that is shown is made from them, so that
//! a report can be made again, elsewhere, later.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use lab_harness::{Medium, Outcome, Promise};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::protocol::Point;

/// A measured phase, or a contender that could not be measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) workload: String,
    pub(crate) contender: String,
    #[serde(default)]
    pub(crate) version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) setting: Option<Promise>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) medium: Option<Medium>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) phase: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rows: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) per_transaction: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) readers: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rounds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wall_ns_per_op: Option<Spread>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cpu_ns_per_op: Option<Spread>,
    /// Seconds that the whole phase took, at the median of the rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wall_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cpu_s: Option<f64>,
    /// Look-ups of the readers during the phase, at the median of the rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reads: Option<u64>,
    /// CPU time of the readers' threads for each of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reader_cpu_ns_per_read: Option<Spread>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commits_per_sync: Option<f64>,
    /// Bytes of the log or image that one round went through, at the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    /// Seconds for 1,000,000,000 of those bytes, at the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wall_s_per_gb: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cpu_s_per_gb: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bytes_per_data_byte: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verified: Option<bool>,
    #[serde(default)]
    pub(crate) note: String,
    #[serde(default)]
    pub(crate) machine: String,
    #[serde(default)]
    pub(crate) commit: String,
    /// Why there is no measurement, and the command that would change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<String>,
    /// Which run of the laboratory this belongs to; ratios are made within one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) run: String,
    /// How many operations one round measured, at the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) operations: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) held_bytes: Option<u64>,
    /// What the engine's own accounting says is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) accounted_bytes: Option<u64>,
    /// The most that was ever resident in the process, as the operating system has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resident_peak_bytes: Option<u64>,
    /// Bytes held by the database with its schema and without rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) empty_bytes: Option<u64>,
    /// Memory over the time of the phase, in the last round.
    #[serde(default, rename = "course", skip_serializing_if = "Vec::is_empty")]
    pub(crate) time_series: Vec<Point>,
    /// What a workload adds of its own.
    #[serde(flatten)]
    pub(crate) extra: BTreeMap<String, Value>,
}

/// The smallest, middle and largest of several samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Record {
    /// The middle CPU time of one operation, when the answers were right.
    pub(crate) fn cpu_ns(&self) -> Option<f64> {
        match self.verified {
            Some(false) => None,
            _ => self.cpu_ns_per_op.map(|spread| spread.median),
        }
    }

    /// The middle wall time of one operation, when the answers were right.
    pub(crate) fn wall_ns(&self) -> Option<f64> {
        match self.verified {
            Some(false) => None,
            _ => self.wall_ns_per_op.map(|spread| spread.median),
        }
    }

    /// The readers' middle CPU time of one look-up, when the answers were right.
    pub(crate) fn reader_cpu_ns(&self) -> Option<f64> {
        match self.verified {
            Some(false) => None,
            _ => self.reader_cpu_ns_per_read.map(|spread| spread.median),
        }
    }

    /// The middle CPU time of the whole phase, in nanoseconds, when the answers were right.
    pub(crate) fn whole_cpu_ns(&self) -> Option<f64> {
        self.cpu_s.filter(|_| self.verified != Some(false)).map(|seconds| seconds * 1e9)
    }

    /// The middle wall time of the whole phase, in nanoseconds, when the answers were right.
    pub(crate) fn whole_wall_ns(&self) -> Option<f64> {
        self.wall_s.filter(|_| self.verified != Some(false)).map(|seconds| seconds * 1e9)
    }

    /// The file, below the output directory, that holds a workload's records.
    pub(crate) fn file_name(workload: &str) -> String {
        format!("{workload}.jsonl")
    }
}

impl Spread {
    /// The spread of samples; `None` without any.
    pub(crate) fn of(mut samples: Vec<f64>) -> Option<Self> {
        samples.sort_by(f64::total_cmp);
        let (first, last) = (*samples.first()?, *samples.last()?);
        let middle = samples.len() / 2;
        let median = if samples.len() % 2 == 1 {
            samples[middle]
        } else {
            (samples[middle - 1] + samples[middle]) / 2.0
        };
        Some(Self { min: tenth(first), median: tenth(median), max: tenth(last) })
    }
}

/// Appends records to the file of their workload.
pub(crate) fn append(directory: &Path, workload: &str, records: &[Record]) -> Outcome<()> {
    let mut text = String::new();
    for record in records {
        text.push_str(&serde_json::to_string(record)?);
        text.push('\n');
    }
    let path = directory.join(Record::file_name(workload));
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(())
}

/// All records below a directory, file by file, each in the order in which it was written.
///
/// # Errors
///
/// When the directory cannot be read or a line is not a record; the line is named.
pub(crate) fn read_all(directory: &Path) -> Outcome<Vec<Record>> {
    let mut paths: Vec<_> = fs::read_dir(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    paths.sort();
    let mut records = Vec::new();
    for path in paths {
        for (number, line) in (1..).zip(fs::read_to_string(&path)?.lines()) {
            let record = serde_json::from_str(line)
                .map_err(|error| format!("{}:{number}: {error}", path.display()))?;
            records.push(record);
        }
    }
    Ok(records)
}

/// Rounded to one decimal: below that is noise, and lines stay readable.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
