//! An engine transaction as a session and its running queries hold it together.
//!
//! The engine's transactions, scans and cursors borrow; DataFusion's streams cannot. So here the
//! lifetimes are taken off, and this always holds instead: what borrows keeps an [`Arc`] of what
//! it borrows from, in the same struct and dropped after it; and once the transaction is closed,
//! nothing that borrows is looked at any more, for every access asks first.
//!
//! A transaction belongs to one thread at a time. The types here can be sent to other threads, as
//! DataFusion's traits demand, because a session polls its streams only itself: they are never
//! spawned, and a session is not shared.

use std::cell::{Cell, UnsafeCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_engine::{
    CommitTicket, Cursor, Database, ErrorKind, FrozenRows, KeyBound, Piece, Pieces,
    ReadTransaction, Row, RowPredicate, TransactionOptions, WriteTransaction,
};

use super::cancel::Cancel;
use crate::catalog::load::Found;
use crate::catalog::table::Table;
use crate::error::{Error, Result, SqlState};

/// How long is waited for a definition until somebody looks whether to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// A transaction that is open, or was.
pub(crate) struct Transaction {
    /// Dropped before the database that it borrows from.
    inner: UnsafeCell<Inner>,
    open: Cell<bool>,
    pub(crate) cancel: Arc<Cancel>,
    _database: Arc<Database>,
}

enum Inner {
    Read(ReadTransaction<'static>),
    Write(WriteTransaction<'static>),
}

// SAFETY: used by the thread that runs the session alone, one at a time, as the file says.
unsafe impl Send for Transaction {}
// SAFETY: as above.
unsafe impl Sync for Transaction {}

impl Transaction {
    /// Begins.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn begin(
        database: &Arc<Database>,
        options: &TransactionOptions,
        (writes, cancel): (bool, &Arc<Cancel>),
    ) -> Result<Arc<Self>> {
        // SAFETY: the struct keeps the database, and drops the transaction first.
        let borrowed: &'static Database = unsafe { &*Arc::as_ptr(database) };
        let inner = match writes {
            true => Inner::Write(begin_write(borrowed, options, cancel)?),
            false => Inner::Read(borrowed.begin_read_with(options)?),
        };
        Ok(Arc::new(Self {
            inner: UnsafeCell::new(inner),
            open: Cell::new(true),
            cancel: Arc::clone(cancel),
            _database: Arc::clone(database),
        }))
    }

    fn inner(&self) -> Result<&Inner> {
        if !self.open.get() {
            let text = "the transaction that this belongs to has ended";
            return Err(Error::new(SqlState::BAD_TRANSACTION_STATE, text));
        }
        // SAFETY: exclusive references are made by `refresh` alone, from an exclusive one.
        Ok(unsafe { &*self.inner.get() })
    }

    /// To read with.
    ///
    /// # Errors
    /// `BAD_TRANSACTION_STATE` once it has ended.
    pub(crate) fn reading(&self) -> Result<&ReadTransaction<'static>> {
        Ok(match self.inner()? {
            Inner::Read(read) => read,
            Inner::Write(write) => write,
        })
    }

    /// To write with.
    ///
    /// # Errors
    /// `READ_ONLY`; `BAD_TRANSACTION_STATE` once it has ended.
    pub(crate) fn writing(&self) -> Result<&WriteTransaction<'static>> {
        match self.inner()? {
            Inner::Write(write) => Ok(write),
            Inner::Read(_) => {
                let text = "cannot change anything in a read-only transaction";
                Err(Error::new(SqlState::READ_ONLY, text))
            }
        }
    }

    /// Commits; what still refers to it finds it closed.
    ///
    /// # Errors
    /// As the engine; it has ended all the same.
    pub(crate) fn commit(&self) -> Result<Option<CommitTicket>> {
        let outcome = match self.inner()? {
            Inner::Read(_) => Ok(None),
            Inner::Write(write) => write.commit_in_place().map(Some),
        };
        self.open.set(false);
        Ok(outcome?)
    }

    /// Keeps all other writers out until it ends, and sees what they have committed.
    ///
    /// # Errors
    /// `OBJECT_IN_USE` while others write for too long; `SERIALIZATION_FAILURE` if it has read
    /// what others have changed since.
    pub(crate) fn begin_defining(&self) -> Result<()> {
        Ok(self.writing()?.begin_defining()?)
    }

    /// The same, and goes on with the newest state.
    ///
    /// # Errors
    /// As [`Transaction::begin_defining`], and as [`Transaction::refresh`].
    pub(crate) fn begin_defining_at_newest(this: &mut Arc<Self>) -> Result<()> {
        let Some(alone) = Arc::get_mut(this) else { return this.begin_defining() };
        match alone.inner.get_mut() {
            Inner::Write(write) => Ok(write.begin_defining_at_newest()?),
            Inner::Read(_) => this.begin_defining(),
        }
    }

    /// All tables with their indexes, as the transaction sees them.
    ///
    /// # Errors
    /// `BAD_TRANSACTION_STATE` once it has ended.
    pub(crate) fn tables(&self) -> Result<Vec<Found>> {
        let writing = self.writing()?;
        let tables = writing.tables().into_iter();
        let found = tables.map(|table| {
            let indexes = writing.indexes(&table);
            (table, indexes)
        });
        Ok(found.collect())
    }

    /// Commits with what it has defined; `publish` is called before any other writer is let in.
    ///
    /// # Errors
    /// As the engine; it has ended all the same.
    pub(crate) fn commit_with(&self, publish: impl FnOnce()) -> Result<Option<CommitTicket>> {
        let outcome = match self.inner()? {
            Inner::Read(_) => Ok(None),
            Inner::Write(write) => write.commit_in_place_with(|_| publish()).map(Some),
        };
        self.open.set(false);
        Ok(outcome?)
    }

    /// Takes back what was written.
    pub(crate) fn roll_back(&self) {
        if let Ok(Inner::Write(write)) = self.inner() {
            write.roll_back();
        }
        self.open.set(false);
    }

    /// Moves its snapshot to now.
    ///
    /// # Errors
    /// As the engine; `BAD_TRANSACTION_STATE` while a result of it is being read.
    pub(crate) fn refresh(this: &mut Arc<Self>) -> Result<()> {
        let Some(alone) = Arc::get_mut(this) else {
            let text = "a result of this transaction is still being read";
            return Err(Error::new(SqlState::BAD_TRANSACTION_STATE, text));
        };
        match alone.inner.get_mut() {
            Inner::Write(write) => write.refresh()?,
            Inner::Read(read) => read.refresh(),
        }
        Ok(())
    }
}

