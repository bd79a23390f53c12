//! An engine transaction as a session and its running queries hold it together, with the flag that
//! stops them.
//!
//! Whatever reads keeps the transaction, which the engine's owned types see to. Once it is closed,
//! nothing is read of it any more: every access asks first.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_engine::{
    CommitTicket, Cursor, Database, ErrorKind, FrozenRows, Keeper, KeyBound, OwnedCursor,
    OwnedFrozenRows, OwnedPieces, OwnedTransaction, Piece, Reading, Row, RowPredicate,
    TransactionOptions, Writing,
};

use super::hot_segments::{HotRun, HotSegments};
use crate::catalog::load::EngineTable;
use crate::catalog::table::Table;
use crate::error::{Error, Result, SqlState};
use crate::limits::cancel::Cancel;

/// How long is waited for a definition until somebody looks whether to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// A transaction that is open, or was.
pub(crate) struct Transaction {
    owned: OwnedTransaction,
    pub(crate) cancel: Arc<Cancel>,
    /// Where its scans note segments that could be frozen, if somebody asks.
    pub(crate) hot: Option<Arc<HotSegments>>,
    /// How many threads a query in it may have.
    pub(crate) threads: usize,
    /// The one that it was begun beside, without which it reads nothing.
    beside: Option<OwnedTransaction>,
}

impl Transaction {
    /// Begins.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn begin(
        database: &Arc<Database>,
        options: &TransactionOptions,
        writes: bool,
        cancel: &Arc<Cancel>,
        threads: usize,
    ) -> Result<Arc<Self>> {
        let owned = match writes {
            true => patiently(options, cancel, |options| {
                OwnedTransaction::begin_write(database, options)
            })?,
            false => OwnedTransaction::begin_read(database, options)?,
        };
        Ok(Arc::new(Self { owned, cancel: Arc::clone(cancel), hot: None, threads, beside: None }))
    }

    /// Begins to read; scans note which segments could be frozen.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn begin_noting(
        database: &Arc<Database>,
        options: &TransactionOptions,
        cancel: &Arc<Cancel>,
        threads: usize,
    ) -> Result<Arc<Self>> {
        let owned = OwnedTransaction::begin_read(database, options)?;
        let hot = Some(Arc::default());
        Ok(Arc::new(Self { owned, cancel: Arc::clone(cancel), hot, threads, beside: None }))
    }

    /// Begins to read the state at a timestamp that another transaction retains; `None` if it does
    /// not, or there can be none. Scans note in `hot`, if that is there, what could be frozen.
    pub(crate) fn begin_at(
        retaining: &OwnedTransaction,
        timestamp: u64,
        cancel: &Arc<Cancel>,
        threads: usize,
        hot: Option<&Arc<HotSegments>>,
    ) -> Option<Arc<Self>> {
        let owned = retaining.begin_read_at(timestamp).ok()?;
        let (cancel, hot) = (Arc::clone(cancel), hot.cloned());
        Some(Arc::new(Self { owned, cancel, hot, threads, beside: None }))
    }

    /// One that sees the same, for another thread; `None` if there can be none.
    ///
    /// # Errors
    /// `BAD_TRANSACTION_STATE` once it has ended.
    pub(crate) fn beside(&self) -> Result<Option<Arc<Self>>> {
        let owned = match self.owned.beside() {
            Ok(owned) => owned,
            Err(error) if error.kind() == ErrorKind::TooManyTransactions => None,
            Err(error) => return Err(self.named(error)),
        };
        Ok(owned.map(|owned| {
            let (cancel, hot) = (Arc::clone(&self.cancel), self.hot.clone());
            let beside = Some(self.owned.clone());
            Arc::new(Self { owned, cancel, hot, threads: 1, beside })
        }))
    }

    /// The engine's, which reads as long as this has not ended.
    pub(crate) fn owned(&self) -> OwnedTransaction {
        self.owned.clone()
    }

    /// To read with.
    ///
    /// # Errors
    /// `BAD_TRANSACTION_STATE` once it has ended.
    pub(crate) fn reading(&self) -> Result<Reading<'_>> {
        self.owned.read().map_err(|error| self.named(error))
    }

    /// Whether it was begun to write.
    pub(crate) fn writes(&self) -> bool {
        self.owned.writes()
    }

    /// To write with.
    ///
    /// # Errors
    /// `READ_ONLY`; `BAD_TRANSACTION_STATE` once it has ended.
    pub(crate) fn writing(&self) -> Result<Writing<'_>> {
        self.owned.write().map_err(|error| self.named(error))
    }

    fn named(&self, error: remanent_engine::Error) -> Error {
        match error.kind() {
            ErrorKind::TransactionEnded => {
                let text = "the transaction that this belongs to has ended";
                Error::new(SqlState::BAD_TRANSACTION_STATE, text)
            }
            ErrorKind::DatabaseReadOnly if !self.owned.writes() => {
                let text = "cannot change anything in a read-only transaction";
                Error::new(SqlState::READ_ONLY, text)
            }
            ErrorKind::NotLeader if self.owned.writes() => Error::deposed(),
            _ => error.into(),
        }
    }

    /// Commits; what still refers to it finds it closed.
    ///
    /// # Errors
    /// As the engine; it has ended all the same.
    pub(crate) fn commit(&self) -> Result<Option<CommitTicket>> {
        self.owned.commit().map_err(|error| self.named(error))
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
        match Arc::get_mut(this) {
            Some(alone) if alone.owned.writes() => Ok(alone.owned.begin_defining_at_newest()?),
            _ => this.begin_defining(),
        }
    }

    /// All tables with their indexes, as the transaction sees them.
    ///
    /// # Errors
    /// `BAD_TRANSACTION_STATE` once it has ended.
    pub(crate) fn tables(&self) -> Result<Vec<EngineTable>> {
        let writing = self.writing()?;
        let tables = writing.tables().into_iter();
        let found = tables.map(|handle| {
            let indexes = writing.indexes(&handle);
            EngineTable { handle, indexes }
        });
        Ok(found.collect())
    }

    /// Commits with what it has defined; `publish` is called before any other writer is let in.
    ///
    /// # Errors
    /// As the engine; it has ended all the same.
    pub(crate) fn commit_with(&self, publish: impl FnOnce()) -> Result<Option<CommitTicket>> {
        self.owned.commit_with(|_| publish()).map_err(|error| self.named(error))
    }

    /// Takes back what was written.
    pub(crate) fn roll_back(&self) {
        self.owned.roll_back();
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
        Ok(alone.owned.refresh()?)
    }
}

