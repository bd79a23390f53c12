//! The interface of the workload of one large transaction: pairs inserted, and then kept or not.
//!
//! The harness hands pairs over in slices, so that a store which takes many at once gets many, and
//! one which takes single pairs has its own loop over them; nobody is charged for a call per pair.
//! A transaction borrows its store, as do snapshots: transactions that only read, opened while the
//! other one is in the midst of its inserts, and read when it has ended.

use crate::pairs::{Key, Pair, Seen};
use crate::setting::{Location, Outcome, Setting};

/// How many pairs a store is given at a time unless it asks for more: ten kilobytes, which lie in
/// the innermost cache.
pub const AT_A_TIME: usize = 256;

/// Opens an empty database for one large transaction, beside which so many snapshots will be open;
/// fails with whatever the engine reports, and where it has no snapshots but is asked for some.
pub type OpenBurst = fn(&Setting, &Location<'_>, u64) -> Outcome<Box<dyn BurstStore>>;

/// An open database for one large transaction.
pub trait BurstStore {
    /// How many pairs it wants at a time.
    fn at_a_time(&self) -> usize {
        AT_A_TIME
    }

    /// Begins the transaction.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn begin(&self) -> Outcome<Box<dyn Burst + '_>>;

    /// A transaction that reads, and stays open until it is dropped.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, when it was opened without them.
    fn snapshot(&self) -> Outcome<Box<dyn BurstSnapshot + '_>> {
        Err("no transaction that stays open".into())
    }

    /// Shows every pair in the order of keys; no transaction is open.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn read_in_order(&self, seen: &mut Seen) -> Outcome<()>;

    /// The bytes that the engine itself accounts for, where it does.
    fn accounted_bytes(&self) -> Option<u64> {
        None
    }

    /// Closes the database.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn close(self: Box<Self>) -> Outcome<()>;
}

/// The transaction.
pub trait Burst {
    /// Inserts pairs whose keys are new.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn insert(&mut self, pairs: &[Pair]) -> Outcome<()>;

    /// Keeps all of them, and the promise of the setting.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn commit(self: Box<Self>) -> Outcome<()>;

    /// Takes all of them back.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, without transactions.
    fn roll_back(self: Box<Self>) -> Outcome<()>;
}

/// A transaction that reads.
pub trait BurstSnapshot {
    /// Whether it sees a key.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn sees(&mut self, key: &Key) -> Outcome<bool>;

    /// How many pairs it sees.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn count(&mut self) -> Outcome<u64>;
}
