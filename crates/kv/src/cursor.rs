//! A position among the records of a database, moved and changed at in a transaction.
//!
//! The position is a record: its key, its value and its row, which stay readable as long as the
//! transaction, even when the record is deleted. The engine's cursor stands at the same place, or
//! is *astray* after a search that found nothing; then the next move finds the way back from the
//! key and the value. So a search that fails leaves the position as it was.

use std::ops::ControlFlow;
use std::ptr;

use remanent_engine::schema::Value;
use remanent_engine::{
    Cursor as IndexCursor, Error, ErrorKind, Find, ReadTransaction, Result, Row, RowId,
    WriteTransaction,
};

use crate::KeyValue;
use crate::database::{KvDatabase, Shared};
use crate::layout::pair_of;

/// A position among the records of a [`KvDatabase`].
///
/// In an ordered database, and in one with duplicates, moves go by key, then by value; in a hashed
/// one without, in no particular order. Each move gives the record that it comes to, or `None` and
/// stays where it was.
///
/// # Examples
/// ```
/// # use remanent_engine::Options;
/// # use remanent_kv::{Environment, KvOptions};
/// # let environment = Environment::open(Options::new())?;
/// let tags = environment.create("tags", KvOptions::ordered().with_duplicates())?;
/// let tx = environment.begin_write()?;
/// for (key, value) in [(b"a", b"1"), (b"a", b"2"), (b"b", b"1")] {
///     tags.put(&tx, key, value)?;
/// }
/// let mut cursor = tags.cursor(&tx)?;
/// assert_eq!(cursor.set(b"a")?, Some((&b"a"[..], &b"1"[..])));
/// assert_eq!(cursor.count()?, 2);
/// assert_eq!(cursor.next_duplicate()?, Some((&b"a"[..], &b"2"[..])));
/// assert_eq!(cursor.next_duplicate()?, None);
/// assert_eq!(cursor.next()?, Some((&b"b"[..], &b"1"[..])));
/// assert_eq!(cursor.next()?, None);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[must_use = "it does nothing by itself"]
pub struct Cursor<'t> {
    pub(crate) database: &'t KvDatabase,
    pub(crate) tx: &'t ReadTransaction<'t>,
    /// Over the index that orders the records; none where rows have no order but that of their ids.
    index: Option<IndexCursor<'t>>,
    at: Option<Position<'t>>,
    /// Whether the index's cursor stands elsewhere.
    astray: bool,
}

/// The record that a cursor stands at.
#[derive(Clone, Copy)]
struct Position<'t> {
    row: RowId,
    pair: KeyValue<'t>,
}

/// The saved position of a cursor.
#[derive(Clone, Copy)]
pub(crate) struct SavedPosition<'t>(Option<Position<'t>>);

impl KvDatabase {
    /// A cursor that stands nowhere yet.
    ///
    /// # Errors
    /// `UnknownTable`, `SnapshotExpired`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_read()?;
    /// assert_eq!(database.cursor(&tx)?.first()?, None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn cursor<'t>(&'t self, tx: &'t ReadTransaction<'_>) -> Result<Cursor<'t>> {
        let shared = &self.shared;
        let index = match shared.is_ordered() {
            true => Some(tx.cursor(&shared.table, shared.primary)?),
            false => None,
        };
        Ok(Cursor { database: self, tx, index, at: None, astray: false })
    }
}

