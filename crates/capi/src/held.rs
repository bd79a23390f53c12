//! An engine transaction without its lifetime, as a slot holds one.
//!
//! The engine's types borrow: a transaction from its database, rows and cursors from their
//! transaction. Across calls from C nothing can borrow, so here the lifetimes are taken off. What
//! always holds instead: the database outlives the transaction because the slot names the handle
//! it uses (`handles.rs`), and rows, cursors and scans are dropped, or no longer looked at, before
//! their transaction ends, because they lie in the same slot or carry its token.

use std::cell::UnsafeCell;

use remanent_engine::{
    CommitTicket, Cursor, Database, IndexHandle, ReadTransaction, Result, Row, RowId, Scan, Table,
    TransactionOptions, WriteTransaction,
};

/// A transaction, or none.
#[derive(Default)]
pub(crate) struct Held {
    transaction: UnsafeCell<Transaction>,
}

#[derive(Default)]
enum Transaction {
    #[default]
    None,
    Read(ReadTransaction<'static>),
    Write(WriteTransaction<'static>),
}

/// Where a row's bytes lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowAt {
    bytes: *const u8,
    length: u32,
    pub(crate) id: u32,
}

impl Held {
    /// Begins a transaction that reads.
    ///
    /// # Errors
    /// As the engine.
    ///
    /// # Safety
    /// There is no transaction here, and the database stays until it has ended.
    #[inline]
    pub(crate) unsafe fn begin_read(
        &self,
        database: &Database,
        options: Option<&TransactionOptions>,
    ) -> Result<()> {
        // SAFETY: as the caller promises.
        let database: &'static Database = unsafe { &*std::ptr::from_ref(database) };
        let begun = match options {
            None => database.begin_read()?,
            Some(options) => database.begin_read_with(options)?,
        };
        // SAFETY: nothing refers to what is here.
        unsafe { self.transaction.get().write(Transaction::Read(begun)) };
        Ok(())
    }

    /// Begins a transaction that writes.
    ///
    /// # Errors
    /// As the engine.
    ///
    /// # Safety
    /// As [`Held::begin_read`].
    #[inline]
    pub(crate) unsafe fn begin_write(
        &self,
        database: &Database,
        options: Option<&TransactionOptions>,
    ) -> Result<()> {
        // SAFETY: as the caller promises.
        let database: &'static Database = unsafe { &*std::ptr::from_ref(database) };
        let begun = match options {
            None => database.begin_write()?,
            Some(options) => database.begin_write_with(options)?,
        };
        // SAFETY: nothing refers to what is here.
        unsafe { self.transaction.get().write(Transaction::Write(begun)) };
        Ok(())
    }

    /// The transaction, to read with.
    #[inline]
    pub(crate) fn reading(&self) -> Option<&ReadTransaction<'static>> {
        // SAFETY: it changes in `begin`, `commit` and `end` alone, whose callers hold nothing.
        match unsafe { &*self.transaction.get() } {
            Transaction::None => None,
            Transaction::Read(read) => Some(read),
            Transaction::Write(write) => Some(write),
        }
    }

    /// The transaction, if it writes.
    #[inline]
    pub(crate) fn writing(&self) -> Option<&WriteTransaction<'static>> {
        // SAFETY: as in `reading`.
        match unsafe { &*self.transaction.get() } {
            Transaction::Write(write) => Some(write),
            _ => None,
        }
    }

    /// Commits a transaction that writes, ends one that reads.
    ///
    /// # Errors
    /// As the engine; the transaction has ended all the same.
    ///
    /// # Safety
    /// Nothing that came from the transaction is used any more.
    #[inline]
    pub(crate) unsafe fn commit(&self) -> Result<Option<CommitTicket>> {
        let committed = match self.writing() {
            Some(writing) => writing.commit_in_place().map(Some),
            None => Ok(None),
        };
        // SAFETY: as the caller promises.
        unsafe { self.end() };
        committed
    }

    /// Ends the transaction and takes back what it wrote.
    ///
    /// # Safety
    /// Nothing that came from the transaction is used any more.
    #[inline]
    pub(crate) unsafe fn end(&self) {
        // SAFETY: as the caller promises.
        unsafe { *self.transaction.get() = Transaction::None };
    }

    /// A cursor that must be dropped before the transaction ends.
    ///
    /// # Errors
    /// As the engine.
    ///
    /// # Safety
    /// It is dropped before the transaction ends, and the table outlives it.
    pub(crate) unsafe fn cursor(
        &self,
        table: &Table,
        index: IndexHandle,
    ) -> Result<Option<Cursor<'static>>> {
        let Some(reading) = self.reading() else { return Ok(None) };
        let cursor = reading.cursor(table, index)?;
        // SAFETY: only the lifetime changes; the caller keeps to it.
        Ok(Some(unsafe { std::mem::transmute::<Cursor<'_>, Cursor<'static>>(cursor) }))
    }

    /// A scan that must be dropped before the transaction ends.
    ///
    /// # Errors
    /// As the engine.
    ///
    /// # Safety
    /// As [`Held::cursor`].
    pub(crate) unsafe fn scan(&self, table: &Table) -> Result<Option<Scan<'static>>> {
        let Some(reading) = self.reading() else { return Ok(None) };
        let scan = reading.scan(table)?;
        // SAFETY: only the lifetime changes; the caller keeps to it.
        Ok(Some(unsafe { std::mem::transmute::<Scan<'_>, Scan<'static>>(scan) }))
    }
}

impl RowAt {
    #[inline]
    pub(crate) fn of(row: &Row<'_>) -> Self {
        let bytes = row.bytes();
        Self { bytes: bytes.as_ptr(), length: bytes.len() as u32, id: row.id().number() as u32 }
    }

    /// As a handle of C carried it.
    #[inline]
    pub(crate) fn from_parts(bytes: *const u8, length: u32, id: u32) -> Self {
        Self { bytes, length, id }
    }

    #[inline]
    pub(crate) fn parts(self) -> (*const u8, u32) {
        (self.bytes, self.length)
    }

    pub(crate) fn row_id(self) -> Option<RowId> {
        RowId::from_number(u64::from(self.id))
    }

    /// The row's bytes.
    ///
    /// # Safety
    /// They are of a row that was read in a transaction which has not ended.
    #[inline]
    pub(crate) unsafe fn bytes<'t>(self) -> &'t [u8] {
        // SAFETY: a version does not change and stays until the transaction that saw it ends.
        unsafe { std::slice::from_raw_parts(self.bytes, self.length as usize) }
    }
}
