//! LIKE with a constant, as a pattern that text is compared with where it lies.
//!
//! Patterns with `_` or an escape are left to DataFusion.

#[cfg(test)]
mod tests;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use memchr::memmem::Finder;
use remanent_exec::{Find, Pattern};

/// Parts are sought by as many bytes at once as the machine can.
#[derive(Debug)]
pub(crate) struct PartFinder(Finder<'static>);

impl Find for PartFinder {
    #[inline]
    fn find(&self, text: &[u8]) -> Option<usize> {
        self.0.find(text)
    }
}

/// The pattern of a filter that is a LIKE of a column and nothing else.
pub(crate) fn pattern_of(filter: &Expr) -> Option<Pattern<PartFinder>> {
    let Expr::Like(like) = filter else { return None };
    if like.case_insensitive || like.escape_char.is_some() {
        return None;
    }
    let (Expr::Column(_), Expr::Literal(literal, _)) = (like.expr.as_ref(), like.pattern.as_ref())
    else {
        return None;
    };
    let (ScalarValue::Utf8(Some(text))
    | ScalarValue::LargeUtf8(Some(text))
    | ScalarValue::Utf8View(Some(text))) = literal
    else {
        return None;
    };
    parse(text, like.negated)
}

fn parse(text: &str, negated: bool) -> Option<Pattern<PartFinder>> {
    Pattern::parse(text, negated, |part| PartFinder(Finder::new(part).into_owned()))
}
