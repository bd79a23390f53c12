//! Scans: rows of the engine as batches of Arrow, by the way that leads to the fewest.
//!
//! A table for the planner, the way to its rows, conditions on encoded values, the operator, the
//! batches.

pub(crate) mod provider;

pub(crate) mod access_path;

pub(crate) mod condition;
pub(crate) mod key_set;
pub(crate) mod pattern;
pub(crate) mod pushed;

pub(crate) mod exec;

pub(crate) mod join_keys;
pub(crate) mod read_predicate;
pub(crate) mod rows_of;
pub(crate) mod scan_rows;

pub(crate) mod frozen;

/// Rows in a batch between operators.
pub(crate) const BATCH_ROWS: usize = 8192;

/// Of the numbers between the least and the greatest key of a join, the part that has to be keys
/// for these to be found by their number, not by a hash: at most 500 bytes of memory for each.
pub(crate) const KEY_DENSITY_MIN: f64 = 0.008;
