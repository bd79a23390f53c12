//! Transactions, cursors and scans that keep what they borrow from.
//!
//! For programs that cannot borrow across calls: sessions, streams, layers for other languages. An
//! [`OwnedTransaction`] keeps its database, an [`OwnedCursor`], [`OwnedPieces`] and
//! [`OwnedFrozenRows`] keep their transaction and table, all by counting references.
//!
//! Why that is sound, though the transaction inside is taken for `'static`: what borrows is dropped
//! before what it borrows from, since each struct names it first; the transaction stays in memory,
//! with its snapshot, until the last of them is gone, ended or not; it is refreshed only where
//! nothing else refers to it; and one thread at a time is inside, which `entry` sees to.

mod entry;
mod raw;
mod reading;
mod transaction;

#[cfg(all(test, shuttle))]
pub(crate) use entry::Entry;
pub use raw::RawTransaction;
pub use reading::{Keeper, OwnedCursor, OwnedFrozenRows, OwnedPieces};
pub use transaction::{OwnedTransaction, Reading, Writing};
