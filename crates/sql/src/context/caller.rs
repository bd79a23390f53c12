//! For whom a function is called: the session, its role, and its definitions.
//!
//! A caller is never changed: a session that acts for another role, or looks names up elsewhere,
//! has others, and functions that know them.

use std::sync::{Arc, Weak};

use super::defining::Numbering;
use crate::catalog::role::Actor;
use crate::database::SqlDatabase;
use crate::error::{Error, Result};
use crate::notifications::Notifying;

/// Whose function it is.
pub(crate) struct Caller {
    /// The number of the session.
    pub(crate) session: u64,
    pub(crate) actor: Actor,
    /// Where names without a schema are looked for.
    pub(crate) path: Vec<String>,
    pub(crate) numbering: Arc<Numbering>,
    pub(crate) notifying: Arc<Notifying>,
    pub(crate) database: Weak<SqlDatabase>,
}

impl Caller {
    /// The database.
    ///
    /// # Errors
    /// If it is closed, which no session outlives.
    pub(crate) fn database(&self) -> Result<Arc<SqlDatabase>> {
        self.database.upgrade().ok_or_else(|| Error::internal("the database is gone"))
    }
}

impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        (self.session, self.actor, &self.path) == (other.session, other.actor, &other.path)
    }
}

impl Eq for Caller {}
