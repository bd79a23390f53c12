//! What a program holds to name a table, a column or an index.
//!
//! Handles are found once, by name, and cost nothing per call afterwards. A handle of a table or
//! index that was dropped stays safe: calls with it fail with `UnknownTable` or `UnknownIndex`.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use remanent_schema::{IndexSchema, Key, Record, RowLayout, TableSchema};

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
///
/// # Examples
/// ```
/// # use remanent_derive::Record;
/// # use remanent_engine::{Database, ErrorKind, Find, Options, schema::*};
/// # #[derive(Record)]
/// # #[record(primary_key(id), index(city(city, id)))]
/// # struct Shop<'a> {
/// #     id: u32,
/// #     city: &'a str,
/// # }
/// # let db = Database::open(Options::new())?;
/// # let shops = db.create_table_of::<Shop>()?;
/// let id = db.write(|tx| tx.insert(&shops, &Shop { id: 7, city: "Ulm" }))?;
/// // It is a table too, with all that a table has.
/// let city = shops.column("city")?;
/// let tx = db.begin_read()?;
/// assert_eq!(tx.row(&shops, id)?.and_then(|row| row.str(city)), Some("Ulm"));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub struct TypedTable<R> {
    table: Table,
    /// The record's own indexes in the table.
    indexes: Arc<[IndexHandle]>,
    record: PhantomData<fn() -> R>,
}

/// A column of a table; for a field of a struct, its path names it, as in `thing.a`.
///
/// # Examples
/// ```
/// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
/// # let db = Database::open(Options::new())?;
/// let thing = ColumnType::Struct(vec![Column::new("a", ColumnType::I32)]);
/// let table = db.create_table(TableSchema::new("T").column("thing", thing))?;
/// let a = table.column("thing.a")?;
/// let tx = db.begin_write()?;
/// let id = tx.insert_values(&table, &[Some(7.into())])?;
/// assert_eq!(tx.row(&table, id)?.and_then(|row| row.get::<i32>(a)), Some(7));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnHandle {
    table: u32,
    leaf: u32,
}

/// An index of a table.
///
/// # Examples
/// ```
/// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
/// # let db = Database::open(Options::new())?;
/// # let schema = TableSchema::new("City")
/// #     .column("name", ColumnType::STRING)
/// #     .nullable_column("people", ColumnType::U32)
/// #     .primary_key(["name"]);
/// # let cities = db.create_table(schema)?;
/// # let (name, people) = (cities.column("name")?, cities.column("people")?);
/// # let primary = cities.index("primary")?;
/// let other = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// let tx = db.begin_read()?;
/// assert!(tx.find(&cities, primary, &["Ulm".into()])?.is_none());
/// // It is of one table and refused by others.
/// let error = tx.find(&other, primary, &["Ulm".into()]).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::UnknownIndex);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexHandle {
    table: u32,
    ordinal: u32,
    /// Tells it from those that have the ordinal later.
    serial: u32,
}

