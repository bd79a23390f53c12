//! A workload that is a program of its own: queries, which link DataFusion, conflicts, which speak
//! with servers, replicas, which are several processes, and a package of Python.
//!
//! This program starts it, with the profile that compiles it in less time, and shows its records
//! on the page with those of all others.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};

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

/// The Python package: as [`REPLICAS`].
pub(crate) const PYTHON: (&str, &str, &str) = (
    "python",
    "the Python package: rows by key, Arrow in and out (`lab python --help`)",
    "remanent, lmdb, sqlite, duckdb, dict",
);

/// Runs the script of the Python package, which makes the package first.
///
/// # Errors
///
/// When it cannot be started.
pub(crate) fn run_python(arguments: &[OsString]) -> Outcome<ExitCode> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/python/run.sh");
    let status = Command::new("sh").arg(script).args(arguments).status()?;
    Ok(code_of(status))
}

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
    Ok(code_of(status))
}

fn code_of(status: ExitStatus) -> ExitCode {
    u8::try_from(status.code().unwrap_or(1)).map_or(ExitCode::FAILURE, ExitCode::from)
}

fn out_of(arguments: &[OsString]) -> PathBuf {
    let place = arguments.iter().position(|argument| argument == "--out");
    place.and_then(|place| arguments.get(place + 1)).map_or("target/lab".into(), PathBuf::from)
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