/// Moves.
impl<'t> Cursor<'t> {
    /// Moves to the first record.
    ///
    /// # Errors
    /// As [`KvDatabase::get`], as for all moves.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"b", b"2")?;
    /// database.put(&tx, b"a", b"1")?;
    /// assert_eq!(database.cursor(&tx)?.first()?, Some((&b"a"[..], &b"1"[..])));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn first(&mut self) -> Result<Option<KeyValue<'t>>> {
        let found = match &mut self.index {
            Some(index) => index.first(),
            None => self.tx.row_after(&self.shared().table, None)?,
        };
        self.stand(found)
    }

    /// Moves to the last record.
    ///
    /// # Errors
    /// As [`Cursor::first`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"a", b"1")?;
    /// database.put(&tx, b"b", b"2")?;
    /// assert_eq!(database.cursor(&tx)?.last()?, Some((&b"b"[..], &b"2"[..])));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn last(&mut self) -> Result<Option<KeyValue<'t>>> {
        let found = match &mut self.index {
            Some(index) => index.last(),
            None => self.tx.row_before(&self.shared().table, None)?,
        };
        self.stand(found)
    }

    /// Moves to the next record; from nowhere to the first.
    ///
    /// # Errors
    /// As [`Cursor::first`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"a", b"1")?;
    /// let mut cursor = database.cursor(&tx)?;
    /// assert_eq!(cursor.next()?, Some((&b"a"[..], &b"1"[..])));
    /// assert_eq!(cursor.next()?, None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[expect(clippy::should_implement_trait, reason = "a cursor moves both ways, and may fail")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<KeyValue<'t>>> {
        let Some(at) = self.at else { return self.first() };
        let found = self.row_beyond(at)?;
        self.stand(found)
    }

    /// Moves to the record before; from nowhere to the last.
    ///
    /// # Errors
    /// As [`Cursor::first`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"a", b"1")?;
    /// database.put(&tx, b"b", b"2")?;
    /// let mut cursor = database.cursor(&tx)?;
    /// cursor.last()?;
    /// assert_eq!(cursor.previous()?, Some((&b"a"[..], &b"1"[..])));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn previous(&mut self) -> Result<Option<KeyValue<'t>>> {
        let Some(at) = self.at else { return self.last() };
        let found = self.row_ahead(at)?;
        self.stand(found)
    }

    /// The record that it stands at, as it is now; `None` if it was deleted meanwhile.
    ///
    /// # Errors
    /// As [`Cursor::first`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"a", b"1")?;
    /// let mut cursor = database.cursor(&tx)?;
    /// cursor.first()?;
    /// database.put(&tx, b"a", b"2")?;
    /// assert_eq!(cursor.current()?, Some((&b"a"[..], &b"2"[..])));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn current(&mut self) -> Result<Option<KeyValue<'t>>> {
        let Some(at) = self.at else { return Ok(None) };
        let Some(row) = self.tx.row(&self.shared().table, at.row)? else { return Ok(None) };
        let pair = pair_of(row.bytes());
        self.at = Some(Position { pair, ..at });
        Ok(Some(pair))
    }

    /// Moves to a key, of several values to the first.
    ///
    /// # Errors
    /// As [`Cursor::first`]; `KeyTooLong`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"a", b"1")?;
    /// let mut cursor = database.cursor(&tx)?;
    /// assert_eq!(cursor.set(b"a")?, Some((&b"a"[..], &b"1"[..])));
    /// assert_eq!(cursor.set(b"b")?, None);
    /// assert_eq!(cursor.current()?, Some((&b"a"[..], &b"1"[..])));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn set(&mut self, key: &[u8]) -> Result<Option<KeyValue<'t>>> {
        self.search(Find::Equal, &[key], |_| true)
    }

    /// Moves to a key or, where there is none, to the next greater one. A hashed database without
    /// duplicates has no order: there it is [`Cursor::set`].
    ///
    /// # Errors
    /// As [`Cursor::set`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"ab", b"1")?;
    /// assert_eq!(database.cursor(&tx)?.set_range(b"a")?, Some((&b"ab"[..], &b"1"[..])));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn set_range(&mut self, key: &[u8]) -> Result<Option<KeyValue<'t>>> {
        self.search(Find::AtLeast, &[key], |_| true)
    }

    /// Moves to the record of this key and this value.
    ///
    /// # Errors
    /// As [`Cursor::set`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::hashed())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"a", b"1")?;
    /// let mut cursor = database.cursor(&tx)?;
    /// assert!(cursor.get_both(b"a", b"1")?.is_some());
    /// assert!(cursor.get_both(b"a", b"2")?.is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn get_both(&mut self, key: &[u8], value: &[u8]) -> Result<Option<KeyValue<'t>>> {
        if self.has_duplicates() {
            return self.search(Find::Equal, &[key, value], |_| true);
        }
        self.search(Find::Equal, &[key], |found| found.1 == value)
    }

    /// Moves to the key's first value that is not less than this one. Without duplicates it is
    /// [`Cursor::get_both`].
    ///
    /// # Errors
    /// As [`Cursor::set`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let tags = environment.create("tags", KvOptions::ordered().with_duplicates())?;
    /// let tx = environment.begin_write()?;
    /// tags.put(&tx, b"a", b"3")?;
    /// let mut cursor = tags.cursor(&tx)?;
    /// assert_eq!(cursor.get_both_range(b"a", b"2")?, Some((&b"a"[..], &b"3"[..])));
    /// assert_eq!(cursor.get_both_range(b"a", b"4")?, None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn get_both_range(&mut self, key: &[u8], value: &[u8]) -> Result<Option<KeyValue<'t>>> {
        if self.has_duplicates() {
            return self.search(Find::AtLeast, &[key, value], |found| found.0 == key);
        }
        self.get_both(key, value)
    }

    /// Moves to the next value of the same key.
    ///
    /// # Errors
    /// As [`Cursor::first`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let tags = environment.create("tags", KvOptions::ordered().with_duplicates())?;
    /// let tx = environment.begin_write()?;
    /// tags.put(&tx, b"a", b"1")?;
    /// tags.put(&tx, b"b", b"1")?;
    /// let mut cursor = tags.cursor(&tx)?;
    /// cursor.first()?;
    /// assert_eq!(cursor.next_duplicate()?, None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn next_duplicate(&mut self) -> Result<Option<KeyValue<'t>>> {
        self.duplicate(Self::row_beyond)
    }

    /// Moves to the value before of the same key.
    ///
    /// # Errors
    /// As [`Cursor::first`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let tags = environment.create("tags", KvOptions::ordered().with_duplicates())?;
    /// let tx = environment.begin_write()?;
    /// tags.put(&tx, b"a", b"1")?;
    /// tags.put(&tx, b"a", b"2")?;
    /// let mut cursor = tags.cursor(&tx)?;
    /// cursor.last()?;
    /// assert_eq!(cursor.previous_duplicate()?, Some((&b"a"[..], &b"1"[..])));
    /// assert_eq!(cursor.previous_duplicate()?, None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn previous_duplicate(&mut self) -> Result<Option<KeyValue<'t>>> {
        self.duplicate(Self::row_ahead)
    }

    /// Moves to the first value of the next key; from nowhere to the first record.
    ///
    /// # Errors
    /// As [`Cursor::first`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let tags = environment.create("tags", KvOptions::ordered().with_duplicates())?;
    /// let tx = environment.begin_write()?;
    /// for (key, value) in [(b"a", b"1"), (b"a", b"2"), (b"b", b"1")] {
    ///     tags.put(&tx, key, value)?;
    /// }
    /// let mut cursor = tags.cursor(&tx)?;
    /// cursor.first()?;
    /// assert_eq!(cursor.next_no_duplicate()?, Some((&b"b"[..], &b"1"[..])));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn next_no_duplicate(&mut self) -> Result<Option<KeyValue<'t>>> {
        match self.at {
            Some(at) if self.has_duplicates() => self.search(Find::Above, &[at.pair.0], |_| true),
            _ => self.next(),
        }
    }

    /// Moves to the last value of the key before; from nowhere to the last record.
    ///
    /// # Errors
    /// As [`Cursor::first`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// let tags = environment.create("tags", KvOptions::ordered().with_duplicates())?;
    /// let tx = environment.begin_write()?;
    /// for (key, value) in [(b"a", b"1"), (b"a", b"2"), (b"b", b"1"), (b"b", b"2")] {
    ///     tags.put(&tx, key, value)?;
    /// }
    /// let mut cursor = tags.cursor(&tx)?;
    /// cursor.last()?;
    /// assert_eq!(cursor.previous_no_duplicate()?, Some((&b"a"[..], &b"2"[..])));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn previous_no_duplicate(&mut self) -> Result<Option<KeyValue<'t>>> {
        match self.at {
            Some(at) if self.has_duplicates() => self.search(Find::Below, &[at.pair.0], |_| true),
            _ => self.previous(),
        }
    }

    /// How many values the key has that it stands at.
    ///
    /// # Errors
    /// As [`Cursor::first`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"a", b"1")?;
    /// let mut cursor = database.cursor(&tx)?;
    /// assert_eq!(cursor.count()?, 0);
    /// cursor.first()?;
    /// assert_eq!(cursor.count()?, 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn count(&self) -> Result<u64> {
        let Some(at) = self.at else { return Ok(0) };
        let mut other = self.database.cursor(self.tx)?;
        let mut count = 0;
        let mut found = other.set(at.pair.0)?;
        while found.is_some() {
            count += 1;
            found = other.next_duplicate()?;
        }
        Ok(count)
    }

    /// Another cursor at the same position.
    ///
    /// # Errors
    /// As [`KvDatabase::cursor`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"a", b"1")?;
    /// database.put(&tx, b"b", b"2")?;
    /// let mut cursor = database.cursor(&tx)?;
    /// cursor.first()?;
    /// let mut other = cursor.duplicate_cursor()?;
    /// assert_eq!(cursor.next()?, other.next()?);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn duplicate_cursor(&self) -> Result<Self> {
        let other = self.database.cursor(self.tx)?;
        Ok(Self { at: self.at, astray: true, ..other })
    }
}

