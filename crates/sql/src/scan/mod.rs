//! Scans: rows of the engine as batches of Arrow, by the way that leads to the fewest.
//!
//! A table for the planner, the way to its rows, conditions as `remanent-exec` compares them with
//! encoded values, the operator, the batches.

pub(crate) mod provider;

pub(crate) mod access_path;

pub(crate) mod condition;
pub(crate) mod constant;
pub(crate) mod pattern;
pub(crate) mod pushed;
pub(crate) mod told;

pub(crate) mod exec;

pub(crate) mod join_keys;
pub(crate) mod read_predicate;
pub(crate) mod rows_of;
pub(crate) mod scan_rows;
pub(crate) mod shares;

pub(crate) mod frozen;
pub(crate) mod hot_rows;

/// Rows in a batch between operators.
pub(crate) use remanent_exec::BATCH_ROWS;
