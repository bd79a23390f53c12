//! How deep a text is nested, before it is parsed.
//!
//! The parser counts what it recurses into, but makes chains of operators in a loop: `1 + 1 + ..`
//! is a tree as deep as the chain is long, and whatever looks at it, drops it included, recurses.
//! So operators are counted first: those between two commas at one level of parentheses make at
//! most as many levels as there are of them, on top of what is nested between them.
//!
//! What stands between the words of a CASE stands side by side, too; where one may be a name it is
//! taken for that, which counts more levels and never fewer. Chains of sums, products and `||` may
//! be longer than others: whoever binds them makes one call of each. Chains of AND and of OR, which
//! programs write by the thousand, are made flat trees once they are parsed ([`super::chains`]):
//! only the parser sees their length, and what they link stands side by side, as between commas.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{self, Expr, Visit, Visitor};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Error, Result, SqlState};

/// Levels that a statement may have, chains of AND and OR left out, and those of [`LINKED_MAX`].
pub(crate) const LEVELS_MAX: usize = 500;

/// Levels of sums, products and `||` of texts, with all others.
pub(crate) const LINKED_MAX: usize = 6_500;

/// Operators of conditions that follow each other by AND or OR, with these, beside the others.
pub(crate) const LINKS_MAX: usize = 50_000;

/// Queries that may stand within each other as parts of expressions.
pub(crate) const SUBQUERIES_MAX: usize = 48;

/// Named queries of one WITH, and tables of one FROM: each may be built upon the one before.
pub(crate) const NAMES_MAX: usize = 500;

/// Uses of named queries, each with those that it uses itself.
pub(crate) const USES_MAX: usize = 2_000;

/// What is nested within one pair of parentheses or one CASE, or stands outside of all.
#[derive(Clone, Copy, Default)]
struct Nest {
    is_case: bool,
    /// Levels of the deepest stretch between two commas that has ended.
    deepest: Levels,
    /// Operators of the stretch that has not, as the parser makes them.
    parsed: usize,
    /// Those that stand around conditions: named queries, joins, CASE.
    around: usize,
    /// BETWEEN, whose AND is no link, since the last OR.
    between: usize,
    /// All others since the last link, and the most between two links; and the same without those
    /// of sums, products and texts.
    operand: usize,
    operand_max: usize,
    other: usize,
    other_max: usize,
    /// The deepest that is nested in the stretch.
    inner: Levels,
}

/// Levels as the parser makes them, and once chains of AND and OR are flat.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Levels {
    pub(crate) parsed: usize,
    pub(crate) kept: usize,
    /// Those that are kept, without those of sums, products and texts.
    pub(crate) others: usize,
}

impl Levels {
    fn max(self, other: Self) -> Self {
        Self {
            parsed: self.parsed.max(other.parsed),
            kept: self.kept.max(other.kept),
            others: self.others.max(other.others),
        }
    }
}

impl Nest {
    fn add(&mut self, token: &Token) {
        let makes = makes_of(token);
        self.parsed += usize::from(makes != Makes::Nothing);
        match makes {
            Makes::Nothing => {}
            Makes::Around => self.around += 1,
            Makes::Between => self.between += 1,
            Makes::Linked => self.operand += 1,
            Makes::Operand => {
                self.operand += 1;
                self.other += 1;
            }
            Makes::And => self.end_operand(),
            Makes::Or => {
                self.end_operand();
                self.between = 0;
            }
        }
    }

    fn end_operand(&mut self) {
        self.operand_max = self.operand_max.max(self.operand + self.between);
        self.other_max = self.other_max.max(self.other + self.between);
        (self.operand, self.other) = (0, 0);
    }

    fn end_stretch(&mut self) {
        self.end_operand();
        let kept = self.around + self.operand_max + self.inner.kept;
        let others = self.around + self.other_max + self.inner.others;
        let parsed = self.parsed + self.inner.parsed;
        let deepest = self.deepest.max(Levels { parsed, kept, others });
        *self = Self { is_case: self.is_case, deepest, ..Self::default() };
    }

