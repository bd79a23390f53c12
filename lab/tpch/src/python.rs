//! The laboratory's Python: virtual environments that are made once, with packages in the versions
//! that are known to work.
//!
//! An environment lies beside the data and is kept. Nothing outside it is changed; without a
//! network a contender is missing, and everybody else is measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lab_harness::Outcome;

/// The interpreter of an environment, which has a package: this one as it is imported, and what
/// pip is asked for.
///
/// # Errors
///
/// When Python or the package is not there and cannot be had.
pub(crate) fn with(directory: &Path, package: &str, packages: &[&str]) -> Outcome<PathBuf> {
    let python = directory.join("bin").join("python");
    if !python.exists() {
        let mut command = Command::new("python3");
        command.args(["-m", "venv"]).arg(directory);
        done(command, "python3 with its module venv (apt-get install python3-venv)")?;
    }
    let mut found = Command::new(&python);
    found.args(["-c", &format!("import {package}")]).stderr(Stdio::null());
    if !found.status()?.success() {
        let mut command = Command::new(&python);
        command
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(packages);
        done(command, &format!("the Python package {package} (pip install {package})"))?;
    }
    Ok(python)
}

/// Runs a command whose output is not the laboratory's own.
///
/// # Errors
///
/// When it fails: then `what` is missing.
pub(crate) fn done(mut command: Command, what: &str) -> Outcome<()> {
    match command.stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("missing: {what}").into()),
    }
}
