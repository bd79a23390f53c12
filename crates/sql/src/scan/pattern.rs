//! LIKE with a constant, comparisons with one, and IN of a text's first letters, as what text is
//! compared with where it lies.
//!
//! Patterns with `_` or an escape are left to DataFusion.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use memchr::memmem::Finder;
use remanent_exec::{Find, Pattern, Prefixes, TextBound};

use super::constant::text_of;

/// Beginnings that a text is compared with one by one at most.
const PREFIXES_MAX: usize = 64;

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
    let Expr::Column(_) = like.expr.as_ref() else { return None };
    parse(text_of(&like.pattern)?, like.negated)
}

/// The text that a filter compares a column with, and nothing else.
pub(crate) fn bound_of(filter: &Expr) -> Option<TextBound> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = filter else { return None };
    match (left.as_ref(), right.as_ref()) {
        (Expr::Column(_), constant) => bound_beside(*op, text_of(constant)?),
        (constant, Expr::Column(_)) => bound_beside(op.swap()?, text_of(constant)?),
        _ => None,
    }
}

/// What a text that stands on the left of a comparison with another one has to meet.
pub(crate) fn bound_beside(op: Operator, text: &str) -> Option<TextBound> {
    let (wanted, inclusive) = match op {
        Operator::Lt => (Ordering::Less, false),
        Operator::LtEq => (Ordering::Less, true),
        Operator::Gt => (Ordering::Greater, false),
        Operator::GtEq => (Ordering::Greater, true),
        _ => return None,
    };
    Some(TextBound::new(text, wanted, inclusive))
}

fn parse(text: &str, negated: bool) -> Option<Pattern<PartFinder>> {
    Pattern::parse(text, negated, |part| PartFinder(Finder::new(part).into_owned()))
}

/// The beginnings that a filter asks for: it says that the first letters of a column, as many as
/// each of some constants has, are among these, and nothing else.
pub(crate) fn prefixes_of(filter: &Expr) -> Option<Prefixes> {
    let Expr::InList(InList { expr, list, negated }) = filter else { return None };
    let Expr::ScalarFunction(function) = expr.as_ref() else { return None };
    let [Expr::Column(_), from, count] = function.args.as_slice() else { return None };
    if function.name() != "substr" || number_of(from) != Some(1) {
        return None;
    }
    let count = usize::try_from(number_of(count)?).ok()?;
    let texts = list.iter().map(text_of).collect::<Option<Vec<_>>>()?;
    if texts.len() > PREFIXES_MAX {
        return None;
    }
    // Fewer letters than were asked for are a whole text, not its beginning; more are none.
    let are_beginnings = texts.iter().all(|text| text.chars().count() == count);
    are_beginnings.then(|| Prefixes::new(texts, *negated))
}

/// The number of a constant.
fn number_of(constant: &Expr) -> Option<i64> {
    match constant {
        Expr::Literal(ScalarValue::Int64(number), _) => *number,
        _ => None,
    }
}
