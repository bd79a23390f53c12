//! A transaction that writes: it reads like any other, changes rows, then commits or rolls back.
//!
//! Each statement either changes all it should or nothing. Changes are in the rows and indexes at
//! once, carrying this transaction's stamp, which others do not see; the write set remembers them.
//! References that were read stay valid through all of it: versions are immutable, and those this
//! transaction replaces are kept until it has ended.

mod undo;

use std::cell::{Cell, RefCell};
use std::ops::Deref;

use remanent_schema::{Record, Value};

use super::defining::{Defining, free_dropped};
use super::sets::LastMember;
use super::write_set::WriteSet;
use crate::error::{Error, ErrorKind, Result};
use crate::instance::Instance;
use crate::log::Durability;
use crate::memory::Allocator;
use crate::memory::atomic::{Relaxed, Release, SeqCst};
use crate::memory::counts::Counted;
use crate::slot::WRITING;
use crate::snapshot::Snapshot;
use crate::table::columns::bulk_segment::EncodedRows;
use crate::table::read::read_set::{ReadSet, ReadTracking, Remember};
use crate::table::rows::change::{Change, ChangedRow};
use crate::table::rows::row::RowId;
use crate::table::rows::version::bytes_at;
use crate::table::table::{IN_SETS, TableAt};
use crate::table::{ColumnHandle, Table, TypedTable};
use crate::transaction::begin::clock::{self, HeldSlot};
use crate::transaction::begin::gate::ClosedGate;
use crate::transaction::begin::options::{Isolation, TransactionOptions};
use crate::transaction::begin::precedence::{Precedence, Waiting};
use crate::transaction::cleanup::{reclaim, snapshots};
use crate::transaction::commit::commit::{self, CommitTicket, Work};
use crate::transaction::commit::finalize;
use crate::transaction::commit::validate::{Latched, validate};
use crate::transaction::read::reading::ReadTransaction;
use undo::Rollbacks;

/// A transaction that reads and writes. Dropping it rolls it back.
///
/// It sees what had committed when it began, and its own changes. Of two transactions that change
/// the same row, the second to do so gets `Conflict` (first updater wins), unless it may wait or
/// goes first; a serializable one, which is the default, gets it from its commit too if what it
/// has read was changed meanwhile. [`TransactionOptions`] has the choices.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// let a = table.column("a")?;
/// let tx = db.begin_write()?;
/// let id = tx.insert_values(&table, &[Some(1.into())])?;
/// let savepoint = tx.savepoint();
/// tx.update_values(&table, id, &[(a, 2.into())])?;
/// tx.roll_back_to(savepoint)?;
/// assert_eq!(tx.row(&table, id)?.and_then(|row| row.get::<i32>(a)), Some(1));
/// tx.commit()?;
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub struct WriteTransaction<'db> {
    read: ReadTransaction<'db>,
    pub(in crate::transaction) alloc: Allocator<'db>,
    writes: WriteSet<'db>,
    pub(in crate::transaction) ended: Cell<bool>,
    /// Rows of runs that were taken back.
    undone: Cell<u64>,
    rollbacks: Cell<Option<Box<Rollbacks>>>,
    precedence: Precedence,
    durability: Option<Durability>,
    /// The member that was put behind all others last, as long as that is surely so.
    pub(super) last_member: Cell<Option<LastMember>>,
    /// Its changes of tables and indexes; others are kept from writing then.
    pub(super) defining: RefCell<Option<Box<Defining>>>,
    /// Whether it may have left something dropped behind.
    has_defined: Cell<bool>,
    /// Whether the gate was closed for it to run in exclusive mode, and left so.
    pub(in crate::transaction) exclusive: Cell<bool>,
    /// Whether it repeats what is logged already.
    pub(super) is_replay: bool,
}

