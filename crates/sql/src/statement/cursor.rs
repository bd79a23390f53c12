//! DECLARE, FETCH, MOVE and CLOSE, as a statement says them.
//!
//! Cursors belong to whoever keeps portals for the caller: what is found here is a query with a
//! name, and how many rows are asked of it. Cursors go forwards only.

use datafusion::sql::sqlparser::ast::{self, CloseCursor, FetchDirection, Value};

use crate::error::{Error, Result, SqlState};
use crate::names::fold;
use crate::statement::Statement;

/// Stands before the name of a cursor of which MOVE speaks, for which the parser has no grammar.
pub(crate) const MOVES: char = '\u{1}';

/// A statement about a cursor.
///
/// # Examples
/// ```
/// use remanent_sql::{CursorStatement, Statement};
/// let fetch = Statement::parse("fetch forward 10 from walk")?.cursor()?;
/// let CursorStatement::Fetch { name, rows_max, shows } = fetch else { panic!("no FETCH") };
/// assert_eq!((name.as_str(), rows_max, shows), ("walk", Some(10), true));
/// # Ok::<(), remanent_sql::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum CursorStatement {
    /// A query gets a name.
    Declare {
        /// The name.
        name: String,
        /// The query.
        query: Box<Statement>,
        /// Whether it outlives its transaction.
        holds: bool,
        /// Whether its rows are always in binary.
        is_binary: bool,
    },
    /// The next rows.
    Fetch {
        /// Of this cursor.
        name: String,
        /// At most so many; none means all.
        rows_max: Option<u64>,
        /// Whether they are shown, and not passed over.
        shows: bool,
    },
    /// A cursor ends; without a name, all do.
    Close(Option<String>),
}

impl Statement {
    /// What it says of a cursor.
    ///
    /// # Errors
    /// `FEATURE_NOT_SUPPORTED` for ways other than forwards; `SYNTAX_ERROR` for other statements.
    pub fn cursor(&self) -> Result<CursorStatement> {
        match &*self.ast {
            ast::Statement::Declare { stmts } => declare(stmts),
            ast::Statement::Fetch { name, direction, into: None, .. } => {
                let name = fold(name);
                let plain = name.strip_prefix(MOVES);
                Ok(CursorStatement::Fetch {
                    name: plain.unwrap_or(&name).to_owned(),
                    rows_max: rows_of(direction)?,
                    shows: plain.is_none(),
                })
            }
            ast::Statement::Close { cursor: CloseCursor::All } => Ok(CursorStatement::Close(None)),
            ast::Statement::Close { cursor: CloseCursor::Specific { name } } => {
                Ok(CursorStatement::Close(Some(fold(name))))
            }
            other => Err(Error::unsupported(other)),
        }
    }

    /// Whether it speaks of a cursor.
    pub(crate) fn is_cursor(&self) -> bool {
        use ast::Statement as S;
        matches!(&*self.ast, S::Declare { .. } | S::Fetch { .. } | S::Close { .. })
    }
}

fn declare(declared: &[ast::Declare]) -> Result<CursorStatement> {
    let [ast::Declare { names, scroll, hold, binary, for_query: Some(query), .. }] = declared
    else {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "DECLARE needs a query"));
    };
    let [name] = names.as_slice() else {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "DECLARE needs a name"));
    };
    if *scroll == Some(true) {
        return Err(Error::unsupported("SCROLL").hint("Cursors go forwards."));
    }
    let query = Box::new(Statement::part(ast::Statement::Query(query.clone())));
    let (holds, is_binary) = (*hold == Some(true), *binary == Some(true));
    Ok(CursorStatement::Declare { name: fold(name), query, holds, is_binary })
}

fn rows_of(direction: &FetchDirection) -> Result<Option<u64>> {
    let backwards = || Error::unsupported("a cursor that goes backwards");
    let number = |value: &Value| match value {
        Value::Number(digits, _) => digits.parse().map_err(|_| backwards()),
        _ => Err(backwards()),
    };
    match direction {
        FetchDirection::Next => Ok(Some(1)),
        FetchDirection::All | FetchDirection::ForwardAll => Ok(None),
        FetchDirection::Forward { limit: None } => Ok(Some(1)),
        FetchDirection::Count { limit } | FetchDirection::Forward { limit: Some(limit) } => {
            number(&limit.value).map(Some)
        }
        FetchDirection::Relative { limit } if number(&limit.value)? == 1 => Ok(Some(1)),
        _ => Err(backwards()),
    }
}
