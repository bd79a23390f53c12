//! Expressions, types and queries as text that says the same when it is read back.
//!
//! What the parser has read is not always what it would read again from its own print: `- - 1` is
//! printed as the beginning of a comment. So a text is kept only after it was read back and found
//! equal, by the same reader that reads it when the database is opened. What does not come back is
//! refused while there is somebody to tell.

use datafusion::sql::sqlparser::ast::{DataType, Expr, Query, UnaryOperator, Value, VisitMut};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use crate::error::{Error, Result, SqlState};
use crate::statement;
use crate::statement::precedence::part_signs;
use crate::values::datum::Datum;
use crate::values::text::parse_decimal;

/// The text of an expression.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED` if it would be read as something else.
pub(crate) fn expression(expression: &Expr) -> Result<String> {
    let mut plain = expression.clone();
    part_signs(&mut plain);
    checked(&plain, read_expression)
}

/// The text of a query.
///
/// # Errors
/// As [`expression`].
pub(crate) fn query(query: &Query) -> Result<String> {
    let mut plain = query.clone();
    part_signs(&mut plain);
    checked(&plain, read_query)
}

/// The expression that was written.
///
/// # Errors
/// A text that is none.
pub(crate) fn read_expression(text: &str) -> Result<Expr> {
    read(text, |parser| parser.parse_expr())
}

/// The query that was written.
///
/// # Errors
/// A text that is none.
pub(crate) fn read_query(text: &str) -> Result<Query> {
    read(text, |parser| parser.parse_query().map(|query| *query))
}

/// The type that was written.
///
/// # Errors
/// A text that is none.
pub(crate) fn read_type(text: &str) -> Result<DataType> {
    read(text, |parser| parser.parse_data_type())
}

fn read<T: VisitMut>(
    text: &str,
    parse: impl FnOnce(&mut Parser<'_>) -> std::result::Result<T, ParserError>,
) -> Result<T> {
    statement::parse_whole(text, statement::KEPT_DEPTH_MAX, parse)
}

fn checked<T: PartialEq + ToString>(
    plain: &T,
    read: impl FnOnce(&str) -> Result<T>,
) -> Result<String> {
    let text = plain.to_string();
    match read(&text) {
        Ok(same) if same == *plain => Ok(text),
        _ => {
            let text = "this definition cannot be written down so that it is read back the same";
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, text)
                .hint("Write it with fewer levels, or with other operators."))
        }
    }
}

/// A value as an expression of a statement.
pub(crate) fn literal(datum: &Datum) -> Expr {
    let text = match datum {
        Datum::Null => "NULL".to_owned(),
        Datum::Bool(truth) => truth.to_string(),
        Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(..) => datum.to_string(),
        Datum::List(elements) => {
            let elements: Vec<String> =
                elements.iter().map(|element| literal(element).to_string()).collect();
            format!("ARRAY[{}]", elements.join(", "))
        }
        other => {
            format!("CAST('{}' AS {})", other.to_string().replace('\'', "''"), other.natural())
        }
    };
    match read_expression(&text) {
        Ok(expression) => expression,
        Err(_) => Expr::value(Value::SingleQuotedString(datum.to_string())),
    }
}

/// The value of an expression that is written out.
pub(crate) fn constant_of(expr: &Expr) -> Option<Datum> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => match text.parse() {
                Ok(number) => Some(Datum::Int(number)),
                Err(_) => {
                    let (unscaled, scale) = parse_decimal(text)?;
                    Some(Datum::Decimal(unscaled, u8::try_from(scale).ok()?))
                }
            },
            Value::SingleQuotedString(text) => Some(Datum::Text(text.as_str().into())),
            Value::Boolean(truth) => Some(Datum::Bool(*truth)),
            Value::Null => Some(Datum::Null),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match constant_of(expr)? {
            Datum::Int(number) => Some(Datum::Int(number.checked_neg()?)),
            Datum::Decimal(unscaled, scale) => Some(Datum::Decimal(-unscaled, scale)),
            _ => None,
        },
        Expr::Nested(inner) => constant_of(inner),
        _ => None,
    }
}
