//! Reading under a snapshot: what every transaction can do.
//!
//! Each call resolves a handle, asks an index or the directory for candidates, and returns the
//! version that the snapshot sees. Nothing here writes, waits, or fails for what others do.

use remanent_schema::{Key, KeyBuffer, Record, Value};

use super::clock::{self, HeldSlot};
use crate::error::{Error, ErrorKind, Result};
use crate::index::batch::GROUP;
use crate::instance::Instance;
use crate::memory::Memory;
use crate::snapshot::Snapshot;
use crate::table::lookup::{Cursor, View};
use crate::table::row::{Row, RowId};
use crate::table::scan::{Scan, visible_row};
use crate::table::table::TableAt;
use crate::table::version::row_at;
use crate::table::{IndexHandle, Records, Table, TypedCursor, TypedTable};

/// A transaction that only reads: one snapshot of the whole database.
///
/// It takes no lock, never fails for what others do, and makes nobody wait. What it returns are
/// references into the database, valid as long as it lives. A snapshot keeps old versions alive:
/// do not hold one longer than needed.
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
    pub(crate) held: HeldSlot<'db>,
    pub(crate) snapshot: Snapshot,
}

impl<'db> ReadTransaction<'db> {
    /// Takes a snapshot.
    #[inline]
    pub(crate) fn begin(db: &'db Instance) -> Result<Self> {
        let (held, snapshot) = clock::begin_read(db.memory(), db.slots())?;
        Ok(Self { db, held, snapshot })
    }

    /// The timestamp of the newest commit that this transaction sees.
    pub fn timestamp(&self) -> u64 {
        self.snapshot.timestamp
    }

