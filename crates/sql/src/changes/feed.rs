//! Changes of rows as values of SQL.
//!
//! What a column is called and which type it has, the catalog says as it is now; of a table that it
//! does not know any more, or never did, the engine's definition does.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use datafusion::arrow::array::{ArrayRef, RecordBatch, StructArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use remanent_engine::{ChangeKind as EngineKind, Database, FeedTable};

use super::json;
use crate::catalog::table::type_metadata;
use crate::database::SqlDatabase;
use crate::error::{Error, Result, SqlState};
use crate::names::Name;
use crate::values::arrow_in::array_of;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// The changes that were committed, from a position of the log on.
///
/// # Examples
/// See [`SqlDatabase::change_feed`].
#[derive(Debug)]
pub struct ChangeFeed {
    database: Arc<SqlDatabase>,
    changes: remanent_engine::ChangeFeed<Arc<Database>>,
    /// Tables by their numbers, of the catalog with this version.
    tables: HashMap<u32, Option<Arc<ChangedTable>>>,
    version: u64,
    /// One that another batch begins with.
    next: Option<Change>,
    /// Where it began, or the end of the last commit that was given.
    given: u64,
}

/// A table of which a row has changed.
///
/// # Examples
/// See [`SqlDatabase::change_feed`].
#[derive(Debug, PartialEq)]
pub struct ChangedTable {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<ChangedColumn>,
}

/// A column of such a table.
///
/// # Examples
/// See [`SqlDatabase::change_feed`].
#[derive(Debug, PartialEq)]
pub struct ChangedColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Its place in the engine's row.
    leaf: usize,
}

/// A change that was committed.
///
/// # Examples
/// See [`SqlDatabase::change_feed`].
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The position in the log behind its commit: a feed from there on begins with the next one.
    pub lsn: u64,
    /// The position of its commit among all commits, as `remanent.position` shows it.
    pub position: u64,
    /// Its place within the commit, from 0 on.
    pub number: u64,
    /// What it is.
    pub kind: ChangeKind,
}

/// What a change is.
///
/// # Examples
/// See [`SqlDatabase::change_feed`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// A row was inserted.
    Insert {
        /// The table.
        table: Arc<ChangedTable>,
        /// The row.
        new: Vec<Datum>,
    },
    /// A row was updated.
    Update {
        /// The table.
        table: Arc<ChangedTable>,
        /// The row before.
        old: Vec<Datum>,
        /// The row after.
        new: Vec<Datum>,
    },
    /// A row was deleted.
    Delete {
        /// The table.
        table: Arc<ChangedTable>,
        /// The row.
        old: Vec<Datum>,
    },
    /// A table or an index was created or dropped.
    Definition {
        /// The table's schema.
        schema: String,
        /// The table's name.
        table: String,
        /// What became of it, in words.
        words: String,
    },
    /// All changes of the commit were given.
    Commit,
}

/// Changes of rows of one table, as a batch of Arrow.
///
/// # Examples
/// See [`ChangeFeed::next_batch`].
#[derive(Clone, Debug)]
pub struct ChangeBatch {
    /// The table.
    pub table: Arc<ChangedTable>,
    /// `lsn`, `position`, `number`, `kind`, and the structs `old` and `new`, with a field for each
    /// column.
    pub rows: RecordBatch,
}

