//! Rules for aggregates.
//!
//! Keys that nobody asked for are gone, what is about no row stays where it is, arguments are
//! computed of the rows that count, and sets of groups are made of groups, as whatever has been
//! aggregated in parts is put together.

pub(crate) mod filters;
pub(crate) mod implicit_keys;
pub(crate) mod limit_aggregate;

pub(crate) mod grouping_sets;
pub(crate) mod parts;