/// A point in a transaction to roll back to.
///
/// # Examples
/// ```
/// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
/// # let db = Database::open(Options::new())?;
/// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// # let a = table.column("a")?;
/// let tx = db.begin_write()?;
/// tx.insert_values(&table, &[Some(1.into())])?;
/// let one = tx.savepoint();
/// tx.insert_values(&table, &[Some(2.into())])?;
/// assert_ne!(one, tx.savepoint());
/// tx.roll_back_to(one)?;
/// assert_eq!(tx.scan(&table)?.count(), 1);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Savepoint {
    stamp: u64,
    len: u64,
    definitions: usize,
    /// Rollbacks to savepoints before it was taken.
    rollbacks: usize,
}

impl<'db> WriteTransaction<'db> {
    /// Begins.
    ///
    /// # Errors
    /// `TooManyTransactions`, memory for the slot's queues, `TableBusy` where its patience ends.
    #[inline]
    pub(crate) fn begin_with(db: &'db Instance, options: &TransactionOptions) -> Result<Self> {
        let begin = |memory, slots| clock::begin_write(memory, slots, options.patience);
        let (held, snapshot) = finalize::with_free_slot(db, begin)?;
        Self::with_slot(db, held, snapshot, options, snapshot.timestamp)
    }

    /// A transaction that holds this slot; `age` is the snapshot of its first attempt. (Inlined so
    /// that it is made where it stays: moving it costs more than its other parts.)
    ///
    /// # Errors
    /// Memory for what the slot keeps.
    #[inline(always)]
    pub(crate) fn with_slot(
        db: &'db Instance,
        held: HeldSlot<'db>,
        snapshot: Snapshot,
        options: &TransactionOptions,
        age: u64,
    ) -> Result<Self> {
        let (alloc, slot) = (db.memory().allocator(held.cache()), held.slot());
        let writes = WriteSet::new(alloc, slot)?;
        let remember = match options.isolation {
            Isolation::Serializable => Remember::Reads,
            Isolation::Snapshot => Remember::Whether,
        };
        let reads = ReadSet::new(alloc, slot, remember)?;
        let precedence = Precedence::new(db, options, age);
        slot.precedence.store(precedence.word(), Release);
        if options.is_described() {
            snapshots::describe(db, slot, options);
        }
        Ok(Self {
            read: ReadTransaction::with_slot(db, held, snapshot, Some(reads)),
            alloc,
            writes,
            ended: Cell::new(false),
            undone: Cell::new(0),
            rollbacks: Cell::default(),
            precedence,
            durability: options.durability,
            last_member: Cell::new(None),
            defining: RefCell::new(None),
            has_defined: Cell::new(false),
            exclusive: Cell::new(false),
            is_replay: options.is_replay,
        })
    }

    /// Inserts a record.
    ///
    /// # Errors
    /// `DuplicateKey`, `Conflict`, `ValueTooLong`, `KeyTooLong`, `RowTooLong`, `BudgetReached`,
    /// `OutOfMachineMemory`, `UnknownTable`, `TransactionEnded`.
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
    /// let tx = db.begin_write()?;
    /// let row = tx.insert(&shops, &Shop { id: 7, city: "Ulm" })?;
    /// assert_eq!(tx.record(&shops, row)?.map(|shop| shop.city), Some("Ulm"));
    /// let error = tx.insert(&shops, &Shop { id: 7, city: "Bonn" }).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    /// // The statement changed nothing and the transaction goes on.
    /// tx.commit()?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn insert<'a, R>(&self, table: &TypedTable<R>, record: &R::At<'a>) -> Result<RowId>
    where
        R: Record,
        R::At<'a>: Record,
    {
        let length = record.encoded_len()?;
        self.change(table, ChangedRow::NEW, |at, alloc, snapshot| {
            at.insert(alloc, snapshot, length, |bytes| {
                record.encode(bytes);
                Ok(())
            })
        })
    }

