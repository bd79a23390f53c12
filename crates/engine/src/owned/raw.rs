//! A transaction whose lifetime nobody checks, in a place of its holder's.
//!
//! The engine's types borrow: a transaction from its database, rows and cursors from their
//! transaction. Where nothing can borrow, here the lifetimes are taken off, and this is the one
//! file in which they are. What holds instead stands at each function, for its caller to keep:
//! [`super::OwnedTransaction`] does by counting references; a layer for another language, which
//! cannot count on each call, does by what its handles say.

use std::cell::UnsafeCell;

use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::table::read::lookup::Cursor;
use crate::table::{FrozenRows, IndexHandle, Pieces, Scan, Table};
use crate::transaction::read::retained;
use crate::transaction::{CommitTicket, ReadTransaction, TransactionOptions, WriteTransaction};

/// A transaction without its lifetime, or none: for layers that keep it from call to call in a
/// place of their own and promise by themselves what Rust cannot check there. Programs in Rust use
/// [`OwnedTransaction`](super::OwnedTransaction).
#[derive(Default)]
pub struct RawTransaction {
    state: UnsafeCell<State>,
}

#[derive(Default)]
enum State {
    #[default]
    None,
    Read(ReadTransaction<'static>),
    Write(WriteTransaction<'static>),
}

impl RawTransaction {
    /// Begins a transaction that reads.
    ///
    /// # Errors
    /// As [`Database::begin_read_with`].
    ///
    /// # Safety
    /// There is no transaction here; the database stays where it is until this one has ended.
    #[inline]
    pub unsafe fn begin_read(
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
        unsafe { self.state.get().write(State::Read(begun)) };
        Ok(())
    }

    /// Begins a transaction that sees the same as another one that reads; false if there is none.
    ///
    /// # Errors
    /// `TooManyTransactions`.
    ///
    /// # Safety
    /// There is no transaction here; the database and the other transaction, which is not used
    /// meanwhile, stay until this one has ended.
    pub(super) unsafe fn begin_beside(&self, other: &Self) -> Result<bool> {
        // SAFETY: as in `reading`.
        let State::Read(read) = (unsafe { &*other.state.get() }) else { return Ok(false) };
        let Some(begun) = read.beside()? else { return Ok(false) };
        // SAFETY: nothing refers to what is here.
        unsafe { self.state.get().write(State::Read(begun)) };
        Ok(true)
    }

    /// Begins a transaction that sees a state which another one retains.
    ///
    /// # Errors
    /// As [`ReadTransaction::begin_read_at`].
    ///
    /// # Safety
    /// As [`RawTransaction::begin_beside`].
    pub(super) unsafe fn begin_at(&self, other: &Self, timestamp: u64) -> Result<()> {
        // SAFETY: as in `reading`.
        let begun = match unsafe { &*other.state.get() } {
            State::Read(read) => retained::begin_at(read, timestamp)?,
            _ => return Err(Error::new(ErrorKind::SnapshotExpired).because("it retains nothing")),
        };
        // SAFETY: nothing refers to what is here.
        unsafe { self.state.get().write(State::Read(begun)) };
        Ok(())
    }

    /// Begins a transaction that writes.
    ///
    /// # Errors
    /// As [`Database::begin_write_with`].
    ///
    /// # Safety
    /// As [`RawTransaction::begin_read`].
    #[inline]
    pub unsafe fn begin_write(
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
        unsafe { self.state.get().write(State::Write(begun)) };
        Ok(())
    }

    /// The transaction, to read with, if there is one.
    #[inline]
    pub fn reading(&self) -> Option<&ReadTransaction<'static>> {
        // SAFETY: it is exchanged by functions alone whose callers promise that nothing refers to
        // it, or that have it to themselves.
        match unsafe { &*self.state.get() } {
            State::None => None,
            State::Read(read) => Some(read),
            State::Write(write) => Some(write),
        }
    }

    /// The transaction, if it writes.
    #[inline]
    pub fn writing(&self) -> Option<&WriteTransaction<'static>> {
        // SAFETY: as in `reading`.
        match unsafe { &*self.state.get() } {
            State::Write(write) => Some(write),
            _ => None,
        }
    }

