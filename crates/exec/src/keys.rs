//! The keys by which rows are grouped and joined, as numbers of 8 bytes.
//!
//! From bottom to top: tables by [`hash`], [`texts`] under numbers, and a key's [`column`] in a
//! segment or a slice.

pub(crate) mod hash;

pub(crate) mod texts;

pub(crate) mod column;
