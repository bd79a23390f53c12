//! Waiting for rows that other transactions have changed, as statements at READ COMMITTED do.
//!
//! A statement that meets such a row waits in the engine for a moment at a time, which finds those
//! that wait for each other. In between the statement may be told to stop; then it takes back what
//! it did and is run again on what has been committed meanwhile.

use std::time::{Duration, Instant};

use super::statements::Session;
use super::transaction::Transaction;
use crate::error::{Error, Result, SqlState};

/// How long the engine waits before the session looks whether to go on.
pub(crate) const WAIT: Duration = Duration::from_millis(50);

impl Session {
    /// Whether the statement of a block, begun then, is run again after this error.
    ///
    /// # Errors
    /// `LOCK_NOT_AVAILABLE` once it has waited for as long as `lock_timeout` says; `CANCELLED`.
    pub(crate) fn runs_again(
        &self,
        transaction: &Transaction,
        error: &Error,
        begun: Instant,
    ) -> Result<bool> {
        let takes_new_snapshots = self
            .block
            .as_ref()
            .is_some_and(|block| block.isolation.refreshes() && block.savepoints.is_empty());
        if !takes_new_snapshots || !error.ends_transaction() || transaction.writing()?.must_yield()
        {
            return Ok(false);
        }
        self.cancel().check()?;
        match self.settings.lock_timeout {
            Some(timeout) if begun.elapsed() >= timeout => {
                let text = "the statement waited longer than lock_timeout allows";
                Err(Error::new(SqlState::LOCK_NOT_AVAILABLE, text))
            }
            _ => Ok(true),
        }
    }
}
