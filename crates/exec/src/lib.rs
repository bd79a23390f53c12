//! Predicates and aggregates on the encoded columns of frozen segments, and decoded columns.
//!
//! A [`SegmentFilter`] is made of what a query asks of a segment: predicates on one column each
//! ([`ColumnPredicate`]), as sets of numbers ([`NumberRanges`]) or patterns ([`Pattern`]) where
//! they are no more, comparisons of two columns, and the keys that joins want ([`KeySet`]). It
//! says which rows are left ([`Selection`]); [`decode`] makes vectors of these alone. What cannot
//! be said by encoded values is left to the caller, who evaluates it on decoded ones. An
//! [`Aggregation`] groups rows, counts them and adds up what is computed of them.
//!
//! Nothing here knows SQL, Arrow or sessions: a caller brings its predicates through a trait, and
//! makes of the vectors what it needs.

mod simd;

mod rows;

mod text_view;
mod vector;

mod encodings;

mod decode;

mod row_bytes;

mod conditions;

mod segment_filter;

mod sources;

mod keys;

mod hot;

mod aggregates;

mod joins;

mod sorting;

pub use aggregates::aggregation::{
    AggregatedSegment, Aggregation, AggregationPlan, Before, GivenValues,
};
pub use aggregates::arguments::{Argument, ArgumentKind};
pub use aggregates::block::SpillStore;
pub use aggregates::expression::{Program, Step};
pub use aggregates::grouping::{Key, KeyKind};
pub use aggregates::partitioned::{Merged, Partitioned};
pub use aggregates::states::Aggregate;
pub use conditions::comparison::Comparison;
pub use conditions::key_set::{KeySet, KeyTally};
pub use conditions::key_sketch::{KeySketch, WantedNumbers};
pub use conditions::matches::Matches;
pub use conditions::pattern::{Find, Pattern, PatternParts, TextPattern};
pub use conditions::predicate::ColumnPredicate;
pub use conditions::prefixes::Prefixes;
pub use conditions::ranges::{NumberRange, NumberRanges};
pub use conditions::text_bound::TextBound;
pub use conditions::text_list::TextList;
pub use decode::{consecutive, decode};
pub use encodings::dictionary::Dictionary;
pub use encodings::encoded_texts::EncodedTexts;
pub use hot::filter::RowFilter;
pub use hot::gather::GatheredColumn;
pub use joins::build::JoinBuild;
pub use joins::lookup::NO_ENTRY;
pub use joins::merge::BuildRun;
pub use joins::probe::{Probe, ProbeColumns, ProbeSource};
pub use joins::stage::{JoinKind, JoinStage, StageRelations};
pub use joins::table::{JoinKey, JoinTable, KeyList};
pub use joins::tuples::Tuples;
pub use row_bytes::place::Place;
pub use row_bytes::tile::RowTile;
pub use rows::bits::RowBits;
pub use rows::selection::Selection;
pub use rows::{BATCH_ROWS, Rows, Run, TILE_ROWS};
pub use segment_filter::{Evaluation, SegmentFilter};
pub use simd::Instructions;
pub use sorting::bound::SortBound;
pub use sorting::key::SortKey;
pub use sorting::order::sort_rows;
pub use sources::account::Refused;
pub use sources::source::{Given, Slice, Source, Texts};
pub use text_view::TextViews;
pub use vector::{Decoded, Vector};
