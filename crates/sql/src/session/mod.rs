//! Sessions: one caller's statements, transactions and settings.
//!
//! A session is polled by one thread at a time, and polls what it runs itself.

pub(crate) mod activity;
pub(crate) mod answer;
pub(crate) mod cancel;
pub(crate) mod changing;
pub(crate) mod control;
pub(crate) mod defining;
pub(crate) mod prepared;
pub(crate) mod settings;
pub(crate) mod statements;
pub(crate) mod transaction;
