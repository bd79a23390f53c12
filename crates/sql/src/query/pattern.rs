//! LIKE on text as it lies in frozen segments, without making arrays of it.
//!
//! A pattern whose only wildcard is `%` is a start, an end, and what comes between them in order;
//! each part is searched for by itself. Patterns with `_` or an escape are left to DataFusion.

#[cfg(test)]
mod tests;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::Like;
use memchr::memmem::Finder;

/// What a LIKE without `_` asks of a text.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    start: Vec<u8>,
    /// In this order, none within another.
    between: Vec<Finder<'static>>,
    end: Vec<u8>,
    negated: bool,
}

impl Pattern {
    /// The pattern of a filter that is a LIKE of a column and nothing else.
    pub(super) fn of(filter: &Expr) -> Option<Self> {
        let Expr::Like(Like { negated, expr, pattern, escape_char: None, case_insensitive: false }) =
            filter
        else {
            return None;
        };
        let (Expr::Column(_), Expr::Literal(literal, _)) = (expr.as_ref(), pattern.as_ref()) else {
            return None;
        };
        let (ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text))) = literal
        else {
            return None;
        };
        Self::parse(text, *negated)
    }

    fn parse(text: &str, negated: bool) -> Option<Self> {
        if text.contains(['_', '\\']) {
            return None;
        }
        let (start, rest) = text.split_once('%')?;
        let (between, end) = rest.rsplit_once('%').unwrap_or(("", rest));
        let between = between.split('%').filter(|part| !part.is_empty());
        let between = between.map(|part| Finder::new(part).into_owned()).collect();
        Some(Self { start: start.into(), between, end: end.into(), negated })
    }

    /// Whether a text, which is not NULL, meets it.
    pub(super) fn meets(&self, text: &[u8]) -> bool {
        self.is_like(text) != self.negated
    }

    fn is_like(&self, text: &[u8]) -> bool {
        let rest = text.strip_prefix(self.start.as_slice());
        let Some(mut rest) = rest.and_then(|rest| rest.strip_suffix(self.end.as_slice())) else {
            return false;
        };
        // The first place of a part leaves most for those behind it.
        self.between.iter().all(|part| match part.find(rest) {
            Some(at) => {
                rest = &rest[at + part.needle().len()..];
                true
            }
            None => false,
        })
    }
}
