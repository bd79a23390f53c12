//! Reading: rows by key, by position and all of them, under a snapshot.
//!
//! In the order in which a statement meets them: [`reader`] is who reads. [`lookup`] finds rows by
//! key, a [`key_range`] of them if asked for one, and [`position`] keeps a place among them;
//! [`typed`] gives records instead of rows. [`scan`] reads all rows, [`sweep`] many with one call,
//! [`neighbour`] the one beside a row. [`read_set`] remembers what was read, for validation.

pub(crate) mod key_range;
pub(crate) mod lookup;
pub(crate) mod neighbour;
pub(crate) mod position;
pub(crate) mod read_set;
pub(crate) mod reader;
pub(crate) mod scan;
pub(crate) mod sweep;
pub(crate) mod typed;
