//! Sessions: one caller's statements, one after the other, by whatever way each goes.
//!
//! A session parses, prepares, dispatches and explains. What its statements share is its
//! [`StatementContext`](crate::context::StatementContext); it is polled by one thread at a time.

pub(crate) mod open;

pub(crate) mod statements;

pub(crate) mod caller;

pub(crate) mod describe;
pub(crate) mod prepared;

pub(crate) mod explain;

pub(crate) mod rows;

pub(crate) mod listening;

pub(crate) use statements::Session;
