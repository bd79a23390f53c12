//! Cursors, scans and frozen rows that keep their transaction and table.
//!
//! They are used within calls, so that nothing that borrows from them can be kept: a closure gets a
//! lifetime that it cannot name. Frozen rows alone are given out, for they never change.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::Arc;

use super::raw::without_lifetime;
use super::transaction::OwnedTransaction;
use crate::error::Result;
use crate::table::read::lookup::Cursor;
use crate::table::{FrozenRows, IndexHandle, KeyBound, Piece, Pieces, RowPredicate, Table};

/// Something that borrows from a transaction and a table, with both.
struct Borrowing<T> {
    value: ManuallyDrop<T>,
    from: Lenders,
}

/// What is borrowed from.
#[derive(Clone)]
struct Lenders {
    transaction: OwnedTransaction,
    table: Arc<Table>,
}

// SAFETY: the value is touched inside the transaction's entry alone, by one thread at a time, and
// dropped there; nothing of it belongs to a thread.
unsafe impl<T> Send for Borrowing<T> {}

impl<T> Drop for Borrowing<T> {
    fn drop(&mut self) {
        let value = &mut self.value;
        // SAFETY: dropped once, here, before what it borrows from.
        self.from.transaction.inside(|| unsafe { ManuallyDrop::drop(value) });
    }
}

/// A cursor over an ordered index that keeps its transaction. It is used within calls, so that no
/// row stays longer than it may.
///
/// # Examples
/// ```
/// # use std::sync::Arc;
/// # use remanent_engine::{Database, Options, OwnedTransaction, TransactionOptions, schema::*};
/// # let db = Arc::new(Database::open(Options::new())?);
/// # let schema = TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]);
/// # let table = db.create_table(schema)?;
/// # let (a, primary) = (table.column("a")?, table.index("primary")?);
/// # db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
/// let tx = OwnedTransaction::begin_read(&db, &TransactionOptions::new())?;
/// let mut cursor = tx.cursor(&table, primary, None, None)?;
/// drop((tx, db, table));
/// let first = cursor.with(|cursor| cursor.first().and_then(|row| row.get::<i32>(a)))?;
/// assert_eq!(first, Some(7));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub struct OwnedCursor(Borrowing<Cursor<'static>>);

/// A table in pieces that keep their transaction.
///
/// # Examples
/// ```
/// # use std::sync::Arc;
/// # use remanent_engine::{Database, Options, OwnedTransaction, Piece, TransactionOptions};
/// # use remanent_engine::schema::*;
/// # let db = Arc::new(Database::open(Options::new())?);
/// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// # db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
/// let tx = OwnedTransaction::begin_read(&db, &TransactionOptions::new())?;
/// let mut pieces = tx.pieces(&table, None)?;
/// let rows = pieces.next_with(|piece, _| match piece {
///     Piece::Rows(rows) => rows.len(),
///     Piece::Frozen(rows) => rows.visible_count(),
/// })?;
/// assert_eq!(rows, Some(1));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub struct OwnedPieces(Borrowing<Pieces<'static>>);

