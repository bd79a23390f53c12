//! The threads of one query.
//!
//! A query that reads a large table works on several of its segments at once: [`team`] has what
//! each thread does, [`pair`] does two other things at once, and [`spare`] says how many threads
//! there may be.

pub(crate) mod pair;
pub(crate) mod spare;
pub(crate) mod team;
