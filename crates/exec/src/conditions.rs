//! What a query asks of columns, and what encoded values say of it.
//!
//! A caller brings predicates on one column ([`predicate`]), as sets of numbers ([`ranges`]), lists
//! ([`text_list`]), patterns, beginnings or ends of text ([`pattern`], [`prefixes`],
//! [`text_bound`]) where they are no more, and keys of joins ([`key_set`], [`key_sketch`]). A
//! [`verdict`] is what one of them means for a column of a segment, encoded as it is there, with
//! conditions [`on_offsets`], if it can be, 64 rows at once ([`blocks`]); two columns are compared
//! with each other by a [`comparison`].

mod automaton;
#[cfg(target_arch = "x86_64")]
mod blocks;
pub(crate) mod comparison;
pub(crate) mod key_set;
pub(crate) mod key_sketch;
pub(crate) mod matches;
mod on_offsets;
mod part_search;
pub(crate) mod pattern;
pub(crate) mod plain;
pub(crate) mod predicate;
pub(crate) mod prefixes;
pub(crate) mod ranges;
pub(crate) mod text_bound;
pub(crate) mod text_list;
pub(crate) mod verdict;
