//! The engine's transaction with the flag that stops what runs in it.
//!
//! Below everything that reads or writes: plans, changes and definitions take a [`Transaction`],
//! not the session that began it.

pub(crate) mod owned;

pub(crate) mod freezing;
pub(crate) mod full_segments;
pub(crate) mod hot_segments;
pub(crate) mod scope;
pub(crate) mod shared_rows;

pub(crate) use owned::Transaction;

/// Whether a session is in a transaction block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionStatus {
    /// In none.
    Idle,
    /// In one.
    Active,
    /// In one that can only be rolled back.
    Failed,
}
