//! A database: where a program starts.
//!
//! This is the face of an `Instance`: it opens one, begins transactions on it, and passes changes
//! of tables and indexes on. The closure calls `read` and `write` end their transactions
//! themselves.

use std::sync::PoisonError;

use remanent_schema::{IndexSchema, Record, SetSchema, TableSchema};

use crate::error::Result;
use crate::instance::Instance;
use crate::memory::MemoryUse;
use crate::memory::atomic::Relaxed;
use crate::options::Options;
use crate::table::{IndexHandle, Set, Table, TypedTable};
use crate::transaction::begin::retry;
use crate::transaction::cleanup::{reclaim, snapshots};
use crate::transaction::write::define;
use crate::transaction::write::define::Beside;
use crate::transaction::{
    CommitTicket, ReadTransaction, SnapshotInfo, TransactionOptions, WriteTransaction,
};

/// A main-memory database. Share it between threads by reference or in an `Arc`.
///
/// Dropping it frees its memory at a cost that does not depend on the number of rows.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let schema = TableSchema::new("Account")
///     .column("number", ColumnType::U32)
///     .column("balance", ColumnType::I64)
///     .primary_key(["number"]);
/// let account = db.create_table(schema)?;
/// db.write(|tx| tx.insert_values(&account, &[Some(7.into()), Some(100.into())]))?;
/// let primary = account.index("primary")?;
/// let balance = account.column("balance")?;
/// let found = db.read(|tx| {
///     let row = tx.find(&account, primary, &[7.into()])?;
///     Ok(row.and_then(|row| row.get::<i64>(balance)))
/// })?;
/// assert_eq!(found, Some(100));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Debug)]
pub struct Database {
    pub(crate) instance: Instance,
}

