//! Roles, as whoever lets somebody in needs them.
//!
//! What was once looked up is compared with what there is when it counts: numbers are never given
//! again, so a role that was dropped and made anew is another.

use crate::catalog::snapshot::Snapshot;
use crate::catalog::store::ObjectId;
use crate::error::{Error, SqlState};
use crate::names::quoted;

/// A role, as whoever lets somebody in needs it.
///
/// Two are equal only if they are the same role in the same state: of a role that was dropped and
/// made again, or was given another password, what was known before is another.
///
/// # Examples
/// ```
/// use remanent_sql::SqlDatabase;
/// let db = SqlDatabase::in_memory()?;
/// db.session().execute("create role ann password 'secret'")?;
/// let ann = db.role("ann").unwrap();
/// assert!(ann.may_log_in && !ann.is_superuser);
/// assert!(ann.verifier.unwrap().starts_with("SCRAM-SHA-256$"));
/// # Ok::<(), remanent_sql::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Role {
    /// Its number, which no other role ever gets.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Whether it may begin a session.
    pub may_log_in: bool,
    /// Whether it may do everything.
    pub is_superuser: bool,
    /// What proves its password, as PostgreSQL stores it: `SCRAM-SHA-256$..`.
    pub verifier: Option<String>,
}

impl Role {
    pub(crate) fn object_id(&self) -> ObjectId {
        ObjectId(self.id)
    }
}

/// The name of the server's secret in the catalog.
pub(crate) const SECRET: &str = "login";

/// On whose behalf something is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Actor {
    /// The program that has the database linked in: it may do everything.
    Program,
    Role(ObjectId),
}

impl Actor {
    /// Whoever owns an object; what nobody owns is the program's.
    pub(crate) fn owner(owner: Option<ObjectId>) -> Self {
        owner.map_or(Self::Program, Self::Role)
    }

    /// The owner of what it makes.
    pub(crate) fn as_owner(self) -> Option<ObjectId> {
        match self {
            Self::Program => None,
            Self::Role(id) => Some(id),
        }
    }

    /// Whether it may do everything.
    pub(crate) fn is_superuser(self, catalog: &Snapshot) -> bool {
        match self {
            Self::Program => true,
            Self::Role(id) => catalog.roles.get(&id).is_some_and(|role| role.is_superuser),
        }
    }
}

/// That there is no role of this name.
pub(crate) fn unknown_role(name: &str) -> Error {
    Error::new(SqlState::UNKNOWN_OBJECT, format!("role {} does not exist", quoted(name)))
}
