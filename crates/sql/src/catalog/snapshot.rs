//! The catalog at one moment, which statements look names up in.
//!
//! A snapshot is never changed: whoever defines something makes the next one. Statements keep the
//! one that they began with.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use datafusion::sql::sqlparser::ast;

use super::role::Role;
use super::sequence::Sequence;
use super::store::{Grant, Kind, ObjectId};
use super::stored::StoredMeaning;
use super::table::Table;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, PUBLIC};
use crate::values::sql_type::SqlType;

/// Everything that has a name.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    /// No other catalog has it, not even one that a transaction sees alone.
    pub(crate) version: u64,
    pub(crate) schemas: BTreeMap<String, Schema>,
    pub(crate) tables: BTreeMap<Name, Arc<Table>>,
    pub(crate) views: BTreeMap<Name, Arc<View>>,
    pub(crate) sequences: BTreeMap<Name, Arc<Sequence>>,
    pub(crate) roles: BTreeMap<ObjectId, Role>,
    pub(crate) grants: BTreeSet<Grant>,
    /// What numbers mean.
    pub(crate) by_id: HashMap<ObjectId, (Kind, Name)>,
    /// Definitions that cannot be read.
    pub(crate) set_aside: Vec<SetAside>,
    /// What the server keeps for itself, by name.
    pub(crate) secrets: BTreeMap<String, String>,
}

/// A schema. `public` and schemas of other interfaces have no number.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Schema {
    pub(crate) id: Option<ObjectId>,
    pub(crate) owner: Option<ObjectId>,
}

/// A definition in the catalog that cannot be read: what it defines is not there, or, of a table,
/// is as the engine describes it and can only be read. Everything else works.
///
/// # Examples
/// ```
/// use remanent_sql::SqlDatabase;
/// assert!(SqlDatabase::in_memory()?.set_aside().is_empty());
/// # Ok::<(), remanent_sql::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetAside {
    /// What it is: `table`, `view`, `sequence`, `schema`, `role`.
    pub kind: &'static str,
    /// Its name, with the schema if it is not `public`.
    pub name: String,
    /// Why it cannot be read.
    pub because: String,
}

impl std::fmt::Display for SetAside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} is set aside: {}", self.kind, self.name, self.because)
    }
}

/// A query with a name.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) id: ObjectId,
    /// Whoever's rights it has.
    pub(crate) owner: Option<ObjectId>,
    pub(crate) name: Name,
    pub(crate) columns: Vec<ViewColumn>,
    pub(crate) query: ast::Query,
    /// What the names in the query mean.
    pub(crate) names: Vec<StoredMeaning>,
    pub(crate) comment: Option<String>,
}

/// A column of a view.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ViewColumn {
    pub(crate) name: String,
    /// What the query calls it.
    pub(crate) source: String,
    pub(crate) sql_type: SqlType,
}

/// A table or a view.
pub(crate) enum Relation {
    Table(Arc<Table>),
    View(Arc<View>),
}

impl View {
    /// Whether it reads an object.
    pub(crate) fn reads(&self, id: Option<ObjectId>) -> bool {
        id.is_some_and(|id| self.names.iter().any(|name| name.object == id.0))
    }

    /// The statement that makes it.
    pub(crate) fn to_sql(&self) -> String {
        use crate::names::quoted;
        let columns: Vec<String> = self.columns.iter().map(|c| quoted(&c.name)).collect();
        let name = format!("{}.{}", quoted(&self.name.schema), quoted(&self.name.name));
        format!("CREATE VIEW {name} ({}) AS {}", columns.join(", "), self.query)
    }
}