/// Changes.
impl<'t> Cursor<'t> {
    /// As [`KvDatabase::put`], moving to the record.
    ///
    /// # Errors
    /// As there; `TransactionEnded` if `tx` is not the cursor's transaction.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// let mut cursor = database.cursor(&tx)?;
    /// cursor.put(&tx, b"a", b"1")?;
    /// assert_eq!(cursor.current()?, Some((&b"a"[..], &b"1"[..])));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn put(&mut self, tx: &WriteTransaction<'_>, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_transaction(tx)?;
        let row = self.database.put_row(tx, key, value)?;
        let found = self.tx.row(&self.shared().table, row)?;
        self.stand(found)?;
        self.astray = true;
        Ok(())
    }

    /// Gives the record that it stands at another value.
    ///
    /// # Errors
    /// `RowNotFound` if it stands nowhere or the record is deleted; `InvalidOptions` for a
    /// duplicate, whose place in the order its value is, unless the value is the same; as
    /// [`Cursor::put`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"a", b"1")?;
    /// let mut cursor = database.cursor(&tx)?;
    /// cursor.first()?;
    /// cursor.put_current(&tx, b"one")?;
    /// assert_eq!(database.get(&tx, b"a")?, Some(&b"one"[..]));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn put_current(&mut self, tx: &WriteTransaction<'_>, value: &[u8]) -> Result<()> {
        self.check_transaction(tx)?;
        self.shared().check_direct()?;
        let row = self.row()?;
        if self.has_duplicates() {
            if pair_of(row.bytes()).1 == value {
                return Ok(());
            }
            return Err(Error::new(ErrorKind::InvalidOptions).because(
                "a duplicate's value is its place in the order: delete it and put another",
            ));
        }
        self.shared().replace(tx, &row, value)?;
        self.current().map(|_| ())
    }

    /// Removes the record that it stands at. The cursor stays at its place: the next move goes to
    /// what was beside it.
    ///
    /// # Errors
    /// As [`Cursor::put_current`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// database.put(&tx, b"a", b"1")?;
    /// database.put(&tx, b"b", b"2")?;
    /// let mut cursor = database.cursor(&tx)?;
    /// cursor.first()?;
    /// cursor.delete(&tx)?;
    /// assert_eq!(cursor.current()?, None);
    /// assert_eq!(cursor.next()?, Some((&b"b"[..], &b"2"[..])));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn delete(&mut self, tx: &WriteTransaction<'_>) -> Result<()> {
        self.check_transaction(tx)?;
        self.shared().check_direct()?;
        self.shared().remove(tx, &self.row()?)
    }

    /// That a transaction is the one that the cursor reads in.
    pub(crate) fn check_transaction(&self, tx: &WriteTransaction<'_>) -> Result<()> {
        let own: *const ReadTransaction<'_> = self.tx;
        if ptr::eq(own.cast::<()>(), ptr::from_ref::<ReadTransaction<'_>>(tx).cast()) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::TransactionEnded)
            .because("the cursor was opened in another transaction"))
    }
}

