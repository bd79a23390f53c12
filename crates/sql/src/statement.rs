//! Text into statements, by the grammar of PostgreSQL's dialect.
//!
//! Errors have the place in the text at which the parser stopped.

use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::error::{Error, Result};

/// How deep statements may be nested.
const DEPTH_MAX: usize = 128;

/// A statement that was parsed, and names nothing yet.
///
/// # Examples
/// ```
/// use remanent_sql::Statement;
/// let statements = Statement::parse_all("begin; select 1; commit")?;
/// assert_eq!(statements.len(), 3);
/// assert!(Statement::parse_all("selct 1").is_err());
/// # Ok::<(), remanent_sql::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Statement {
    pub(crate) ast: ast::Statement,
}

impl Statement {
    /// All statements of a text, which semicolons separate.
    ///
    /// # Errors
    /// `SYNTAX_ERROR`.
    pub fn parse_all(text: &str) -> Result<Vec<Self>> {
        let dialect = PostgreSqlDialect {};
        let tokens = Tokenizer::new(&dialect, text).tokenize_with_location();
        let mut tokens = tokens.map_err(|error| {
            let position = position_of(text, error.location.line, error.location.column);
            Error::new(crate::error::SqlState::SYNTAX_ERROR, error.message).at(position)
        })?;
        crate::spelling::plain(&mut tokens);
        let only_blanks = tokens
            .iter()
            .all(|token| matches!(token.token, Token::Whitespace(_) | Token::SemiColon));
        if only_blanks {
            return Ok(Vec::new());
        }
        let is_distinct = tokens.iter().any(
            |token| matches!(&token.token, Token::Word(word) if word.keyword == Keyword::DISTINCT),
        );
        let mut parser = Parser::new(&dialect)
            .with_recursion_limit(DEPTH_MAX)
            .with_tokens_with_locations(tokens);
        let mut statements = parser.parse_statements().map_err(|error| located(error, text))?;
        if is_distinct {
            statements.iter_mut().for_each(crate::precedence::mend);
        }
        Ok(statements.into_iter().map(|ast| Self { ast }).collect())
    }

    /// The one statement of a text.
    ///
    /// # Errors
    /// `SYNTAX_ERROR`, also for several.
    pub fn parse(text: &str) -> Result<Self> {
        let mut statements = Self::parse_all(text)?;
        match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) => Ok(statement),
            (None, _) => {
                Err(Error::new(crate::error::SqlState::SYNTAX_ERROR, "there is no statement"))
            }
            (Some(_), false) => {
                let text = "cannot insert multiple commands into a prepared statement";
                Err(Error::new(crate::error::SqlState::SYNTAX_ERROR, text))
            }
        }
    }

    /// Whether it is COPY to or from the caller, which has a protocol of its own.
    pub fn is_copy(&self) -> bool {
        matches!(
            &self.ast,
            ast::Statement::Copy { target: ast::CopyTarget::Stdin | ast::CopyTarget::Stdout, .. }
        )
    }
}

/// The error of the parser with the place that its message names, or the end of the text.
fn located(error: datafusion::sql::sqlparser::parser::ParserError, text: &str) -> Error {
    let error = Error::from(error);
    let place = error.message().rsplit_once(" at Line: ").and_then(|(_, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        position_of(text, line.trim().parse().ok()?, column.trim().parse().ok()?)
    });
    // What is missing is missing at the end.
    let is_end = error.message().ends_with("found: EOF");
    let end = is_end.then(|| text.trim_end().chars().count() + 1);
    error.at(place.or(end))
}

/// Characters from 1, of a line and a column from 1.
fn position_of(text: &str, line: u64, column: u64) -> Option<usize> {
    let line = usize::try_from(line).ok()?.checked_sub(1)?;
    let before: usize = text.split('\n').take(line).map(|line| line.chars().count() + 1).sum();
    Some(before + usize::try_from(column).ok()?)
}
