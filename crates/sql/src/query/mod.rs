//! Queries: names bound to tables, plans over scans of the engine, streams of batches.
//!
//! `docs/path-of-a-query.md` follows one query: what the binder is to see, names, tables with the
//! ways to read them, rules, operators, rows.

pub(crate) mod access;
mod average;
pub(crate) mod backends;
pub(crate) mod binder;
mod by_index;
pub(crate) mod caller;
mod chain;
pub(crate) mod checked;
mod condition;
mod constant_keys;
mod converted;
mod copying;
mod decimal;
mod division;
pub(crate) mod explain;
mod floats;
mod forget_keys;
pub(crate) mod frozen;
mod functions;
pub(crate) mod interrupt;
mod join_keys;
mod key_set;
mod lists;
mod literals;
mod measured;
mod multiplicity;
mod named;
mod not_in;
mod one_row;
mod ordered;
mod pad;
mod pattern;
pub(crate) mod planner;
pub(crate) mod pushed;
mod quantified;
mod read_predicate;
pub(crate) mod rewrite;
pub(crate) mod rights;
mod rounding;
pub(crate) mod rows_of;
pub(crate) mod running;
pub(crate) mod scan;
mod scan_rows;
pub(crate) mod select;
pub(crate) mod sequences;
pub(crate) mod single_value;
pub(crate) mod size;
pub(crate) mod source;
mod subquery;
pub(crate) mod sum;
mod watched;
mod windows;