    /// What a word does in a CASE, if an operand stands before it.
    fn word_of_case(&self, token: &Token) -> Option<Keyword> {
        match token {
            Token::Word(word) if self.is_case && word.quote_style.is_none() => {
                use Keyword as K;
                let keyword = word.keyword;
                matches!(keyword, K::WHEN | K::THEN | K::ELSE | K::END).then_some(keyword)
            }
            _ => None,
        }
    }
}

/// The levels of a text at most.
///
/// # Errors
/// `TOO_COMPLEX` for more than a statement may have.
pub(crate) fn levels_of(tokens: &[TokenWithSpan]) -> Result<Levels> {
    let mut open = vec![Nest::default()];
    let mut before = Before::default();
    for token in tokens.iter().map(|token| &token.token) {
        let Some(nest) = open.last_mut() else { break };
        match token {
            Token::Comma | Token::SemiColon => nest.end_stretch(),
            Token::LParen | Token::LBracket | Token::LBrace => open.push(Nest::default()),
            Token::RParen | Token::RBracket | Token::RBrace => {
                while open.last().is_some_and(|nest| nest.is_case) {
                    close(&mut open);
                }
                close(&mut open);
            }
            _ => match nest.word_of_case(token).filter(|_| before.is_operand) {
                Some(Keyword::END) => close(&mut open),
                Some(_) => nest.end_stretch(),
                None => {
                    nest.add(token);
                    if matches!(token, Token::Word(word) if word.keyword == Keyword::CASE) {
                        open.push(Nest { is_case: true, ..Nest::default() });
                    }
                }
            },
        }
        before.follow(token);
    }
    while open.len() > 1 {
        close(&mut open);
    }
    let mut outermost = open.pop().unwrap_or_default();
    outermost.end_stretch();
    let levels = outermost.deepest;
    let is_deep = levels.others > LEVELS_MAX || levels.kept > LINKED_MAX;
    if is_deep || levels.parsed > LINKED_MAX + LINKS_MAX {
        let text = "the statement is nested too deeply, or has too long a chain of operators";
        let hint = format!(
            "At most {LEVELS_MAX} levels can be planned, or {LINKED_MAX} of sums and products."
        );
        return Err(Error::new(SqlState::TOO_COMPLEX, text).hint(hint));
    }
    Ok(levels)
}

/// What stands before a token.
#[derive(Default)]
struct Before {
    /// Something of which an operand consists, or ends with, whatever comes next.
    is_operand: bool,
    is_cast: bool,
}

impl Before {
    fn follow(&mut self, token: &Token) {
        self.is_operand = match token {
            Token::Whitespace(_) => return,
            Token::Word(word) if word.quote_style.is_none() && !self.is_cast => {
                use Keyword as K;
                matches!(word.keyword, K::NoKeyword | K::NULL | K::TRUE | K::FALSE | K::END)
            }
            Token::Word(_)
            | Token::RParen
            | Token::RBracket
            | Token::RBrace
            | Token::Number(..)
            | Token::Placeholder(_)
            | Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::DollarQuotedString(_) => true,
            _ => false,
        };
        self.is_cast = matches!(token, Token::DoubleColon);
    }
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
        let Levels { parsed, kept, others } = inner.deepest;
        let levels = Levels { parsed: parsed + 1, kept: kept + 1, others: others + 1 };
        around.inner = around.inner.max(levels);
    }
}

/// What a token makes of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Makes {
    Nothing,
    And,
    Or,
    Between,
    /// A level that may stand around conditions.
    Around,
    /// A level of what AND and OR link.
    Operand,
    /// One of them that may be part of a long chain.
    Linked,
}

