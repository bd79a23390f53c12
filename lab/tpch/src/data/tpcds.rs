//! TPC-DS: data and queries, by DuckDB's extension.
//!
//! A package of Python has it. All files of a scale are made at once, in a folder that gets its
//! name when they are complete.

use std::fs;
use std::path::Path;
use std::process::Command;

use lab_harness::Outcome;

use crate::python;

const SCRIPT: &str = include_str!("../../scripts/tpcds.py");

/// The extension is made for one version of DuckDB, which need not be the one that is measured.
const PACKAGES: &[&str] = &["duckdb==1.5.5", "duckdb-extension-tpcds==1.5.5"];

/// Makes all files of a scale in a folder, unless they are there.
///
/// # Errors
///
/// When Python or the package cannot be had, or the data cannot be written.
pub(super) fn make(out: &Path, scale: f64, folder: &Path) -> Outcome<()> {
    if folder.exists() {
        return Ok(());
    }
    let environment = out.join("tpcds").join("python");
    let python = python::with(&environment, "duckdb_extension_tpcds", PACKAGES)?;
    let partial = folder.with_extension("partial");
    fs::create_dir_all(&partial)?;
    let script = partial.join("make.py");
    fs::write(&script, SCRIPT)?;
    let mut command = Command::new(python);
    command.arg(script).arg(scale.to_string()).arg(&partial);
    python::done(command, "TPC-DS's data, by DuckDB's extension")?;
    Ok(fs::rename(partial, folder)?)
}