impl<'t> Cursor<'t> {
    pub(crate) fn shared(&self) -> &'t Shared {
        &self.database.shared
    }

    /// Its position, to return to.
    pub(crate) fn place(&self) -> SavedPosition<'t> {
        SavedPosition(self.at)
    }

    /// Stands where it stood before.
    pub(crate) fn return_to(&mut self, place: SavedPosition<'t>) {
        self.at = place.0;
        self.astray = true;
    }

    /// Moves to the records that follow, as long as `accept` takes them.
    #[inline]
    pub(crate) fn advance_while(
        &mut self,
        mut accept: impl FnMut(KeyValue<'t>) -> bool,
    ) -> Result<()> {
        if self.astray || self.index.is_none() {
            let mut before = self.place();
            while let Some(record) = self.next()? {
                if !accept(record) {
                    self.return_to(before);
                    break;
                }
                before = self.place();
            }
            return Ok(());
        }
        if let Some(index) = &mut self.index {
            let at = &mut self.at;
            let _ = index.sweep((), |(), row| {
                let pair = pair_of(row.bytes());
                if !accept(pair) {
                    return ControlFlow::Break(());
                }
                *at = Some(Position { row: row.id(), pair });
                ControlFlow::Continue(())
            });
            // It stands at the record that was not accepted, or beyond the last.
            self.astray = true;
        }
        Ok(())
    }

    fn has_duplicates(&self) -> bool {
        self.database.options().has_duplicates()
    }

    /// The row that it stands at, as it is now.
    fn row(&self) -> Result<Row<'t>> {
        let found = match self.at {
            Some(at) => self.tx.row(&self.shared().table, at.row)?,
            None => None,
        };
        found.ok_or_else(|| {
            Error::new(ErrorKind::RowNotFound).because("the cursor stands at no record")
        })
    }

    /// Takes a row as its position, or stays where it was.
    #[inline]
    fn stand(&mut self, found: Option<Row<'t>>) -> Result<Option<KeyValue<'t>>> {
        self.astray = found.is_none();
        let Some(row) = found else {
            // An index says nothing of a snapshot that has expired but that there are no rows.
            self.tx.status()?;
            return Ok(None);
        };
        let pair = pair_of(row.bytes());
        self.at = Some(Position { row: row.id(), pair });
        Ok(Some(pair))
    }

    /// The row after a position, which is the cursor's own.
    #[inline]
    fn row_beyond(&mut self, at: Position<'t>) -> Result<Option<Row<'t>>> {
        match &mut self.index {
            Some(index) if !self.astray => {
                let found = index.next();
                self.elsewhere(found, at, IndexCursor::next)
            }
            Some(_) => self.find(Find::Above, at.pair),
            None => self.tx.row_after(&self.shared().table, Some(at.row)),
        }
    }

    /// The row before a position, which is the cursor's own.
    fn row_ahead(&mut self, at: Position<'t>) -> Result<Option<Row<'t>>> {
        match &mut self.index {
            Some(index) if !self.astray => {
                let found = index.previous();
                self.elsewhere(found, at, IndexCursor::previous)
            }
            Some(_) => self.find(Find::Below, at.pair),
            None => self.tx.row_before(&self.shared().table, Some(at.row)),
        }
    }

    /// Goes past a record that was deleted and put again where the cursor stands: it is another
    /// row at the same place.
    #[inline]
    fn elsewhere(
        &mut self,
        found: Option<Row<'t>>,
        at: Position<'t>,
        step: impl FnOnce(&mut IndexCursor<'t>) -> Option<Row<'t>>,
    ) -> Result<Option<Row<'t>>> {
        let duplicates = self.has_duplicates();
        let is_here = found.is_some_and(|row| {
            let (key, value) = pair_of(row.bytes());
            key == at.pair.0 && (!duplicates || value == at.pair.1)
        });
        match &mut self.index {
            Some(index) if is_here => Ok(step(index)),
            _ => Ok(found),
        }
    }

    fn find(&mut self, find: Find, (key, value): KeyValue<'_>) -> Result<Option<Row<'t>>> {
        let duplicates = self.has_duplicates();
        let Some(index) = &mut self.index else { return Ok(None) };
        let parts = [Value::Bytes(key), Value::Bytes(value)];
        index.find(find, &parts[..if duplicates { 2 } else { 1 }])
    }

    /// Moves to the row that is found for some parts of the key, if it is accepted.
    fn search(
        &mut self,
        find: Find,
        parts: &[&[u8]],
        accept: impl FnOnce(KeyValue<'t>) -> bool,
    ) -> Result<Option<KeyValue<'t>>> {
        let found = match &mut self.index {
            Some(index) => {
                let mut values = [Value::Null; 2];
                for (value, part) in values.iter_mut().zip(parts) {
                    *value = Value::Bytes(part);
                }
                index.find(find, &values[..parts.len()])?
            }
            None => self.shared().find(self.tx, parts[0])?,
        };
        self.stand(found.filter(|row| accept(pair_of(row.bytes()))))
    }

    /// Moves to the row that `step` comes to, if it has the same key.
    fn duplicate(
        &mut self,
        step: impl FnOnce(&mut Self, Position<'t>) -> Result<Option<Row<'t>>>,
    ) -> Result<Option<KeyValue<'t>>> {
        let Some(at) = self.at.filter(|_| self.has_duplicates()) else { return Ok(None) };
        let found = step(self, at)?;
        self.stand(found.filter(|row| pair_of(row.bytes()).0 == at.pair.0))
    }
}