impl Table {
    /// The table's number in its database, which no other table ever gets.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("T").column("a", ColumnType::I32);
    /// let first = db.create_table(schema.clone())?;
    /// db.drop_table(&first)?;
    /// assert_ne!(db.create_table(schema)?.number(), first.number());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn number(&self) -> u32 {
        self.core.id
    }

    /// The table's name.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// assert_eq!(cities.name(), "City");
    /// assert_eq!(db.table(cities.name())?.schema(), cities.schema());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn name(&self) -> &str {
        &self.core.schema.name
    }

    /// The schema that the table was created with.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// let nullable = cities.schema().columns.iter().filter(|column| column.nullable);
    /// let names: Vec<_> = nullable.map(|column| column.name.as_str()).collect();
    /// assert_eq!(names, ["people"]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn schema(&self) -> &TableSchema {
        &self.core.schema
    }

    /// The column with this path.
    ///
    /// # Errors
    /// `UnknownColumn`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// # db.write(|tx| {
    /// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
    /// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let people = cities.column("people")?;
    /// let tx = db.begin_read()?;
    /// let most = tx.scan(&cities)?.filter_map(|row| row.get::<u32>(people)).max();
    /// assert_eq!(most, Some(336_000));
    /// assert_eq!(cities.column("size").unwrap_err().kind(), ErrorKind::UnknownColumn);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
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
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// # db.write(|tx| {
    /// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
    /// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let primary = cities.index("primary")?;
    /// assert!(db.begin_read()?.find(&cities, primary, &["Bonn".into()])?.is_some());
    /// assert_eq!(cities.index("size").unwrap_err().kind(), ErrorKind::UnknownIndex);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn index(&self, name: &str) -> Result<IndexHandle> {
        match self.core.known_indexes().find(|index| index.schema.name == name) {
            Some(index) => Ok(self.handle_of(index)),
            None => Err(Error::new(ErrorKind::UnknownIndex)
                .because(format!("`{name}` of `{}`", self.name()))),
        }
    }

    /// All indexes with their names.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// let by_size = db.create_index(&cities, IndexSchema::new("size", ["people"]))?;
    /// let indexes: Vec<_> = cities.indexes().collect();
    /// assert_eq!(indexes, [("primary", primary), ("size", by_size)]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn indexes(&self) -> impl Iterator<Item = (&str, IndexHandle)> {
        self.core.known_indexes().map(|index| (index.schema.name.as_str(), self.handle_of(index)))
    }

    /// The column that is the layout's leaf with this number: columns in declared order, structs
    /// flattened into their fields.
    ///
    /// # Errors
    /// `UnknownColumn`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// assert_eq!(table.column_at(0)?, table.column("a")?);
    /// assert_eq!(table.column_at(1).unwrap_err().kind(), ErrorKind::UnknownColumn);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn column_at(&self, leaf: usize) -> Result<ColumnHandle> {
        if leaf < self.core.layout.leaves().len() {
            return Ok(ColumnHandle { table: self.core.id, leaf: leaf as u32 });
        }
        Err(Error::new(ErrorKind::UnknownColumn)
            .because(format!("number {leaf} of `{}`", self.name())))
    }

    /// The same table as one of records: for records whose table goes by another name than theirs.
    ///
    /// # Errors
    /// `SchemaMismatch` if it does not have the record's columns and indexes.
    ///
    /// # Examples
    /// ```
    /// # use remanent_derive::Record;
    /// # use remanent_engine::{Database, Options, schema::*};
    /// #[derive(Record)]
    /// struct Note<'a> {
    ///     text: &'a str,
    /// }
    /// # let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("Diary").column("text", ColumnType::STRING);
    /// let diary = db.create_table(schema)?.typed::<Note>()?;
    /// db.write(|tx| tx.insert(&diary, &Note { text: "rain" }))?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn typed<R: Record>(self) -> Result<TypedTable<R>> {
        TypedTable::new(self)
    }

    /// The index with this number: those of the schema in its order, then those created later. One
    /// that is created gets the first number that none has.
    ///
    /// # Errors
    /// `UnknownIndex`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]);
    /// # let table = db.create_table(schema)?;
    /// assert_eq!(table.index_at(0)?, table.index("primary")?);
    /// assert_eq!(table.index_at(1).unwrap_err().kind(), ErrorKind::UnknownIndex);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn index_at(&self, ordinal: usize) -> Result<IndexHandle> {
        match self.core.index(ordinal).filter(|index| index.is_found(false)) {
            Some(index) => Ok(self.handle_of(index)),
            None => Err(Error::new(ErrorKind::UnknownIndex)
                .because(format!("number {ordinal} of `{}`", self.name()))),
        }
    }

    /// What an index is: its columns, whether it is unique, how it is searched. Indexes that were
    /// created after the table do not stand in [`Table::schema`].
    ///
    /// # Errors
    /// `UnknownIndex`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let index = db.create_index(&table, IndexSchema::new("by_a", ["a"]))?;
    /// assert_eq!(table.index_schema(index)?.parts[0].column, "a");
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn index_schema(&self, index: IndexHandle) -> Result<&IndexSchema> {
        // Who has the handle of an index that is not committed has made it.
        let found = self.resolve(index, false).or_else(|_| self.resolve(index, true));
        found.map(|index| &index.schema)
    }

    /// The layout of the table's rows.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// assert_eq!(table.layout().leaves()[0].path, "a");
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn layout(&self) -> &RowLayout {
        &self.core.layout
    }

    /// The index of a handle, for a transaction that writes if it is `own`.
    #[inline]
    pub(crate) fn resolve(&self, index: IndexHandle, own: bool) -> Result<&IndexCore> {
        let is_meant = |core: &&IndexCore| core.serial == index.serial && core.is_found(own);
        match self.core.index(index.ordinal as usize).filter(is_meant) {
            Some(core) if index.table == self.core.id => Ok(core),
            _ => Err(Error::new(ErrorKind::UnknownIndex)
                .because(format!("the handle is of no index of `{}`", self.name()))),
        }
    }

    /// The handle of an index that the table was made with and that is never dropped.
    #[inline]
    pub(super) fn handle_at(&self, ordinal: u32) -> IndexHandle {
        IndexHandle { table: self.core.id, ordinal, serial: ordinal }
    }

    /// Whether the column is of this table.
    #[inline]
    pub(crate) fn check_column(&self, column: ColumnHandle) -> Result<()> {
        if column.table == self.core.id {
            return Ok(());
        }
        Err(Error::new(ErrorKind::UnknownColumn)
            .because(format!("the handle is of no column of `{}`", self.name())))
    }

    pub(crate) fn handle_of(&self, index: &IndexCore) -> IndexHandle {
        let (ordinal, serial) = (index.ordinal as u32, index.serial);
        IndexHandle { table: self.core.id, ordinal, serial }
    }
}

