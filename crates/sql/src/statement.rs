//! Text into statements, by the grammar of PostgreSQL's dialect.
//!
//! Errors have the place in the text at which the parser stopped.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::error::{Error, Result};
use crate::stack::with_room;

mod chains;
pub(crate) mod cursor;
mod depth;
mod dialect;
mod kind;
pub(crate) mod precedence;
mod spelling;

pub(crate) use depth::LEVELS_MAX;
use depth::Levels;
pub(crate) use dialect::Grammar;
pub use kind::Kind;
pub(crate) use kind::changed_by;

/// How deep statements may be nested.
const DEPTH_MAX: usize = 128;

/// How deep what a definition keeps may be nested: as in a statement, and what stands around it.
pub(crate) const KEPT_DEPTH_MAX: usize = DEPTH_MAX;

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
    pub(crate) ast: Arc<ast::Statement>,
    /// How deep it is at most.
    pub(crate) levels: usize,
}

impl Statement {
    /// All statements of a text, which semicolons separate.
    ///
    /// # Errors
    /// `SYNTAX_ERROR`.
    pub fn parse_all(text: &str) -> Result<Vec<Self>> {
        let mut tokens = tokens(text)?;
        check_names(&tokens)?;
        plain_strings(&mut tokens)?;
        spelling::plain(&mut tokens);
        let only_blanks = tokens
            .iter()
            .all(|token| matches!(token.token, Token::Whitespace(_) | Token::SemiColon));
        if only_blanks {
            return Ok(Vec::new());
        }
        let is_distinct = tokens.iter().any(
            |token| matches!(&token.token, Token::Word(word) if word.keyword == Keyword::DISTINCT),
        );
        let has_signs = has_signs(&tokens);
        let levels = depth::levels_of(&tokens)?;
        let count = tokens.len();
        let grammar = Grammar::of(count);
        with_room(room_of(&tokens, levels), || {
            let mut parser = Parser::new(&grammar)
                .with_recursion_limit(DEPTH_MAX)
                .with_tokens_with_locations(tokens);
            let mut statements = parser.parse_statements().map_err(|error| located(error, text))?;
            if levels.parsed > levels.kept {
                statements.iter_mut().for_each(chains::flatten);
            }
            if has_signs {
                statements.iter_mut().for_each(precedence::part_signs);
            }
            if is_distinct {
                statements.iter_mut().for_each(precedence::mend);
            }
            let checked = |statement| depth::check_subqueries(statement, count);
            statements.iter().try_for_each(checked)?;
            // A chain that is flat has as many levels as the digits of its length in base two.
            let levels = levels.kept + usize::BITS as usize;
            Ok(statements.into_iter().map(|ast| Self { ast: Arc::new(ast), levels }).collect())
        })
    }

    /// The one statement of a text.
    ///
    /// # Errors
    /// `SYNTAX_ERROR`, also for several.
    pub fn parse(text: &str) -> Result<Self> {
        Self::only(Self::parse_all(text)?)
    }

