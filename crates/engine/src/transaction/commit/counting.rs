//! What a transaction counts of itself, in the cache of its slot.
//!
//! A commit costs two more stores to a line that it has written before; conflicts and rollbacks are
//! rare or dear anyway. A statement that is run counts nothing: its changes are counted with the
//! commit, whose write set knows how many they are.

use crate::error::{Error, Result};
use crate::memory::counts::Counted;
use crate::transaction::write::transaction::WriteTransaction;

impl WriteTransaction<'_> {
    /// Counts one more.
    pub(in crate::transaction) fn count(&self, what: Counted) {
        self.alloc.cache.counts.add(what, 1);
    }

    /// Counts what became of a statement that was refused at first.
    #[cold]
    pub(in crate::transaction) fn counted<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.inspect_err(|error| self.count_refusal(error))
    }

    /// Counts a refusal, if it is for what others did.
    #[cold]
    pub(in crate::transaction) fn count_refusal(&self, error: &Error) {
        if error.is_conflict() {
            self.count(Counted::Conflicts);
        }
    }

    /// Counts a commit of so many changes, if others see them. They may although it failed: then
    /// the log could not be made as durable as was asked for.
    #[inline(always)]
    pub(in crate::transaction) fn count_commit(&self, changes: u64, error: Option<&Error>) {
        if self.ended.get() && changes > 0 {
            let counts = &self.alloc.cache.counts;
            counts.add(Counted::Commits, 1);
            counts.add(Counted::Changes, changes);
        }
        if let Some(error) = error {
            self.count_refusal(error);
        }
    }
}
