//! What both grammars have in common: reading tokens, and going on after an error.
//!
//! A parser is a function from tokens to a declaration, strung together with winnow. A *backtrack*
//! says that something else stands here and nothing was read; a *cut* that the text is wrong. After
//! a cut the statement is skipped and the next one is read, so that one run finds several errors.

mod d;
mod mco;

use winnow::combinator::{opt, separated};
use winnow::error::{ErrMode, ParserError};
use winnow::stream::{Stream, TokenSlice};
use winnow::{ModalResult, Parser};

use crate::diagnostic::Reporter;
use crate::lexer::{Kind, Token};
use crate::model::{Dialect, Name, Schema};
use crate::preprocessor::Preprocessed;
use crate::source::Span;

/// How deep types may lie within types.
const NESTING_MAX: usize = 16;

type Tokens<'t> = TokenSlice<'t, Token>;
type Parsed<T> = ModalResult<T, Complaint>;

/// What a parser did not like.
#[derive(Debug, Default)]
struct Complaint {
    span: Span,
    message: String,
    hint: String,
    /// The statement ended without its `;`: the next token already begins another one.
    is_unended: bool,
}

impl<'t> ParserError<Tokens<'t>> for Complaint {
    type Inner = Complaint;

    fn from_input(input: &Tokens<'t>) -> Complaint {
        let token = first(input);
        let message = format!("{} is not expected here", token.kind.describe());
        Complaint { span: token.span, message, ..Complaint::default() }
    }

    fn into_inner(self) -> Result<Complaint, Complaint> {
        Ok(self)
    }
}

/// Reads a schema as far as it can be read.
pub(crate) fn parse(text: &Preprocessed, dialect: Dialect, reporter: &mut Reporter) -> Schema {
    let mut schema = Schema::empty(dialect);
    schema.char_bytes = text.char_bytes;
    schema.constants =
        text.constants.iter().map(|(name, value, _)| (name.to_string(), *value)).collect();
    let mut tokens = TokenSlice::new(&text.tokens);
    match dialect {
        Dialect::Mco => mco::schema(&mut tokens, &mut schema, reporter),
        Dialect::D => d::schema(&mut tokens, &mut schema, reporter),
    }
    schema
}

/// The next token. The last one, [`Kind::End`], is never consumed.
fn first<'t>(tokens: &Tokens<'t>) -> &'t Token {
    tokens.peek_token().expect("the last token is never consumed")
}

fn advance(tokens: &mut Tokens<'_>) {
    if first(tokens).kind != Kind::End {
        tokens.next_token();
    }
}

fn is_end(tokens: &Tokens<'_>) -> bool {
    first(tokens).kind == Kind::End
}

fn is_mark(tokens: &Tokens<'_>, mark: char) -> bool {
    first(tokens).kind == Kind::Mark(mark)
}

fn is_word(tokens: &Tokens<'_>, word: &str, folds: bool) -> bool {
    match &first(tokens).kind {
        Kind::Word(found) if folds => found.eq_ignore_ascii_case(word),
        Kind::Word(found) => &**found == word,
        _ => false,
    }
}

fn backtrack<T>(tokens: &Tokens<'_>) -> Parsed<T> {
    Err(ErrMode::Backtrack(Complaint::from_input(tokens)))
}

fn cut<T>(span: Span, message: impl Into<String>, hint: impl Into<String>) -> Parsed<T> {
    let (message, hint) = (message.into(), hint.into());
    Err(ErrMode::Cut(Complaint { span, message, hint, is_unended: false }))
}

/// The mark, or a backtrack.
fn mark<'t>(wanted: char) -> impl Parser<Tokens<'t>, &'t Token, ErrMode<Complaint>> {
    move |tokens: &mut Tokens<'t>| {
        let token = first(tokens);
        if token.kind != Kind::Mark(wanted) {
            return backtrack(tokens);
        }
        advance(tokens);
        Ok(token)
    }
}

/// The mark, or an error that says where it belongs.
fn need(tokens: &mut Tokens<'_>, wanted: char, place: &str) -> Parsed<Span> {
    let token = first(tokens);
    if token.kind == Kind::Mark(wanted) {
        advance(tokens);
        return Ok(token.span);
    }
    let message = format!("expected `{wanted}` {place}, found {}", token.kind.describe());
    Err(ErrMode::Cut(Complaint {
        span: token.span,
        message,
        hint: format!("write `{wanted}` before it"),
        is_unended: wanted == ';' && token.starts_line,
    }))
}

