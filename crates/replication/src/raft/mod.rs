//! Raft, which is openraft's: what it stores, what it applies, and what it sends.
//!
//! Each part is the implementation of one of openraft's traits; everything else of this crate knows
//! Raft by its handle alone.

#![expect(clippy::result_large_err, reason = "openraft's errors are as large as they are")]

pub(crate) mod machine;
pub(crate) mod network;
pub(crate) mod store;
