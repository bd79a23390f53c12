//! What is measured beside the queries of a benchmark: [`points`] asks for single keys, [`plans`]
//! times planning, [`checkpoints`] counts what these write.
//!
//! Each runs in this process, without those that the queries are measured in.

pub(crate) mod checkpoints;
pub(crate) mod plans;
pub(crate) mod points;
