//! What a run and a measured process say to each other, as JSON.
//!
//! The process is given one request; it answers with a line for each sample, and one for the bytes
//! that its database holds.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use lab_harness::{Medium, Outcome, Promise};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Starts a process for a request, and waits for the first line that it says.
pub(crate) fn start(request: &CaseRequest) -> Outcome<(Child, String)> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("case")
        .arg(serde_json::to_string(request)?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    if let Some(stdout) = &mut child.stdout {
        BufReader::new(stdout).read_line(&mut said)?;
    }
    Ok((child, said))
}

/// Everything a measured process has to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CaseRequest {
    pub(crate) workload: String,
    pub(crate) contender: String,
    pub(crate) variant: String,
    pub(crate) promise: Promise,
    pub(crate) medium: Medium,
    pub(crate) rows: u64,
    /// Threads that read beside the one that is measured.
    #[serde(default)]
    pub(crate) readers: u64,
    /// Operations of a transaction.
    #[serde(default)]
    pub(crate) per_transaction: u64,
    /// What the workload wants to know beside.
    pub(crate) parameters: BTreeMap<String, Value>,
    /// A phase is stopped after this long, and reports what it did.
    pub(crate) seconds_max: Option<f64>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) core: Option<usize>,
}

/// One line of a measured process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum Line {
    Held(Held),
    Phase(PhaseSample),
    Failed { reason: String },
}

/// The bytes a database holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) empty_bytes: u64,
    pub(crate) held_bytes: u64,
    pub(crate) data_bytes: u64,
    pub(crate) accounted_bytes: Option<u64>,
    /// The most that was ever resident, pages of files among it.
    #[serde(default)]
    pub(crate) resident_peak_bytes: Option<u64>,
}

/// One measured phase of one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PhaseSample {
    pub(crate) phase: String,
    pub(crate) per_transaction: u64,
    pub(crate) operations: u64,
    pub(crate) wall_ns: u64,
    pub(crate) cpu_ns: u64,
    /// Look-ups of other threads meanwhile, and the CPU time of those threads.
    pub(crate) reads: Option<u64>,
    pub(crate) reader_cpu_ns: Option<u64>,
    /// How often the log was synced meanwhile, where the engine tells.
    pub(crate) syncs: Option<u64>,
    /// Bytes that the phase went through, where it is about bytes.
    pub(crate) bytes: Option<u64>,
    /// Memory over the time of the phase.
    pub(crate) time_series: Vec<Point>,
    pub(crate) verified: bool,
    /// What has to be said about this sample, such as that it was stopped early.
    pub(crate) note: String,
}

/// What is held after so many operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) operations: u64,
    pub(crate) wall_ms: u64,
    pub(crate) held_bytes: u64,
    pub(crate) rows_bytes: u64,
}
