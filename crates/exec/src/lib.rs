//! Predicates on the encoded columns of frozen segments, and columns decoded into plain vectors.
//!
//! A [`SegmentFilter`] is made of what a query asks of a segment: predicates on one column each
//! ([`ColumnPredicate`]), patterns ([`Pattern`]), and the keys that joins want ([`KeySet`]). It
//! says which rows are left ([`Selection`]); [`decode`] makes vectors of these alone. What cannot
//! be said by encoded values is left to the caller, who evaluates it on decoded ones.
//!
//! Nothing here knows SQL, Arrow or sessions: a caller brings its predicates through a trait, and
//! makes of the vectors what it needs.

mod rows;

mod offsets;
mod row_bits;
mod text_view;
mod vector;

mod dictionary;
mod encoded_texts;

mod decode;

mod matches;
mod pattern;
mod plain;
mod ranges;

mod automaton;
mod key_set;
mod predicate;

mod verdict;

mod comparison;

mod selection;

mod segment_filter;

pub use comparison::Comparison;
pub use decode::{consecutive, decode};
pub use dictionary::Dictionary;
pub use encoded_texts::EncodedTexts;
pub use key_set::{KEY_DENSITY_MIN, KeyBounds, KeySet, KnownKeys};
pub use matches::Matches;
pub use pattern::{Find, Pattern, PatternParts, TextPattern};
pub use predicate::ColumnPredicate;
pub use ranges::{NumberRange, NumberRanges};
pub use row_bits::RowBits;
pub use rows::{BATCH_ROWS, Rows, Run};
pub use segment_filter::{Evaluation, SegmentFilter};
pub use selection::Selection;
pub use text_view::TextViews;
pub use vector::{Decoded, Vector};