    /// The one statement that there is.
    ///
    /// # Errors
    /// `SYNTAX_ERROR` for none and for several.
    pub(crate) fn only(mut statements: Vec<Self>) -> Result<Self> {
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

    /// A statement that was part of another.
    pub(crate) fn part(ast: ast::Statement) -> Self {
        let levels = LEVELS_MAX + depth::of_expressions(&ast);
        Self { ast: Arc::new(ast), levels }
    }

    /// Whether it is COPY to or from the caller, which has a protocol of its own.
    pub fn is_copy(&self) -> bool {
        matches!(
            &*self.ast,
            ast::Statement::Copy { target: ast::CopyTarget::Stdin | ast::CopyTarget::Stdout, .. }
        )
    }
}

/// What a text is as a whole, by the same grammar as in statements.
///
/// # Errors
/// `SYNTAX_ERROR`, also where something follows.
pub(crate) fn parse_whole<T: ast::VisitMut>(
    text: &str,
    depth_max: usize,
    parse: impl FnOnce(&mut Parser<'_>) -> std::result::Result<T, ParserError>,
) -> Result<T> {
    let tokens = tokens(text)?;
    let grammar = Grammar::of(tokens.len());
    let parser = Parser::new(&grammar).with_recursion_limit(depth_max);
    let has_signs = has_signs(&tokens);
    let levels = depth::levels_of(&tokens)?;
    with_room(room_of(&tokens, levels), || {
        let mut parser = parser.with_tokens_with_locations(tokens);
        let mut parsed = parse(&mut parser).map_err(|error| located(error, text))?;
        parser.expect_token(&Token::EOF).map_err(|error| located(error, text))?;
        chains::flatten(&mut parsed);
        if has_signs {
            precedence::part_signs(&mut parsed);
        }
        precedence::mend(&mut parsed);
        Ok(parsed)
    })
}

/// The levels for which the parser needs room: those of the text, and what it recurses into before
/// it knows better.
fn room_of(tokens: &[TokenWithSpan], levels: Levels) -> usize {
    levels.parsed.max(tokens.len().min(DEPTH_MAX))
}

/// Whether signs follow each other, which would be printed as the beginning of a comment.
fn has_signs(tokens: &[TokenWithSpan]) -> bool {
    let mut words = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let is_sign = |token: &TokenWithSpan| matches!(token.token, Token::Minus | Token::Plus);
    let mut after_sign = false;
    words.any(|token| std::mem::replace(&mut after_sign, is_sign(token)) && after_sign)
}

/// A name as a text has it, perhaps with a schema.
///
/// # Errors
/// `SYNTAX_ERROR`.
pub(crate) fn parse_name(text: &str) -> Result<ast::ObjectName> {
    let tokens = tokens(text)?;
    let grammar = Grammar::of(tokens.len());
    let mut parser = Parser::new(&grammar).with_tokens_with_locations(tokens);
    let name = parser.parse_object_name(false).map_err(|error| located(error, text))?;
    parser.expect_token(&Token::EOF).map_err(|error| located(error, text))?;
    Ok(name)
}

/// Names that begin with a mark of ours are for what statements are put into, which names the
/// statement's own tables: nobody may speak of those.
fn check_names(tokens: &[TokenWithSpan]) -> Result<()> {
    let is_marked = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => word.value.contains('\u{1}'),
        _ => false,
    };
    match tokens.iter().any(is_marked) {
        true => {
            let text = "a name has a character that no name can have";
            Err(Error::new(crate::error::SqlState::SYNTAX_ERROR, text))
        }
        false => Ok(()),
    }
}

/// Strings that may stand where a name is expected, or that are not printed as they were read: a
/// part of a statement is sometimes printed and read again, and must be the same then.
///
/// # Errors
/// `SYNTAX_ERROR` for a string of bits or of another set of characters with a quote in it.
fn plain_strings(tokens: &mut [TokenWithSpan]) -> Result<()> {
    for token in tokens {
        match &mut token.token {
            // As a value it is the same; as a name it is none.
            Token::SingleQuotedString(text) if text.contains('\u{1}') => {
                token.token = Token::EscapedStringLiteral(std::mem::take(text));
            }
            Token::NationalStringLiteral(text)
            | Token::HexStringLiteral(text)
            | Token::SingleQuotedByteStringLiteral(text)
                if text.contains('\'') =>
            {
                let text = "a quote in a string of this kind";
                return Err(Error::new(crate::error::SqlState::SYNTAX_ERROR, text));
            }
            _ => {}
        }
    }
    Ok(())
}

fn tokens(text: &str) -> Result<Vec<TokenWithSpan>> {
    let tokens = Tokenizer::new(&Grammar::of(0), text).tokenize_with_location();
    tokens.map_err(|error| {
        let position = position_of(text, error.location.line, error.location.column);
        Error::new(crate::error::SqlState::SYNTAX_ERROR, error.message).at(position)
    })
}

/// The error of the parser with the place that its message names, which is taken out of it, or the
/// end of the text.
fn located(error: ParserError, text: &str) -> Error {
    let error = Error::from(error);
    // What is missing is missing at the end.
    let is_end = error.message().ends_with("found: EOF");
    let end = is_end.then(|| text.trim_end().chars().count() + 1);
    let Some((message, place)) = error.message().rsplit_once(" at Line: ") else {
        return error.at(end);
    };
    let place = place.split_once(", Column: ").and_then(|(line, column)| {
        position_of(text, line.trim().parse().ok()?, column.trim().parse().ok()?)
    });
    Error::new(error.state(), message).at(place)
}

/// Characters from 1, of a line and a column from 1.
fn position_of(text: &str, line: u64, column: u64) -> Option<usize> {
    let line = usize::try_from(line).ok()?.checked_sub(1)?;
    let before: usize = text.split('\n').take(line).map(|line| line.chars().count() + 1).sum();
    Some(before + usize::try_from(column).ok()?)
}