impl SqlDatabase {
    /// The changes that were committed from a position of the log on, in the order of their
    /// commits: 0 is where the log begins, [`ChangeFeed::lsn`] where another feed was. Rows before
    /// a change are in the log if the engine was opened with `Options::log_old_rows`. Whoever asks
    /// from Rust sees all tables.
    ///
    /// # Errors
    /// As [`remanent_engine::Database::change_feed`].
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use remanent_engine::{Database, Options};
    /// use remanent_sql::{ChangeKind, SqlDatabase};
    /// # let path = std::env::temp_dir().join(format!("remanent-feed-sql-{}", std::process::id()));
    /// let engine = Database::open_at(&path, Options::new().log_old_rows(true))?;
    /// let db = SqlDatabase::new(Arc::new(engine))?;
    /// let mut session = db.session();
    /// session.execute("create table part (id int primary key, name text)")?;
    /// let mut feed = db.change_feed(db.lsn()?)?;
    /// session.execute("insert into part values (1, 'bolt')")?;
    /// session.execute("update part set name = 'nut'")?;
    ///
    /// let mut lines = Vec::new();
    /// while let Some(change) = feed.next_change()? {
    ///     if let ChangeKind::Update { table, old, new } = change.kind {
    ///         lines.push(table.to_json(&old));
    ///         lines.push(table.to_json(&new));
    ///     }
    /// }
    /// assert_eq!(lines, [r#"{"id":1,"name":"bolt"}"#, r#"{"id":1,"name":"nut"}"#]);
    /// # drop((feed, session, db));
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn change_feed(self: &Arc<Self>, lsn: u64) -> Result<ChangeFeed> {
        if self.is_of_group() && lsn > self.lsn()? {
            let text = format!("this replica does not have position {lsn} of the log so far");
            return Err(Error::new(SqlState::NOT_NOW, text).hint("Ask again, or another one."));
        }
        let changes = remanent_engine::ChangeFeed::open(Arc::clone(self.engine()), lsn)?;
        let (database, version) = (Arc::clone(self), self.catalog_version());
        Ok(ChangeFeed {
            database,
            changes,
            tables: HashMap::new(),
            version,
            next: None,
            given: lsn,
        })
    }

    /// The position in the log behind everything that was committed by now.
    ///
    /// # Errors
    /// As [`remanent_engine::Database::change_position`].
    ///
    /// # Examples
    /// See [`SqlDatabase::change_feed`].
    pub fn lsn(&self) -> Result<u64> {
        Ok(self.engine().change_position()?)
    }
}

impl SqlDatabase {
    /// Whether it is known that nothing was committed from a position on.
    pub(super) fn has_no_change_since(&self, lsn: u64) -> Result<bool> {
        let end = self.lsn()?;
        let known = self.nothing_between.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(lsn == end || *known == (lsn, end))
    }
}

impl ChangeFeed {
    /// The position from which another feed would go on: behind the last commit that was given with
    /// all its changes.
    ///
    /// # Examples
    /// See [`SqlDatabase::change_feed`].
    pub fn lsn(&self) -> u64 {
        self.changes.position()
    }

    /// The next change; none if nothing else was committed by now. After an error there is no going
    /// on: another feed begins at [`ChangeFeed::lsn`].
    ///
    /// # Errors
    /// As [`remanent_engine::ChangeFeed::next_change`].
    ///
    /// # Examples
    /// See [`SqlDatabase::change_feed`].
    pub fn next_change(&mut self) -> Result<Option<Change>> {
        if let Some(change) = self.next.take() {
            return Ok(Some(change));
        }
        let version = self.database.catalog_version();
        if version != self.version {
            self.tables.clear();
            self.version = version;
        }
        while let Some(change) = self.changes.next_change()? {
            let (lsn, position, number) = (change.position, change.timestamp, change.number);
            let kind = match change.kind {
                EngineKind::Commit => {
                    self.given = lsn;
                    ChangeKind::Commit
                }
                EngineKind::Definition { table, words } => match Name::of_engine(&table) {
                    Some(Name { schema, name }) => {
                        ChangeKind::Definition { schema, table: name, words }
                    }
                    None => continue,
                },
                EngineKind::Row { table: of, old, new, .. } => {
                    let known = self.tables.entry(of.number);
                    let known = known.or_insert_with(|| changed_table(&self.database, &of));
                    let Some(table) = known.clone() else { continue };
                    let old = old.map(|old| table.values(&of, old));
                    let new = new.map(|new| table.values(&of, new));
                    match (old, new) {
                        (Some(old), Some(new)) => ChangeKind::Update { table, old, new },
                        (None, Some(new)) => ChangeKind::Insert { table, new },
                        (Some(old), None) => ChangeKind::Delete { table, old },
                        (None, None) => continue,
                    }
                }
                // What is newer than this.
                _ => continue,
            };
            return Ok(Some(Change { lsn, position, number, kind }));
        }
        // In a group of replicas the log goes on behind the last commit, with what is none.
        let known = &self.database.nothing_between;
        *known.lock().unwrap_or_else(PoisonError::into_inner) = (self.given, self.lsn());
        Ok(None)
    }

