//! Rows in the region: where they are found, and what they consist of.
//!
//! In the order in which a statement meets them: a [`segment`] directory leads from a row id to the
//! newest [`version`] of the row, older ones behind it. [`draft`] is a row in the making, [`row`]
//! one as a reader holds it. [`change`] is what a change to one has left behind, which undoing,
//! logging and stamping it go by.

pub(crate) mod change;
pub(crate) mod draft;
pub(crate) mod row;
pub(crate) mod segment;
pub(crate) mod version;
