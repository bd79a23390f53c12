//! Reading under a snapshot: what every transaction can do.
//!
//! Each call resolves a handle, asks an index or the directory for candidates, and returns the
//! version that the snapshot sees. Nothing here changes a row, waits, or fails for what others do,
//! but for a snapshot that was given a budget and has gone over it.

use std::cell::Cell;
use std::time::Instant;

use remanent_schema::{Key, KeyBuffer, Record, Value};

use super::retained;
use crate::error::{Error, ErrorKind, Result};
use crate::index::batch::GROUP;
use crate::instance::Instance;
use crate::memory::Memory;
use crate::memory::atomic::Release;
use crate::snapshot::Snapshot;
use crate::table::columns::copies::RowCopies;
use crate::table::read::key_range::{KeyBound, KeyRange};
use crate::table::read::lookup::{Cursor, View};
use crate::table::read::neighbour::Extent;
use crate::table::read::read_set::{End, RangeBound, ReadSet, Remember, Side};
use crate::table::read::reader::{Operation, Reader};
use crate::table::read::scan::visible_row;
use crate::table::rows::row::{Row, RowId};
use crate::table::rows::version::{Version, bytes_at, row_at};
use crate::table::table::TableAt;
use crate::table::{IndexHandle, Table, TypedCursor, TypedTable};
use crate::transaction::begin::clock::{self, HeldSlot};
use crate::transaction::begin::options::TransactionOptions;
use crate::transaction::cleanup::snapshots;
use crate::transaction::commit::finalize;

/// A transaction that only reads: one snapshot of the whole database.
///
/// It takes no lock, never fails for what others do unless it was given a budget, and makes nobody
/// wait. What it returns are references into the database, valid as long as it lives. A snapshot
/// keeps the versions that it sees alive: do not hold one longer than needed. It belongs to one
/// thread at a time; each thread begins its own.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// let before = db.begin_read()?;
/// db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
/// assert_eq!(before.scan(&table)?.count(), 0);
/// assert_eq!(db.begin_read()?.scan(&table)?.count(), 1);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub struct ReadTransaction<'db> {
    pub(crate) db: &'db Instance,
    pub(crate) snapshot: Cell<Snapshot>,
    /// The read set, if there is one. It ends before the slot is given back.
    pub(crate) reads: Option<ReadSet<'db>>,
    /// The frozen rows that it was given; dropped before the slot as well.
    pub(crate) copies: RowCopies<'db>,
    pub(crate) held: HeldSlot<'db>,
    /// When the snapshot expires by age.
    pub(super) expires: Option<Instant>,
    /// The extent of the table that was scanned last.
    pub(in crate::transaction) extent: Cell<Option<Extent>>,
}

impl<'db> ReadTransaction<'db> {
    /// Takes a snapshot.
    #[inline]
    pub(crate) fn begin(db: &'db Instance) -> Result<Self> {
        let (held, snapshot) = finalize::with_free_slot(db, clock::begin_read)?;
        Ok(Self::with_slot(db, held, snapshot, None))
    }

    /// As [`ReadTransaction::begin`], with settings.
    ///
    /// # Errors
    /// `TooManyTransactions`; memory to remember what is handed out, if the snapshot may expire.
    pub(crate) fn begin_with(db: &'db Instance, options: &TransactionOptions) -> Result<Self> {
        let (held, mut snapshot) = finalize::with_free_slot(db, clock::begin_read)?;
        if options.is_described() {
            snapshots::describe(db, held.slot(), options);
        }
        if options.retains {
            snapshot.timestamp = held.retain();
        }
        let mut reads = None;
        if options.can_expire() {
            let alloc = db.memory().allocator(held.make_cache()?);
            reads = Some(ReadSet::new(alloc, held.slot(), Remember::HandedOut)?);
        }
        let expires = options.age_max.map(|age| Instant::now() + age);
        Ok(Self { expires, ..Self::with_slot(db, held, snapshot, reads) })
    }

