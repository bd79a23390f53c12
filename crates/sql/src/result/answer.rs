//! What a statement answers: rows, and a tag that says what was done.
//!
//! Rows of a query are still to come when its statement has answered; those of a change are whole.

use std::fmt;
use std::sync::Arc;

use super::rows::{ResultColumn, Rows};
use crate::error::{Result, SqlState};
use crate::values::datum::Datum;

/// What a statement did, as PostgreSQL names it: `INSERT 0 3`, `CREATE TABLE`, `SELECT 7`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tag {
    /// The words.
    pub verb: &'static str,
    /// How many rows it was about, where that says something.
    pub rows: Option<u64>,
}

/// What a statement answered, with rows that are still to come.
pub struct Outcome {
    /// What was done. The count of a query's rows is known when they have been read.
    pub tag: Tag,
    /// The rows, of statements that have some.
    pub rows: Option<Rows>,
    /// What the caller should know beside.
    pub notice: Option<Box<Notice>>,
}

/// What the caller should know beside an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// How much it matters.
    pub severity: Severity,
    /// What kind of notice it is.
    pub state: SqlState,
    /// In words.
    pub text: String,
}

/// How much a notice matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// It is as asked for.
    Notice,
    /// It may not be what was meant.
    Warning,
}

impl Severity {
    /// As PostgreSQL writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Notice => "NOTICE",
            Self::Warning => "WARNING",
        }
    }
}

impl Notice {
    pub(crate) fn new(state: SqlState, text: impl Into<String>) -> Self {
        Self { severity: Severity::Notice, state, text: text.into() }
    }

    /// A warning.
    pub fn warning(state: SqlState, text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, state, text: text.into() }
    }
}

/// What a statement answered, whole.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// What each row has; empty for statements without rows.
    pub columns: Arc<[ResultColumn]>,
    /// The rows.
    pub rows: Vec<Vec<Datum>>,
    /// What was done.
    pub tag: Tag,
}

impl Tag {
    pub(crate) fn new(verb: &'static str) -> Self {
        Self { verb, rows: None }
    }

    pub(crate) fn counted(verb: &'static str, rows: u64) -> Self {
        Self { verb, rows: Some(rows) }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.verb, self.rows) {
            ("INSERT", Some(rows)) => write!(f, "INSERT 0 {rows}"),
            (verb, Some(rows)) => write!(f, "{verb} {rows}"),
            (verb, None) => f.write_str(verb),
        }
    }
}

impl Outcome {
    pub(crate) fn done(tag: Tag) -> Self {
        Self { tag, rows: None, notice: None }
    }

    pub(crate) fn verb(verb: &'static str) -> Self {
        Self::done(Tag::new(verb))
    }

    pub(crate) fn rows(verb: &'static str, rows: Rows) -> Self {
        Self { tag: Tag::new(verb), rows: Some(rows), notice: None }
    }

    pub(crate) fn notice(verb: &'static str, notice: Notice) -> Self {
        Self { tag: Tag::new(verb), rows: None, notice: Some(Box::new(notice)) }
    }

    /// Reads all rows.
    ///
    /// # Errors
    /// Whatever the query meets.
    pub async fn collect(mut self) -> Result<Answer> {
        let mut rows = Vec::new();
        let mut columns: Arc<[ResultColumn]> = Arc::new([]);
        if let Some(source) = &mut self.rows {
            columns = Arc::clone(source.columns());
            while let Some(row) = source.next_row().await? {
                rows.push(row);
            }
            if self.tag.verb == "SELECT" {
                self.tag.rows = Some(rows.len() as u64);
            }
        }
        Ok(Answer { columns, rows, tag: self.tag })
    }
}
