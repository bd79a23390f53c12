//! How deep a text is nested, before it is parsed.
//!
//! The parser counts what it recurses into, but makes chains of operators in a loop: `1 + 1 + ..`
//! is a tree as deep as the chain is long, and whatever looks at it, drops it included, recurses.
//! So operators are counted first: those between two commas at one level of parentheses make at
//! most as many levels as there are of them, on top of what is nested between them.
//!
//! Chains of AND and of OR, which programs write by the thousand, are made flat trees once they are
//! parsed ([`super::chains`]): only the parser sees their length.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Error, Result, SqlState};

/// Levels that a statement may have, chains of AND and OR left out.
pub(crate) const LEVELS_MAX: usize = 1000;

/// Conditions that may follow each other by AND or OR.
pub(crate) const LINKS_MAX: usize = 50_000;

/// What is nested within one pair of parentheses, or stands outside of all.
#[derive(Clone, Copy, Default)]
struct Nest {
    /// Levels of the deepest stretch between two commas that has ended, links included or not.
    deepest: Levels,
    /// Operators of the stretch that has not.
    own: Levels,
    /// The deepest that is nested in that.
    inner: Levels,
}

/// Levels as the parser makes them, and once chains of AND and OR are flat.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Levels {
    pub(crate) parsed: usize,
    pub(crate) kept: usize,
}

impl Levels {
    fn plus(self, other: Self) -> Self {
        Self { parsed: self.parsed + other.parsed, kept: self.kept + other.kept }
    }

    fn max(self, other: Self) -> Self {
        Self { parsed: self.parsed.max(other.parsed), kept: self.kept.max(other.kept) }
    }
}

impl Nest {
    fn end_stretch(&mut self) {
        self.deepest = self.deepest.max(self.own.plus(self.inner));
        (self.own, self.inner) = Default::default();
    }
}

/// The levels of a text at most.
///
/// # Errors
/// `TOO_COMPLEX` for more than a statement may have.
pub(crate) fn levels_of(tokens: &[TokenWithSpan]) -> Result<Levels> {
    let mut open = vec![Nest::default()];
    for token in tokens {
        let Some(nest) = open.last_mut() else { break };
        match &token.token {
            Token::Comma | Token::SemiColon => nest.end_stretch(),
            Token::LParen | Token::LBracket | Token::LBrace => open.push(Nest::default()),
            Token::RParen | Token::RBracket | Token::RBrace => close(&mut open),
            token => {
                let links = usize::from(is_link(token));
                let levels = usize::from(makes_level(token));
                nest.own = nest.own.plus(Levels { parsed: links + levels, kept: levels });
            }
        }
    }
    while open.len() > 1 {
        close(&mut open);
    }
    let mut outermost = open.pop().unwrap_or_default();
    outermost.end_stretch();
    let levels = outermost.deepest;
    if levels.kept > LEVELS_MAX || levels.parsed > LEVELS_MAX + LINKS_MAX {
        let text = "the statement is nested too deeply, or has too long a chain of operators";
        let hint = format!("At most {LEVELS_MAX} levels can be planned.");
        return Err(Error::new(SqlState::TOO_COMPLEX, text).hint(hint));
    }
    Ok(levels)
}

/// What ends within the innermost pair is nested in the one around it.
fn close(open: &mut Vec<Nest>) {
    // One that closes nothing is the parser's to refuse.
    if open.len() < 2 {
        return;
    }
    let Some(mut inner) = open.pop() else { return };
    inner.end_stretch();
    if let Some(around) = open.last_mut() {
        let one = Levels { parsed: 1, kept: 1 };
        around.inner = around.inner.max(inner.deepest.plus(one));
    }
}

fn is_link(token: &Token) -> bool {
    let Token::Word(word) = token else { return false };
    word.quote_style.is_none() && matches!(word.keyword, Keyword::AND | Keyword::OR)
}

/// Whether a token may stand for a level of the tree: every sign, and every word that is an
/// operator or puts one thing around another.
fn makes_level(token: &Token) -> bool {
    match token {
        Token::Word(word) => {
            use Keyword as K;
            let nests = matches!(
                word.keyword,
                K::NOT
                    | K::IS
                    | K::NOTNULL
                    | K::IN
                    | K::LIKE
                    | K::ILIKE
                    | K::SIMILAR
                    | K::BETWEEN
                    | K::COLLATE
                    | K::AT
                    | K::CASE
                    | K::UNION
                    | K::EXCEPT
                    | K::INTERSECT
                    | K::JOIN
                    | K::EXPLAIN
                    | K::OVERLAPS
                    | K::OPERATOR
                    | K::DIV
                    | K::XOR
            );
            let is_null = || word.value.eq_ignore_ascii_case("isnull");
            (nests || is_null()) && word.quote_style.is_none()
        }
        Token::Whitespace(_)
        | Token::EOF
        | Token::Period
        | Token::Number(..)
        | Token::Char(_)
        | Token::Placeholder(_)
        | Token::SingleQuotedString(_)
        | Token::EscapedStringLiteral(_)
        | Token::DollarQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::UnicodeStringLiteral(_)
        | Token::SingleQuotedByteStringLiteral(_) => false,
        _ => true,
    }
}