/// Every sign may make a level, and every word that is an operator or puts one thing around
/// another.
fn makes_of(token: &Token) -> Makes {
    match token {
        Token::Word(word) if word.quote_style.is_none() => {
            use Keyword as K;
            match word.keyword {
                K::AND => Makes::And,
                K::OR => Makes::Or,
                K::BETWEEN => Makes::Between,
                K::CASE | K::UNION | K::EXCEPT | K::INTERSECT | K::JOIN | K::EXPLAIN => {
                    Makes::Around
                }
                K::NOT
                | K::IS
                | K::NOTNULL
                | K::IN
                | K::LIKE
                | K::ILIKE
                | K::SIMILAR
                | K::COLLATE
                | K::AT
                | K::OVERLAPS
                | K::OPERATOR
                | K::DIV
                | K::XOR => Makes::Operand,
                _ if word.value.eq_ignore_ascii_case("isnull") => Makes::Operand,
                _ => Makes::Nothing,
            }
        }
        Token::Word(_)
        | Token::Whitespace(_)
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
        | Token::SingleQuotedByteStringLiteral(_) => Makes::Nothing,
        Token::Plus | Token::Minus | Token::Mul | Token::StringConcat => Makes::Linked,
        _ => Makes::Operand,
    }
}

/// Checks that queries within expressions are not nested too deeply, and that no query names too
/// many others.
///
/// # Errors
/// `TOO_COMPLEX`.
pub(super) fn check_subqueries(statement: &ast::Statement, tokens: usize) -> Result<()> {
    // A nested query has three words at least: most texts cannot have too many.
    if tokens < 3 * SUBQUERIES_MAX {
        return Ok(());
    }
    match statement.visit(&mut Nested { depth: 0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => {
            let text = "the statement is nested too deeply";
            let hint = format!(
                "At most {SUBQUERIES_MAX} subqueries stand within each other, and at most \
                 {NAMES_MAX} names in one WITH or FROM."
            );
            Err(Error::new(SqlState::TOO_COMPLEX, text).hint(hint))
        }
    }
}

/// How deep the expressions of a statement are.
pub(super) fn of_expressions(statement: &ast::Statement) -> usize {
    let mut found = Deepest::default();
    let _ = statement.visit(&mut found);
    found.deepest
}

#[derive(Default)]
struct Deepest {
    depth: usize,
    deepest: usize,
}

impl Visitor for Deepest {
    type Break = ();

    fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

/// How many queries stand around a place in expressions.
struct Nested {
    depth: usize,
}

impl Nested {
    fn is_query(expr: &Expr) -> bool {
        match expr {
            Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Exists { .. } => true,
            Expr::Function(function) => {
                matches!(function.args, ast::FunctionArguments::Subquery(_))
            }
            _ => false,
        }
    }
}

impl Visitor for Nested {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        let named = query.with.as_ref().map_or(0, |with| with.cte_tables.len());
        let tables = match query.body.as_ref() {
            ast::SetExpr::Select(select) => select.from.len(),
            _ => 0,
        };
        let uses = query.with.as_ref().map_or(0, uses_of);
        match named.max(tables) > NAMES_MAX || uses > USES_MAX {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.depth += usize::from(Self::is_query(expr));
        match self.depth > SUBQUERIES_MAX {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.depth -= usize::from(Self::is_query(expr));
        ControlFlow::Continue(())
    }
}

/// How often the queries of a WITH are built, if each is built anew wherever it is named.
fn uses_of(with: &ast::With) -> usize {
    let mut uses: HashMap<String, usize> = HashMap::new();
    for named in &with.cte_tables {
        let mut own = 1_usize;
        let _ = ast::visit_relations(&named.query, |relation| {
            let name = relation.0.last().and_then(|part| part.as_ident());
            let used = name.and_then(|name| uses.get(&name.value.to_lowercase()));
            own = own.saturating_add(used.copied().unwrap_or(0));
            ControlFlow::<()>::Continue(())
        });
        uses.insert(named.alias.name.value.to_lowercase(), own);
    }
    uses.values().copied().max().unwrap_or(0)
}