impl Database {
    /// Opens a new, empty database.
    ///
    /// # Errors
    /// `InvalidOptions`, `BudgetReached` if the budget or the caller's memory is too small to hold
    /// even an empty database, `OutOfMachineMemory`.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, ErrorKind, Options};
    /// let db = Database::open(Options::new().budget(16 << 20))?;
    /// assert!(db.table_names().is_empty());
    /// let error = Database::open(Options::new().budget(1000)).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidOptions);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn open(options: Options) -> Result<Self> {
        Ok(Self { instance: Instance::create(options.resolve()?)? })
    }

    /// Runs `work` in a transaction that only reads.
    ///
    /// # Errors
    /// `TooManyTransactions`, and whatever `work` returns.
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
    /// let total = db.read(|tx| {
    ///     let rows = tx.scan(&cities)?;
    ///     Ok(rows.filter_map(|row| row.get::<u32>(people)).sum::<u32>())
    /// })?;
    /// assert_eq!(total, 530_000);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn read<T>(&self, work: impl FnOnce(&ReadTransaction<'_>) -> Result<T>) -> Result<T> {
        let transaction = self.begin_read()?;
        let value = work(&transaction)?;
        transaction.status()?;
        Ok(value)
    }

    /// Runs `work` in a transaction and commits it. If `work` fails, the transaction is rolled
    /// back; after a conflict with another transaction it is run again, with growing pauses.
    ///
    /// # Errors
    /// The error of `work`, `TooManyTransactions`; `Conflict` after 10,000 attempts.
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
    /// let ulm = [Some("Ulm".into()), Some(126_000.into())];
    /// let refused = db.write(|tx| {
    ///     tx.insert_values(&cities, &ulm)?;
    ///     tx.insert_values(&cities, &ulm)
    /// });
    /// assert_eq!(refused.unwrap_err().kind(), ErrorKind::DuplicateKey);
    /// // Nothing of it was kept.
    /// assert_eq!(db.read(|tx| Ok(tx.scan(&cities)?.count()))?, 0);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn write<T>(&self, work: impl FnMut(&WriteTransaction<'_>) -> Result<T>) -> Result<T> {
        self.write_with_ticket(work).map(|(value, _)| value)
    }

    /// As [`Database::write`], also giving the commit's ticket.
    ///
    /// # Errors
    /// As [`Database::write`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let before = db.begin_read()?;
    /// let (id, ticket) = db.write_with_ticket(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// assert!(before.timestamp() < ticket.timestamp());
    /// let after = db.begin_read()?;
    /// assert!(after.timestamp() >= ticket.timestamp());
    /// assert!(after.row(&table, id)?.is_some());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn write_with_ticket<T>(
        &self,
        work: impl FnMut(&WriteTransaction<'_>) -> Result<T>,
    ) -> Result<(T, CommitTicket)> {
        self.before_writing()?;
        retry::run_until_committed(&self.instance, &TransactionOptions::new(), work)
    }

    /// As [`Database::read`], with settings of the transaction's own. If the snapshot expires, what
    /// `work` returned does not count.
    ///
    /// # Errors
    /// As [`Database::read`]; `SnapshotExpired`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, TransactionOptions, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let options = TransactionOptions::new().name("count").snapshot_pinned_max(64 << 20);
    /// let count = db.read_with(&options, |tx| Ok(tx.scan(&table)?.count()))?;
    /// assert_eq!(count, 0);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn read_with<T>(
        &self,
        options: &TransactionOptions,
        work: impl FnOnce(&ReadTransaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let transaction = self.begin_read_with(options)?;
        let value = work(&transaction)?;
        transaction.status()?;
        Ok(value)
    }

    /// As [`Database::write`], with settings of the transaction's own.
    ///
    /// # Errors
    /// As [`Database::write`]; `DeadlineReached`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Isolation, Options, TransactionOptions, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let options = TransactionOptions::new().isolation(Isolation::Snapshot);
    /// db.write_with(&options, |tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn write_with<T>(
        &self,
        options: &TransactionOptions,
        work: impl FnMut(&WriteTransaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.before_writing()?;
        retry::run_until_committed(&self.instance, options, work).map(|(value, _)| value)
    }

    /// Begins a transaction that only reads.
    ///
    /// # Errors
    /// `TooManyTransactions`.
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
    /// let tx = db.begin_read()?;
    /// let bonn = tx.find(&cities, primary, &["Bonn".into()])?.expect("it is there");
    /// // What was read stays as it was for as long as the transaction lives.
    /// db.write(|tx| tx.delete(&cities, bonn.id()))?;
    /// assert_eq!(bonn.get::<u32>(people), Some(336_000));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn begin_read(&self) -> Result<ReadTransaction<'_>> {
        ReadTransaction::begin(&self.instance)
    }

    /// Begins a transaction that reads and writes. Waits while a table or index is being changed,
    /// or a transaction that has failed often runs in exclusive mode.
    ///
    /// # Errors
    /// `TooManyTransactions`, `BudgetReached` for the first writers, which need 5 KiB each.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let id = db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// let (first, second) = (db.begin_write()?, db.begin_write()?);
    /// first.update_values(&table, id, &[(a, 2.into())])?;
    /// let error = second.update_values(&table, id, &[(a, 3.into())]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Conflict);
    /// first.commit()?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn begin_write(&self) -> Result<WriteTransaction<'_>> {
        self.before_writing()?;
        WriteTransaction::begin_with(&self.instance, &TransactionOptions::new())
    }

    /// As [`Database::begin_read`], with settings of the transaction's own.
    ///
    /// # Errors
    /// As [`Database::begin_read`]; memory to remember what is handed out, if the snapshot may
    /// expire.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, TransactionOptions};
    /// # let db = Database::open(Options::new())?;
    /// let tx = db.begin_read_with(&TransactionOptions::new().name("nightly export"))?;
    /// assert_eq!(db.snapshots().len(), 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn begin_read_with(&self, options: &TransactionOptions) -> Result<ReadTransaction<'_>> {
        ReadTransaction::begin_with(&self.instance, options)
    }

    /// As [`Database::begin_write`], with settings of the transaction's own.
    ///
    /// # Errors
    /// As [`Database::begin_write`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, Priority, TransactionOptions};
    /// # let db = Database::open(Options::new())?;
    /// let tx = db.begin_write_with(&TransactionOptions::new().priority(Priority::Low))?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn begin_write_with(&self, options: &TransactionOptions) -> Result<WriteTransaction<'_>> {
        self.before_writing()?;
        WriteTransaction::begin_with(&self.instance, options)
    }

    /// The snapshots that transactions hold, oldest first: whose they are, since when, and what
    /// they keep from being reclaimed.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, TransactionOptions};
    /// # let db = Database::open(Options::new())?;
    /// let tx = db.begin_read_with(&TransactionOptions::new().name("export"))?;
    /// for held in db.snapshots() {
    ///     println!("{} for {:?} keeps {} bytes", held.name, held.age, held.pinned_bytes);
    /// }
    /// drop(tx);
    /// assert!(db.snapshots().is_empty());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn snapshots(&self) -> Vec<SnapshotInfo> {
        snapshots::list(&self.instance)
    }

    /// Creates a table.
    ///
    /// # Errors
    /// `InvalidSchema`, `TableExists`, `BudgetReached`, `OutOfMachineMemory`, `LimitReached`;
    /// `TableBusy` if another change of tables takes more than 5 seconds.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("Part")
    ///     .column("number", ColumnType::U32)
    ///     .nullable_column("note", ColumnType::String { max: Some(100) })
    ///     .primary_key(["number"]);
    /// let parts = db.create_table(schema.clone())?;
    /// assert_eq!(parts.schema().columns.len(), 2);
    /// let error = db.create_table(schema).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::TableExists);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn create_table(&self, schema: TableSchema) -> Result<Table> {
        self.instance.check_writable()?;
        define::run_definition(&self.instance, Beside::Writers, |tx| tx.create_table(schema))
    }

    /// Creates the table of a record type.
    ///
    /// # Errors
    /// As [`Database::create_table`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options};
    /// use remanent_derive::Record;
    ///
    /// #[derive(Record)]
    /// #[record(primary_key(number))]
    /// struct Part<'a> {
    ///     number: u32,
    ///     note: Option<&'a str>,
    /// }
    /// # let db = Database::open(Options::new())?;
    /// let parts = db.create_table_of::<Part>()?;
    /// assert_eq!(parts.name(), "Part");
    /// db.write(|tx| tx.insert(&parts, &Part { number: 1, note: None }))?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn create_table_of<R: Record>(&self) -> Result<TypedTable<R>> {
        TypedTable::new(self.create_table(R::schema())?)
    }

    /// The table with this name.
    ///
    /// # Errors
    /// `UnknownTable`.
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
    /// let again = db.table("City")?;
    /// assert_eq!(again.column("people")?, people);
    /// assert_eq!(db.table("city").unwrap_err().kind(), ErrorKind::UnknownTable);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn table(&self, name: &str) -> Result<Table> {
        self.instance.catalog().by_name(name).map(|core| Table { core })
    }

    /// The table of a record type, found by the record's name.
    ///
    /// # Errors
    /// `UnknownTable`; `SchemaMismatch` if its columns or keys are not the record's.
    ///
    /// # Examples
    /// ```
    /// # use remanent_derive::Record;
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// #[derive(Record)]
    /// struct Part {
    ///     number: u32,
    /// }
    /// assert_eq!(db.table_of::<Part>().unwrap_err().kind(), ErrorKind::UnknownTable);
    /// // Another type than the record's.
    /// db.create_table(TableSchema::new("Part").column("number", ColumnType::U64))?;
    /// assert_eq!(db.table_of::<Part>().unwrap_err().kind(), ErrorKind::SchemaMismatch);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn table_of<R: Record>(&self) -> Result<TypedTable<R>> {
        TypedTable::new(self.table(&R::schema().name)?)
    }

    /// The names of all tables, sorted.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// for name in ["Shop", "City"] {
    ///     db.create_table(TableSchema::new(name).column("id", ColumnType::U32))?;
    /// }
    /// assert_eq!(db.table_names(), ["City", "Shop"]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn table_names(&self) -> Vec<String> {
        self.instance.catalog().names()
    }

    /// Creates a set over tables that are there: owners, and members in an order. Its relation is a
    /// table of the set's name.
    ///
    /// # Errors
    /// `UnknownTable`, `TableExists`, `InvalidSchema`, `RelationOfSet` if a table is itself one
    /// that holds a set, memory.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// db.create_table(TableSchema::new("Office").column("name", ColumnType::STRING))?;
    /// db.create_table(TableSchema::new("Person").column("name", ColumnType::STRING))?;
    /// let staff = SetSchema::new("Staff", "Office", SetOrder::Ascending);
    /// let staff = db.create_set(staff.member_by("Person", ["name"]))?;
    /// assert_eq!(db.set("Staff")?.owner().name(), "Office");
    /// let none = SetSchema::new("None", "Office", SetOrder::Last);
    /// assert_eq!(db.create_set(none).unwrap_err().kind(), ErrorKind::InvalidSchema);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn create_set(&self, schema: SetSchema) -> Result<Set> {
        self.instance.check_writable()?;
        let made =
            define::run_definition(&self.instance, Beside::Writers, |tx| tx.create_set(schema));
        made.map(|core| Set { core })
    }

    /// The set with this name.
    ///
    /// # Errors
    /// `UnknownTable`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// assert_eq!(db.set("Staff").unwrap_err().kind(), ErrorKind::UnknownTable);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn set(&self, name: &str) -> Result<Set> {
        self.instance.catalog().set_by_name(name).map(|core| Set { core })
    }

    /// The names of all sets, in order.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// assert_eq!(db.set_names(), ["Tree"]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn set_names(&self) -> Vec<String> {
        self.instance.catalog().set_names()
    }

    /// Drops a set: nobody is a member any more, and all rows stay.
    ///
    /// # Errors
    /// `UnknownTable` if it was dropped, `TableBusy` if transactions that write do not end within
    /// five seconds.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let set = db.create_set(SetSchema::new("Tree", "T", SetOrder::Last).member("T"))?;
    /// assert_eq!(db.drop_table(&table).unwrap_err().kind(), ErrorKind::TableInSet);
    /// db.drop_set(&set)?;
    /// db.drop_table(&table)?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn drop_set(&self, set: &Set) -> Result<()> {
        self.instance.check_writable()?;
        define::run_definition(&self.instance, Beside::Readers, |tx| tx.drop_set(&set.core))
    }

    /// Drops a table with its rows. Waits for active transactions that write; those that read go on
    /// with it, and its memory is free when the last has ended that began before.
    ///
    /// # Errors
    /// `UnknownTable`; `TableBusy` if transactions that write do not end within 5 seconds.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// db.drop_table(&table)?;
    /// assert!(db.table_names().is_empty());
    /// // The handle stays safe.
    /// let error = db.write(|tx| tx.insert_values(&table, &[Some(1.into())])).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UnknownTable);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn drop_table(&self, table: &Table) -> Result<()> {
        self.instance.check_writable()?;
        define::run_definition(&self.instance, Beside::Readers, |tx| tx.drop_table(table))
    }

    /// Creates an index on a table, with all rows that are there. Readers go on meanwhile, writers
    /// wait.
    ///
    /// # Errors
    /// `InvalidSchema`, `IndexExists`, `DuplicateKey` if it is to be unique and rows are not,
    /// `KeyTooLong`, `TableBusy`, `LimitReached`, `BudgetReached`, `OutOfMachineMemory`,
    /// `UnknownTable`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// db.write(|tx| {
    ///     tx.insert_values(&table, &[Some(7.into())])?;
    ///     tx.insert_values(&table, &[Some(7.into())])
    /// })?;
    /// let error = db.create_index(&table, IndexSchema::new("one", ["a"]).unique()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    /// let by_a = db.create_index(&table, IndexSchema::new("by_a", ["a"]))?;
    /// assert!(db.begin_read()?.find(&table, by_a, &[7.into()])?.is_some());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn create_index(&self, table: &Table, index: IndexSchema) -> Result<IndexHandle> {
        self.instance.check_writable()?;
        define::run_definition(&self.instance, Beside::Readers, |tx| tx.create_index(table, index))
    }

    /// Drops an index. Waits for active transactions to end.
    ///
    /// # Errors
    /// `UnknownIndex`, `UnknownTable`, `TableBusy`.
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
    /// db.drop_index(&cities, primary)?;
    /// let tx = db.begin_read()?;
    /// let error = tx.find(&cities, primary, &["Ulm".into()]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UnknownIndex);
    /// assert_eq!(tx.scan(&cities)?.count(), 3);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn drop_index(&self, table: &Table, index: IndexHandle) -> Result<()> {
        self.instance.check_writable()?;
        table.resolve(index, false)?;
        define::run_definition(&self.instance, Beside::Readers, |tx| tx.drop_index(table, index))
    }

    /// How much memory is in use, by purpose.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let empty = db.memory();
    /// db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// let memory = db.memory();
    /// assert!(memory.rows > empty.rows);
    /// assert!(memory.held <= memory.budget);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn memory(&self) -> MemoryUse {
        self.instance.memory_use()
    }

    /// What the budget has room for beside what the database holds and cannot let go: what is in
    /// the buffer cache makes room.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options};
    /// let db = Database::open(Options::new().budget(4 << 20))?;
    /// let memory = db.memory();
    /// assert_eq!(db.memory_left(), memory.budget - memory.held);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn memory_left(&self) -> u64 {
        let memory = self.instance.memory();
        let account = &memory.header().account;
        let held = account.in_use().saturating_sub(memory.buffer_cache.bytes());
        account.budget.load(Relaxed).saturating_sub(held)
    }

    /// Changes how many bytes of the columns of paged tables may be in memory, as
    /// [`Options::buffer_cache`] says it; 0 is three quarters of the budget. What is too much
    /// leaves at once, unless it is being read.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options};
    /// let db = Database::open(Options::new().budget(64 << 20))?;
    /// db.set_buffer_cache(16 << 20);
    /// assert_eq!(db.memory().cached, 0);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn set_buffer_cache(&self, bytes: u64) {
        self.instance.memory().buffer_cache.set_limit(bytes);
        self.instance.memory().make_room_in_cache(0);
    }

    /// Counts what the program holds of its own against the same budget: `count` says how much
    /// that is now, and is asked whenever the database takes pages for anything but what frees
    /// memory. It must be quick, and must not use the database. It takes the place of any before.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new().budget(4 << 20))?;
    /// let table = db.create_table(TableSchema::new("T").column("data", ColumnType::BLOB))?;
    /// db.count_program_memory(|| 4 << 20);
    /// let large = vec![1; 1 << 20];
    /// let insert = || db.write(|tx| tx.insert_values(&table, &[Some((&large).into())]));
    /// assert!(insert().unwrap_err().is_out_of_memory());
    /// db.count_program_memory(|| 0);
    /// insert()?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn count_program_memory(&self, count: impl Fn() -> u64 + Send + Sync + 'static) {
        self.instance.memory().region().program().set(Box::new(count));
    }

    /// Changes the budget while the database is in use. If it becomes smaller than what is held,
    /// statements fail until enough was deleted.
    ///
    /// # Errors
    /// `InvalidOptions` below 128 KiB or above [`Options::budget_max`]; in the caller's memory,
    /// above its size.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new().budget(1 << 20))?;
    /// let table = db.create_table(TableSchema::new("T").column("data", ColumnType::BLOB))?;
    /// let large = vec![1; 2 << 20];
    /// let insert = || db.write(|tx| tx.insert_values(&table, &[Some((&large).into())]));
    /// assert!(insert().unwrap_err().is_out_of_memory());
    /// db.set_budget(4 << 20)?;
    /// insert()?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn set_budget(&self, bytes: u64) -> Result<()> {
        Options::check_budget(bytes)?;
        self.instance.memory().set_budget(bytes)
    }

    /// Reclaims what can be, gives the memory that is then free back to the operating system, and
    /// says how many bytes that were. None, in the caller's memory.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new().budget(64 << 20))?;
    /// let table = db.create_table(TableSchema::new("T").column("data", ColumnType::BLOB))?;
    /// let large = vec![1; 16 << 20];
    /// let row = db.write(|tx| tx.insert_values(&table, &[Some((&large).into())]))?;
    /// db.write(|tx| tx.delete(&table, row))?;
    /// let committed = db.memory().committed;
    /// let released = db.release_memory();
    /// assert!(released >= 16 << 20);
    /// assert_eq!(db.memory().committed, committed - released);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn release_memory(&self) -> u64 {
        self.reclaim();
        self.instance.memory().release()
    }

    /// Frees now what later writers would free by and by: old versions that no active transaction
    /// needs, and the stock of free blocks of idle slots. Waits while an index is built.
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
    /// let full = db.memory().rows;
    /// let ids: Vec<_> = db.read(|tx| Ok(tx.scan(&cities)?.map(|row| row.id()).collect()))?;
    /// db.write(|tx| ids.iter().try_for_each(|id| tx.delete(&cities, *id)))?;
    /// db.reclaim();
    /// assert!(db.memory().rows < full);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn reclaim(&self) {
        let _maintenance = self.instance.maintenance.lock().unwrap_or_else(PoisonError::into_inner);
        reclaim::drain_all(&self.instance);
    }

    /// Fails if nothing may be written.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.instance.check_writable()
    }

    /// Begins a transaction that repeats what is logged already.
    pub(crate) fn begin_replay(&self, options: TransactionOptions) -> Result<WriteTransaction<'_>> {
        self.instance.checkpoint_if_due();
        let options = TransactionOptions { is_replay: true, ..options };
        WriteTransaction::begin_with(&self.instance, &options)
    }

    /// Whether it may be written; and a checkpoint, if one is due.
    #[inline]
    fn before_writing(&self) -> Result<()> {
        self.instance.check_writable()?;
        self.instance.checkpoint_if_due();
        Ok(())
    }

    /// Makes the `n`-th allocation from now fail, and all after it; 0 ends that. For testing how a
    /// program takes a full database.
    #[doc(hidden)]
    pub fn fail_allocations_from(&self, n: u64) {
        self.instance.memory().fail_allocations_from(n);
    }
}
