//! Contenders that are reached from Python: a virtual environment that is made once, and a script.
//!
//! The environment lies beside the data and is kept. Nothing outside it is changed; without a
//! network the contender is missing, and everybody else is measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lab_harness::Outcome;

const SCRIPT: &str = include_str!("../../scripts/contender.py");

/// Packages with the versions that the laboratory knows to work.
const PACKAGES: &[(&str, &[&str])] =
    &[("duckdb", &["duckdb==2.0.0", "pyarrow"]), ("tableauhyperapi", &["tableauhyperapi"])];

pub(super) fn command(
    out: &Path,
    name: &str,
    package: &str,
    data: &Path,
    scratch: &Path,
) -> Outcome<Command> {
    let python = environment(out)?;
    install(&python, package)?;
    let script = scratch.join("contender.py");
    fs::write(&script, SCRIPT)?;
    let mut command = Command::new(python);
    command.arg(script).arg(name).arg(data).arg(scratch);
    Ok(command)
}

fn environment(out: &Path) -> Outcome<PathBuf> {
    let directory = out.join("tpch").join("python");
    let python = directory.join("bin").join("python");
    if !python.exists() {
        let mut command = Command::new("python3");
        command.args(["-m", "venv"]).arg(&directory);
        done(command, "python3 with its module venv (apt-get install python3-venv)")?;
    }
    Ok(python)
}

fn install(python: &Path, package: &str) -> Outcome<()> {
    let mut found = Command::new(python);
    found.args(["-c", &format!("import {package}")]).stderr(Stdio::null());
    if found.status()?.success() {
        return Ok(());
    }
    let packages = PACKAGES.iter().find(|(name, _)| *name == package).map_or(&[][..], |p| p.1);
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    done(command, &format!("the Python package {package} (pip install {package})"))
}

fn done(mut command: Command, what: &str) -> Outcome<()> {
    // Standard output is the laboratory's own.
    let status = command.stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("missing: {what}").into()),
    }
}
