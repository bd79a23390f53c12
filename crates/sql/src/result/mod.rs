//! What a statement answers: its tag, its notices, its rows.
//!
//! Rows come when they are asked for, so an answer keeps the transaction in which they are read.

pub(crate) mod answer;

pub(crate) mod rows;
