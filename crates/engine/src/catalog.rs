//! The tables of a database, by name and by id.
//!
//! What a table is stands in the region: a list of table roots with their encoded schemas and index
//! roots. What this process compiled from it stands here. Ids are not used again.
//!
//! A commit changes all names at once, between [`Catalog::begin_change`] and
//! [`Catalog::end_change`], which also enclose the store of the clock: so whoever sees no change
//! while it takes a snapshot and looks at the tables has both of one moment. A table that is being
//! created has a number and no name. What was dropped waits here for the last who may read it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use remanent_schema::IndexKind;

use crate::error::{Error, ErrorKind, Result};
use crate::memory::atomic::pause;
use crate::snapshot::Snapshot;
use crate::table::set::SetCore;
use crate::table::table::{IN_SETS, IN_SORTED_SETS, TableCore};

/// Tables that a database can have in its life, dropped ones included.
const TABLES_MAX: usize = 1 << 24;

/// The live tables.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    tables: RwLock<Tables>,
    /// Odd while a commit changes tables.
    changes: AtomicU64,
    /// The number of entries in `dropped`.
    dropped: AtomicUsize,
}

/// A commit's changes of the catalog.
#[derive(Debug, Default)]
pub(crate) struct CatalogChange {
    pub(crate) gone: Vec<Arc<TableCore>>,
    pub(crate) sets_gone: Vec<Arc<SetCore>>,
    pub(crate) new: Vec<Arc<TableCore>>,
    pub(crate) sets_new: Vec<Arc<SetCore>>,
}

/// A table or set that is out of the catalog, while older transactions may still read it.
#[derive(Clone, Debug)]
pub(crate) enum Dropped {
    Table(Arc<TableCore>),
    /// An index of this kind whose head lies there.
    Index(IndexKind, u64),
}

#[derive(Debug, Default)]
struct Tables {
    by_id: Vec<Option<Arc<TableCore>>>,
    /// Behind the highest id that was ever committed.
    committed: usize,
    by_name: HashMap<String, u32>,
    sets: Vec<Arc<SetCore>>,
    /// With the timestamp at which it was dropped.
    dropped: Vec<(u64, Dropped)>,
}

impl Catalog {
    /// The table with this id.
    pub(crate) fn by_id(&self, id: u32) -> Option<Arc<TableCore>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.by_id.get(id as usize).cloned().flatten()
    }

    /// All tables that are committed.
    pub(crate) fn all(&self) -> Vec<Arc<TableCore>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let mut ids: Vec<_> = tables.by_name.values().copied().collect();
        ids.sort_unstable();
        ids.iter().filter_map(|&id| tables.by_id[id as usize].clone()).collect()
    }

    /// What `look` finds while no commit changes tables.
    ///
    /// # Errors
    /// The error of `look`.
    pub(crate) fn unchanged<T>(&self, look: impl Fn() -> Result<T>) -> Result<T> {
        let mut turn = 0;
        loop {
            let before = self.changes.load(Ordering::SeqCst);
            if before.is_multiple_of(2) {
                let found = look()?;
                if self.changes.load(Ordering::SeqCst) == before {
                    return Ok(found);
                }
            }
            pause(turn);
            turn += 1;
        }
    }

    /// A commit begins to change tables. Whoever does holds the lock of definitions.
    pub(crate) fn begin_change(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// It has changed them, and the clock shows it.
    pub(crate) fn end_change(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// The table with the smallest number that is at least this one.
    pub(crate) fn first_from(&self, id: u32) -> Option<Arc<TableCore>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let mut rest = tables.by_id.get(id as usize..)?.iter().flatten();
        rest.find(|table| tables.by_name.get(&table.schema.name) == Some(&table.id)).cloned()
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

    /// The first id that no table ever had which is or was committed.
    pub(crate) fn next_committed_id(&self) -> u32 {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).committed as u32
    }

    /// Leaves ids below this one to tables that were dropped before.
    pub(crate) fn skip_to(&self, id: u32) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        let len = tables.by_id.len().max(id as usize).min(TABLES_MAX);
        tables.by_id.resize(len, None);
        tables.committed = len;
    }

    /// The set that a table holds.
    pub(crate) fn set_of_relation(&self, table: u32) -> Option<Arc<SetCore>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.sets.iter().find(|set| set.relation.core.id == table).cloned()
    }

    /// Gives a table its number, which came from [`Catalog::next_id`], and no name yet.
    pub(crate) fn add_hidden(&self, table: Arc<TableCore>) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        debug_assert_eq!(tables.by_id.len(), table.id as usize);
        tables.by_id.push(Some(table));
    }

    /// Changes all names at once; what is gone is among the dropped, as of this timestamp.
    pub(crate) fn change(&self, change: &CatalogChange, timestamp: u64) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        for table in &change.gone {
            tables.by_name.remove(&table.schema.name);
            // In the same step: who began before looks for it among the dropped ones from now on.
            tables.by_id[table.id as usize] = None;
            tables.dropped.push((timestamp, Dropped::Table(Arc::clone(table))));
        }
        self.dropped.store(tables.dropped.len(), Ordering::SeqCst);
        for table in &change.new {
            tables.by_name.insert(table.schema.name.clone(), table.id);
            tables.committed = tables.committed.max(table.id as usize + 1);
        }
        if change.sets_gone.is_empty() && change.sets_new.is_empty() {
            return;
        }
        for set in &change.sets_gone {
            tables.sets.retain(|other| !Arc::ptr_eq(other, set));
        }
        tables.sets.extend(change.sets_new.iter().cloned());
        tables.mark_sets();
    }

    /// Keeps what was dropped at a timestamp until all are past that. A table loses its number.
    pub(crate) fn drop_later(&self, timestamp: u64, dropped: Dropped) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        if let Dropped::Table(table) = &dropped {
            tables.by_id[table.id as usize] = None;
        }
        tables.dropped.push((timestamp, dropped));
        self.dropped.store(tables.dropped.len(), Ordering::SeqCst);
    }

    /// Whether anything was dropped that is not free yet.
    #[inline]
    pub(crate) fn has_dropped(&self) -> bool {
        self.dropped.load(Ordering::Relaxed) > 0
    }

    /// Takes out what was dropped at this timestamp or before.
    pub(crate) fn take_dropped(&self, until: u64) -> Vec<Dropped> {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        let (taken, kept): (Vec<_>, Vec<_>) =
            tables.dropped.drain(..).partition(|&(timestamp, _)| timestamp <= until);
        tables.dropped = kept;
        self.dropped.store(tables.dropped.len(), Ordering::SeqCst);
        taken.into_iter().map(|(_, dropped)| dropped).collect()
    }

    /// The table that had this name when a snapshot was taken.
    ///
    /// # Errors
    /// `UnknownTable`.
    pub(crate) fn seen_by(&self, name: &str, snapshot: Snapshot) -> Result<Arc<TableCore>> {
        let (newest, dropped): (_, Vec<_>) = {
            let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
            let newest = tables.by_name.get(name).and_then(|&id| tables.by_id[id as usize].clone());
            let dropped = tables.dropped.iter().filter_map(|(_, dropped)| match dropped {
                Dropped::Table(table) if table.schema.name == name => Some(Arc::clone(table)),
                _ => None,
            });
            (newest, dropped.collect())
        };
        let mut known = newest.into_iter().chain(dropped);
        known
            .find(|table| table.was_there(snapshot))
            .ok_or_else(|| Error::new(ErrorKind::UnknownTable).because(format!("`{name}`")))
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