    /// The next changes of rows, of one table and so many at most, which may be of several
    /// commits, or the first of one; none if nothing else was committed by now. Definitions and
    /// ends of commits are passed over. All before [`ChangeFeed::lsn`] was given by then.
    ///
    /// # Errors
    /// As [`ChangeFeed::next_change`].
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use remanent_engine::{Database, Options};
    /// # use remanent_sql::SqlDatabase;
    /// # let name = format!("remanent-feed-rows-{}", std::process::id());
    /// # let path = std::env::temp_dir().join(name);
    /// # let engine = Database::open_at(&path, Options::new().log_old_rows(true))?;
    /// # let db = SqlDatabase::new(Arc::new(engine))?;
    /// # let mut session = db.session();
    /// session.execute("create table part (id int primary key, name text)")?;
    /// session.execute("insert into part values (1, 'bolt'), (2, 'nut'), (3, 'gear')")?;
    /// let mut feed = db.change_feed(0)?;
    /// let batch = feed.next_batch(1024)?.expect("three rows");
    /// assert_eq!((batch.table.name.as_str(), batch.rows.num_rows()), ("part", 3));
    /// assert!(feed.next_batch(1024)?.is_none());
    /// # drop((feed, session, db));
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_batch(&mut self, rows: usize) -> Result<Option<ChangeBatch>> {
        let mut taken: Vec<Change> = Vec::new();
        while taken.len() < rows.max(1) {
            let Some(change) = self.next_change()? else { break };
            let (Some(table), first) = (change.kind.table(), taken.first()) else { continue };
            let first = first.and_then(|first| first.kind.table());
            if first.is_some_and(|first| !Arc::ptr_eq(first, table)) {
                self.next = Some(change);
                break;
            }
            taken.push(change);
        }
        let Some(table) = taken.first().and_then(|first| first.kind.table().cloned()) else {
            return Ok(None);
        };
        let rows = table.batch_of(&taken)?;
        Ok(Some(ChangeBatch { table, rows }))
    }
}

impl ChangeKind {
    /// One word for it: `insert`, `update`, `delete`, `definition`, `commit`.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(remanent_sql::ChangeKind::Commit.word(), "commit");
    /// ```
    pub fn word(&self) -> &'static str {
        match self {
            Self::Insert { .. } => "insert",
            Self::Update { .. } => "update",
            Self::Delete { .. } => "delete",
            Self::Definition { .. } => "definition",
            Self::Commit => "commit",
        }
    }

    /// The table of which a row has changed.
    pub(crate) fn table(&self) -> Option<&Arc<ChangedTable>> {
        match self {
            Self::Insert { table, .. }
            | Self::Update { table, .. }
            | Self::Delete { table, .. } => Some(table),
            Self::Definition { .. } | Self::Commit => None,
        }
    }

    /// The row before.
    pub(crate) fn row_before(&self) -> Option<&[Datum]> {
        match self {
            Self::Update { old, .. } | Self::Delete { old, .. } => Some(old),
            _ => None,
        }
    }

    /// The row after.
    pub(crate) fn row_after(&self) -> Option<&[Datum]> {
        match self {
            Self::Insert { new, .. } | Self::Update { new, .. } => Some(new),
            _ => None,
        }
    }
}

impl ChangedTable {
    /// A row of the table as an object of JSON, as PostgreSQL's `row_to_json` writes it.
    ///
    /// # Examples
    /// See [`SqlDatabase::change_feed`].
    pub fn to_json(&self, row: &[Datum]) -> String {
        let mut out = String::new();
        let names = self.columns.iter().map(|column| column.name.as_str());
        json::write_object(&mut out, names.zip(row), &self.json_types());
        out
    }

