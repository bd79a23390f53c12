//! Queries: what the binder is to see, names bound to tables, the query that runs.
//!
//! `docs/path-of-a-query.md` follows one from its text to its rows.

mod items;

pub(crate) mod rewrite;

pub(crate) mod quantified;

mod similar;

pub(crate) mod binder;

pub(crate) mod known;

pub(crate) mod listed;

pub(crate) mod general;

pub(crate) mod constants;

pub(crate) mod named;

pub(crate) mod select;

pub(crate) mod freezing;
