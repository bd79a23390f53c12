//! A transaction that keeps its database.
//!
//! It is counted by references. To use it is to enter it, which a guard does; whoever commits or
//! rolls it back enters too, so that no other thread reads meanwhile.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;

use super::entry::{Entered, Entry};
use super::raw::RawTransaction;
use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::transaction::{CommitTicket, ReadTransaction, TransactionOptions, WriteTransaction};

/// A transaction that keeps its database open: it can be stored beside it, and sent to another
/// thread. Clones are the same transaction; one thread at a time uses it, others wait.
///
/// It ends with [`commit`](OwnedTransaction::commit), [`roll_back`](OwnedTransaction::roll_back),
/// or when the last clone, cursor and scan of it is dropped, which takes back what it wrote. Its
/// snapshot is held as long as any of them is.
///
/// # Examples
/// ```
/// # use std::sync::Arc;
/// # use remanent_engine::{Database, Options, OwnedTransaction, TransactionOptions, schema::*};
/// let db = Arc::new(Database::open(Options::new())?);
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// let tx = OwnedTransaction::begin_write(&db, &TransactionOptions::new())?;
/// drop(db);
/// std::thread::scope(|scope| {
///     scope.spawn(|| tx.write()?.insert_values(&table, &[Some(1.into())])).join().unwrap()
/// })?;
/// assert_eq!(tx.read()?.scan(&table)?.count(), 1);
/// tx.commit()?;
/// assert!(tx.read().is_err());
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone)]
pub struct OwnedTransaction {
    shared: Arc<Shared>,
}

struct Shared {
    /// Dropped before the database that it borrows from.
    transaction: RawTransaction,
    /// The transaction that keeps what this one sees, if it is another.
    _beside: Option<OwnedTransaction>,
    ended: Cell<bool>,
    entry: Entry,
    database: Arc<Database>,
}

impl Shared {
    fn new(
        transaction: RawTransaction,
        beside: Option<OwnedTransaction>,
        database: &Arc<Database>,
    ) -> Self {
        let (ended, entry) = (Cell::new(false), Entry::new());
        Self { transaction, _beside: beside, ended, entry, database: Arc::clone(database) }
    }
}

// SAFETY: whoever has no exclusive reference touches the transaction and the flag between
// `Entry::enter` and the drop of what that gave, so one thread at a time; and nothing of an engine
// transaction belongs to a thread.
unsafe impl Sync for Shared {}

/// An [`OwnedTransaction`] that is being read with; it is this thread's until this is dropped.
pub struct Reading<'o> {
    transaction: &'o ReadTransaction<'o>,
    _entered: Entered<'o>,
}

/// An [`OwnedTransaction`] that is being written with; it is this thread's until this is dropped.
pub struct Writing<'o> {
    transaction: &'o WriteTransaction<'o>,
    _entered: Entered<'o>,
}

impl OwnedTransaction {
    /// Begins a transaction that reads.
    ///
    /// # Errors
    /// As [`Database::begin_read_with`].
    pub fn begin_read(database: &Arc<Database>, options: &TransactionOptions) -> Result<Self> {
        let transaction = RawTransaction::default();
        // SAFETY: it is new, and `Shared` keeps the database behind it.
        unsafe { transaction.begin_read(database, Some(options))? };
        Ok(Self::new(transaction, database))
    }

    /// Begins a transaction that writes.
    ///
    /// # Errors
    /// As [`Database::begin_write_with`].
    pub fn begin_write(database: &Arc<Database>, options: &TransactionOptions) -> Result<Self> {
        let transaction = RawTransaction::default();
        // SAFETY: as in `begin_read`.
        unsafe { transaction.begin_write(database, Some(options))? };
        Ok(Self::new(transaction, database))
    }

