//! Stopping a statement from outside, or by the clock.
//!
//! Somebody else sets a flag; whoever reads rows looks at it between batches. A deadline is looked
//! at as often.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::error::{Error, Result, SqlState};

/// How long a statement waits for definitions of others, if `lock_timeout` does not say.
const PATIENCE_MAX: Duration = Duration::from_secs(60);

/// Whether the statement that runs is to stop.
#[derive(Debug, Default)]
pub struct Cancel {
    requested: AtomicBool,
    /// Whether the session is to end: no statement goes on, and none begins.
    ended: AtomicBool,
    has_deadline: AtomicBool,
    deadline: Mutex<Option<Instant>>,
    /// How long the statement may wait for definitions of others.
    patience: Mutex<Option<Duration>>,
}

impl Cancel {
    /// Asks the statement that runs to stop; if none does, nothing happens.
    pub fn cancel(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Asks the session to end: the statement that runs fails, and so does every other.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let db = SqlDatabase::in_memory()?;
    /// let mut session = db.session();
    /// session.cancel_handle().end();
    /// let ended = session.query("select count(*) from pg_class", &[]).unwrap_err();
    /// assert_eq!(ended.state().as_str(), "57P01");
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.requested.store(true, Ordering::SeqCst);
    }

    /// Whether the session was asked to end.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Runs what a session does to its end, or until it is to stop while it would wait.
    ///
    /// # Errors
    /// Of what is run; `CANCELLED`.
    pub async fn stopping<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|context| {
            let polled = future.as_mut().poll(context);
            // A request from before it began does not count: it begins with its first poll.
            match self.check() {
                Err(stopped) if polled.is_pending() => Poll::Ready(Err(stopped)),
                _ => polled,
            }
        })
        .await
    }

    /// A statement begins, with this much time, of which it may wait so much for others.
    pub(crate) fn begin(&self, timeout: Option<Duration>, patience: Option<Duration>) {
        self.requested.store(false, Ordering::SeqCst);
        // Whoever ends it sets this first.
        if self.ended.load(Ordering::SeqCst) {
            self.requested.store(true, Ordering::Relaxed);
        }
        *self.patience.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = patience;
        if timeout.is_some() || self.has_deadline.load(Ordering::Relaxed) {
            let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
            *self.deadline.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = deadline;
            self.has_deadline.store(deadline.is_some(), Ordering::Relaxed);
        }
    }

    /// How long the statement that runs may wait for definitions of others.
    pub(crate) fn patience(&self) -> Duration {
        let patience = *self.patience.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        patience.unwrap_or(PATIENCE_MAX)
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// `CANCELLED`.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.requested.load(Ordering::Relaxed) {
            if self.is_ended() {
                let text = "terminating connection due to administrator command";
                return Err(Error::new(SqlState::SHUTDOWN, text));
            }
            let text = "the statement was cancelled by request";
            return Err(Error::new(SqlState::CANCELLED, text));
        }
        if self.has_deadline.load(Ordering::Relaxed) {
            return self.check_deadline();
        }
        Ok(())
    }

    fn check_deadline(&self) -> Result<()> {
        let deadline = *self.deadline.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let text = "the statement took longer than statement_timeout allows";
            return Err(Error::new(SqlState::CANCELLED, text));
        }
        Ok(())
    }
}
