//! The tables of a database, by name and by id.
//!
//! What a table is stands in the region: a list of table roots with their encoded schemas and index
//! roots. What this process compiled from it stands here. Ids are not used again.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::{Error, ErrorKind, Result};
use crate::table::set::SetCore;
use crate::table::table::{IN_SETS, IN_SORTED_SETS, TableCore};

/// Tables that a database can have in its life, dropped ones included.
const TABLES_MAX: usize = 1 << 24;

/// The live tables.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    tables: RwLock<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    by_id: Vec<Option<Arc<TableCore>>>,
    by_name: HashMap<String, u32>,
    sets: Vec<Arc<SetCore>>,
}

impl Catalog {
    /// The table with this id.
    pub(crate) fn by_id(&self, id: u32) -> Option<Arc<TableCore>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.by_id.get(id as usize).cloned().flatten()
    }

    /// All tables.
    pub(crate) fn all(&self) -> Vec<Arc<TableCore>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.by_id.iter().flatten().cloned().collect()
    }

    /// The table with the smallest number that is at least this one.
    pub(crate) fn first_from(&self, id: u32) -> Option<Arc<TableCore>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.by_id.get(id as usize..)?.iter().flatten().next().cloned()
    }

    /// The table with this name.
    ///
    /// # Errors
    /// `UnknownTable`.
    pub(crate) fn by_name(&self, name: &str) -> Result<Arc<TableCore>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let id = tables.by_name.get(name).copied();
        id.and_then(|id| tables.by_id[id as usize].clone())
            .ok_or_else(|| Error::new(ErrorKind::UnknownTable).because(format!("`{name}`")))
    }

    /// Whether there is a table with this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.by_name.contains_key(name)
    }

    /// The names of all tables, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<_> = tables.by_name.keys().cloned().collect();
        names.sort();
        names
    }

    /// The id that the next table gets.
    ///
    /// # Errors
    /// `LimitReached`.
    pub(crate) fn next_id(&self) -> Result<u32> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        if tables.by_id.len() == TABLES_MAX {
            return Err(Error::new(ErrorKind::LimitReached)
                .because("the database has had 16,777,216 tables, dropped ones included"));
        }
        Ok(tables.by_id.len() as u32)
    }

    /// Leaves ids below this one to tables that were dropped before.
    pub(crate) fn skip_to(&self, id: u32) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        let len = tables.by_id.len().max(id as usize).min(TABLES_MAX);
        tables.by_id.resize(len, None);
    }

    /// The set that a table holds.
    pub(crate) fn set_of_relation(&self, table: u32) -> Option<Arc<SetCore>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.sets.iter().find(|set| set.relation.core.id == table).cloned()
    }

    /// Adds a table whose id came from [`Catalog::next_id`].
    pub(crate) fn add(&self, table: Arc<TableCore>) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        debug_assert_eq!(tables.by_id.len(), table.id as usize);
        tables.by_name.insert(table.schema.name.clone(), table.id);
        tables.by_id.push(Some(table));
    }

    /// Removes a table.
    pub(crate) fn remove(&self, table: &TableCore) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.by_name.remove(&table.schema.name);
        tables.by_id[table.id as usize] = None;
    }

    /// The set with this name.
    pub(crate) fn set_by_name(&self, name: &str) -> Result<Arc<SetCore>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let set = tables.sets.iter().find(|set| set.schema.name == name);
        set.cloned().ok_or_else(|| Error::new(ErrorKind::UnknownTable).because(format!("`{name}`")))
    }

    /// The names of all sets, in order.
    pub(crate) fn set_names(&self) -> Vec<String> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<_> = tables.sets.iter().map(|set| set.schema.name.clone()).collect();
        names.sort();
        names
    }

    /// The sets in which rows of a table can be.
    pub(crate) fn sets_of(&self, table: u32) -> Vec<Arc<SetCore>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.sets.iter().filter(|set| set.concerns(table)).cloned().collect()
    }

    /// Adds a set whose relation is there already.
    pub(crate) fn add_set(&self, set: Arc<SetCore>) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.sets.push(set);
        tables.mark_sets();
    }

    /// Removes a set; its relation stays.
    pub(crate) fn remove_set(&self, set: &SetCore) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.sets.retain(|other| other.relation.core.id != set.relation.core.id);
        tables.mark_sets();
    }
}

impl Tables {
    /// Tells each table in which sets its rows can be.
    fn mark_sets(&self) {
        for table in self.by_id.iter().flatten() {
            let mut sets = 0;
            for set in self.sets.iter().filter(|set| set.concerns(table.id)) {
                sets |= IN_SETS;
                if set.schema.order.is_sorted() && set.member_table(table.id).is_some() {
                    sets |= IN_SORTED_SETS;
                }
            }
            table.set_sets(sets);
        }
    }
}
