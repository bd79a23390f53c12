//! Rules that give the numbers, texts and moments of a plan the types that PostgreSQL gives them.
//!
//! They run when a query is bound, or before DataFusion looks for common types, which would choose
//! others. The schemas of the plans above follow.

pub(crate) mod blanks;
pub(crate) mod floats;
pub(crate) mod literals;
pub(crate) mod moments;
pub(crate) mod united;