    /// A transaction that sees the same, in a slot of its own; `None` if this one may expire or
    /// remembers what it reads. What it sees is kept by this one alone, which has to outlive it.
    ///
    /// # Errors
    /// `TooManyTransactions`.
    pub(crate) fn beside(&self) -> Result<Option<Self>> {
        if self.reads.is_some() || self.expires.is_some() {
            return Ok(None);
        }
        // The slot's own snapshot is a newer one: it says of each call when it is under way.
        let (held, _) = finalize::with_free_slot(self.db, clock::begin_read)?;
        Ok(Some(Self::with_slot(self.db, held, self.snapshot.get(), None)))
    }

    /// A transaction that sees the state at a timestamp, which this one retains
    /// ([`TransactionOptions::retain`]).
    ///
    /// # Errors
    /// `SnapshotExpired` where it is not retained, `InvalidOptions` where it is yet to come.
    pub fn begin_read_at(&self, timestamp: u64) -> Result<ReadTransaction<'_>> {
        retained::begin_at(self, timestamp)
    }

    /// A transaction that holds this slot.
    #[inline(always)]
    pub(crate) fn with_slot(
        db: &'db Instance,
        held: HeldSlot<'db>,
        snapshot: Snapshot,
        reads: Option<ReadSet<'db>>,
    ) -> Self {
        let (extent, copies) = (Cell::new(None), RowCopies::new(db.memory(), held.slot()));
        Self { db, snapshot: Cell::new(snapshot), reads, copies, held, expires: None, extent }
    }

    /// The timestamp of the newest commit that this transaction sees.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let before = db.begin_read()?.timestamp();
    /// let (_, ticket) = db.write_with_ticket(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// let tx = db.begin_read()?;
    /// assert!(before < ticket.timestamp() && ticket.timestamp() <= tx.timestamp());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn timestamp(&self) -> u64 {
        if let Some(reads) = &self.reads {
            reads.touch();
        }
        self.snapshot.get().timestamp
    }

    /// The record with this key in one of its indexes; of several the first in key order.
    ///
    /// # Errors
    /// `KeyTooLong`, `UnknownTable`, `UnknownIndex`.
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
    /// let tx = db.begin_read()?;
    /// let shop = tx.get(&shops, &ShopPrimary { id: 2 })?;
    /// assert_eq!(shop.map(|shop| shop.city), Some("Bonn"));
    /// assert!(tx.get(&shops, &ShopPrimary { id: 5 })?.is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn get<'t, R, K>(&'t self, table: &TypedTable<R>, key: &K) -> Result<Option<R::At<'t>>>
    where
        R: Record,
        K: Key<Record = R>,
    {
        let mut bytes = KeyBuffer::new();
        key.encode(&mut bytes)?;
        let view = self.view(table, table.index_of::<K>()?)?;
        let found = self.first(&view, bytes.as_slice())?;
        Ok(found.map(|at| R::decode(row_at(self.memory(), at))))
    }

    /// The row with this key, as [`ReadTransaction::get`] finds it, with its row id.
    ///
    /// # Errors
    /// As [`ReadTransaction::get`].
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
    /// db.write(|tx| {
    ///     let row = tx.get_row(&shops, &ShopPrimary { id: 4 })?.expect("it is there");
    ///     tx.update(&shops, row.id(), &Shop { id: 4, city: "Bonn" })
    /// })?;
    /// let tx = db.begin_read()?;
    /// let moved = tx.get(&shops, &ShopPrimary { id: 4 })?;
    /// assert_eq!(moved.map(|shop| shop.city), Some("Bonn"));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn get_row<'t, R, K>(&'t self, table: &'t TypedTable<R>, key: &K) -> Result<Option<Row<'t>>>
    where
        R: Record,
        K: Key<Record = R>,
    {
        let mut bytes = KeyBuffer::new();
        key.encode(&mut bytes)?;
        let view = self.view(table, table.index_of::<K>()?)?;
        Ok(self.first(&view, bytes.as_slice())?.map(|at| Row::at(view.table, at)))
    }

    /// Looks many keys up at once, overlapping their cache misses; `visit` gets the number of each
    /// key and its record, in order. Faster than one [`ReadTransaction::get`] after the other by
    /// as much as the rows lie out of the processor's caches.
    ///
    /// # Errors
    /// As [`ReadTransaction::get`].
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
    /// let keys = [3, 9, 2].map(|id| ShopPrimary { id });
    /// let tx = db.begin_read()?;
    /// let mut cities = Vec::new();
    /// tx.get_batch(&shops, &keys, |_, shop| cities.push(shop.map(|shop| shop.city)))?;
    /// assert_eq!(cities, [Some("Ulm"), None, Some("Bonn")]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn get_batch<'t, R, K>(
        &'t self,
        table: &TypedTable<R>,
        keys: &[K],
        mut visit: impl FnMut(usize, Option<R::At<'t>>),
    ) -> Result<()>
    where
        R: Record,
        K: Key<Record = R>,
    {
        let view = self.view(table, table.index_of::<K>()?)?;
        let memory = self.memory();
        let mut buffers = [const { KeyBuffer::new() }; GROUP];
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            for (buffer, key) in buffers.iter_mut().zip(keys) {
                key.encode(buffer)?;
            }
            let _operation = self.enter()?;
            view.group(&buffers[..keys.len()], |i, at| {
                self.remember_key(&view, buffers[i].as_slice(), at);
                let at = self.complete(at)?;
                visit(group * GROUP + i, at.map(|at| R::decode(row_at(memory, at))));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The record in a row; `None` if this transaction does not see the row.
    ///
    /// # Errors
    /// `UnknownTable`.
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
    /// let tx = db.begin_read()?;
    /// assert_eq!(tx.record(&shops, id)?.map(|shop| shop.id), Some(7));
    /// db.write(|tx| tx.delete(&shops, id))?;
    /// assert!(tx.record(&shops, id)?.is_some());
    /// assert!(db.begin_read()?.record(&shops, id)?.is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn record<'t, R: Record>(
        &'t self,
        table: &TypedTable<R>,
        row: RowId,
    ) -> Result<Option<R::At<'t>>> {
        let at = self.visible_row(self.table_at(table)?, row)?;
        Ok(at.map(|at| R::decode(row_at(self.memory(), at))))
    }

    /// The table that had this name when the snapshot was taken: others may have dropped it since,
    /// and made another one.
    ///
    /// # Errors
    /// `UnknownTable`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let before = db.begin_read()?;
    /// db.drop_table(&table)?;
    /// assert_eq!(before.table("T")?.name(), "T");
    /// let error = db.begin_read()?.table("T").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UnknownTable);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn table(&self, name: &str) -> Result<Table> {
        self.db.catalog().seen_by(name, self.snapshot.get()).map(|core| Table { core })
    }

    /// A row by its id; `None` if this transaction does not see it.
    ///
    /// # Errors
    /// `UnknownTable`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let tx = db.begin_write()?;
    /// let id = tx.insert_values(&table, &[Some(7.into())])?;
    /// assert_eq!(tx.row(&table, id)?.and_then(|row| row.get::<i32>(a)), Some(7));
    /// // Others do not see it before it is committed.
    /// assert!(db.begin_read()?.row(&table, id)?.is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn row<'t>(&'t self, table: &'t Table, row: RowId) -> Result<Option<Row<'t>>> {
        let table = self.table_at(table)?;
        Ok(self.visible_row(table, row)?.map(|at| Row::at(table, at)))
    }

    /// The first row with exactly this key.
    ///
    /// # Errors
    /// `WrongKeyShape` unless there is a value for each part, `KeyTooLong`, `ValueOutOfRange`,
    /// `UnknownTable`, `UnknownIndex`.
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
    /// let ulm = tx.find(&cities, primary, &["Ulm".into()])?;
    /// assert_eq!(ulm.and_then(|row| row.get::<u32>(people)), Some(126_000));
    /// let error = tx.find(&cities, primary, &["Ulm".into(), 1.into()]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::WrongKeyShape);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn find<'t>(
        &'t self,
        table: &'t Table,
        index: IndexHandle,
        key: &[Value<'_>],
    ) -> Result<Option<Row<'t>>> {
        let view = self.view(table, index)?;
        let mut bytes = KeyBuffer::new();
        encode_whole(&view, key, &mut bytes)?;
        Ok(self.first(&view, bytes.as_slice())?.map(|at| Row::at(view.table, at)))
    }

    /// Calls `visit` with every row that has this key; an ordered index takes the first parts too.
    ///
    /// # Errors
    /// As [`ReadTransaction::find`], and whatever `visit` returns.
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
    /// let tx = db.begin_read()?;
    /// let (by_city, id) = (shops.index("city")?, shops.column("id")?);
    /// let mut ids = Vec::new();
    /// // The first part of the key (city, id).
    /// tx.each(&shops, by_city, &["Ulm".into()], |row| {
    ///     ids.extend(row.get::<u32>(id));
    ///     Ok(())
    /// })?;
    /// assert_eq!(ids, [1, 3]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn each<'t>(
        &'t self,
        table: &'t Table,
        index: IndexHandle,
        key: &[Value<'_>],
        mut visit: impl FnMut(Row<'t>) -> Result<()>,
    ) -> Result<()> {
        let view = self.view(table, index)?;
        let mut bytes = KeyBuffer::new();
        let mut parts = view.index.plan.parts();
        if view.index.is_ordered() {
            let encoded = view.index.plan.encode_values(key, &mut bytes);
            parts = encoded.map_err(|error| view.index.key_error(error))?;
        } else {
            encode_whole(&view, key, &mut bytes)?;
        }
        let _operation = self.enter()?;
        if let Some(reads) = &self.reads {
            let id = view.table.core.id;
            if parts == view.index.plan.parts() {
                reads.add_key(id, view.index, bytes.as_slice());
            } else {
                let all = Side { bound: RangeBound::at(bytes.as_slice()), end: End::Bound };
                reads.add_range(id, view.index, all, all);
            }
        }
        view.each(bytes.as_slice(), |at| {
            view.hand_out(at);
            visit(Row::at(view.table, at))
        })?;
        self.copies.report()
    }

    /// Visits the rows with these whole keys, the keys of each row in order and with their place
    /// among them: those of a unique index are looked up many at once, as by
    /// [`ReadTransaction::get_batch`].
    ///
    /// # Errors
    /// As [`ReadTransaction::each`]; `WrongKeyShape` for a key that is not whole.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("Shop").column("id", ColumnType::U32);
    /// # let shops = db.create_table(schema.primary_key(["id"]))?;
    /// # db.write(|tx| {
    /// #     for id in 1..=4 {
    /// #         tx.insert_values(&shops, &[Some(Value::U32(id))])?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let (by_id, id) = (shops.index("primary")?, shops.column("id")?);
    /// let keys = [[Value::U32(3)], [Value::U32(9)], [Value::U32(2)]];
    /// let mut found = Vec::new();
    /// tx.each_batch(&shops, by_id, &keys, |place, row| {
    ///     found.push((place, row.get::<u32>(id)));
    ///     Ok(())
    /// })?;
    /// assert_eq!(found, [(0, Some(3)), (2, Some(2))]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn each_batch<'t, 'v>(
        &'t self,
        table: &'t Table,
        index: IndexHandle,
        keys: &[impl AsRef<[Value<'v>]>],
        mut visit: impl FnMut(usize, Row<'t>) -> Result<()>,
    ) -> Result<()> {
        let view = self.view(table, index)?;
        // Of keys with nulls a unique index may have several.
        let is_null = |value: &Value<'_>| matches!(value, Value::Null);
        let has_nulls = keys.iter().any(|key| key.as_ref().iter().any(is_null));
        if !view.index.schema.unique || has_nulls {
            for (place, key) in keys.iter().enumerate() {
                self.each(table, index, key.as_ref(), |row| visit(place, row))?;
            }
            return Ok(());
        }
        let mut buffers = [const { KeyBuffer::new() }; GROUP];
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            for (buffer, key) in buffers.iter_mut().zip(keys) {
                buffer.clear();
                encode_whole(&view, key.as_ref(), buffer)?;
            }
            let _operation = self.enter()?;
            view.group(&buffers[..keys.len()], |i, at| {
                self.remember_key(&view, buffers[i].as_slice(), at);
                match self.complete(at)? {
                    Some(at) => visit(group * GROUP + i, Row::at(view.table, at)),
                    None => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    /// A cursor over an ordered index.
    ///
    /// # Errors
    /// `WrongIndexKind` for a hash index, `UnknownTable`, `UnknownIndex`.
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
    /// let mut cursor = tx.cursor(&cities, primary)?;
    /// let mut names = Vec::new();
    /// let mut row = cursor.find(Find::AtLeast, &["B".into()])?;
    /// while let Some(city) = row {
    ///     names.extend(city.str(name));
    ///     row = cursor.next();
    /// }
    /// assert_eq!(names, ["Bonn", "Ulm"]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn cursor<'t>(&'t self, table: &'t Table, index: IndexHandle) -> Result<Cursor<'t>> {
        self.enter()?;
        Cursor::open(self.view(table, index)?)
    }

    /// The same between two bounds: rows outside are neither given nor remembered as read, so that
    /// others may change them. [`KeyBound`] has an example.
    ///
    /// # Errors
    /// As [`ReadTransaction::cursor`]; `WrongKeyShape`, `KeyTooLong`, `ValueOutOfRange`.
    pub fn cursor_within<'t>(
        &'t self,
        table: &'t Table,
        index: IndexHandle,
        low: Option<KeyBound<'_>>,
        high: Option<KeyBound<'_>>,
    ) -> Result<Cursor<'t>> {
        self.enter()?;
        let view = self.view(table, index)?;
        Ok(Cursor::open(view)?.within(KeyRange::encode(view.index, low, high)?))
    }

    /// A cursor over the index of key type `K`, giving records.
    ///
    /// # Errors
    /// As [`ReadTransaction::cursor`].
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
    /// let tx = db.begin_read()?;
    /// let mut cursor = tx.cursor_by::<_, ShopCity>(&shops)?;
    /// let found = cursor.find(Find::Above, &ShopCity { city: "Ulm", id: 1 })?;
    /// assert_eq!(found.map(|shop| shop.id), Some(3));
    /// assert_eq!(cursor.first().map(|shop| shop.city), Some("Aalen"));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn cursor_by<'t, R, K>(&'t self, table: &'t TypedTable<R>) -> Result<TypedCursor<'t, K>>
    where
        R: Record,
        K: Key<Record = R>,
    {
        let cursor = self.cursor(table, table.index_of::<K>()?)?;
        Ok(TypedCursor::new(cursor, self.memory()))
    }

    /// Whether the snapshot still holds, and all that was asked for was given. A cursor or a scan
    /// of an expired snapshot ends early, and so does one that meets a frozen row for which memory
    /// is refused; after it, ask here. `Database::read` and `Database::read_with` do. As long as
    /// no caller has seen such a row, further calls fail, and so does a commit.
    ///
    /// # Errors
    /// `SnapshotExpired`; `BudgetReached` and `OutOfMachineMemory`, once, after a row could not be
    /// given.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, TransactionOptions, schema::*};
    /// # use std::time::Duration;
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let options = TransactionOptions::new().snapshot_age_max(Duration::from_secs(60));
    /// let tx = db.begin_read_with(&options)?;
    /// let count = tx.scan(&table)?.count();
    /// tx.status()?;
    /// assert_eq!(count, 0);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn status(&self) -> Result<()> {
        self.copies.report()?;
        self.check_expired()
    }

    #[inline]
    fn check_expired(&self) -> Result<()> {
        let expires = |reads: &ReadSet<'_>| reads.purpose() == Remember::HandedOut;
        if !self.reads.as_ref().is_some_and(expires) {
            return Ok(());
        }
        let slot = self.held.slot();
        if self.expires.is_some_and(|expires| Instant::now() >= expires) {
            slot.expired.store(slot.serial(), Release);
        }
        if self.reader().is_expired() {
            return Err(Error::new(ErrorKind::SnapshotExpired)
                .because(format!("it kept {} bytes of old versions", slot.pinned(slot.serial()))));
        }
        Ok(())
    }

    /// The transaction as the calls that read know it.
    #[inline]
    pub(crate) fn reader(&self) -> Reader<'_> {
        let (slot, reads) = (self.held.slot(), self.reads.as_ref());
        Reader { snapshot: self.snapshot.get(), slot, reads, copies: &self.copies }
    }

    /// Says that a call is under way.
    #[inline(always)]
    pub(super) fn enter(&self) -> Result<Operation<'_>> {
        let operation = self.reader().enter(self.memory());
        self.copies.check()?;
        if let Some(reads) = &self.reads {
            reads.touch();
            self.check_expired()?;
        }
        Ok(operation)
    }

    #[inline(always)]
    pub(in crate::transaction) fn first(&self, view: &View<'_>, key: &[u8]) -> Result<Option<u64>> {
        let _operation = self.enter()?;
        let found = view.first(key);
        self.remember_key(view, key, found);
        self.complete(found)
    }

    pub(in crate::transaction) fn visible_row(
        &self,
        table: TableAt<'_>,
        row: RowId,
    ) -> Result<Option<u64>> {
        let _operation = self.enter()?;
        if let Some(reads) = &self.reads {
            reads.add_row(table.core.id, row.0);
        }
        self.complete(visible_row(table, self.reader(), row))
    }

    /// What was found; nothing only if that is not for lack of memory.
    #[inline(always)]
    pub(super) fn complete<T>(&self, found: Option<T>) -> Result<Option<T>> {
        if found.is_none() {
            self.copies.report()?;
        }
        Ok(found)
    }

    #[inline(always)]
    pub(super) fn remember_key(&self, view: &View<'_>, key: &[u8], found: Option<u64>) {
        if let Some(reads) = &self.reads {
            remember_key(reads, view, key, found);
        }
    }

    /// The memory that the database lies in.
    #[inline]
    pub(crate) fn memory(&self) -> &'db Memory {
        self.db.memory()
    }

    /// The table of a handle, which must be of this database and not dropped.
    #[inline(always)]
    pub(crate) fn table_at<'t>(&'t self, table: &'t Table) -> Result<TableAt<'t>> {
        table.core.check_seen(self.snapshot.get())?;
        self.db.check_owner(&table.core)?;
        Ok(TableAt { memory: self.memory(), core: &table.core })
    }

    #[inline(always)]
    pub(in crate::transaction) fn view<'t>(
        &'t self,
        table: &'t Table,
        index: IndexHandle,
    ) -> Result<View<'t>> {
        let index = table.resolve(index, self.snapshot.get().own != 0)?;
        Ok(View { table: self.table_at(table)?, index, reader: self.reader() })
    }
}

/// Remembers a look-up. A row found by a unique key says it all: while the row is as it was, it has
/// the key and no other row can.
fn remember_key(reads: &ReadSet<'_>, view: &View<'_>, key: &[u8], found: Option<u64>) {
    let table = view.table.core.id;
    match found {
        Some(at) => {
            let bytes = bytes_at(view.table.memory, at);
            view.hand_out(at);
            if view.index.schema.unique && !view.index.plan.has_null(bytes) {
                reads.add_row(table, Version::at(view.table.memory, at).row());
            } else {
                reads.add_key(table, view.index, key);
            }
        }
        None => reads.add_key(table, view.index, key),
    }
}

pub(super) fn encode_whole(
    view: &View<'_>,
    key: &[Value<'_>],
    bytes: &mut KeyBuffer,
) -> Result<()> {
    let encoded = view.index.plan.encode_values(key, bytes);
    let parts = encoded.map_err(|error| view.index.key_error(error))?;
    if parts == view.index.plan.parts() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::WrongKeyShape).because(format!(
        "index `{}` has {} parts, {parts} were given",
        view.index.schema.name,
        view.index.plan.parts()
    )))
}
