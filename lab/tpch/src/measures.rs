//! What is measured beside the queries of a benchmark: [`points`] asks for single keys, [`plans`]
//! times planning, [`checkpoints`] counts what these write, [`paged_points`] asks for rows that may
//! be in files.
//!
//! Each runs in this process, without those that the queries are measured in.

pub(crate) mod checkpoints;
pub(crate) mod paged_points;
pub(crate) mod plans;
pub(crate) mod points;
