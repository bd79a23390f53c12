//! Contenders that are reached from Python, by a script.
//!
//! It speaks the lines of a measured process.

use std::fs;
use std::path::Path;
use std::process::Command;

use lab_harness::Outcome;

use super::Setting;
use crate::python;

const SCRIPT: &str = include_str!("../../scripts/contender.py");

/// Packages with the versions that the laboratory knows to work.
const PACKAGES: &[(&str, &[&str])] =
    &[("duckdb", &["duckdb==2.0.0", "pyarrow"]), ("tableauhyperapi", &["tableauhyperapi"])];

pub(super) fn command(
    out: &Path,
    name: &str,
    package: &str,
    data: &Path,
    setting: &Setting,
) -> Outcome<Command> {
    let packages = PACKAGES.iter().find(|(name, _)| *name == package).map_or(&[][..], |p| p.1);
    let python = python::with(&out.join("tpch").join("python"), package, packages)?;
    let scratch = &setting.folder;
    let script = scratch.join("contender.py");
    fs::write(&script, SCRIPT)?;
    let mut command = Command::new(python);
    command.arg(script).arg(name).arg(data).arg(scratch);
    Ok(command)
}