/// What the rows of a piece borrow from: with it they are kept beyond the call.
pub struct Keeper<'k, 'c> {
    from: &'k Lenders,
    /// The lifetime is that of the piece it was given with, and of no other.
    _of: PhantomData<fn(&'c ()) -> &'c ()>,
}

/// Frozen rows that keep their transaction.
pub struct OwnedFrozenRows(Borrowing<FrozenRows<'static>>);

impl OwnedTransaction {
    /// A cursor that stands nowhere yet, and stays between two bounds.
    ///
    /// # Errors
    /// As [`cursor_within`](crate::ReadTransaction::cursor_within); `TransactionEnded`.
    pub fn cursor(
        &self,
        table: &Table,
        index: IndexHandle,
        low: Option<KeyBound<'_>>,
        high: Option<KeyBound<'_>>,
    ) -> Result<OwnedCursor> {
        let from = Lenders::new(self, table);
        let reading = self.read()?;
        let cursor = reading.cursor_within(&from.table, index, low, high)?;
        // SAFETY: what it borrows from is kept, and does not move or change meanwhile.
        let cursor = unsafe { without_lifetime::cursor(cursor) };
        drop(reading);
        Ok(OwnedCursor(Borrowing::new(cursor, from)))
    }

    /// All rows, for whoever looks at those alone that meet the predicate, if there is one.
    ///
    /// # Errors
    /// As [`scan_pieces_where`](crate::ReadTransaction::scan_pieces_where); `TransactionEnded`.
    pub fn pieces(&self, table: &Table, predicate: Option<&RowPredicate>) -> Result<OwnedPieces> {
        let from = Lenders::new(self, table);
        let reading = self.read()?;
        let pieces = match predicate {
            Some(predicate) => reading.scan_pieces_where(&from.table, predicate)?,
            None => reading.scan_pieces(&from.table)?,
        };
        // SAFETY: as in `cursor`.
        let pieces = unsafe { without_lifetime::pieces(pieces) };
        drop(reading);
        Ok(OwnedPieces(Borrowing::new(pieces, from)))
    }
}

impl Lenders {
    fn new(transaction: &OwnedTransaction, table: &Table) -> Self {
        Self { transaction: transaction.clone(), table: Arc::new(table.clone()) }
    }
}

impl<T> Borrowing<T> {
    fn new(value: T, from: Lenders) -> Self {
        Self { value: ManuallyDrop::new(value), from }
    }
}

impl OwnedCursor {
    /// Uses the cursor.
    ///
    /// # Errors
    /// `TransactionEnded`.
    #[inline]
    pub fn with<T>(&mut self, work: impl for<'c> FnOnce(&mut Cursor<'c>) -> T) -> Result<T> {
        let _reading = self.0.from.transaction.read()?;
        Ok(work(&mut self.0.value))
    }
}

impl OwnedCursor {
    /// Whether all rows were given that the cursor came by: to be asked where it found no more.
    ///
    /// # Errors
    /// `TransactionEnded`; as [`status`](crate::ReadTransaction::status).
    pub fn status(&self) -> Result<()> {
        self.0.from.transaction.read()?.status()
    }
}

impl OwnedPieces {
    /// Goes to the first of the rows with these ids, and stays within them.
    pub fn go_to(&mut self, rows: Range<u64>) {
        self.0.value.go_to(rows);
    }

    /// Gives the next piece to `take`; `None` after the last. What of it has to stay beyond the
    /// call is kept with the second argument.
    ///
    /// # Errors
    /// `TransactionEnded`; as [`status`](crate::ReadTransaction::status) if the snapshot expired.
    pub fn next_with<T>(
        &mut self,
        take: impl for<'p, 'c> FnOnce(Piece<'p, 'c>, Keeper<'p, 'c>) -> T,
    ) -> Result<Option<T>> {
        let Borrowing { value, from } = &mut self.0;
        let reading = from.transaction.read()?;
        reading.status()?;
        let keeper = Keeper { from, _of: PhantomData };
        Ok(value.next_piece().map(|piece| take(piece, keeper)))
    }
}

impl OwnedPieces {
    /// Gives the frozen segment behind the last piece to `look`, as
    /// [`following`](Pieces::following) does.
    ///
    /// # Errors
    /// `TransactionEnded`.
    pub fn with_following(&self, look: impl FnOnce(&FrozenRows<'_>)) -> Result<()> {
        let _reading = self.0.from.transaction.read()?;
        if let Some(rows) = self.0.value.following() {
            look(&rows);
        }
        Ok(())
    }
}

impl<'c> Keeper<'_, 'c> {
    /// Frozen rows of the piece that was given with this.
    pub fn keep(&self, rows: &FrozenRows<'c>) -> OwnedFrozenRows {
        // SAFETY: what they borrow from is kept: no other rows have this lifetime.
        let rows = unsafe { without_lifetime::frozen(rows.clone()) };
        OwnedFrozenRows(Borrowing::new(rows, self.from.clone()))
    }
}

impl OwnedFrozenRows {
    /// The rows.
    ///
    /// # Errors
    /// `TransactionEnded`.
    pub fn rows(&self) -> Result<&FrozenRows<'_>> {
        self.0.from.transaction.read()?;
        Ok(&self.0.value)
    }
}

/// Frozen rows are inspected outside the entry: what they refer to does not change while their
/// snapshot is held.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<FrozenRows<'static>>();
};