/// Begins a transaction that writes. While another one defines something, nobody else is let in:
/// whoever waits for that can be stopped.
///
/// # Errors
/// As the engine; `CANCELLED`; `OBJECT_IN_USE` once it has waited as long as `lock_timeout` says.
pub(crate) fn patiently<T>(
    options: &TransactionOptions,
    cancel: &Cancel,
    begin: impl Fn(&TransactionOptions) -> remanent_engine::Result<T>,
) -> Result<T> {
    let options = options.patience(PATIENCE);
    let mut started = None;
    loop {
        match begin(&options) {
            Err(error) if error.kind() == ErrorKind::TableBusy => {
                cancel.check()?;
                let started = *started.get_or_insert_with(Instant::now);
                if started.elapsed() >= cancel.patience() {
                    let text = "another session defines something and has not ended";
                    return Err(Error::new(SqlState::OBJECT_IN_USE, text));
                }
            }
            begun => return Ok(begun?),
        }
    }
}

/// A table in pieces, which keep the transaction.
pub(crate) struct HeldPieces {
    pieces: OwnedPieces,
    cancel: Arc<Cancel>,
    hot: Option<HotRun>,
    beside: Option<OwnedTransaction>,
}

impl HeldPieces {
    /// All rows that the transaction sees, for whoever looks at those alone that meet a predicate,
    /// if there is one.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn new(
        transaction: &Transaction,
        table: &Arc<Table>,
        predicate: Option<&RowPredicate>,
    ) -> Result<Self> {
        let pieces = transaction.owned.pieces(&table.handle, predicate);
        let pieces = pieces.map_err(|error| transaction.named(error))?;
        let hot = transaction.hot.as_ref().map(|hot| HotRun::new(hot, table));
        let (cancel, beside) = (Arc::clone(&transaction.cancel), transaction.beside.clone());
        Ok(Self { pieces, cancel, hot, beside })
    }

    /// Goes to the first of the rows with these ids, and stays within them.
    pub(crate) fn go_to(&mut self, rows: Range<u64>) {
        self.pieces.go_to(rows);
    }

    /// Gives the next piece to `take`; whether there was one.
    ///
    /// # Errors
    /// `CANCELLED`, a transaction that has ended, an expired snapshot.
    pub(crate) fn next(
        &mut self,
        take: impl for<'k, 'c> FnOnce(Piece<'k, 'c>, Keep<'k, 'c>),
    ) -> Result<bool> {
        self.cancel.check()?;
        if let Some(beside) = &self.beside {
            beside.read()?;
        }
        let (cancel, hot) = (&self.cancel, &mut self.hot);
        let taken = self.pieces.next_with(|piece, keeper| {
            match (hot, &piece) {
                (Some(hot), Piece::Rows(rows)) => hot.note(rows),
                (Some(hot), Piece::Frozen(rows)) => hot.note_frozen(rows),
                (None, _) => {}
            }
            take(piece, Keep { keeper, cancel });
        })?;
        Ok(taken.is_some())
    }
}

