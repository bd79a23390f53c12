//! SIMILAR TO as a match with a regular expression, as PostgreSQL makes one of it.
//!
//! The pattern is of the whole text: `%` is any letters and `_` one, the signs of choices,
//! repetitions, groups and sets mean what they mean in regular expressions, and all others
//! themselves.

#[cfg(test)]
mod tests;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value};

use crate::error::{Error, Result, SqlState};

/// The same as a match; `None` if it is none of these, or of NULL.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED` for a pattern that is not written down; `BAD_PARAMETER` for an escape of
/// several letters.
pub(super) fn matching(expr: &Expr) -> Result<Option<Expr>> {
    let Expr::SimilarTo { negated, expr: text, pattern, escape_char } = expr else {
        return Ok(None);
    };
    let pattern = match pattern.as_ref() {
        Expr::Value(value) if value.value == Value::Null => return Ok(None),
        Expr::Value(value) => value.value.clone().into_string(),
        _ => None,
    };
    let pattern = pattern.ok_or_else(|| {
        Error::unsupported("SIMILAR TO with a pattern that is computed")
            .hint("Write the pattern as a text, or use a regular expression and ~.")
    })?;
    let escape = match escape_char {
        None => Some('\\'),
        Some(written) => escape_of(&written.value)?,
    };
    let regex = Expr::value(Value::SingleQuotedString(regex(&pattern, escape)?));
    let op = if *negated { BinaryOperator::PGRegexNotMatch } else { BinaryOperator::PGRegexMatch };
    let left = Box::new(Expr::Nested(text.clone()));
    Ok(Some(Expr::Nested(Box::new(Expr::BinaryOp { left, op, right: Box::new(regex) }))))
}

/// The letter that takes the meaning off the one behind it, if there is one.
fn escape_of(written: &Value) -> Result<Option<char>> {
    let written = written.clone().into_string().unwrap_or_default();
    let mut letters = written.chars();
    match (letters.next(), letters.next()) {
        (first, None) => Ok(first),
        _ => Err(Error::new(SqlState::BAD_PARAMETER, "invalid escape string")
            .hint("An escape is one letter, or none.")),
    }
}

fn regex(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut regex = "^(?:".to_owned();
    let (mut is_escaped, mut is_in_set) = (false, false);
    for letter in pattern.chars() {
        if is_escaped {
            if letter == '"' && !is_in_set {
                return Err(Error::unsupported("a part of a text in SIMILAR TO"));
            }
            regex.extend(['\\', letter]);
            is_escaped = false;
        } else if Some(letter) == escape {
            is_escaped = true;
        } else if is_in_set {
            if letter == '\\' {
                regex.push('\\');
            }
            regex.push(letter);
            is_in_set = letter != ']';
        } else {
            match letter {
                '%' => regex.push_str(".*"),
                '_' => regex.push('.'),
                '(' => regex.push_str("(?:"),
                '\\' | '.' | '^' | '$' => regex.extend(['\\', letter]),
                other => {
                    is_in_set = other == '[';
                    regex.push(other);
                }
            }
        }
    }
    regex.push_str(")$");
    Ok(regex)
}
