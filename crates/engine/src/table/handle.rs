//! What a program holds to name a table, a column or an index.
//!
//! Handles are found once, by name, and cost nothing per call afterwards. A handle of a table or
//! index that was dropped stays safe: calls with it fail with `UnknownTable` or `UnknownIndex`.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use remanent_schema::{Key, Record, TableSchema};

use super::table::{IndexCore, TableCore};
use crate::error::{Error, ErrorKind, Result};

/// A table, by run-time handle.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, ErrorKind, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// assert_eq!(table.name(), "T");
/// assert_eq!(table.column("b").unwrap_err().kind(), ErrorKind::UnknownColumn);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    pub(crate) core: Arc<TableCore>,
}

/// A table whose rows are a Rust type deriving `Record`.
pub struct TypedTable<R> {
    table: Table,
    /// Ordinals of the record's own indexes in the table.
    ordinals: Arc<[usize]>,
    record: PhantomData<fn() -> R>,
}

/// A column of a table; for a field of a struct, its path names it, as in `thing.a`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnHandle {
    table: u32,
    leaf: u32,
}

/// An index of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexHandle {
    table: u32,
    ordinal: u32,
}

impl Table {
    /// The table's name.
    pub fn name(&self) -> &str {
        &self.core.schema.name
    }

    /// The schema that the table was created with.
    pub fn schema(&self) -> &TableSchema {
        &self.core.schema
    }

    /// The column with this path.
    ///
    /// # Errors
    /// `UnknownColumn`.
    pub fn column(&self, path: &str) -> Result<ColumnHandle> {
        match self.core.layout.leaf_by_path(path) {
            Some(leaf) => Ok(ColumnHandle { table: self.core.id, leaf: leaf as u32 }),
            None => Err(Error::new(ErrorKind::UnknownColumn)
                .because(format!("`{path}` of `{}`", self.name()))),
        }
    }

    /// The index with this name; the primary key's is called `primary`.
    ///
    /// # Errors
    /// `UnknownIndex`.
    pub fn index(&self, name: &str) -> Result<IndexHandle> {
        match self.core.indexes().find(|index| index.schema.name == name) {
            Some(index) => Ok(self.handle_of(index)),
            None => Err(Error::new(ErrorKind::UnknownIndex)
                .because(format!("`{name}` of `{}`", self.name()))),
        }
    }

    /// All indexes with their names.
    pub fn indexes(&self) -> impl Iterator<Item = (&str, IndexHandle)> {
        self.core.indexes().map(|index| (index.schema.name.as_str(), self.handle_of(index)))
    }

    /// The index of a handle.
    #[inline]
    pub(crate) fn resolve(&self, index: IndexHandle) -> Result<&IndexCore> {
        match self.core.index(index.ordinal as usize) {
            Some(core) if index.table == self.core.id => Ok(core),
            _ => Err(Error::new(ErrorKind::UnknownIndex)
                .because(format!("the handle is of no index of `{}`", self.name()))),
        }
    }

    /// Whether the column is of this table.
    pub(crate) fn check_column(&self, column: ColumnHandle) -> Result<()> {
        if column.table == self.core.id {
            return Ok(());
        }
        Err(Error::new(ErrorKind::UnknownColumn)
            .because(format!("the handle is of no column of `{}`", self.name())))
    }

    fn handle_of(&self, index: &IndexCore) -> IndexHandle {
        IndexHandle { table: self.core.id, ordinal: index.ordinal as u32 }
    }
}

impl<R: Record> TypedTable<R> {
    /// A typed view of a table, if the record has its columns and keys.
    pub(crate) fn new(table: Table) -> Result<Self> {
        let schema = R::schema().build()?;
        if schema.columns != table.schema().columns {
            return Err(mismatch(&table, "its columns are others"));
        }
        let mut ordinals = Vec::with_capacity(schema.indexes.len());
        for index in &schema.indexes {
            let found = table.core.indexes().find(|core| core.schema.name == index.name);
            match found {
                Some(core) if core.schema == *index => ordinals.push(core.ordinal),
                _ => return Err(mismatch(&table, "its indexes are others")),
            }
        }
        Ok(Self { table, ordinals: ordinals.into(), record: PhantomData })
    }

    /// The index that a key type belongs to.
    ///
    /// # Errors
    /// `UnknownIndex` if it was dropped.
    #[inline]
    pub fn index_of<K>(&self) -> Result<IndexHandle>
    where
        K: Key,
        for<'t> K::Record: Record<At<'t> = R::At<'t>>,
    {
        let ordinal = self.ordinals[K::INDEX_ORDINAL] as u32;
        Ok(IndexHandle { table: self.table.core.id, ordinal })
    }
}

impl<R> Deref for TypedTable<R> {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.table
    }
}

impl<R> Clone for TypedTable<R> {
    fn clone(&self) -> Self {
        Self {
            table: self.table.clone(),
            ordinals: Arc::clone(&self.ordinals),
            record: PhantomData,
        }
    }
}

impl<R> std::fmt::Debug for TypedTable<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TypedTable").field(&self.table.name()).finish()
    }
}

impl ColumnHandle {
    /// The column's place among the layout's leaves.
    #[inline]
    pub(crate) fn leaf(self) -> usize {
        self.leaf as usize
    }
}

fn mismatch(table: &Table, why: &str) -> Error {
    Error::new(ErrorKind::SchemaMismatch).because(format!("`{}`: {why}", table.name()))
}