    /// Whether each column has JSON in it already.
    fn json_types(&self) -> Vec<bool> {
        self.columns.iter().map(|column| column.sql_type == SqlType::Json).collect()
    }

    fn values(&self, of: &FeedTable, row: &[u8]) -> Vec<Datum> {
        let value = |column: &ChangedColumn| {
            Datum::from_value(of.layout.read_value(row, column.leaf), &column.sql_type)
        };
        self.columns.iter().map(value).collect()
    }

    /// The fields of a row.
    fn fields(&self) -> Fields {
        let field = |column: &ChangedColumn| {
            let field = Field::new(&column.name, column.sql_type.to_arrow(), true);
            field.with_metadata(type_metadata(&column.sql_type))
        };
        self.columns.iter().map(field).collect()
    }

    fn batch_of(&self, changes: &[Change]) -> Result<RecordBatch> {
        let numbers = |number: fn(&Change) -> u64| {
            let numbers: Vec<_> = changes.iter().map(|it| integer(number(it))).collect();
            array_of(&numbers, &SqlType::BigInt)
        };
        let kinds: Vec<Datum> = changes.iter().map(|it| it.kind.word().into()).collect();
        let arrays = vec![
            numbers(|change| change.lsn)?,
            numbers(|change| change.position)?,
            numbers(|change| change.number)?,
            array_of(&kinds, &SqlType::Text)?,
            self.structs(changes, ChangeKind::row_before)?,
            self.structs(changes, ChangeKind::row_after)?,
        ];
        Ok(RecordBatch::try_new(self.batch_schema(), arrays)?)
    }

    fn batch_schema(&self) -> SchemaRef {
        let number = |name| Field::new(name, DataType::Int64, false);
        let row = |name| Field::new(name, DataType::Struct(self.fields()), true);
        Arc::new(Schema::new(vec![
            number("lsn"),
            number("position"),
            number("number"),
            Field::new("kind", SqlType::Text.to_arrow(), false),
            row("old"),
            row("new"),
        ]))
    }

    fn structs(
        &self,
        changes: &[Change],
        row: fn(&ChangeKind) -> Option<&[Datum]>,
    ) -> Result<ArrayRef> {
        let rows: Vec<_> = changes.iter().map(|change| row(&change.kind)).collect();
        let arrays = self.columns.iter().enumerate().map(|(place, column)| {
            let value = |row: &Option<&[Datum]>| row.map_or(Datum::Null, |row| row[place].clone());
            let values: Vec<Datum> = rows.iter().map(value).collect();
            array_of(&values, &column.sql_type)
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let there = NullBuffer::from_iter(rows.iter().map(Option::is_some));
        Ok(Arc::new(StructArray::try_new(self.fields(), arrays, Some(there))?))
    }
}

/// A number as SQL has it.
pub(super) fn integer(number: u64) -> Datum {
    Datum::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A table with the names and types that SQL has for it; none of the catalog's own.
fn changed_table(database: &SqlDatabase, of: &FeedTable) -> Option<Arc<ChangedTable>> {
    let name = Name::of_engine(&of.schema.name)?;
    let catalog = database.catalog();
    let known = catalog.tables.values().find(|table| table.handle.number() == of.number);
    let table = known.map(|table| {
        let columns = table.columns.iter().map(|column| ChangedColumn {
            name: column.name.clone(),
            sql_type: column.sql_type.clone(),
            leaf: column.leaf,
        });
        let Name { schema, name } = table.name.clone();
        ChangedTable { schema, name, columns: columns.collect() }
    });
    let table = table.unwrap_or_else(|| {
        let leaves = of.layout.leaves().iter().enumerate();
        let columns = leaves.filter_map(|(leaf, column)| {
            let sql_type = SqlType::from_column_type(&column.column_type)?;
            Some(ChangedColumn { name: column.path.clone(), sql_type, leaf })
        });
        ChangedTable { schema: name.schema, name: name.name, columns: columns.collect() }
    });
    Some(Arc::new(table))
}
