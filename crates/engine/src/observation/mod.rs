//! What a program can find out about an open database while it is used.
//!
//! Nothing is gathered beforehand but what the holders of slots count for themselves; whoever asks
//! adds it up. [`statistics`] are counts and states, which cost as much as there are slots;
//! [`table_memory`] is what each table takes, which costs a walk through the tables. How much is
//! held and which snapshots there are, `Database::memory` and `Database::snapshots` say.

pub(crate) mod statistics;
pub(crate) mod table_memory;

pub use statistics::Statistics;
pub use table_memory::{IndexMemory, TableMemory};