impl HeldPieces {
    /// Gives the frozen segment that follows to `look`, if it could be worth announcing.
    ///
    /// # Errors
    /// A transaction that has ended.
    pub(crate) fn look_ahead(&self, look: impl FnOnce(&FrozenRows<'_>)) -> Result<()> {
        Ok(self.pieces.with_following(look)?)
    }
}

/// Keeps frozen rows of a piece beyond the call that it was given in.
pub(crate) struct Keep<'k, 'c> {
    keeper: Keeper<'k, 'c>,
    cancel: &'k Arc<Cancel>,
}

impl<'c> Keep<'_, 'c> {
    /// The rows, kept together with their transaction.
    pub(crate) fn keep(&self, rows: &FrozenRows<'c>) -> HeldFrozen {
        HeldFrozen { rows: self.keeper.keep(rows), cancel: Arc::clone(self.cancel) }
    }
}

/// Frozen rows that keep their transaction.
pub(crate) struct HeldFrozen {
    rows: OwnedFrozenRows,
    cancel: Arc<Cancel>,
}

impl HeldFrozen {
    /// The rows.
    ///
    /// # Errors
    /// `CANCELLED`; a transaction that has ended.
    pub(crate) fn rows(&self) -> Result<&FrozenRows<'_>> {
        self.cancel.check()?;
        Ok(self.rows.rows()?)
    }
}

/// A cursor over an ordered index that keeps its transaction.
pub(crate) struct HeldCursor {
    cursor: OwnedCursor,
    cancel: Arc<Cancel>,
}

impl HeldCursor {
    /// A cursor that stands nowhere yet, and stays between two bounds.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn new(
        transaction: &Transaction,
        table: &Table,
        index: usize,
        low: Option<KeyBound<'_>>,
        high: Option<KeyBound<'_>>,
    ) -> Result<Self> {
        let index = table.indexes[index].handle;
        let cursor = transaction.owned.cursor(&table.handle, index, low, high);
        let cursor = cursor.map_err(|error| transaction.named(error))?;
        Ok(Self { cursor, cancel: Arc::clone(&transaction.cancel) })
    }

    /// Goes to the first row, or to the last, and gives it to `take`; whether there was one.
    ///
    /// # Errors
    /// `CANCELLED`, a transaction that has ended.
    pub(crate) fn start(&mut self, backwards: bool, take: impl FnMut(Row<'_>)) -> Result<bool> {
        self.go(take, |cursor| if backwards { cursor.last() } else { cursor.first() })
    }

    /// Goes to the next row, or to the one before, and gives it to `take`; whether there was one.
    ///
    /// # Errors
    /// As [`HeldCursor::start`].
    pub(crate) fn step(&mut self, backwards: bool, take: impl FnMut(Row<'_>)) -> Result<bool> {
        self.go(take, |cursor| if backwards { cursor.previous() } else { cursor.next() })
    }

    fn go(
        &mut self,
        take: impl FnMut(Row<'_>),
        to: impl for<'c> FnOnce(&mut Cursor<'c>) -> Option<Row<'c>>,
    ) -> Result<bool> {
        self.cancel.check()?;
        let found = self.cursor.with(|cursor| to(cursor).map(take).is_some())?;
        if !found {
            // There are no more, or one could not be read.
            self.cursor.status()?;
        }
        Ok(found)
    }
}
