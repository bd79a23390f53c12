//! What is kept for a client beyond the message that brought it: statements, portals, cursors.
//!
//! Each is counted in the database's budget and in what one session may keep, and is given back in
//! both when it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use remanent_sql::{Error, Held, SqlState};

use super::Connection;

/// What a session may keep of statements and portals, by what they are reckoned to take.
const KEPT_BYTES_MAX: usize = 256 << 20;

/// A part of what a session keeps.
pub(super) struct Keeping {
    held: Held,
    all: Arc<AtomicUsize>,
}

/// What the one portal without a name may take uncounted.
const UNNAMED_BYTES_MAX: usize = 64 << 10;

impl Keeping {
    /// Makes it so much more.
    ///
    /// # Errors
    /// `LIMIT_EXCEEDED` if the session keeps too much; `OUT_OF_MEMORY`.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Error> {
        // The thread of the connection alone changes it.
        if self.all.load(Ordering::Relaxed).saturating_add(bytes) > KEPT_BYTES_MAX {
            let text = "the session keeps too many statements and portals";
            let hint = "Close those that are needed no longer.";
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, text).hint(hint));
        }
        self.held.grow(bytes)?;
        self.all.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        self.all.fetch_sub(self.held.bytes(), Ordering::Relaxed);
    }
}

impl Connection {
    /// Counts a portal, but for one without a name that is small: there is one of these, and it
    /// goes with the next statement.
    ///
    /// # Errors
    /// As [`Keeping::grow`].
    pub(super) fn keep_portal(
        &mut self,
        name: &str,
        bytes: usize,
    ) -> Result<Option<Keeping>, Error> {
        match name.is_empty() && bytes <= UNNAMED_BYTES_MAX {
            true => Ok(None),
            false => self.keep_bytes("a portal", bytes).map(Some),
        }
    }

    /// Counts so many bytes for as long as what is returned is kept. Statements that are remembered
    /// for their own sake make room.
    pub(super) fn keep_bytes(&mut self, what: &str, bytes: usize) -> Result<Keeping, Error> {
        let all = Arc::clone(&self.kept_bytes);
        let mut keeping = Keeping { held: self.shared.database.hold(what), all };
        if keeping.grow(bytes).is_err() {
            self.repeated.clear();
            keeping.grow(bytes)?;
        }
        Ok(keeping)
    }
}