    /// Goes on with the newest state.
    ///
    /// # Errors
    /// As [`WriteTransaction::refresh`].
    pub fn refresh(&mut self) -> Result<()> {
        match self.state.get_mut() {
            State::None => Ok(()),
            State::Read(read) => {
                read.refresh();
                Ok(())
            }
            State::Write(write) => write.refresh(),
        }
    }

    /// As [`WriteTransaction::begin_defining_at_newest`], of a transaction that writes.
    ///
    /// # Errors
    /// As there.
    pub fn begin_defining_at_newest(&mut self) -> Result<()> {
        match self.state.get_mut() {
            State::Write(write) => write.begin_defining_at_newest(),
            _ => Ok(()),
        }
    }

    /// Commits a transaction that writes, ends one that reads.
    ///
    /// # Errors
    /// As [`WriteTransaction::commit`]; the transaction has ended all the same.
    ///
    /// # Safety
    /// Nothing that came from the transaction is used any more.
    #[inline]
    pub unsafe fn commit(&self) -> Result<Option<CommitTicket>> {
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
    pub unsafe fn end(&self) {
        // SAFETY: as the caller promises.
        unsafe { *self.state.get() = State::None };
    }

    /// A cursor over an index.
    ///
    /// # Errors
    /// As [`ReadTransaction::cursor`].
    ///
    /// # Safety
    /// It is dropped before the transaction ends, is refreshed or moves, and before the table.
    pub unsafe fn cursor(
        &self,
        table: &Table,
        index: IndexHandle,
    ) -> Result<Option<Cursor<'static>>> {
        let Some(reading) = self.reading() else { return Ok(None) };
        let cursor = reading.cursor(table, index)?;
        // SAFETY: only the lifetime changes; the caller keeps to it.
        Ok(Some(unsafe { without_lifetime::cursor(cursor) }))
    }

    /// A scan of all rows.
    ///
    /// # Errors
    /// As [`ReadTransaction::scan`].
    ///
    /// # Safety
    /// As [`RawTransaction::cursor`].
    pub unsafe fn scan(&self, table: &Table) -> Result<Option<Scan<'static>>> {
        let Some(reading) = self.reading() else { return Ok(None) };
        let scan = reading.scan(table)?;
        // SAFETY: only the lifetime changes; the caller keeps to it.
        Ok(Some(unsafe { std::mem::transmute::<Scan<'_>, Scan<'static>>(scan) }))
    }
}

/// What borrows from a transaction, as something that does not say so.
pub(super) mod without_lifetime {
    use super::{Cursor, FrozenRows, Pieces};

    /// # Safety
    /// The cursor is dropped before what it borrows from.
    pub(in crate::owned) unsafe fn cursor(cursor: Cursor<'_>) -> Cursor<'static> {
        // SAFETY: only the lifetime changes; the caller keeps to it.
        unsafe { std::mem::transmute::<Cursor<'_>, Cursor<'static>>(cursor) }
    }

    /// # Safety
    /// The pieces are dropped before what they borrow from.
    pub(in crate::owned) unsafe fn pieces(pieces: Pieces<'_>) -> Pieces<'static> {
        // SAFETY: as above.
        unsafe { std::mem::transmute::<Pieces<'_>, Pieces<'static>>(pieces) }
    }

    /// # Safety
    /// The rows are dropped before what they borrow from.
    pub(in crate::owned) unsafe fn frozen(rows: FrozenRows<'_>) -> FrozenRows<'static> {
        // SAFETY: as above.
        unsafe { std::mem::transmute::<FrozenRows<'_>, FrozenRows<'static>>(rows) }
    }
}
