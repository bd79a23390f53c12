//! The dialect of every text that is read: PostgreSQL's as the parser has it, but in three points.
//!
//! Where words could mean two things, the parser tries one after the other, and within each try all
//! tries again: a text with a mistake deep within is read a number of times that doubles with each
//! level. So it may begin to read expressions so often for each word of the text, and no oftener.
//!
//! Where a dialect lets any expression stand before `=>`, the parser reads each argument of a
//! function once as a name and once more as a value: `f(f(f(..` takes twice as long with each call
//! around it. Here the name of an argument is a word, as in PostgreSQL's grammar, and nothing is
//! read twice. All else is asked of the parser's own dialect, whose answers are listed one by one:
//! a method that is missing here would answer as in no dialect.
//!
//! What follows IN is a query only if it is one up to the closing parenthesis: a list may begin
//! with a query, too.

#[cfg(test)]
mod tests;

use std::any::TypeId;
use std::cell::Cell;

use sqlparser::ast::Expr;
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// How often the parser may begin to read an expression, for each word: it does three times where
/// nothing is wrong and much is nested.
const TRIES_A_WORD: usize = 30;

/// The dialect, for whoever reads one text.
#[derive(Debug)]
pub(crate) struct Grammar {
    postgres: PostgreSqlDialect,
    /// How often an expression may still be begun.
    tries: Cell<usize>,
}

impl Grammar {
    /// The dialect of a text of so many words.
    pub(crate) fn of(words: usize) -> Self {
        let tries = Cell::new((words + 10) * TRIES_A_WORD);
        Self { postgres: PostgreSqlDialect {}, tries }
    }
}

/// Methods that answer as PostgreSQL's dialect does.
macro_rules! as_postgres {
    ($($method:ident($($name:ident: $type:ty),*) -> $answer:ty;)+) => {
        $(fn $method(&self, $($name: $type),*) -> $answer { self.postgres.$method($($name),*) })+
    };
}

/// What stands in the parentheses behind IN.
fn list_or_query(parser: &mut Parser<'_>, expr: &Expr, negated: bool) -> Result<Expr, ParserError> {
    let expr = Box::new(expr.clone());
    let query = parser.maybe_parse(|parser| {
        let query = parser.parse_query()?;
        parser.expect_token(&Token::RParen)?;
        Ok(query)
    })?;
    if let Some(subquery) = query {
        return Ok(Expr::InSubquery { expr, subquery, negated });
    }
    let list = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::InList { expr, list, negated })
}

impl Dialect for Grammar {
    fn dialect(&self) -> TypeId {
        self.postgres.dialect()
    }

    /// Leaves the reading to the parser, as long as it may.
    fn parse_prefix(&self, _: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        match self.tries.get().checked_sub(1) {
            Some(left) => {
                self.tries.set(left);
                None
            }
            None => Some(Err(ParserError::RecursionLimitExceeded)),
        }
    }

    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    /// A list whose first value is a query: `x IN ((SELECT 1), 2)`. The parser takes what begins
    /// like a query in parentheses for one.
    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        expr: &Expr,
        _: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let is = |place: usize, keyword: Keyword| {
            matches!(&parser.peek_nth_token_ref(place).token,
                Token::Word(word) if word.keyword == keyword)
        };
        let negated = is(0, Keyword::NOT);
        let first = usize::from(negated);
        let opens = |place: usize| parser.peek_nth_token_ref(place).token == Token::LParen;
        if !is(first, Keyword::IN) || !opens(first + 1) || !opens(first + 2) {
            return None;
        }
        (0..first + 2).for_each(|_| parser.advance_token());
        Some(list_or_query(parser, expr, negated))
    }

    as_postgres! {
        identifier_quote_style(identifier: &str) -> Option<char>;
        is_delimited_identifier_start(ch: char) -> bool;
        is_identifier_start(ch: char) -> bool;
        is_identifier_part(ch: char) -> bool;
        is_custom_operator_part(ch: char) -> bool;
        is_reserved_for_identifier(keyword: Keyword) -> bool;
        get_next_precedence(parser: &Parser<'_>) -> Option<Result<u8, ParserError>>;
        prec_value(precedence: Precedence) -> u8;
        supports_unicode_string_literal() -> bool;
        supports_filter_during_aggregation() -> bool;
        supports_group_by_expr() -> bool;
        allow_extract_custom() -> bool;
        allow_extract_single_quotes() -> bool;
        supports_create_index_with_clause() -> bool;
        supports_explain_with_utility_options() -> bool;
        supports_listen_notify() -> bool;
        supports_factorial_operator() -> bool;
        supports_bitwise_shift_operators() -> bool;
        supports_comment_on() -> bool;
        supports_load_extension() -> bool;
        supports_named_fn_args_with_colon_operator() -> bool;
        supports_empty_projections() -> bool;
        supports_nested_comments() -> bool;
        supports_string_escape_constant() -> bool;
        supports_numeric_literal_underscores() -> bool;
        supports_array_typedef_with_brackets() -> bool;
        supports_geometric_types() -> bool;
        supports_set_names() -> bool;
        supports_alter_column_type_using() -> bool;
        supports_notnull_operator() -> bool;
        supports_interval_options() -> bool;
        supports_insert_table_alias() -> bool;
        supports_create_table_like_parenthesized() -> bool;
        supports_select_wildcard_with_alias() -> bool;
        supports_comma_separated_trim() -> bool;
        supports_xml_expressions() -> bool;
        supports_comment_optimizer_hint() -> bool;
    }
}
