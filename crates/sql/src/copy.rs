//! COPY to and from the caller, as a statement says it: what is copied, and in which format.
//!
//! Lines are read and written here, whatever the pieces in which they come; whose bytes they are is
//! for whoever speaks to the caller. Rows are read and written by the session.

pub(crate) mod building;
pub(crate) mod reading;
mod writing;

#[cfg(test)]
mod tests;

use datafusion::sql::sqlparser::ast::{
    self, CopyLegacyCsvOption, CopyLegacyOption, CopyOption, CopySource, CopyTarget, Ident,
    ObjectName,
};

use crate::error::{Error, Result, SqlState};
use crate::names::fold;
use crate::statement::Statement;

/// A COPY between the caller and the database.
#[derive(Clone, Debug)]
pub struct Copy {
    /// Whether rows go to the caller.
    pub to_caller: bool,
    /// The file that the statement names: for a caller who reads and writes files itself.
    pub file: Option<String>,
    /// How they are written.
    pub format: CopyFormat,
    /// Whether rows that are read become frozen columns at once, as many as fill segments: unless
    /// the statement says no.
    pub freezes: bool,
    pub(crate) source: CopySource,
}

/// Formats of files that hold columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Columnar {
    /// Apache Parquet.
    Parquet,
    /// The format of files and streams between programs that use Apache Arrow.
    Arrow,
}

/// How copied rows are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyFormat {
    /// The format, if it is no text; what follows says nothing then.
    pub columnar: Option<Columnar>,
    /// Whether it is CSV rather than PostgreSQL's own text.
    pub is_csv: bool,
    /// Whether it is PostgreSQL's binary format; what follows says nothing then.
    pub is_binary: bool,
    /// Stands between values.
    pub delimiter: u8,
    /// Stands for NULL.
    pub null: String,
    /// Whether the first line has the names of the columns.
    pub has_header: bool,
    /// Stands around values, in CSV.
    pub quote: u8,
    /// Stands before a quote within a value, in CSV.
    pub escape: u8,
}

/// What a statement is to whoever keeps prepared statements and blocks for its caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StatementKind {
    /// It begins or ends a transaction block, or goes back to a savepoint.
    Transaction,
    /// It forgets the prepared statement of this name, or all.
    Deallocate(Option<String>),
    /// It forgets everything that a session keeps.
    Discard,
    /// It changes settings.
    Setting,
    /// COPY to or from the caller.
    Copy,
    /// It speaks of a cursor.
    Cursor,
    /// It reads or changes rows.
    Rows,
    /// Any other.
    Other,
}

impl Statement {
    /// What it is to whoever speaks to the caller.
    pub fn kind(&self) -> StatementKind {
        use ast::Statement as S;
        match &*self.ast {
            S::StartTransaction { .. } | S::Commit { .. } | S::Rollback { .. } => {
                StatementKind::Transaction
            }
            S::Deallocate { name, .. } => {
                let name = fold(name);
                StatementKind::Deallocate((name != "all").then_some(name))
            }
            S::Discard { .. } => StatementKind::Discard,
            S::Set(_) | S::Reset(_) => StatementKind::Setting,
            S::Copy { .. } if self.is_copy() => StatementKind::Copy,
            _ if self.is_cursor() => StatementKind::Cursor,
            S::Query(_) | S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) => {
                StatementKind::Rows
            }
            _ => StatementKind::Other,
        }
    }

    /// Whether it is COPY that names a file of text, which the caller reads or writes.
    pub fn copies_file(&self) -> bool {
        matches!(&*self.ast, ast::Statement::Copy { target: CopyTarget::File { .. }, .. })
            && self.copy().is_ok_and(|copy| copy.format.columnar.is_none())
    }

    /// What is copied, of COPY to and from the caller or a file of it.
    ///
    /// # Errors
    /// `FEATURE_NOT_SUPPORTED`, `BAD_PARAMETER` for what its options say; `SYNTAX_ERROR` for other
    /// statements.
    pub fn copy(&self) -> Result<Copy> {
        let ast::Statement::Copy { source, to, target, options, legacy_options, .. } = &*self.ast
        else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "the statement is not COPY"));
        };
        let file = match target {
            CopyTarget::Stdin | CopyTarget::Stdout => None,
            CopyTarget::File { filename } => Some(filename.clone()),
            CopyTarget::Program { .. } => {
                return Err(Error::unsupported("COPY with a program"));
            }
        };
        if matches!((source, to), (CopySource::Query(_), false)) {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "COPY FROM needs a table"));
        }
        let format = CopyFormat::read(options, legacy_options)?;
        if format.columnar.is_some() && file.is_none() {
            let text = "COPY in a format of columns needs the name of a file";
            return Err(Error::new(SqlState::BAD_PARAMETER, text));
        }
        let hot = |option: &CopyOption| matches!(option, CopyOption::Freeze(false));
        let freezes = !options.iter().any(hot);
        Ok(Copy { to_caller: *to, file, format, freezes, source: source.clone() })
    }
}

