//! The threads of one query.
//!
//! A query that reads a large table works on several of its segments at once: [`team`] has what
//! each thread does, [`spare`] says how many there may be.

pub(crate) mod spare;
pub(crate) mod team;
