//! Frozen segments: rows of a table as columns, which `column/` encodes.
//!
//! In the order in which they come about: [`freeze`] makes columns of a segment's rows, a
//! [`bulk_segment`] is inserted as columns at once. [`frozen`] is such a segment and what has
//! become of its rows since, [`frozen_ends`] those that were deleted in it; [`refreeze`] makes new
//! columns of all that. [`paging`] lets columns leave memory and come back. [`pieces`] reads a
//! table as columns where it has them, [`copies`] are frozen rows put together for one transaction.

pub(crate) mod bulk_segment;
pub(crate) mod copies;
pub(crate) mod freeze;
pub(crate) mod frozen;
pub(crate) mod frozen_ends;
pub(crate) mod paging;
pub(crate) mod pieces;
pub(crate) mod refreeze;
