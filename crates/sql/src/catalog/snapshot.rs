//! The catalog at one moment, which statements look names up in.
//!
//! A snapshot is never changed: whoever defines something makes the next one. Statements keep the
//! one that they began with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion::sql::sqlparser::ast;

use super::names::{Name, PUBLIC};
use super::sequence::Sequence;
use super::store::Object;
use super::table::Table;
use crate::error::{Error, Result, SqlState};

/// Everything that has a name.
#[derive(Default)]
pub(crate) struct Snapshot {
    /// Grows with each definition.
    pub(crate) version: u64,
    pub(crate) schemas: BTreeSet<String>,
    pub(crate) tables: BTreeMap<Name, Arc<Table>>,
    pub(crate) views: BTreeMap<Name, Arc<View>>,
    pub(crate) sequences: BTreeMap<Name, Arc<Sequence>>,
    /// Roles and grants, as they were written.
    pub(crate) roles: Vec<Object>,
}

/// A query with a name.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) name: Name,
    pub(crate) columns: Vec<String>,
    pub(crate) query: ast::Query,
    pub(crate) definition: String,
    pub(crate) comment: Option<String>,
}

/// A table or a view.
pub(crate) enum Relation {
    Table(Arc<Table>),
    View(Arc<View>),
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
    pub(crate) fn check_schema(&self, schema: &str) -> Result<()> {
        if schema == PUBLIC || self.schemas.contains(schema) {
            return Ok(());
        }
        let text = format!("schema {schema} does not exist");
        Err(Error::new(SqlState::UNKNOWN_SCHEMA, text))
    }

    /// Whether a table, view or sequence has this name.
    pub(crate) fn has(&self, name: &Name) -> bool {
        self.tables.contains_key(name)
            || self.views.contains_key(name)
            || self.sequences.contains_key(name)
    }

    /// The table with an index of this name.
    pub(crate) fn index(&self, name: &Name) -> Option<(Arc<Table>, usize)> {
        self.tables.values().filter(|table| table.name.schema == name.schema).find_map(|table| {
            let place = table.indexes.iter().position(|index| index.name == name.name)?;
            Some((Arc::clone(table), place))
        })
    }
}

pub(crate) fn unknown_table(name: &Name) -> Error {
    Error::new(SqlState::UNKNOWN_TABLE, format!("relation {name} does not exist"))
}
