//! Stopping a statement from outside, by the clock, or because it takes too much memory.
//!
//! Somebody else sets a flag; whoever reads rows looks at it between batches. A deadline and the
//! memory that was taken are checked as often. Functions are not told for which statement they
//! are called: the thread that runs one knows.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use super::budget;
use super::budget::BudgetPool;
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
    /// Whether the statement frees memory: then it may take a little that there is no room for.
    frees: AtomicBool,
    /// The budget from which the statement takes its memory.
    budget: Option<Arc<BudgetPool>>,
    /// The most bytes of it that each of its queries may hold; 0 if nobody says so.
    query_memory: AtomicUsize,
}

/// How far a statement may go.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Limits {
    pub(crate) timeout: Option<Duration>,
    /// How long it may wait for others.
    pub(crate) patience: Option<Duration>,
    /// The most bytes that each of its queries may hold.
    pub(crate) query_memory: Option<usize>,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Cancel>>> = const { RefCell::new(None) };
}

impl Cancel {
    /// Of a session that takes memory from this budget.
    pub(crate) fn of(budget: &Arc<BudgetPool>) -> Arc<Self> {
        Arc::new(Self { budget: Some(Arc::clone(budget)), ..Self::default() })
    }

    /// Whoever polls this works for this statement meanwhile.
    pub(crate) async fn within<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|context| {
            let _entered = self.enter();
            future.as_mut().poll(context)
        })
        .await
    }

    /// The thread works for this statement until the answer is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Entered {
        Entered { before: CURRENT.replace(Some(Arc::clone(self))) }
    }

    /// Whether the statement for which this thread works may make an array of so many bytes.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn check_list(bytes: usize) -> Result<()> {
        CURRENT.with_borrow(|current| match current.as_ref().and_then(|it| it.budget.as_ref()) {
            Some(budget) => budget.check_list(bytes),
            None => Ok(()),
        })
    }

    /// Looks whether the statement for which this thread works is to stop.
    ///
    /// # Errors
    /// As [`Cancel::check`].
    pub(crate) fn check_current() -> Result<()> {
        CURRENT.with_borrow(|current| current.as_ref().map_or(Ok(()), |cancel| cancel.check()))
    }

    /// Whether the statement for which this thread works may make values of so many bytes, of
    /// which the largest has so many.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`, `LIMIT_EXCEEDED`.
    pub(crate) fn check_values(bytes: usize, largest: usize) -> Result<()> {
        budget::check_value(largest)?;
        CURRENT.with_borrow(|current| match current.as_ref().and_then(|it| it.budget.as_ref()) {
            Some(budget) => budget.check_values(bytes, largest),
            None => Ok(()),
        })
    }

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

    /// A statement begins, which may go so far.
    pub(crate) fn begin(&self, limits: Limits) {
        let Limits { timeout, patience, query_memory } = limits;
        self.query_memory.store(query_memory.unwrap_or(0), Ordering::Relaxed);
        self.requested.store(false, Ordering::SeqCst);
        self.frees.store(false, Ordering::Relaxed);
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

    /// The statement that runs frees memory: a full budget does not keep it from that.
    pub(crate) fn frees_memory(&self) {
        self.frees.store(true, Ordering::Relaxed);
    }

    /// The most bytes that each query of the statement may hold.
    pub(crate) fn query_memory(&self) -> Option<usize> {
        Some(self.query_memory.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
    }

    fn frees(&self) -> bool {
        self.frees.load(Ordering::Relaxed)
    }

    /// Whether the statement for which this thread works frees memory.
    pub(crate) fn current_frees() -> bool {
        CURRENT.with_borrow(|current| current.as_ref().is_some_and(|cancel| cancel.frees()))
    }

    /// How long the statement that runs may wait for definitions of others.
    pub(crate) fn patience(&self) -> Duration {
        let patience = *self.patience.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        patience.unwrap_or(PATIENCE_MAX)
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// `CANCELLED`; `OUT_OF_MEMORY`.
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
            self.check_deadline()?;
        }
        match &self.budget {
            Some(budget) => budget.check(self.frees()),
            None => Ok(()),
        }
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

/// The thread works for what it did before when it is dropped.
pub(crate) struct Entered {
    before: Option<Arc<Cancel>>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}
