//! Keys in bytes, as `FORMAT.md` has it: bytes in the order of the values.
//!
//! A plan is made once for an index and takes keys out of rows or values.

pub(crate) mod buffer;

pub(crate) mod field;

pub(crate) mod codec;

pub(crate) mod plan;

pub(crate) mod hash;