impl Copy {
    /// The table and the columns that are named.
    pub(crate) fn table(&self) -> Option<(&ObjectName, &[Ident])> {
        match &self.source {
            CopySource::Table { table_name, columns } => Some((table_name, columns)),
            CopySource::Query(_) => None,
        }
    }

    /// The query whose rows go to the caller.
    ///
    /// # Errors
    /// `SYNTAX_ERROR`.
    pub fn query(&self) -> Result<Statement> {
        match &self.source {
            CopySource::Query(query) => Ok(Statement::part(ast::Statement::Query(query.clone()))),
            CopySource::Table { table_name, columns } => {
                let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
                let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
                Statement::parse(&format!("SELECT {columns} FROM {table_name}"))
            }
        }
    }
}

impl CopyFormat {
    /// CSV without a line of names.
    pub fn csv() -> Self {
        Self {
            columnar: None,
            is_csv: true,
            is_binary: false,
            delimiter: b',',
            null: String::new(),
            has_header: false,
            quote: b'"',
            escape: b'"',
        }
    }

    /// PostgreSQL's own text: tabs between values, escapes with backslashes.
    pub fn text() -> Self {
        Self { is_csv: false, delimiter: b'\t', null: "\\N".to_owned(), ..Self::csv() }
    }

    fn read(options: &[CopyOption], legacy: &[CopyLegacyOption]) -> Result<Self> {
        let is_csv = options.iter().any(|option| {
            matches!(option, CopyOption::Format(name) if name.value.eq_ignore_ascii_case("csv"))
        });
        let is_csv = is_csv || legacy.iter().any(|o| matches!(o, CopyLegacyOption::Csv(_)));
        let mut format = if is_csv { Self::csv() } else { Self::text() };
        let mut escape = None;
        for option in options {
            match option {
                CopyOption::Format(name) => match name.value.to_lowercase().as_str() {
                    "csv" | "text" => {}
                    "binary" => format.is_binary = true,
                    "parquet" => format.columnar = Some(Columnar::Parquet),
                    "arrow" | "ipc" => format.columnar = Some(Columnar::Arrow),
                    other => return Err(Error::unsupported(format!("COPY in format {other}"))),
                },
                // It is no matter of the format.
                CopyOption::Freeze(_) => {}
                CopyOption::Delimiter(c) => format.delimiter = byte(*c)?,
                CopyOption::Null(null) => format.null.clone_from(null),
                CopyOption::Header(has) => format.has_header = *has,
                CopyOption::Quote(c) => format.quote = byte(*c)?,
                CopyOption::Escape(c) => escape = Some(byte(*c)?),
                CopyOption::Encoding(name) if is_utf8(name) => {}
                other => return Err(Error::unsupported(format!("COPY with {other}"))),
            }
        }
        for option in legacy {
            match option {
                CopyLegacyOption::Delimiter(c) => format.delimiter = byte(*c)?,
                CopyLegacyOption::Null(null) => format.null.clone_from(null),
                CopyLegacyOption::Header => format.has_header = true,
                CopyLegacyOption::Csv(parts) => {
                    for part in parts {
                        match part {
                            CopyLegacyCsvOption::Header => format.has_header = true,
                            CopyLegacyCsvOption::Quote(c) => format.quote = byte(*c)?,
                            CopyLegacyCsvOption::Escape(c) => escape = Some(byte(*c)?),
                            other => {
                                return Err(Error::unsupported(format!("COPY with {other}")));
                            }
                        }
                    }
                }
                other => return Err(Error::unsupported(format!("COPY with {other}"))),
            }
        }
        format.escape = escape.unwrap_or(format.quote);
        format.check()?;
        Ok(format)
    }

    fn check(&self) -> Result<()> {
        let ends_lines = |byte: u8| matches!(byte, b'\n' | b'\r');
        let clash = self.is_csv && self.delimiter == self.quote;
        if ends_lines(self.delimiter) || clash || (!self.is_csv && self.delimiter == b'\\') {
            return Err(Error::new(SqlState::BAD_PARAMETER, "this delimiter cannot be used"));
        }
        Ok(())
    }
}

fn is_utf8(name: &str) -> bool {
    ["utf8", "utf-8", "unicode"].contains(&name.to_lowercase().as_str())
}

fn byte(c: char) -> Result<u8> {
    u8::try_from(c).ok().filter(u8::is_ascii).ok_or_else(|| {
        Error::new(SqlState::BAD_PARAMETER, "COPY delimiters and quotes are single bytes")
    })
}
