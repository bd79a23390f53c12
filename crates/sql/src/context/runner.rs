//! How every statement that changes rows is run: by one pair of calls around its work.
//!
//! In a block it is a part of the block's transaction, undone as a whole when it fails; outside of
//! one it is a transaction of its own. Where another transaction was first it is run again: by
//! itself with a new transaction for a while, in a block where that may take a new snapshot. A
//! caller loops until there is an answer, and works anew each time:
//!
//! `loop { begin_change, the work, end_change }`. What is said about one key, by itself, has a
//! transaction without this cost, and asks `runs_again_alone` as all others do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_engine::{Savepoint, Writing};

use super::StatementContext;
use crate::error::{Error, Result, SqlState};
use crate::transaction::Transaction;

/// How long the engine waits for a row before the session looks whether to go on: it finds those
/// that wait for each other, and a statement may be told to stop.
pub(crate) const WAIT: Duration = Duration::from_millis(50);

/// How long a statement by itself is run again.
const RETRY_MAX: Duration = Duration::from_secs(10);

/// A change that is being made.
pub(crate) struct Changing {
    pub(crate) transaction: Arc<Transaction>,
    /// Of a block, where it goes back to.
    pub(crate) before: Option<Savepoint>,
    begun: Instant,
}

/// Since when a statement is tried.
#[derive(Default)]
pub(crate) struct Tries {
    begun: Option<Instant>,
    /// Whether it was tried again when memory was drained.
    freed: bool,
}

/// Statements that were refused memory within this time are tried again.
const SHORT: Duration = Duration::from_secs(1);

/// The part of the budget that has to be free for that.
const FREE_PART: u64 = 16;

impl Tries {
    fn elapsed(&mut self) -> Duration {
        self.begun.get_or_insert_with(Instant::now).elapsed()
    }
}

impl Changing {
    /// To write with.
    ///
    /// # Errors
    /// `READ_ONLY`; `BAD_TRANSACTION_STATE` once it has ended.
    pub(crate) fn writing(&self) -> Result<Writing<'_>> {
        self.transaction.writing()
    }
}

impl StatementContext {
    /// What every call that changes rows without a statement's text begins with.
    ///
    /// # Errors
    /// `IN_FAILED_TRANSACTION`.
    pub(crate) fn begin_without_text(&mut self) -> Result<()> {
        self.begin_statement();
        self.renew_rights();
        self.check_not_failed()?;
        self.mark_start();
        Ok(())
    }

    /// Begins a change.
    ///
    /// # Errors
    /// `READ_ONLY`; as a transaction that begins.
    pub(crate) fn begin_change(&mut self, tries: &mut Tries) -> Result<Changing> {
        tries.elapsed();
        let transaction = self.transaction(true)?;
        let before = match self.block {
            Some(_) => Some(transaction.writing()?.savepoint()),
            None => None,
        };
        // Whoever gives up waiting for it leaves it unfinished.
        self.unfinished = before;
        Ok(Changing { transaction, before, begun: Instant::now() })
    }

    /// Ends a change with what came of it; `None` if it is to be made again.
    ///
    /// # Errors
    /// Of the work or of the commit; then nothing has been changed.
    pub(crate) fn end_change<T>(
        &mut self,
        changing: Changing,
        done: Result<T>,
        tries: &mut Tries,
    ) -> Result<Option<T>> {
        match done.and_then(|done| self.commit_change(&changing).map(|()| done)) {
            Ok(done) => {
                self.after_change(changing);
                Ok(Some(done))
            }
            Err(error) => {
                self.give_up_change(&changing)?;
                let again = match changing.before {
                    Some(_) => self.runs_again(&changing.transaction, &error, tries)?,
                    None => self.runs_again_alone(&error, tries)?,
                };
                if again { Ok(None) } else { Err(error) }
            }
        }
    }

    /// Ends a change that was made whole.
    ///
    /// # Errors
    /// As a commit.
    pub(crate) fn keep_change(&mut self, changing: Changing) -> Result<()> {
        self.commit_change(&changing)?;
        self.after_change(changing);
        Ok(())
    }

    fn commit_change(&mut self, changing: &Changing) -> Result<()> {
        if changing.before.is_none() {
            self.committing(|_| changing.transaction.commit())?;
        }
        self.unfinished = None;
        Ok(())
    }

    /// The snapshot goes first: rows that are newer cannot become columns while it is held.
    fn after_change(&self, changing: Changing) {
        let Changing { transaction, before, begun } = changing;
        drop(transaction);
        if before.is_none() {
            self.after_commit(begun.elapsed());
        }
    }

    /// Takes a change back, as if it had never begun.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn give_up_change(&mut self, changing: &Changing) -> Result<()> {
        self.unfinished = None;
        self.forget_asked();
        match changing.before {
            Some(before) => self.take_back_to(&changing.transaction, before),
            None => {
                changing.transaction.roll_back();
                Ok(())
            }
        }
    }

    /// Forgets what the statement that runs has asked for.
    pub(crate) fn forget_asked(&self) {
        self.notifying.forget_since(self.asked_before);
    }

    /// Whether a statement by itself is run again after this error.
    ///
    /// # Errors
    /// `CANCELLED`.
    pub(crate) fn runs_again_alone(&self, error: &Error, tries: &mut Tries) -> Result<bool> {
        if error.state() == SqlState::OUT_OF_MEMORY {
            return Ok(self.has_freed(tries));
        }
        if !error.ends_transaction() || tries.elapsed() >= RETRY_MAX {
            return Ok(false);
        }
        self.check_cancelled()?;
        Ok(true)
    }

    /// Whether there is room now where there was none: what others deleted is drained when who
    /// was refused has ended.
    fn has_freed(&self, tries: &mut Tries) -> bool {
        let engine = &self.database.engine;
        let is_free = engine.memory_left() > engine.memory().budget / FREE_PART;
        is_free && !std::mem::replace(&mut tries.freed, true) && tries.elapsed() < SHORT
    }

    /// Whether the statement of a block is run again after this error: where it may see what has
    /// been committed meanwhile, which it waited for.
    ///
    /// # Errors
    /// `LOCK_NOT_AVAILABLE` once it has waited for as long as `lock_timeout` says; `CANCELLED`.
    fn runs_again(
        &self,
        transaction: &Transaction,
        error: &Error,
        tries: &mut Tries,
    ) -> Result<bool> {
        let takes_new_snapshots = self
            .block
            .as_ref()
            .is_some_and(|block| block.isolation.refreshes() && block.savepoints.is_empty());
        if !takes_new_snapshots || !error.ends_transaction() || transaction.writing()?.must_yield()
        {
            return Ok(false);
        }
        self.check_cancelled()?;
        match self.settings.lock_timeout {
            Some(timeout) if tries.elapsed() >= timeout => {
                let text = "the statement waited longer than lock_timeout allows";
                Err(Error::new(SqlState::LOCK_NOT_AVAILABLE, text))
            }
            _ => Ok(true),
        }
    }
}
