//! Who may do what: the one place where it is decided.
//!
//! Rights are on objects by their numbers. Whatever is read, changed or defined is had from an
//! [`Access`], which looks a name's object up and asks whether it may be used so; what comes back
//! ([`Allowed`], [`Owned`], [`NewName`], [`Superuser`]) can be made nowhere else, and plans,
//! changes and definitions are made of nothing else. So there is no way to run something that was
//! not checked. A session that was never told for whom it acts is the program's own and may do
//! everything. `docs/roles.md` has the table of rights, `tests/rights` proves it.

use std::ops::Deref;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::ObjectName;

use crate::catalog::privilege::Privilege;
use crate::catalog::role::Actor;
use crate::catalog::sequence::Sequence;
use crate::catalog::snapshot::{Relation, Schema, Snapshot, View, unknown_table};
use crate::catalog::store::{Grant, Kind, ObjectId};
use crate::catalog::table::Table;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, check_new, quoted};

/// A table that may be used as it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Allowed(Arc<Table>);

/// A table whose definition may be changed.
#[derive(Clone, Debug)]
pub(crate) struct Owned(Arc<Table>);

/// A name under which something new may be made, and who will own that.
#[derive(Clone, Debug)]
pub(crate) struct NewName {
    name: Name,
    owner: Option<ObjectId>,
}

/// What rights are given on: by its number, if it has one, and by who owns it.
#[derive(Clone, Copy, Default)]
pub(crate) struct SecuredObject {
    pub(crate) id: Option<ObjectId>,
    pub(crate) owner: Option<ObjectId>,
}

/// Whoever asks may do everything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Superuser(());

/// What somebody may do in a catalog, with names that are looked for on a path.
#[derive(Clone, Copy)]
pub(crate) struct Access<'c> {
    pub(crate) catalog: &'c Snapshot,
    pub(crate) actor: Actor,
    pub(crate) path: &'c [String],
}

impl Deref for Allowed {
    type Target = Arc<Table>;

    fn deref(&self) -> &Arc<Table> {
        &self.0
    }
}

impl Deref for Owned {
    type Target = Arc<Table>;

    fn deref(&self) -> &Arc<Table> {
        &self.0
    }
}

impl NewName {
    pub(crate) fn name(&self) -> &Name {
        &self.name
    }

    /// The role that will own it.
    pub(crate) fn owner(&self) -> Option<ObjectId> {
        self.owner
    }
}

impl SecuredObject {
    pub(crate) fn of_schema(schema: Schema) -> Self {
        Self { id: schema.id, owner: schema.owner }
    }
}

impl<'c> Access<'c> {
    /// The same for somebody else.
    pub(crate) fn of(self, actor: Actor) -> Self {
        Self { actor, ..self }
    }

    /// Whether a right was given, by itself or as the object's owner.
    pub(crate) fn has(&self, object: SecuredObject, privilege: Privilege) -> bool {
        if self.owns(object.owner) {
            return true;
        }
        let (Actor::Role(role), Some(object)) = (self.actor, object.id) else { return false };
        // A role that was dropped has no rights, not even everybody's.
        let holders = [role, ObjectId::PUBLIC];
        let grants = &self.catalog.grants;
        let is_given = |&role: &ObjectId| grants.contains(&Grant { role, object, privilege });
        self.catalog.roles.contains_key(&role) && holders.iter().any(is_given)
    }

    /// Whether it is the owner, or may do everything.
    pub(crate) fn owns(&self, owner: Option<ObjectId>) -> bool {
        match self.actor {
            Actor::Program => true,
            Actor::Role(role) => match self.catalog.roles.get(&role) {
                None => false,
                Some(found) => found.is_superuser || owner == Some(role),
            },
        }
    }

    /// Whether names in a schema may be looked up.
    pub(crate) fn uses_schema(&self, schema: &str) -> bool {
        let found = self.catalog.schemas.get(schema).copied().unwrap_or_default();
        found.id.is_none() && self.is_somebody()
            || self.has(SecuredObject::of_schema(found), Privilege::Usage)
    }

    fn is_somebody(&self) -> bool {
        match self.actor {
            Actor::Program => true,
            Actor::Role(role) => self.catalog.roles.contains_key(&role),
        }
    }

    /// Checks that names in a schema may be looked up.
    ///
    /// # Errors
    /// `NO_PRIVILEGE`.
    pub(crate) fn check_schema(&self, schema: &str) -> Result<()> {
        match self.uses_schema(schema) {
            true => Ok(()),
            false => Err(denied("schema", schema)),
        }
    }

    /// A table, to be used so.
    ///
    /// # Errors
    /// `NO_PRIVILEGE`; `BAD_DEFINITION` to change one whose definition cannot be read.
    pub(crate) fn table(&self, table: &Arc<Table>, uses: &[Privilege]) -> Result<Allowed> {
        self.check_schema(&table.name.schema)?;
        let object = SecuredObject { id: table.id, owner: table.owner };
        let lacks = uses.iter().find(|&&use_of| !self.has(object, use_of));
        if let Some(lacks) = lacks {
            let error = denied("table", &table.name.name);
            return Err(error.detail(format!("{} is not granted.", lacks.word())));
        }
        let changes = uses.iter().any(|use_of| *use_of != Privilege::Select);
        match &table.fault {
            Some(fault) if changes => {
                let text = format!("table {} can only be read", table.name);
                Err(Error::new(SqlState::BAD_DEFINITION, text).detail(fault.clone()))
            }
            _ => Ok(Allowed(Arc::clone(table))),
        }
    }

