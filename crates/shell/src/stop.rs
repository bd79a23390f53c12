//! Why reading lines ends, and what a run says of itself by its status.
//!
//! Errors that were reported already carry nothing more.

use std::io;

use remanent_sql::Error;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All was done, or nobody reads the rest of the answers.
    Fine,
    /// A statement or a command failed.
    Failed,
    /// A file, standard input or standard output could not be read or written.
    Trouble,
    /// Ctrl-C ended a script.
    Interrupted,
}

/// Why no further line is read.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Somebody asked for it: this input ends.
    Quit,
    /// A statement or a command failed, which was reported.
    Failed,
    /// A file or stream fails, which was reported.
    Trouble,
    /// Ctrl-C.
    Interrupted,
    /// Nobody reads the answers any more.
    NobodyReads,
}

pub(crate) type Done<T = ()> = Result<T, Stop>;

/// Why a statement or a command was not done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The statement failed.
    Sql(Error),
    /// A sentence about a command.
    Said(String),
    /// It was reported already.
    Reported,
    /// No further line is to be read.
    Stop(Stop),
}

impl Stop {
    pub(crate) fn end(&self) -> End {
        match self {
            Self::Quit | Self::NobodyReads => End::Fine,
            Self::Failed => End::Failed,
            Self::Trouble => End::Trouble,
            Self::Interrupted => End::Interrupted,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl Failure {
    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self::Said(text.into())
    }

    /// A file that could not be read or written.
    pub(crate) fn file(path: &str, error: &io::Error) -> Self {
        Self::Said(format!("{path}: {}", sentence(error)))
    }
}

/// What the system says of a file, without the number.
pub(crate) fn sentence(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
