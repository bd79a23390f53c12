//! How a command ends, and where its words go.
//!
//! What was asked for goes to standard output, everything else to standard error; `main` makes the
//! status of a failure.

use std::io::Write;

/// Why a run failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was called wrongly: a sentence about the call.
    Usage(String),
    /// What it was given is wrong, or something could not be read or written.
    Refused(String),
    /// A database or a file cannot be opened, read or written, where a status distinguishes that.
    Trouble(String),
    /// What is wrong was reported; the status that says so.
    Reported(u8),
}

pub(crate) type Outcome = Result<(), Failure>;

/// Writes what was asked for.
pub(crate) fn answer(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Who reads has read enough: `remanent ddl c FILE | head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::Refused(format!("error: standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Writes what concerns the person and not the answer.
pub(crate) fn say(text: &str) {
    // If nobody reads it, nobody reads of that either.
    let _ = writeln!(std::io::stderr(), "{text}");
}
