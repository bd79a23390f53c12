//! Who may do what: roles, what they were granted, and the check before each statement.
//!
//! A session that acts as a role may do what the role was granted and no more; one that was never
//! told whom it acts for is the program's own and may do everything. Roles and grants are rows of
//! the catalog, and count for all sessions from the moment they are written.

mod define;
mod need;

use crate::catalog::names::{Name, quoted};
use crate::catalog::snapshot::Snapshot;
use crate::catalog::store::Kind;
use crate::database::SqlDatabase;
use crate::error::{Error, Result, SqlState};
use crate::session::statements::Session;

use need::{Need, Needs};

/// A role, as whoever lets somebody in needs it.
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
    /// Whether it may begin a session.
    pub may_log_in: bool,
    /// Whether it may do everything.
    pub is_superuser: bool,
    /// What proves its password, as PostgreSQL stores it: `SCRAM-SHA-256$..`.
    pub verifier: Option<String>,
}

impl Role {
    fn read(definition: &str) -> Self {
        let mut role = Self::default();
        for word in definition.split_whitespace() {
            match word {
                "login" => role.may_log_in = true,
                "superuser" => role.is_superuser = true,
                verifier => role.verifier = Some(verifier.to_owned()),
            }
        }
        role
    }

    fn write(&self) -> String {
        let words = [
            self.may_log_in.then_some("login"),
            self.is_superuser.then_some("superuser"),
            self.verifier.as_deref(),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

impl SqlDatabase {
    /// The role of this name.
    pub fn role(&self, name: &str) -> Option<Role> {
        role(&self.catalog(), name)
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
        let catalog = self.catalog();
        let mut roles = catalog.roles.iter().filter(|object| object.kind == Kind::Role);
        roles.any(|object| {
            let role = Role::read(&object.definition);
            role.may_log_in && role.verifier.is_some()
        })
    }
}

fn role(catalog: &Snapshot, name: &str) -> Option<Role> {
    let is_it = |object: &&crate::catalog::store::Object| {
        object.kind == Kind::Role && object.name.name == name
    };
    catalog.roles.iter().find(is_it).map(|object| Role::read(&object.definition))
}

/// What a role may do with a table or view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Privilege {
    Select,
    Insert,
    Update,
    Delete,
}

impl Privilege {
    const ALL: [Self; 4] = [Self::Select, Self::Insert, Self::Update, Self::Delete];

    fn word(self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// Stands for all tables of a schema.
const ALL_TABLES: &str = "*";

/// The row of the catalog in which grants of a role on a table stand.
fn grant_name(role: &str, table: &Name) -> Name {
    Name::new(role, format!("{}.{}", table.schema, table.name))
}

/// What a role was granted on a table, by its own name alone or with all of its schema.
fn granted(catalog: &Snapshot, role: &str, table: &Name) -> Vec<Privilege> {
    let on = [grant_name(role, table), grant_name(role, &Name::new(&table.schema, ALL_TABLES))];
    let grants = catalog.roles.iter().filter(|object| object.kind == Kind::Grant);
    let grants = grants.filter(|object| on.contains(&object.name));
    let words: Vec<&str> = grants.flat_map(|object| object.definition.split(',')).collect();
    Privilege::ALL.into_iter().filter(|privilege| words.contains(&privilege.word())).collect()
}

impl Session {
    /// From now on, statements may do what this role may.
    ///
    /// # Errors
    /// `BAD_AUTHORIZATION` if there is no such role.
    pub fn act_as(&mut self, name: &str) -> Result<()> {
        if self.database.role(name).is_none() {
            return Err(unknown(name));
        }
        self.set_user(name);
        self.acts_as = Some(name.to_owned());
        self.restricted = (0, false);
        Ok(())
    }

    /// Whether it may do everything.
    pub(crate) fn is_superuser(&self) -> bool {
        let Some(name) = &self.acts_as else { return true };
        self.database.role(name).is_some_and(|role| role.is_superuser)
    }

    /// Checks that the statement may run.
    ///
    /// # Errors
    /// `NO_PRIVILEGE`.
    pub(crate) fn check_access(
        &self,
        statement: &datafusion::sql::sqlparser::ast::Statement,
    ) -> Result<()> {
        let Some(role) = &self.acts_as else { return Ok(()) };
        if self.is_superuser() {
            return Ok(());
        }
        let catalog = self.database.catalog();
        let needs = match need::of(statement) {
            Needs::Nothing => return Ok(()),
            Needs::Superuser => {
                let text = "only a superuser may run this statement";
                return Err(Error::new(SqlState::NO_PRIVILEGE, text));
            }
            Needs::Tables(needs) => needs,
        };
        for Need { name, privilege } in needs {
            // What is not there is for the binder to say.
            let Some(table) = self.existing(&catalog, &name) else { continue };
            if !granted(&catalog, role, &table).contains(&privilege) {
                let text = format!("permission denied for table {}", quoted(&table.name));
                return Err(Error::new(SqlState::NO_PRIVILEGE, text)
                    .detail(format!("{role} has no {} on it.", privilege.word())));
            }
        }
        Ok(())
    }

    /// The table or view that a name means.
    fn existing(
        &self,
        catalog: &Snapshot,
        name: &datafusion::sql::sqlparser::ast::ObjectName,
    ) -> Option<Name> {
        use crate::catalog::snapshot::Relation;
        let schemas = self.settings.search_path.iter().map(String::as_str);
        schemas.chain([self.home()]).find_map(|schema| {
            let name = Name::from_ast(name, schema).ok()?;
            Some(match catalog.relation(&name)? {
                Relation::Table(table) => table.name.clone(),
                Relation::View(view) => view.name.clone(),
            })
        })
    }
}

fn unknown(name: &str) -> Error {
    Error::new(SqlState::UNKNOWN_OBJECT, format!("role {} does not exist", quoted(name)))
}
