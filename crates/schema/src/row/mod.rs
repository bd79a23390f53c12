//! A row in bytes, as `FORMAT.md` has it: where its values lie; writing, reading and changing them.
//!
//! A layout is made once for a table; everything here goes by it.

pub(crate) mod fixed_layout;

pub(crate) mod layout;

pub(crate) mod write;

pub(crate) mod read;

pub(crate) mod edit;

pub(crate) mod bytes;

pub(crate) mod columns;