/// A name, or an error that says what it would be the name of.
fn name(tokens: &mut Tokens<'_>, of: &str) -> Parsed<Name> {
    let token = first(tokens);
    let Kind::Word(word) = &token.kind else {
        let message = format!("expected the name of {of}, found {}", token.kind.describe());
        return cut(token.span, message, "a name begins with a letter or `_`");
    };
    advance(tokens);
    Ok(Name::new(word, token.span))
}

/// A whole number, or an error that says what it would be.
fn int(tokens: &mut Tokens<'_>, of: &str) -> Parsed<(u64, Span)> {
    let token = first(tokens);
    let Kind::Int(number) = token.kind else {
        let message = format!("expected {of}, found {}", token.kind.describe());
        let hint = match &token.kind {
            Kind::Word(word) => format!("write a number, or `#define {word} 100` above"),
            _ => "write a whole number".to_owned(),
        };
        return cut(token.span, message, hint);
    };
    advance(tokens);
    Ok((number, token.span))
}

/// `[n]`, if it stands here.
fn bracket(tokens: &mut Tokens<'_>, of: &str) -> Parsed<Option<u64>> {
    if opt(mark('[')).parse_next(tokens)?.is_none() {
        return Ok(None);
    }
    let (number, _) = int(tokens, of)?;
    need(tokens, ']', "behind the number")?;
    Ok(Some(number))
}

/// A dimension as it can be stored: 1 and up.
fn dimension(number: u64, span: Span) -> Parsed<u32> {
    match u32::try_from(number) {
        Ok(count @ 1..=0x1fff_ffff) => Ok(count),
        _ => cut(span, format!("{number} is no size"), "write a number from 1 to 536870911"),
    }
}

/// Names with a mark between them, at least one.
fn path(tokens: &mut Tokens<'_>, of: &str) -> Parsed<Vec<Name>> {
    separated(1.., |tokens: &mut Tokens<'_>| name(tokens, of), mark('.')).parse_next(tokens)
}

/// Reports a complaint and moves to where the next statement begins.
fn recover(
    tokens: &mut Tokens<'_>,
    before: usize,
    error: ErrMode<Complaint>,
    reporter: &mut Reporter,
) {
    let complaint = match error {
        ErrMode::Cut(complaint) | ErrMode::Backtrack(complaint) => complaint,
        ErrMode::Incomplete(_) => Complaint::from_input(tokens),
    };
    let Complaint { span, message, hint, is_unended } = complaint;
    reporter.error(span, message, hint);
    let has_moved = tokens.eof_offset() != before;
    if is_unended && has_moved {
        return;
    }
    skip_statement(tokens);
    if tokens.eof_offset() == before {
        advance(tokens);
    }
}

/// Moves behind the next `;`, or behind a block, or before a `}` that closes what is around.
fn skip_statement(tokens: &mut Tokens<'_>) {
    let mut depth = 0u32;
    while !is_end(tokens) {
        match first(tokens).kind {
            Kind::Mark('{') => depth += 1,
            Kind::Mark('}') if depth == 0 => return,
            Kind::Mark('}') => {
                depth -= 1;
                if depth == 0 {
                    advance(tokens);
                    let _ = opt(mark(';')).parse_next(tokens);
                    return;
                }
            }
            Kind::Mark(';') if depth == 0 => return advance(tokens),
            _ => {}
        }
        advance(tokens);
    }
}

/// Reads statements up to the closing brace, which is consumed; goes on after errors.
fn block<'t>(
    tokens: &mut Tokens<'t>,
    what: &Name,
    reporter: &mut Reporter,
    mut statement: impl FnMut(&mut Tokens<'t>, &mut Reporter) -> Parsed<()>,
) -> Parsed<()> {
    need(tokens, '{', &format!("behind `{what}`"))?;
    while !is_mark(tokens, '}') {
        if is_end(tokens) {
            return cut(
                first(tokens).span,
                format!("`{what}` is never closed"),
                "write `}` at its end",
            );
        }
        if reporter.is_full() {
            return Ok(());
        }
        let before = tokens.eof_offset();
        if let Err(error) = statement(tokens, reporter) {
            recover(tokens, before, error, reporter);
        }
    }
    advance(tokens);
    Ok(())
}