    /// The record with this key in one of its indexes; of several the first in key order.
    ///
    /// # Errors
    /// `KeyTooLong`, `UnknownTable`, `UnknownIndex`.
    #[inline]
    pub fn get<'t, R, K>(&'t self, table: &TypedTable<R>, key: &K) -> Result<Option<R::At<'t>>>
    where
        R: Record,
        K: Key<Record = R>,
    {
        let mut bytes = KeyBuffer::new();
        key.encode(&mut bytes)?;
        let view = self.view(table, table.index_of::<K>()?)?;
        Ok(view.first(bytes.as_slice()).map(|at| R::decode(row_at(self.memory(), at))))
    }

    /// The row with this key, as [`ReadTransaction::get`] finds it, with its row id.
    ///
    /// # Errors
    /// As [`ReadTransaction::get`].
    pub fn get_row<'t, R, K>(&'t self, table: &'t TypedTable<R>, key: &K) -> Result<Option<Row<'t>>>
    where
        R: Record,
        K: Key<Record = R>,
    {
        let mut bytes = KeyBuffer::new();
        key.encode(&mut bytes)?;
        let view = self.view(table, table.index_of::<K>()?)?;
        Ok(view.first(bytes.as_slice()).map(|at| Row::at(view.table, at)))
    }

    /// Looks many keys up at once, overlapping their cache misses; `visit` gets the number of each
    /// key and its record, in order. Faster than one [`ReadTransaction::get`] after the other by
    /// as much as the rows lie out of the processor's caches.
    ///
    /// # Errors
    /// As [`ReadTransaction::get`].
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
            view.group(&buffers[..keys.len()], |i, at| {
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
    pub fn record<'t, R: Record>(
        &'t self,
        table: &TypedTable<R>,
        row: RowId,
    ) -> Result<Option<R::At<'t>>> {
        let at = visible_row(self.table_at(table)?, self.snapshot, row);
        Ok(at.map(|at| R::decode(row_at(self.memory(), at))))
    }

    /// A row by its id; `None` if this transaction does not see it.
    ///
    /// # Errors
    /// `UnknownTable`.
    pub fn row<'t>(&'t self, table: &'t Table, row: RowId) -> Result<Option<Row<'t>>> {
        let table = self.table_at(table)?;
        Ok(visible_row(table, self.snapshot, row).map(|at| Row::at(table, at)))
    }

    /// The first row with exactly this key.
    ///
    /// # Errors
    /// `WrongKeyShape` unless there is a value for each part, `KeyTooLong`, `ValueOutOfRange`,
    /// `UnknownTable`, `UnknownIndex`.
    pub fn find<'t>(
        &'t self,
        table: &'t Table,
        index: IndexHandle,
        key: &[Value<'_>],
    ) -> Result<Option<Row<'t>>> {
        let view = self.view(table, index)?;
        let mut bytes = KeyBuffer::new();
        encode_whole(&view, key, &mut bytes)?;
        Ok(view.first(bytes.as_slice()).map(|at| Row::at(view.table, at)))
    }

    /// Calls `visit` with every row that has this key; an ordered index takes the first parts too.
    ///
    /// # Errors
    /// As [`ReadTransaction::find`], and whatever `visit` returns.
    pub fn each<'t>(
        &'t self,
        table: &'t Table,
        index: IndexHandle,
        key: &[Value<'_>],
        mut visit: impl FnMut(Row<'t>) -> Result<()>,
    ) -> Result<()> {
        let view = self.view(table, index)?;
        let mut bytes = KeyBuffer::new();
        if view.index.is_ordered() {
            view.index.plan.encode_values(key, &mut bytes)?;
        } else {
            encode_whole(&view, key, &mut bytes)?;
        }
        view.each(bytes.as_slice(), |at| visit(Row::at(view.table, at)))
    }

    /// A cursor over an ordered index.
    ///
    /// # Errors
    /// `WrongIndexKind` for a hash index, `UnknownTable`, `UnknownIndex`.
    pub fn cursor<'t>(&'t self, table: &'t Table, index: IndexHandle) -> Result<Cursor<'t>> {
        Cursor::open(self.view(table, index)?)
    }

    /// A cursor over the index of key type `K`, giving records.
    ///
    /// # Errors
    /// As [`ReadTransaction::cursor`].
    pub fn cursor_by<'t, R, K>(&'t self, table: &'t TypedTable<R>) -> Result<TypedCursor<'t, K>>
    where
        R: Record,
        K: Key<Record = R>,
    {
        let cursor = self.cursor(table, table.index_of::<K>()?)?;
        Ok(TypedCursor::new(cursor, self.memory()))
    }

    /// A scan over all records.
    ///
    /// # Errors
    /// `UnknownTable`.
    pub fn records<'t, R: Record>(&'t self, table: &'t TypedTable<R>) -> Result<Records<'t, R>> {
        Ok(Records::new(self.scan(table)?, self.memory()))
    }

    /// A scan over all rows.
    ///
    /// # Errors
    /// `UnknownTable`.
    pub fn scan<'t>(&'t self, table: &'t Table) -> Result<Scan<'t>> {
        Ok(Scan::new(self.table_at(table)?, self.snapshot))
    }

    /// The memory that the database lies in.
    #[inline]
    pub(crate) fn memory(&self) -> &'db Memory {
        self.db.memory()
    }

    /// The table of a handle, which must be of this database and not dropped.
    #[inline(always)]
    pub(crate) fn table_at<'t>(&'t self, table: &'t Table) -> Result<TableAt<'t>> {
        table.core.check_live()?;
        self.db.check_owner(&table.core)?;
        Ok(TableAt { memory: self.memory(), core: &table.core })
    }

    #[inline(always)]
    fn view<'t>(&'t self, table: &'t Table, index: IndexHandle) -> Result<View<'t>> {
        let index = table.resolve(index)?;
        Ok(View { table: self.table_at(table)?, index, snapshot: self.snapshot })
    }
}

fn encode_whole(view: &View<'_>, key: &[Value<'_>], bytes: &mut KeyBuffer) -> Result<()> {
    let parts = view.index.plan.encode_values(key, bytes)?;
    if parts == view.index.plan.parts() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::WrongKeyShape).because(format!(
        "index `{}` has {} parts, {parts} were given",
        view.index.schema.name,
        view.index.plan.parts()
    )))
}
