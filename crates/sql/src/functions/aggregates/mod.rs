//! Aggregates whose types or errors are not those of DataFusion's.
//!
//! The work on the rows is DataFusion's where it can be: an aggregate here says what goes in and
//! what comes out, and what is an error.

pub(crate) mod average;
mod distinct;
pub(crate) mod merged_average;
pub(crate) mod single_value;
pub(crate) mod sum;
mod totals;
