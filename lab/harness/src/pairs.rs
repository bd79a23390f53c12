//! The interface of the workloads of small pairs: a key of 8 bytes, a value of 32, one call each.
//!
//! A key's bytes are in the order of the keys. Every call of a store that writes or reads one pair
//! is one whole transaction, or none where the setting promises none. A read copies the value into
//! the application's memory; reading in order hands each pair to `Seen`, which is compiled into the
//! store's own loop, so that nobody is charged for a call per pair. `PairStore` belongs to one
//! thread; of a `CommitStore` each thread has a committer of its own.

use crate::readers::Ended;
use crate::setting::{Location, Outcome, Setting};

/// Bytes of a key.
pub const KEY_LEN: usize = 8;

/// Bytes of a value.
pub const VALUE_LEN: usize = 32;

/// A key, ordered as its bytes are.
pub type Key = [u8; KEY_LEN];

/// A value.
pub type Value = [u8; VALUE_LEN];

/// Both of them.
pub type Pair = (Key, Value);

/// Opens a database of pairs; fails with whatever the engine reports.
pub type OpenPairs = fn(&Setting, &Location<'_>) -> Outcome<Box<dyn PairStore>>;

/// Opens an empty database of pairs for threads that commit; fails as [`OpenPairs`].
pub type OpenCommits = fn(&Setting, &Location<'_>) -> Outcome<Box<dyn CommitStore>>;

/// An open database of pairs that one thread owns.
pub trait PairStore {
    /// Inserts a pair whose key is new.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn insert(&mut self, key: &Key, value: &Value) -> Outcome<()>;

    /// Replaces the value of a key that is there.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn overwrite(&mut self, key: &Key, value: &Value) -> Outcome<()>;

    /// Inserts pairs whose keys are new and ascend, in one transaction.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()>;

    /// Copies the value of a key into `out`; false when there is none.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool>;

    /// Whether [`PairStore::read_in_order`] may be called.
    fn is_ordered(&self) -> bool {
        true
    }

    /// Shows every pair in the order of keys, by the quickest documented way.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, without an order.
    fn read_in_order(&mut self, _seen: &mut Seen) -> Outcome<()> {
        Err("it has no order".into())
    }

    /// The bytes that the engine itself accounts for, where it does.
    fn accounted_bytes(&self) -> Option<u64> {
        None
    }

    /// Makes what was written so far outlive the process, where that takes more than the setting's
    /// commits.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn finish(&mut self) -> Outcome<()> {
        Ok(())
    }

    /// Writes an image of the whole database into the directory of its location.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, when it has no images.
    fn save(&mut self) -> Outcome<()> {
        Err("it has no images".into())
    }

    /// Closes the database.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn close(self: Box<Self>) -> Outcome<()>;
}

/// An open database of pairs in which threads commit.
pub trait CommitStore: Sync {
    /// What a thread commits through; called in that thread.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn committer(&self) -> Outcome<Box<dyn Committer + '_>>;

    /// How often the engine has synced its log or file since it was opened; `None` when it does
    /// not tell.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn syncs(&self) -> Outcome<Option<u64>>;
}

/// One thread's way to commit.
pub trait Committer {
    /// Inserts a pair whose key is new, in a transaction of its own, which keeps its promise
    /// before this returns.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports, but for an abort.
    fn commit(&mut self, key: &Key, value: &Value) -> Outcome<Ended>;

    /// As [`PairStore::read`].
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool>;
}

/// What was read: a check value, and the pairs themselves when they are to be compared.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    check: Check,
    /// The last key and one, so that the first is behind it.
    after: u128,
    kept: Option<Vec<Pair>>,
}

/// A check value over pairs. Equal pairs in whatever order give equal sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// How many pairs there were.
    pub pairs: u64,
    /// How many of them had a key that is not behind the one before.
    pub out_of_order: u64,
    sums: [u64; 5],
}

impl Seen {
    /// One that makes a check value only.
    #[must_use]
    pub fn checking() -> Self {
        Self::default()
    }

    /// One that keeps every pair as well.
    #[must_use]
    pub fn keeping(pairs: usize) -> Self {
        Self { kept: Some(Vec::with_capacity(pairs)), ..Self::default() }
    }

    /// Takes a pair.
    #[inline(always)]
    pub fn see(&mut self, key: &Key, value: &Value) {
        let number = u64::from_be_bytes(*key);
        self.check.add(number, value);
        self.check.out_of_order += u64::from(u128::from(number) < self.after);
        self.after = u128::from(number) + 1;
        if let Some(kept) = &mut self.kept {
            kept.push((*key, *value));
        }
    }

    /// As [`Seen::see`], for a store of plain bytes; pairs of other lengths are counted as out of
    /// order.
    #[inline(always)]
    pub fn see_bytes(&mut self, key: &[u8], value: &[u8]) {
        match (key.try_into(), value.try_into()) {
            (Ok(key), Ok(value)) => self.see(key, value),
            _ => self.check.out_of_order += 1,
        }
    }

    /// The check value over everything seen.
    #[must_use]
    pub fn check(&self) -> Check {
        self.check
    }

    /// The pairs, when they were kept.
    #[must_use]
    pub fn pairs(&self) -> &[Pair] {
        self.kept.as_deref().unwrap_or_default()
    }
}

impl Check {
    /// Adds a pair. Each word of the value is bound to its key, so that values which changed
    /// places are noticed.
    #[inline(always)]
    pub fn add(&mut self, number: u64, value: &Value) {
        self.pairs += 1;
        self.sums[0] = self.sums[0].wrapping_add(number);
        for (sum, word) in self.sums[1..].iter_mut().zip(value.chunks_exact(8)) {
            let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
            *sum = sum.wrapping_add(word ^ number);
        }
    }
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