    /// A transaction that sees the same as this one, for another thread to read with at the same
    /// time; `None` if this one writes, or may expire. It keeps this one, and is not ended with it.
    ///
    /// # Errors
    /// `TooManyTransactions`, `TransactionEnded`.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use remanent_engine::{Database, Options, OwnedTransaction, TransactionOptions, schema::*};
    /// # let db = Arc::new(Database::open(Options::new())?);
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// let tx = OwnedTransaction::begin_read(&db, &TransactionOptions::new())?;
    /// db.write(|tx| tx.insert_values(&table, &[Some(2.into())]))?;
    /// let helper = tx.beside()?.expect("it reads, and does not expire");
    /// assert_eq!(helper.read()?.scan(&table)?.count(), 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn beside(&self) -> Result<Option<Self>> {
        let _entered = self.enter()?;
        let transaction = RawTransaction::default();
        // SAFETY: it is new; `Shared` keeps the other one and the database behind it, and this
        // thread alone is inside the other.
        if !unsafe { transaction.begin_beside(&self.shared.transaction)? } {
            return Ok(None);
        }
        let beside = Some(self.clone());
        Ok(Some(Self { shared: Arc::new(Shared::new(transaction, beside, &self.shared.database)) }))
    }

    /// A transaction that sees the state at a timestamp, which this one retains. It keeps this one,
    /// and is not ended with it.
    ///
    /// # Errors
    /// As [`ReadTransaction::begin_read_at`]; `TransactionEnded`.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use remanent_engine::{Database, Options, OwnedTransaction, TransactionOptions, schema::*};
    /// # let db = Arc::new(Database::open(Options::new())?);
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let retain = TransactionOptions::new().retain(true);
    /// let retaining = OwnedTransaction::begin_read(&db, &retain)?;
    /// let (_, ticket) = db.write_with_ticket(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// db.write(|tx| tx.insert_values(&table, &[Some(2.into())]))?;
    /// let then = retaining.begin_read_at(ticket.timestamp())?;
    /// drop(retaining);
    /// assert_eq!(then.read()?.scan(&table)?.count(), 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn begin_read_at(&self, timestamp: u64) -> Result<Self> {
        let _entered = self.enter()?;
        let transaction = RawTransaction::default();
        // SAFETY: as in `beside`.
        unsafe { transaction.begin_at(&self.shared.transaction, timestamp)? };
        let retaining = Some(self.clone());
        let shared = Shared::new(transaction, retaining, &self.shared.database);
        Ok(Self { shared: Arc::new(shared) })
    }

    fn new(transaction: RawTransaction, database: &Arc<Database>) -> Self {
        Self { shared: Arc::new(Shared::new(transaction, None, database)) }
    }

    /// The transaction, to read with. Waits while another thread uses it.
    ///
    /// # Errors
    /// `TransactionEnded`.
    #[inline]
    pub fn read(&self) -> Result<Reading<'_>> {
        let entered = self.enter()?;
        let transaction = self.shared.transaction.reading().ok_or_else(ended)?;
        Ok(Reading { transaction, _entered: entered })
    }

    /// The transaction, to write with. Waits while another thread uses it.
    ///
    /// # Errors
    /// `TransactionEnded`; `DatabaseReadOnly` if it reads.
    #[inline]
    pub fn write(&self) -> Result<Writing<'_>> {
        let entered = self.enter()?;
        let transaction = self.shared.transaction.writing().ok_or_else(|| {
            Error::new(ErrorKind::DatabaseReadOnly).because("the transaction was begun to read")
        })?;
        Ok(Writing { transaction, _entered: entered })
    }

    /// Whether it can write.
    pub fn writes(&self) -> bool {
        self.shared.transaction.writing().is_some()
    }

    /// Commits what was written. Cursors and scans that are left find it ended.
    ///
    /// # Errors
    /// As [`WriteTransaction::commit`], when it has ended all the same; `TransactionEnded`.
    pub fn commit(&self) -> Result<Option<CommitTicket>> {
        self.commit_with(|_| ())
    }

    /// The same; `published` is called with the commit's timestamp when others see what was
    /// written, and before anybody else can write if tables or indexes have changed: for a program
    /// that knows the tables by names of its own.
    ///
    /// # Errors
    /// As [`OwnedTransaction::commit`].
    pub fn commit_with(&self, published: impl FnOnce(u64)) -> Result<Option<CommitTicket>> {
        let _entered = self.enter()?;
        self.shared.ended.set(true);
        let Some(writing) = self.shared.transaction.writing() else { return Ok(None) };
        writing.commit_in_place_with(published).map(Some)
    }

    /// Takes back what was written. Cursors and scans that are left find it ended.
    pub fn roll_back(&self) {
        let Ok(_entered) = self.enter() else { return };
        if let Some(writing) = self.shared.transaction.writing() {
            writing.roll_back();
        }
        self.shared.ended.set(true);
    }

    /// Goes on with the newest state, as [`WriteTransaction::refresh`] does.
    ///
    /// # Errors
    /// As there; `TransactionEnded`; `TableBusy` while a clone, a cursor or a scan is left.
    pub fn refresh(&mut self) -> Result<()> {
        self.exclusively()?.refresh()
    }

    /// As [`WriteTransaction::begin_defining_at_newest`].
    ///
    /// # Errors
    /// As there, and as [`OwnedTransaction::refresh`].
    pub fn begin_defining_at_newest(&mut self) -> Result<()> {
        self.exclusively()?.begin_defining_at_newest()
    }

    fn exclusively(&mut self) -> Result<&mut RawTransaction> {
        let shared = Arc::get_mut(&mut self.shared).ok_or_else(|| {
            Error::new(ErrorKind::TableBusy).because("the transaction is being read")
        })?;
        if shared.ended.get() {
            return Err(ended());
        }
        Ok(&mut shared.transaction)
    }

    /// Does what does not need the transaction to go on, as the only thread inside.
    pub(super) fn inside(&self, work: impl FnOnce()) {
        let _entered = self.shared.entry.enter();
        work();
    }

    #[inline]
    fn enter(&self) -> Result<Entered<'_>> {
        let entered = self.shared.entry.enter();
        if self.shared.ended.get() {
            return Err(ended());
        }
        Ok(entered)
    }
}

#[cold]
fn ended() -> Error {
    Error::new(ErrorKind::TransactionEnded)
}

impl<'o> Deref for Reading<'o> {
    type Target = ReadTransaction<'o>;

    #[inline]
    fn deref(&self) -> &ReadTransaction<'o> {
        self.transaction
    }
}

impl<'o> Deref for Writing<'o> {
    type Target = WriteTransaction<'o>;

    #[inline]
    fn deref(&self) -> &WriteTransaction<'o> {
        self.transaction
    }
}

impl std::fmt::Debug for OwnedTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnedTransaction").field("writes", &self.writes()).finish_non_exhaustive()
    }
}
