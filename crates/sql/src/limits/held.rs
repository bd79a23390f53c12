//! Memory that a server holds for its clients, counted in the budget of the database.
//!
//! What came over the network and what is kept for a client is counted before it is taken, beside
//! what the engine holds and what queries use; it is given back when its [`Held`] is dropped.

use std::sync::Arc;

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};

use crate::error::{Error, Result, SqlState};

/// A part of the memory budget.
///
/// # Examples
/// ```
/// use remanent_sql::SqlDatabase;
/// let db = SqlDatabase::in_memory()?;
/// let mut held = db.hold("a message");
/// held.resize(1 << 20)?;
/// assert_eq!(held.bytes(), 1 << 20);
/// let refused = held.resize(usize::MAX / 2).unwrap_err();
/// assert_eq!(refused.state().as_str(), "53200");
/// assert_eq!(held.bytes(), 1 << 20);
/// # Ok::<(), remanent_sql::Error>(())
/// ```
pub struct Held(MemoryReservation);

impl Held {
    /// Nothing yet of the memory that this pool has, for what these words name.
    pub(crate) fn of(pool: &Arc<dyn MemoryPool>, what: &str) -> Self {
        Self(MemoryConsumer::new(what).register(pool))
    }

    /// How much it is.
    pub fn bytes(&self) -> usize {
        self.0.size()
    }

    /// Makes it so much.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if the budget has no room; then it is what it was.
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        let before = self.0.size();
        if bytes <= before {
            self.0.shrink(before - bytes);
            return Ok(());
        }
        self.0.try_grow(bytes - before).map_err(|_| {
            let text = format!("the memory budget is reached: no room for {}", self.name());
            let detail = format!("{bytes} bytes are needed, of which {before} are held.");
            Error::new(SqlState::OUT_OF_MEMORY, text).detail(detail)
        })
    }

    /// Makes it so much more.
    ///
    /// # Errors
    /// As [`Held::resize`].
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        self.resize(self.bytes().saturating_add(bytes))
    }

    fn name(&self) -> &str {
        self.0.consumer().name()
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes of {}", self.bytes(), self.name())
    }
}