    /// Inserts a row, one value for each leaf column; `None` takes the default or null.
    ///
    /// # Errors
    /// As [`WriteTransaction::insert`], and `WrongType`, `ValueOutOfRange`, `NullInNotNull`.
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
    /// let tx = db.begin_write()?;
    /// let ulm = tx.insert_values(&cities, &[Some("Ulm".into()), None])?;
    /// assert!(tx.row(&cities, ulm)?.is_some_and(|row| row.is_null(people)));
    /// let error = tx.insert_values(&cities, &[None, Some(126_000.into())]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::NullInNotNull);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn insert_values(&self, table: &Table, values: &[Option<Value<'_>>]) -> Result<RowId> {
        let layout = &table.core.layout;
        let length = layout.encoded_len(values)?;
        self.change(table, ChangedRow::NEW, |at, alloc, snapshot| {
            at.insert(alloc, snapshot, length, |bytes| {
                layout.encode(values, bytes)?;
                Ok(())
            })
        })
    }

    /// Gives a row the content of `record`.
    ///
    /// # Errors
    /// `RowNotFound`, `Conflict`, or as [`WriteTransaction::insert`].
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
    ///     let key = ShopPrimary { id: 2 };
    ///     let row = tx.get_row(&shops, &key)?.expect("it is there").id();
    ///     tx.update(&shops, row, &Shop { id: 2, city: "Aalen" })?;
    ///     assert_eq!(tx.get(&shops, &key)?.map(|shop| shop.city), Some("Aalen"));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn update<'a, R>(&self, table: &TypedTable<R>, row: RowId, record: &R::At<'a>) -> Result<()>
    where
        R: Record,
        R::At<'a>: Record,
    {
        let length = record.encoded_len()?;
        self.change_content(table, row, |at, alloc, snapshot| {
            at.update(
                alloc,
                snapshot,
                row.0,
                |_| Ok(length),
                |_, bytes| {
                    record.encode(bytes);
                    Ok(())
                },
            )
        })
    }

    /// Changes some columns of a row.
    ///
    /// # Errors
    /// `RowNotFound`, `Conflict`, or as [`WriteTransaction::insert_values`].
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
    /// let tx = db.begin_write()?;
    /// let ulm = tx.find(&cities, primary, &["Ulm".into()])?.expect("it is there");
    /// tx.update_values(&cities, ulm.id(), &[(people, 127_000.into())])?;
    /// // What was read before stays; the transaction sees its own change.
    /// assert_eq!(ulm.get::<u32>(people), Some(126_000));
    /// let ulm = tx.row(&cities, ulm.id())?;
    /// assert_eq!(ulm.and_then(|row| row.get::<u32>(people)), Some(127_000));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn update_values(
        &self,
        table: &Table,
        row: RowId,
        changes: &[(ColumnHandle, Value<'_>)],
    ) -> Result<()> {
        let layout = &table.core.layout;
        changes.iter().try_for_each(|(column, _)| table.check_column(*column))?;
        let leaves = changes.iter().map(|&(column, value)| (column.leaf(), value));
        let leaves: Vec<_> = leaves.collect();
        self.change_content(table, row, |at, alloc, snapshot| {
            at.update(
                alloc,
                snapshot,
                row.0,
                |old| Ok(layout.updated_len(old, &leaves)?),
                |old, bytes| {
                    layout.update(old, &leaves, bytes)?;
                    Ok(())
                },
            )
        })
    }

    /// Deletes a row. Works at a full budget too, from its reserve.
    ///
    /// # Errors
    /// `RowNotFound`, `Conflict`, `HasMembers` and `IsMember` if the row is linked in a set,
    /// `UnknownTable`, `TransactionEnded`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let id = db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// let tx = db.begin_write()?;
    /// tx.delete(&table, id)?;
    /// assert!(tx.row(&table, id)?.is_none());
    /// assert_eq!(tx.delete(&table, id).unwrap_err().kind(), ErrorKind::RowNotFound);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn delete(&self, table: &Table, row: RowId) -> Result<()> {
        if table.core.is_in(IN_SETS) {
            self.check_unlinked(table, row)?;
        }
        if table.core.schema.set.is_some() {
            return Err(change_of_set(table));
        }
        self.delete_any(table, row)
    }

    /// As [`WriteTransaction::delete`], of a row of any table, linked or not.
    pub(crate) fn delete_any(&self, table: &Table, row: RowId) -> Result<()> {
        let changed = self.change_any(table, ChangedRow::to_delete(row), |at, alloc, snapshot| {
            let reservations = self.writes.reservations_of_end(at.core.id, row.0);
            at.delete(alloc, snapshot, row.0, reservations)
        });
        changed.map(|_| ())
    }

    /// Goes on with the newest state: what others committed since the transaction began is seen
    /// from now on. For transactions whose program keeps others out by locks of its own and takes
    /// some of them late. References that were read end here.
    ///
    /// # Errors
    /// `Conflict` if what was read and has to hold at the commit was changed meanwhile; then the
    /// transaction goes on with what it saw, and will not commit. `TransactionEnded`,
    /// `TooManyTransactions`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let id = db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// let mut tx = db.begin_write()?;
    /// tx.insert_values(&table, &[Some(5.into())])?;
    /// db.write(|other| other.update_values(&table, id, &[(a, 2.into())]))?;
    /// tx.refresh()?;
    /// assert_eq!(tx.row(&table, id)?.and_then(|row| row.get::<i32>(a)), Some(2));
    /// tx.update_values(&table, id, &[(a, 3.into())])?;
    /// tx.commit()?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn refresh(&mut self) -> Result<()> {
        self.check_active()?;
        // Holds the newest state until this slot does: versions between the two may be cut.
        let newest = ReadTransaction::begin(self.read.db)?;
        let (own, timestamp) = (self.read.snapshot.get(), newest.snapshot.get().timestamp);
        // At least up to the newest state.
        self.counted(validate(&self.read, self.alloc, own.timestamp, Latched::No))?;
        if let Some(reads) = &self.read.reads {
            reads.let_versions_go(|(table, ordinal), version, key| {
                let core = self.read.db.catalog().by_id(table);
                let index = core.as_ref().and_then(|core| core.index(ordinal));
                let bytes = bytes_at(self.read.memory(), version);
                index.is_some_and(|index| index.plan.encode_row(bytes, key).is_ok())
            });
        }
        self.forget_places();
        self.read.held.publish(timestamp);
        self.read.snapshot.set(Snapshot { timestamp, ..own });
        Ok(())
    }

    /// Makes all changes visible to transactions that begin from now on.
    ///
    /// # Errors
    /// `Conflict` if what a serializable transaction has read was changed meanwhile, or if it is to
    /// yield; `DeadlineReached`; `TransactionEnded` if it was rolled back. Then it is rolled back.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let tx = db.begin_write()?;
    /// tx.insert_values(&table, &[Some(1.into())])?;
    /// let before = db.begin_read()?;
    /// tx.commit()?;
    /// assert_eq!(before.scan(&table)?.count(), 0);
    /// assert_eq!(db.begin_read()?.scan(&table)?.count(), 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn commit(self) -> Result<CommitTicket> {
        self.commit_in_place()
    }

    /// As [`WriteTransaction::commit`], without moving the transaction; only its end may follow.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub(crate) fn commit_in_place(&self) -> Result<CommitTicket> {
        self.commit_in_place_with(|_| ())
    }

    /// As [`WriteTransaction::commit_in_place`]; `published` is called with the commit's timestamp
    /// when others see it, and before anybody else can write if tables or indexes are changed: for
    /// a program that knows the tables by names of its own.
    ///
    /// # Errors
    /// As there. If the log cannot be made durable, `published` was called all the same.
    #[inline]
    pub(crate) fn commit_in_place_with(&self, published: impl FnOnce(u64)) -> Result<CommitTicket> {
        self.check_active()?;
        self.read.copies.check()?;
        let (changes, definitions) = (self.writes.len(), self.definitions_left());
        let definitions = definitions.as_ref();
        let (transaction, alloc, writes) = (&self.read, self.alloc, &self.writes);
        let work = Work { transaction, alloc, writes, definitions, is_replay: self.is_replay };
        let outcome = commit::commit(work, self.durability, &self.ended, |timestamp| {
            published(timestamp);
            if definitions.is_some() {
                self.let_others_in();
                self.has_defined.set(true);
            }
        });
        self.count_commit(changes, outcome.as_ref().err());
        outcome
    }

    /// A change of a table that programs change directly.
    #[inline]
    pub(super) fn change<'t>(
        &'t self,
        table: &'t Table,
        row: ChangedRow,
        make: impl Fn(TableAt<'t>, Allocator<'t>, Snapshot) -> Result<Change>,
    ) -> Result<RowId> {
        if table.core.schema.set.is_some() {
            return Err(change_of_set(table));
        }
        self.change_any(table, row, make)
    }

    /// A change of a row's content, and of its place in the sets that are sorted by it.
    #[inline]
    pub(super) fn change_content<'t>(
        &'t self,
        table: &'t Table,
        row: RowId,
        make: impl Fn(TableAt<'t>, Allocator<'t>, Snapshot) -> Result<Change>,
    ) -> Result<()> {
        let changed = ChangedRow::to_update(row);
        if !Self::sorts_members(table) {
            return self.change(table, changed, make).map(|_| ());
        }
        self.together(|| {
            self.change(table, changed, make)?;
            self.follow_sort_keys(table, row)
        })
    }

    /// Does all of `work` or takes back what it has done of it.
    pub(super) fn together<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let len = self.writes.mark();
        work().inspect_err(|_| {
            if self.writes.len() > len {
                self.remember_changes_from(len);
                self.undo_to(len);
            }
        })
    }

    /// While the guard lives, what this transaction reads is to hold at its commit too, whatever
    /// the isolation: the commit fails with `Conflict` if another has changed it. For promises
    /// between rows that do not depend on how careful a transaction wants to be: foreign keys.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Isolation, Options, TransactionOptions};
    /// # use remanent_engine::schema::*;
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("P").column("a", ColumnType::I32).primary_key(["a"]);
    /// # let parents = db.create_table(schema)?;
    /// # let children = db.create_table(TableSchema::new("C").column("a", ColumnType::I32))?;
    /// let row = db.write(|tx| tx.insert_values(&parents, &[Some(1.into())]))?;
    /// let tx = db.begin_write_with(&TransactionOptions::new().isolation(Isolation::Snapshot))?;
    /// let kept = tx.keep_reads();
    /// assert!(tx.find(&parents, parents.index("primary")?, &[1.into()])?.is_some());
    /// drop(kept);
    /// tx.insert_values(&children, &[Some(1.into())])?;
    /// db.write(|other| other.delete(&parents, row))?;
    /// assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn keep_reads(&self) -> Option<ReadTracking<'_>> {
        self.force_read_tracking()
    }

    /// While the guard lives, reads are remembered and will be validated whatever the isolation.
    pub(super) fn force_read_tracking(&self) -> Option<ReadTracking<'_>> {
        self.read.reads.as_ref().map(ReadSet::force_read_tracking)
    }

    #[inline]
    pub(crate) fn change_any<'t>(
        &'t self,
        table: &'t Table,
        row: ChangedRow,
        make: impl Fn(TableAt<'t>, Allocator<'t>, Snapshot) -> Result<Change>,
    ) -> Result<RowId> {
        self.check_active()?;
        let at = self.read.table_at(table)?;
        let changed = self.attempt(at, row, make);
        self.rest();
        let change = changed?;
        self.writes.push(at.core.id, change, row.id.is_none());
        if row.id.is_none() {
            self.read.extent.set(None);
        }
        self.read.db.warn_if_due();
        Ok(RowId(change.row))
    }

    /// Inserts a bulk segment of these rows, in no index yet; the first of them.
    pub(super) fn change_segment(&self, table: &Table, rows: &EncodedRows) -> Result<u32> {
        self.check_active()?;
        let at = self.read.table_at(table)?;
        let insert = |at: TableAt<'_>, alloc: Allocator<'_>, snapshot| {
            Ok(Change::new(at.insert_bulk_segment(alloc, snapshot, rows)?, 0))
        };
        let first = self.attempt(at, ChangedRow::NEW, insert)?.row;
        self.writes.push_segment(at.core.id, first, rows.count());
        self.read.extent.set(None);
        self.read.db.warn_if_due();
        Ok(first)
    }

    /// Makes room for a change in the write set and makes it, again and again if that helps.
    #[inline]
    fn attempt<'t>(
        &'t self,
        at: TableAt<'t>,
        row: ChangedRow,
        make: impl Fn(TableAt<'t>, Allocator<'t>, Snapshot) -> Result<Change>,
    ) -> Result<Change> {
        let attempt = || {
            self.writes.make_room(row.class)?;
            make(at, self.alloc, self.read.snapshot.get())
        };
        attempt().or_else(|error| self.counted(self.attempt_again(at, row.id, error, &attempt)))
    }

    /// A table, the allocator and the snapshot to change its rows with.
    pub(super) fn change_context<'t>(
        &'t self,
        table: &'t Table,
    ) -> Result<(TableAt<'t>, Allocator<'t>, Snapshot)> {
        self.check_active()?;
        Ok((self.read.table_at(table)?, self.alloc, self.read.snapshot.get()))
    }

    /// Attempts a part of an insertion as often as that helps.
    pub(super) fn persist(
        &self,
        at: TableAt<'_>,
        attempt: &dyn Fn() -> Result<Change>,
    ) -> Result<()> {
        self.read.held.slot().enter_writing(self.read.memory());
        match attempt() {
            Ok(_) => Ok(()),
            Err(error) => self.attempt_again(at, None, error, attempt).map(|_| ()),
        }
    }

    /// Does what can be done about `error`, and attempts the change again, as often as that helps.
    #[cold]
    fn attempt_again(
        &self,
        at: TableAt<'_>,
        row: Option<RowId>,
        error: Error,
        attempt: &dyn Fn() -> Result<Change>,
    ) -> Result<Change> {
        let mut error = error;
        let mut waiting = None;
        let mut reclaimed = false;
        loop {
            if error.is_out_of_memory() && !reclaimed {
                // What earlier transactions left behind may be all that is missing.
                self.reclaim_all();
                reclaimed = true;
            } else if let Some(holder) = error.holder() {
                let begin = || Waiting::begin(&self.read, self.precedence);
                waiting.get_or_insert_with(begin).turn(holder, error)?;
            } else if !error.is_conflict() || !self.renew_snapshot() {
                self.remember_refusal(at, row, &error);
                return Err(self.with_cause(error));
            }
            match attempt() {
                Ok(change) => return Ok(change),
                Err(again) => error = again,
            }
        }
    }

    /// Frees what can be, and then what could be taken out but not freed meanwhile, since others
    /// might be on their way to it. A transaction that has neither read nor changed anything goes
    /// on from now, so that it holds nothing back itself; any other keeps the rows that it sees,
    /// and forgets how it came to them.
    fn reclaim_all(&self) {
        let db = self.read.db;
        db.end_checkpoint();
        reclaim::drain_under_pressure(db, self.alloc, None);
        self.writes.condense();
        commit::advance_clock(self.read.memory());
        self.renew_snapshot();
        self.forget_places();
        let slot = self.read.held.slot();
        slot.epoch.fetch_add(1, SeqCst);
        let idle = slot.operations.load(Relaxed) == WRITING;
        reclaim::drain_under_pressure(db, self.alloc, idle.then_some(self.read.held.number()));
    }

    /// Adds to an error of memory what keeps it.
    fn with_cause(&self, error: Error) -> Error {
        let own = self.read.held.number();
        match error.is_out_of_memory().then(|| snapshots::in_the_way(self.read.db, own)).flatten() {
            Some(cause) => error.and(&cause),
            None => error,
        }
    }

    /// Whether nothing was read or changed.
    pub(super) fn is_untouched(&self) -> bool {
        let touched = self.read.reads.as_ref().is_none_or(ReadSet::is_touched);
        !touched && self.writes.len() == 0
    }

    /// Moves on to the newest snapshot: as long as nothing was read or changed, nobody can tell.
    pub(super) fn renew_snapshot(&self) -> bool {
        if !self.is_untouched() {
            return false;
        }
        let own = self.read.snapshot.get();
        let timestamp = self.read.held.publish_clock(true);
        self.forget_places();
        self.read.snapshot.set(Snapshot { timestamp, ..own });
        timestamp != own.timestamp
    }

    /// To learn that a row is not there, that it is but its change is refused, or that another
    /// row has its key, is to have read those rows. A conflict says nothing of what is in them.
    fn remember_refusal(&self, at: TableAt<'_>, row: Option<RowId>, error: &Error) {
        let Some(reads) = &self.read.reads else { return };
        if error.is_conflict() {
            return;
        }
        reads.touch();
        for row in row.map(|row| row.0).into_iter().chain(error.row()) {
            reads.add_row(at.core.id, row);
        }
    }

    /// Whether it was wounded, by one that goes first or that it waited for in a cycle: its
    /// statements and its commit fail with `Conflict`, and it can only be rolled back.
    ///
    /// # Examples
    /// ```
    /// # use std::time::Duration;
    /// # use remanent_engine::{Database, Options, Priority, TransactionOptions, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let row = db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// let first = db.begin_write()?;
    /// first.update_values(&table, row, &[(a, 2.into())])?;
    /// let urgent = TransactionOptions::new().priority(Priority::High);
    /// let second = db.begin_write_with(&urgent.wait(Duration::from_millis(1)))?;
    /// assert!(second.update_values(&table, row, &[(a, 3.into())]).is_err());
    /// assert!(first.must_yield() && !second.must_yield());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn must_yield(&self) -> bool {
        let own = self.read.snapshot.get().own;
        self.read.held.slot().wounded.load(Relaxed) == own
    }

    #[inline]
    pub(super) fn check_active(&self) -> Result<()> {
        if self.ended.get() {
            return Err(
                Error::new(ErrorKind::TransactionEnded).because("the transaction was rolled back")
            );
        }
        let (slot, own) = (self.read.held.slot(), self.read.snapshot.get().own);
        slot.enter_writing(self.read.memory());
        self.precedence.check(slot, own).inspect_err(|error| self.count_refusal(error))
    }
}

#[cold]
fn change_of_set(table: &Table) -> Error {
    Error::new(ErrorKind::RelationOfSet)
        .because(format!("connect and disconnect change `{}`", table.name()))
}

impl<'db> Deref for WriteTransaction<'db> {
    type Target = ReadTransaction<'db>;

    #[inline]
    fn deref(&self) -> &ReadTransaction<'db> {
        &self.read
    }
}

impl Drop for WriteTransaction<'_> {
    fn drop(&mut self) {
        if !self.ended.get() {
            self.count(Counted::Rollbacks);
            self.undo_all();
        }
        self.read.held.slot().enter_writing(self.read.memory());
        if !self.read.held.is_unstamped() {
            self.writes.clear();
        }
        let (own, stamp) = (self.read.held.number(), self.read.snapshot.get().own);
        if self.has_defined.get() {
            free_dropped(self.read.db, self.alloc, own);
        }
        reclaim::after_transaction(self.read.db, self.alloc, own, stamp, self.undone.get());
        finalize::drain_some(self.read.db);
        self.let_others_in();
        drop(self.exclusive.take().then(|| ClosedGate::left(self.read.db.memory())));
    }
}