/// Begins a transaction that writes. While another one defines something, nobody else is let in:
/// whoever waits for that can be stopped.
///
/// # Errors
/// As the engine; `CANCELLED`; `OBJECT_IN_USE` once it has waited as long as `lock_timeout` says.
pub(crate) fn begin_write<'d>(
    database: &'d Database,
    options: &TransactionOptions,
    cancel: &Cancel,
) -> Result<WriteTransaction<'d>> {
    let options = options.patience(PATIENCE);
    let mut begun = None;
    loop {
        match database.begin_write_with(&options) {
            Err(error) if error.kind() == ErrorKind::TableBusy => {
                cancel.check()?;
                let begun = *begun.get_or_insert_with(Instant::now);
                if begun.elapsed() >= cancel.patience() {
                    let text = "another session defines something and has not ended";
                    return Err(Error::new(SqlState::OBJECT_IN_USE, text));
                }
            }
            begun => return Ok(begun?),
        }
    }
}

/// A table in pieces, which keep what they borrow from.
pub(crate) struct HeldPieces {
    pieces: Pieces<'static>,
    transaction: Arc<Transaction>,
    _table: Arc<Table>,
}

// SAFETY: as for the transaction.
unsafe impl Send for HeldPieces {}

impl HeldPieces {
    /// All rows that the transaction sees, for whoever looks at those alone that meet a predicate,
    /// if there is one.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn new(
        transaction: &Arc<Transaction>,
        table: &Arc<Table>,
        predicate: Option<&RowPredicate>,
    ) -> Result<Self> {
        let reading = transaction.reading()?;
        let pieces = match predicate {
            Some(predicate) => reading.scan_pieces_where(&table.handle, predicate)?,
            None => reading.scan_pieces(&table.handle)?,
        };
        // SAFETY: the struct keeps transaction and table.
        let pieces = unsafe { std::mem::transmute::<Pieces<'_>, Pieces<'static>>(pieces) };
        Ok(Self { pieces, transaction: Arc::clone(transaction), _table: Arc::clone(table) })
    }

    /// Gives the next piece to `take`; whether there was one.
    ///
    /// # Errors
    /// `CANCELLED`, a transaction that has ended, an expired snapshot; whatever `take` meets.
    pub(crate) fn next(
        &mut self,
        take: impl FnOnce(&Piece<'_, '_>, &Held) -> Result<()>,
    ) -> Result<bool> {
        self.transaction.cancel.check()?;
        self.transaction.reading()?.status()?;
        let Some(piece) = self.pieces.next_piece() else { return Ok(false) };
        take(&piece, &Held { transaction: &self.transaction })?;
        Ok(true)
    }
}

