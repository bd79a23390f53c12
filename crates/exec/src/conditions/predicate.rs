//! What a caller says of a predicate on one column.
//!
//! The trait is all that filters know of a query's language: how NULL is treated, how types are
//! compared and what functions do is known to who implements it.

use std::sync::Arc;

use crate::conditions::matches::Matches;
use crate::conditions::pattern::TextPattern;
use crate::conditions::ranges::NumberRanges;
use crate::conditions::text_list::TextList;
use crate::vector::Decoded;

/// A predicate on one column.
///
/// It can always be evaluated on values. Where it is no more than ranges or a pattern, encoded
/// values are compared with that. A row that it says neither true nor false of does not meet it.
///
/// # Examples
/// See [`SegmentFilter`](crate::SegmentFilter).
pub trait ColumnPredicate {
    /// The whole numbers, or unscaled decimals, that meet it, if it says no more than that; NULL
    /// does not meet it then. Dates are days; times and timestamps are microseconds.
    fn ranges(&self) -> Option<&NumberRanges>;

    /// The pattern of its LIKE, or the beginnings that it asks for, if it says no more than that;
    /// NULL does not meet it then.
    fn pattern(&self) -> Option<&Arc<dyn TextPattern>>;

    /// The texts that it compares a column of text with for being equal, if it says no more than
    /// that; NULL does not meet it then.
    fn texts(&self) -> Option<&TextList> {
        None
    }

    /// Which of these values meet it; `None` if it fails for one, which may be one that no row has.
    fn matches(&self, values: Decoded<'_>) -> Option<Matches>;
}
