//! The d_-style interface for C: `remanent_d.h`, function by function.
//!
//! What calls do is `remanent-navigation`'s; here pointers become slices of the length that the
//! schema says, and outcomes become numbers. [`tasks`] turns a `DB_TASK` into a task, [`databases`]
//! has tasks, databases, transactions and locks, [`records`] records and keys, [`sets`] sets and
//! currency. A task that is null, closed, made up, or in use by another thread is `S_INVTASK`.

pub mod databases;
pub mod records;
pub mod sets;
pub mod tasks;

pub use databases::*;
pub use records::*;
pub use sets::*;
pub use tasks::{DbTask, Handler};
