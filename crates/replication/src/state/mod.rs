//! What a replica knows of itself while it runs.
//!
//! How far it has come, what it has promised, and whether it is to be opened again: parts that Raft
//! and the node both look at, and that know neither.

pub(crate) mod progress;
pub(crate) mod promise;
pub(crate) mod restart;