/// Says of what comes from pieces how long it may be kept.
pub(crate) struct Held<'h> {
    transaction: &'h Arc<Transaction>,
}

impl Held<'_> {
    /// The frozen rows of a piece, kept beyond the call together with their transaction.
    pub(crate) fn keep(&self, rows: &FrozenRows<'_>) -> HeldFrozen {
        // SAFETY: columns are references into the database that stay until the transaction ends,
        // and it is asked whether it has whenever they are looked at.
        let rows =
            unsafe { std::mem::transmute::<FrozenRows<'_>, FrozenRows<'static>>(rows.clone()) };
        HeldFrozen { rows, transaction: Arc::clone(self.transaction) }
    }
}

/// Frozen rows that keep what they borrow from.
pub(crate) struct HeldFrozen {
    rows: FrozenRows<'static>,
    transaction: Arc<Transaction>,
}

// SAFETY: as for the transaction.
unsafe impl Send for HeldFrozen {}

impl HeldFrozen {
    /// The rows.
    ///
    /// # Errors
    /// `CANCELLED`; a transaction that has ended.
    pub(crate) fn rows(&self) -> Result<&FrozenRows<'_>> {
        self.transaction.cancel.check()?;
        self.transaction.reading()?;
        Ok(&self.rows)
    }
}

/// A cursor over an ordered index that keeps what it borrows from.
pub(crate) struct HeldCursor {
    cursor: Cursor<'static>,
    transaction: Arc<Transaction>,
    _table: Arc<Table>,
}

// SAFETY: as for the transaction.
unsafe impl Send for HeldCursor {}

impl HeldCursor {
    /// A cursor that stands nowhere yet, and stays between two bounds.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn new(
        transaction: &Arc<Transaction>,
        (table, index): (&Arc<Table>, usize),
        (low, high): (Option<KeyBound<'_>>, Option<KeyBound<'_>>),
    ) -> Result<Self> {
        let index = table.indexes[index].handle;
        let cursor = transaction.reading()?.cursor_within(&table.handle, index, low, high)?;
        // SAFETY: the struct keeps transaction and table.
        let cursor = unsafe { std::mem::transmute::<Cursor<'_>, Cursor<'static>>(cursor) };
        Ok(Self { cursor, transaction: Arc::clone(transaction), _table: Arc::clone(table) })
    }

    /// Goes to the first row, or to the last.
    ///
    /// # Errors
    /// A transaction that has ended.
    pub(crate) fn start(&mut self, backwards: bool) -> Result<Option<Row<'_>>> {
        self.transaction.reading()?;
        Ok(if backwards { self.cursor.last() } else { self.cursor.first() })
    }

    /// Goes to the next row, or to the one before.
    ///
    /// # Errors
    /// `CANCELLED`, a transaction that has ended.
    pub(crate) fn step(&mut self, backwards: bool) -> Result<Option<Row<'_>>> {
        self.transaction.cancel.check()?;
        self.transaction.reading()?;
        Ok(if backwards { self.cursor.previous() } else { self.cursor.next() })
    }
}