    /// Checks that a view may be read.
    ///
    /// # Errors
    /// `NO_PRIVILEGE`.
    pub(crate) fn check_view(&self, view: &View) -> Result<()> {
        self.check_schema(&view.name.schema)?;
        let object = SecuredObject { id: Some(view.id), owner: view.owner };
        match self.has(object, Privilege::Select) {
            true => Ok(()),
            false => Err(denied("view", &view.name.name)),
        }
    }

    /// Checks that a sequence may be used in one of these ways.
    ///
    /// # Errors
    /// `NO_PRIVILEGE`.
    pub(crate) fn check_sequence(&self, sequence: &Sequence, uses: &[Privilege]) -> Result<()> {
        self.check_schema(&sequence.name.schema)?;
        let object = SecuredObject { id: Some(sequence.id), owner: sequence.owner };
        match uses.iter().any(|use_of| self.has(object, *use_of)) {
            true => Ok(()),
            false => Err(denied("sequence", &sequence.name.name)),
        }
    }

    /// A table whose definition is to be changed.
    ///
    /// # Errors
    /// `NO_PRIVILEGE`.
    pub(crate) fn own_table(&self, table: &Arc<Table>) -> Result<Owned> {
        self.check_owner("table", &table.name.name, table.owner)?;
        Ok(Owned(Arc::clone(table)))
    }

    /// Checks that something is its own.
    ///
    /// # Errors
    /// `NO_PRIVILEGE`.
    pub(crate) fn check_owner(
        &self,
        kind: &str,
        name: &str,
        owner: Option<ObjectId>,
    ) -> Result<()> {
        if self.owns(owner) {
            return Ok(());
        }
        let text = format!("must be owner of {kind} {}", quoted(name));
        Err(Error::new(SqlState::NO_PRIVILEGE, text))
    }

    /// A name for something new.
    ///
    /// # Errors
    /// `NO_PRIVILEGE`, `UNKNOWN_SCHEMA`; `BAD_DEFINITION` for what cannot be a name.
    pub(crate) fn new_name(&self, name: &ObjectName, current_schema: &str) -> Result<NewName> {
        let name = Name::from_ast(name, current_schema)?;
        check_new(&name.name)?;
        let schema = self.catalog.check_schema(&name.schema)?;
        if !self.has(SecuredObject::of_schema(schema), Privilege::Create) {
            return Err(denied("schema", &name.schema));
        }
        Ok(NewName { name, owner: self.actor.as_owner() })
    }

    /// Another name for what keeps its owner.
    ///
    /// # Errors
    /// As [`Access::new_name`].
    pub(crate) fn other_name(
        &self,
        name: &ObjectName,
        current_schema: &str,
        owner: Option<ObjectId>,
    ) -> Result<NewName> {
        let made = self.new_name(name, current_schema)?;
        Ok(NewName { owner, ..made })
    }

    /// Whoever may do everything.
    ///
    /// # Errors
    /// `NO_PRIVILEGE`.
    pub(crate) fn superuser(&self) -> Result<Superuser> {
        match self.actor.is_superuser(self.catalog) {
            true => Ok(Superuser(())),
            false => {
                let text = "only a superuser may run this statement";
                Err(Error::new(SqlState::NO_PRIVILEGE, text))
            }
        }
    }

    /// The table or view of this name, on the path where it names no schema.
    pub(crate) fn relation(&self, name: &ObjectName) -> Result<Option<Relation>> {
        if name.0.len() > 1 {
            return Ok(self.catalog.relation(&Name::from_ast(name, "")?));
        }
        for schema in self.path {
            let found = self.catalog.relation(&Name::from_ast(name, schema)?);
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The table of this name.
    ///
    /// # Errors
    /// `UNKNOWN_TABLE`; `WRONG_OBJECT` for a view.
    fn found(&self, name: &ObjectName) -> Result<Arc<Table>> {
        let current_schema = self.path.first().map_or(crate::names::PUBLIC, String::as_str);
        match self.relation(name)? {
            Some(Relation::Table(table)) => Ok(table),
            Some(Relation::View(view)) => {
                let text = format!("{} is a view, not a table", view.name);
                Err(Error::new(SqlState::WRONG_OBJECT, text))
            }
            None => Err(unknown_table(&Name::from_ast(name, current_schema)?)),
        }
    }

    /// The table of this name, to be used so.
    ///
    /// # Errors
    /// As [`Access::table`]; `UNKNOWN_TABLE`, `WRONG_OBJECT`.
    pub(crate) fn find(&self, name: &ObjectName, uses: &[Privilege]) -> Result<Allowed> {
        self.table(&self.found(name)?, uses)
    }

    /// The table of this name, to change its definition.
    ///
    /// # Errors
    /// As [`Access::own_table`]; `UNKNOWN_TABLE`, `WRONG_OBJECT`.
    pub(crate) fn find_own(&self, name: &ObjectName) -> Result<Owned> {
        self.own_table(&self.found(name)?)
    }
}

fn denied(kind: &str, name: &str) -> Error {
    let text = format!("permission denied for {kind} {}", quoted(name));
    Error::new(SqlState::NO_PRIVILEGE, text)
}

/// What a number and an owner are about, for whoever asks of rights by words.
pub(crate) fn of_relation(relation: &Relation) -> (Kind, Option<ObjectId>, Option<ObjectId>) {
    match relation {
        Relation::Table(table) => (Kind::Table, table.id, table.owner),
        Relation::View(view) => (Kind::View, Some(view.id), view.owner),
    }
}
