//! A workload that is a program of its own: queries, which link DataFusion, conflicts, which speak
//! with servers, and replicas, which are several processes.
//!
//! This program starts it, with the profile that compiles it in less time, and shows its records
//! on the page with those of all others.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use lab_harness::Outcome;

use crate::record::Record;
use crate::report;

/// Groups of replicas: the word on the command line, one line, and who takes part. Their figures
/// are said by the program itself.
pub(crate) const REPLICAS: (&str, &str, &str) = (
    "replicas",
    "groups of three processes: commits, catching up (`lab replicas --help`)",
    "remanent, berkeley-db (its replication manager), postgresql (synchronous standbys)",
);

/// Runs the package `lab-NAME` with these arguments, then writes the page if there are records of
/// the workload.
///
/// # Errors
///
/// When it cannot be started or the page not be written.
pub(crate) fn run(name: &str, workload: &str, arguments: &[OsString]) -> Outcome<ExitCode> {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let package = format!("lab-{name}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--profile", "analytics", "--package", &package]);
    command.args(["--manifest-path", workspace, "--"]).args(arguments);
    let status = command.status()?;
    let out = out_of(arguments);
    if out.join(Record::file_name(workload)).exists() {
        report::write(&out)?;
    }
    Ok(u8::try_from(status.code().unwrap_or(1)).map_or(ExitCode::FAILURE, ExitCode::from))
}

fn out_of(arguments: &[OsString]) -> PathBuf {
    let place = arguments.iter().position(|argument| argument == "--out");
    place.and_then(|place| arguments.get(place + 1)).map_or("target/lab".into(), PathBuf::from)
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
