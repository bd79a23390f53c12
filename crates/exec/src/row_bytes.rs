//! The bytes of hot rows, and some of these at a time.
//!
//! A row is one string of bytes, of which a layout says where each column lies ([`place`]). Rows
//! are visited by the [`tile`]: as many as stay in the processor's cache for as long as something
//! is asked of them.

pub(crate) mod place;
pub(crate) mod tile;