impl Snapshot {
    /// The table or view of this name; of tables that were not made in SQL, in any case of
    /// letters if one alone fits.
    pub(crate) fn relation(&self, name: &Name) -> Option<Relation> {
        if let Some(table) = self.tables.get(name) {
            return Some(Relation::Table(Arc::clone(table)));
        }
        if let Some(view) = self.views.get(name) {
            return Some(Relation::View(Arc::clone(view)));
        }
        let same = |other: &&Arc<Table>| {
            other.name.schema == name.schema && other.name.name.eq_ignore_ascii_case(&name.name)
        };
        let mut tables = self.tables.values().filter(same);
        let found = tables.next()?;
        tables.next().is_none().then(|| Relation::Table(Arc::clone(found)))
    }

    /// The table or view with this number.
    pub(crate) fn relation_of(&self, id: ObjectId) -> Option<Relation> {
        match self.by_id.get(&id)? {
            (Kind::Table, name) => self.tables.get(name).cloned().map(Relation::Table),
            (Kind::View, name) => self.views.get(name).cloned().map(Relation::View),
            _ => None,
        }
    }

    /// The sequence with this number.
    pub(crate) fn sequence_of(&self, id: ObjectId) -> Option<&Arc<Sequence>> {
        self.by_id.get(&id).and_then(|(_, name)| self.sequences.get(name))
    }

    /// The table of this name.
    ///
    /// # Errors
    /// `UNKNOWN_TABLE`; `WRONG_OBJECT` for a view.
    pub(crate) fn table(&self, name: &Name) -> Result<Arc<Table>> {
        match self.relation(name) {
            Some(Relation::Table(table)) => Ok(table),
            Some(Relation::View(_)) => {
                let text = format!("{name} is a view, not a table");
                Err(Error::new(SqlState::WRONG_OBJECT, text))
            }
            None => Err(unknown_table(name)),
        }
    }

    /// Checks that there is a schema.
    ///
    /// # Errors
    /// `UNKNOWN_SCHEMA`.
    pub(crate) fn check_schema(&self, schema: &str) -> Result<Schema> {
        if let Some(schema) = self.schemas.get(schema) {
            return Ok(*schema);
        }
        let text = format!("schema {schema} does not exist");
        Err(Error::new(SqlState::UNKNOWN_SCHEMA, text))
    }

    /// Whether a table, view or sequence has this name, one that is set aside included.
    pub(crate) fn has(&self, name: &Name) -> bool {
        self.tables.contains_key(name)
            || self.views.contains_key(name)
            || self.sequences.contains_key(name)
            || self
                .by_id
                .values()
                .any(|(kind, other)| matches!(kind, Kind::View | Kind::Sequence) && other == name)
    }

    /// The catalog with the roles and rights of a newer one. What the newer one does not have any
    /// more keeps those that it had.
    pub(crate) fn with_rights_of(&self, newer: &Self, version: u64) -> Self {
        let gone = |grant: &&Grant| !newer.by_id.contains_key(&grant.object);
        let grants = newer.grants.iter().chain(self.grants.iter().filter(gone));
        let (grants, roles) = (grants.copied().collect(), newer.roles.clone());
        Self { version, roles, grants, ..self.clone() }
    }

    /// The table with an index of this name.
    pub(crate) fn index(&self, name: &Name) -> Option<(Arc<Table>, usize)> {
        self.tables.values().filter(|table| table.name.schema == name.schema).find_map(|table| {
            let place = table.indexes.iter().position(|index| index.name == name.name)?;
            Some((Arc::clone(table), place))
        })
    }

    /// The role of this name.
    pub(crate) fn role(&self, name: &str) -> Option<&Role> {
        self.roles.values().find(|role| role.name == name)
    }

    /// The number of an object of this kind and name, set aside or not.
    pub(crate) fn id_of(&self, kind: Kind, name: &Name) -> Option<ObjectId> {
        let found = self.by_id.iter().find(|(_, (k, n))| *k == kind && n == name);
        found.map(|(id, _)| *id)
    }
}

pub(crate) fn unknown_table(name: &Name) -> Error {
    Error::new(SqlState::UNKNOWN_TABLE, format!("relation {name} does not exist"))
}

/// The schema that is always there.
pub(crate) fn public() -> (String, Schema) {
    (PUBLIC.to_owned(), Schema::default())
}
