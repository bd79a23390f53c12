//! Changes beyond those of a single row, and what decides whether one may stay.
//!
//! `table/table.rs` changes a row and its indexes together. Here, in the order in which a statement
//! meets them: [`constraint`] decides uniqueness once an entry is in its index, [`batch`] puts many
//! rows into the indexes at once, [`run`] takes many insertions back at once.

pub(crate) mod batch;
pub(crate) mod constraint;
pub(crate) mod run;
