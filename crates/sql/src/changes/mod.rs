//! The change feed: what was committed, row by row, with the names and types of SQL.
//!
//! [`feed`] gives changes one by one or as batches of Arrow, typed as the table is, to whoever
//! calls from Rust; [`json`] writes rows as objects of JSON; [`function`] is the same for
//! statements: `SELECT .. FROM remanent_changes(lsn)`; [`watching`] tells sessions that listen.
//!
//! Rows come from the engine's own feed, which reads the log part by part, so that little is in
//! memory however much has changed.

pub(crate) mod feed;
pub(crate) mod function;
pub(crate) mod json;
pub(crate) mod watching;