impl<R: Record> TypedTable<R> {
    /// A typed view of a table, if the record has its columns and keys.
    pub(crate) fn new(table: Table) -> Result<Self> {
        let schema = R::schema().build()?;
        if schema.columns != table.schema().columns {
            return Err(mismatch(&table, "its columns are others"));
        }
        let mut indexes = Vec::with_capacity(schema.indexes.len());
        for index in &schema.indexes {
            let found = table.core.known_indexes().find(|core| core.schema.name == index.name);
            match found {
                Some(core) if core.schema == *index => indexes.push(table.handle_of(core)),
                _ => return Err(mismatch(&table, "its indexes are others")),
            }
        }
        Ok(Self { table, indexes: indexes.into(), record: PhantomData })
    }

    /// The index that a key type belongs to.
    ///
    /// # Errors
    /// `UnknownIndex` if it was dropped.
    ///
    /// # Examples
    /// ```
    /// # use remanent_derive::Record;
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, schema::*};
    /// # #[derive(Record)]
    /// # #[record(primary_key(id), index(city(city, id)))]
    /// # struct Shop<'a> {
    /// #     id: u32,
    /// #     city: &'a str,
    /// # }
    /// # let db = Database::open(Options::new())?;
    /// # let shops = db.create_table_of::<Shop>()?;
    /// # db.write(|tx| {
    /// #     for (id, city) in [(1, "Ulm"), (2, "Bonn"), (3, "Ulm"), (4, "Aalen")] {
    /// #         tx.insert(&shops, &Shop { id, city })?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let by_city = shops.index_of::<ShopCity>()?;
    /// assert_eq!(by_city, shops.index("city")?);
    /// let tx = db.begin_read()?;
    /// let last = tx.cursor(&shops, by_city)?.last();
    /// assert_eq!(last.and_then(|row| row.get::<u32>(shops.column("id").ok()?)), Some(3));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn index_of<K>(&self) -> Result<IndexHandle>
    where
        K: Key,
        for<'t> K::Record: Record<At<'t> = R::At<'t>>,
    {
        Ok(self.indexes[K::INDEX_ORDINAL])
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
        Self { table: self.table.clone(), indexes: Arc::clone(&self.indexes), record: PhantomData }
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
