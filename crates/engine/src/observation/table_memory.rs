//! What each table takes of the memory: its rows, its directory, its indexes.
//!
//! Each table is gone through under a snapshot of its own, so that none is held for longer than one
//! table takes. Taken before the table is found to be live, it keeps the table from being freed.

use remanent_schema::IndexKind;

use crate::database::Database;
use crate::error::Result;
use crate::instance::Instance;
use crate::table::table::{TableAt, TableCore};
use crate::transaction::{ReadTransaction, TransactionOptions};

/// The name of the snapshots that are held meanwhile.
const NAME: &str = "memory by table";

/// The memory of a table, in bytes.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
/// let by_table = db.memory_by_table()?;
/// assert_eq!((by_table[0].name.as_str(), by_table[0].rows), ("T", 1));
/// assert_eq!(by_table[0].row_bytes, db.memory().rows);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableMemory {
    /// The table's name; of a relation, that of its set.
    pub name: String,
    /// Rows that were there when the table's turn came.
    pub rows: u64,
    /// Rows of these that lie in columns, as they were frozen.
    pub frozen_rows: u64,
    /// Versions of rows: the current ones, old ones and deletions.
    pub versions: u64,
    /// Bytes of these versions.
    pub row_bytes: u64,
    /// Bytes of the directory that leads from row ids to versions.
    pub segment_bytes: u64,
    /// Bytes of the columns of frozen segments, as far as they are in memory.
    pub column_bytes: u64,
    /// Bytes of columns of a paged table that were evicted.
    pub evicted_bytes: u64,
    /// The table's indexes, in the order in which they were made.
    pub indexes: Vec<IndexMemory>,
}

/// What an index takes of the memory.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let schema = TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]);
/// db.create_table(schema)?;
/// let by_table = db.memory_by_table()?;
/// let index = &by_table[0].indexes[0];
/// assert_eq!((index.name.as_str(), index.kind), ("primary", IndexKind::Ordered));
/// assert!(index.bytes > 0);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexMemory {
    /// The index's name.
    pub name: String,
    /// Whether it is ordered or hashed.
    pub kind: IndexKind,
    /// Bytes of its nodes or buckets, and of keys that it has to keep itself.
    pub bytes: u64,
}

impl TableMemory {
    /// Bytes of all indexes.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # db.create_table(TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]))?;
    /// let by_table = db.memory_by_table()?;
    /// assert_eq!(by_table[0].index_bytes(), db.memory().indexes);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn index_bytes(&self) -> u64 {
        self.indexes.iter().map(|index| index.bytes).sum()
    }

    /// Bytes of everything that the table has.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # db.create_table(TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]))?;
    /// for table in db.memory_by_table()? {
    ///     println!("{}: {} rows in {} bytes", table.name, table.rows, table.bytes());
    /// }
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn bytes(&self) -> u64 {
        self.row_bytes + self.segment_bytes + self.column_bytes + self.index_bytes()
    }
}

impl Database {
    /// What each table takes of the memory, sorted by name.
    ///
    /// It is not counted as tables change, so every version of every row and every node of every
    /// index is gone through: about as long as a scan of all tables and all indexes takes. Others
    /// go on meanwhile, which makes the answer an approximation; while nobody writes it is exact.
    /// Versions and nodes that were taken out and wait to be freed are of no table. Changes of
    /// tables and indexes wait for it as for any reader, one table at a time; whoever wants to
    /// change a row with old versions, while these are counted.
    ///
    /// # Errors
    /// `TooManyTransactions`: it needs a slot as any transaction does.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("T")
    ///     .column("a", ColumnType::I32)
    ///     .primary_key(["a"])
    ///     .index(IndexSchema::new("quick", ["a"]).hash());
    /// let table = db.create_table(schema)?;
    /// db.write(|tx| (0..1000).try_for_each(|a| {
    ///     tx.insert_values(&table, &[Some(Value::I32(a))]).map(|_| ())
    /// }))?;
    /// // Nodes that grew have left smaller ones behind.
    /// db.reclaim();
    /// let by_table = db.memory_by_table()?;
    /// let (all, memory) = (&by_table[0], db.memory());
    /// assert_eq!((all.rows, all.row_bytes), (1000, memory.rows));
    /// assert_eq!((all.segment_bytes, all.index_bytes()), (memory.segments, memory.indexes));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn memory_by_table(&self) -> Result<Vec<TableMemory>> {
        let db = &self.instance;
        let mut tables = Vec::new();
        for core in db.catalog().all() {
            tables.extend(measure(db, &core)?);
        }
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(tables)
    }
}

/// What a table takes; `None` if it was dropped meanwhile.
fn measure(db: &Instance, core: &TableCore) -> Result<Option<TableMemory>> {
    let transaction = ReadTransaction::begin_with(db, &TransactionOptions::new().name(NAME))?;
    if core.check_live().is_err() {
        return Ok(None);
    }
    let (at, reader) = (TableAt { memory: db.memory(), core }, transaction.reader());
    let rows = at.measure_rows(reader);
    let indexes = core.known_indexes().map(|index| IndexMemory {
        name: index.schema.name.clone(),
        kind: index.schema.kind,
        bytes: at.measure_index(reader, index),
    });
    let [columns, evicted] = at.measure_columns(reader);
    Ok(Some(TableMemory {
        name: core.schema.name.clone(),
        rows: rows.rows,
        frozen_rows: rows.frozen,
        versions: rows.versions,
        row_bytes: rows.bytes,
        segment_bytes: at.measure_directory(reader),
        column_bytes: columns - evicted,
        evicted_bytes: evicted,
        indexes: indexes.collect(),
    }))
}
