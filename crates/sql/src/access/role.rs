//! Roles, as whoever lets somebody in needs them.
//!
//! What was once looked up is compared with what there is when it counts: numbers are never given
//! again, so a role that was dropped and made anew is another.

use crate::catalog::snapshot::Snapshot;
use crate::catalog::store::ObjectId;
use crate::database::{SqlDatabase, random_secret};

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

impl SqlDatabase {
    /// The role of this name.
    pub fn role(&self, name: &str) -> Option<Role> {
        self.catalog().role(name).cloned()
    }

    /// Whether there is a role that may log in and has a password.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let db = SqlDatabase::in_memory()?;
    /// db.session().execute("create role ben login")?;
    /// assert!(!db.has_login());
    /// db.session().execute("create role ann password 'secret'")?;
    /// assert!(db.has_login());
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn has_login(&self) -> bool {
        let has = |role: &Role| role.may_log_in && role.verifier.is_some();
        self.catalog().roles.values().any(has)
    }

    /// Bytes that nobody outside knows and that stay the same as long as the database is: from
    /// them a server makes what a role that does not exist is asked, the same each time.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let db = SqlDatabase::in_memory()?;
    /// assert_eq!(db.secret(), db.secret());
    /// assert_ne!(db.secret(), SqlDatabase::in_memory()?.secret());
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn secret(&self) -> String {
        if let Some(secret) = self.catalog().secrets.get(SECRET) {
            return secret.clone();
        }
        let make = || {
            let secret = random_secret();
            // One that can only be read has it for as long as it is open.
            let _ = self.keep_secret(&secret);
            secret
        };
        self.own_secret.get_or_init(make).clone()
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
