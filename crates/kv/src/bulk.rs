//! Reading many records at once: straight out of the database, or into the caller's buffer.
//!
//! What is read without copying comes in batches, while the rows of the next ones are on their way
//! from memory. What is copied lies in the buffer one record behind the other: the key's length and
//! the value's length in four bytes each, little-endian, then the key's bytes, then the value's.

use std::convert::Infallible;
use std::ops::ControlFlow;

use remanent_engine::{Cursor as IndexCursor, Error, ErrorKind, ReadTransaction, Result, Scan};

use crate::KeyValue;
use crate::cursor::Cursor;
use crate::database::KvDatabase;
use crate::layout::pair_of;

/// All records of a database, as references into it; made by [`KvDatabase::bulk`].
///
/// Iterate with `for_each`, `fold` or the like where every nanosecond counts: they go through
/// whole batches.
///
/// # Examples
/// ```
/// # use remanent_engine::Options;
/// # use remanent_kv::{Environment, KvOptions};
/// # let environment = Environment::open(Options::new())?;
/// # let database = environment.create("d", KvOptions::ordered())?;
/// let tx = environment.begin_write()?;
/// database.put(&tx, b"a", b"12")?;
/// database.put(&tx, b"b", b"345")?;
/// let bytes = database.bulk(&tx)?.fold(0, |sum, (_, value)| sum + value.len());
/// assert_eq!(bytes, 5);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[must_use = "it does nothing by itself"]
pub struct Bulk<'t> {
    source: Source<'t>,
}

enum Source<'t> {
    Ordered(Box<Ahead<'t>>),
    Rows(Scan<'t>),
}

/// A cursor over an index, and records that it has passed already.
struct Ahead<'t> {
    index: IndexCursor<'t>,
    records: Vec<KeyValue<'t>>,
    given: usize,
    is_at_end: bool,
}

/// How many records are read ahead by an iterator that is asked for one after the other.
const BATCH: usize = 256;

impl KvDatabase {
    /// All records: in key order, each key's values in order, or in the order of rows where the
    /// database is hashed and has no duplicates.
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
    /// database.put(&tx, b"b", b"2")?;
    /// database.put(&tx, b"a", b"1")?;
    /// let keys: Vec<&[u8]> = database.bulk(&tx)?.map(|(key, _)| key).collect();
    /// assert_eq!(keys, [b"a", b"b"]);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn bulk<'t>(&'t self, tx: &'t ReadTransaction<'_>) -> Result<Bulk<'t>> {
        let shared = &self.shared;
        if !shared.is_ordered() {
            return Ok(Bulk { source: Source::Rows(tx.scan(&shared.table)?) });
        }
        let index = tx.cursor(&shared.table, shared.primary)?;
        let ahead = Ahead { index, records: Vec::new(), given: 0, is_at_end: false };
        Ok(Bulk { source: Source::Ordered(Box::new(ahead)) })
    }
}

impl<'t> Iterator for Bulk<'t> {
    type Item = KeyValue<'t>;

    #[inline]
    fn next(&mut self) -> Option<KeyValue<'t>> {
        match &mut self.source {
            Source::Ordered(ahead) => ahead.next(),
            Source::Rows(scan) => scan.next().map(|row| pair_of(row.bytes())),
        }
    }

    /// Goes through whole batches, without keeping them; so do `for_each`, `count` and their like.
    #[inline]
    fn fold<B, F: FnMut(B, KeyValue<'t>) -> B>(self, initial: B, mut fold: F) -> B {
        match self.source {
            Source::Ordered(ahead) => ahead.fold(initial, fold),
            Source::Rows(scan) => scan.fold(initial, |b, row| fold(b, pair_of(row.bytes()))),
        }
    }
}

impl<'t> Ahead<'t> {
    #[inline]
    fn next(&mut self) -> Option<KeyValue<'t>> {
        if self.given == self.records.len() && !self.is_at_end {
            self.read_ahead();
        }
        let record = *self.records.get(self.given)?;
        self.given += 1;
        Some(record)
    }

    fn read_ahead(&mut self) {
        self.records.clear();
        self.given = 0;
        let records = &mut self.records;
        // An index says nothing of a snapshot that has expired but that there are no rows.
        let swept = self.index.sweep((), |(), row| {
            records.push(pair_of(row.bytes()));
            if records.len() < BATCH { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        self.is_at_end = swept.is_continue();
    }

    #[inline]
    fn fold<B>(mut self, initial: B, mut fold: impl FnMut(B, KeyValue<'t>) -> B) -> B {
        let given = self.records.iter().skip(self.given);
        let folded = given.fold(initial, |folded, record| fold(folded, *record));
        if self.is_at_end {
            return folded;
        }
        let swept = self.index.sweep(folded, |folded, row| {
            ControlFlow::<Infallible, B>::Continue(fold(folded, pair_of(row.bytes())))
        });
        match swept {
            ControlFlow::Continue(folded) => folded,
            ControlFlow::Break(never) => match never {},
        }
    }
}

/// The bytes before a record in a buffer: two lengths.
const HEAD: usize = 8;

/// Records that were copied into a buffer; iterates over them.
///
/// # Examples
/// ```
/// # use remanent_engine::Options;
/// # use remanent_kv::{BulkRecords, Environment, KvOptions};
/// # let environment = Environment::open(Options::new())?;
/// # let database = environment.create("d", KvOptions::ordered())?;
/// let tx = environment.begin_write()?;
/// database.put(&tx, b"a", b"1")?;
/// database.put(&tx, b"b", b"2")?;
/// let mut buffer = vec![0; 1 << 16];
/// let records = database.cursor(&tx)?.next_bulk(&mut buffer)?;
/// assert_eq!(records.collect::<Vec<_>>(), [(&b"a"[..], &b"1"[..]), (&b"b"[..], &b"2"[..])]);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BulkRecords<'b> {
    rest: &'b [u8],
}

impl<'b> BulkRecords<'b> {
    /// The records in bytes that [`Cursor::next_bulk`] has written, perhaps sent elsewhere since.
    /// What follows the last whole record is left out.
    ///
    /// # Examples
    /// ```
    /// use remanent_kv::BulkRecords;
    /// let bytes = [1, 0, 0, 0, 2, 0, 0, 0, b'k', b'v', b'w'];
    /// let mut records = BulkRecords::of(&bytes);
    /// assert_eq!(records.next(), Some((&b"k"[..], &b"vw"[..])));
    /// assert_eq!(records.next(), None);
    /// ```
    pub fn of(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The bytes of the records that are still to come.
    ///
    /// # Examples
    /// ```
    /// use remanent_kv::BulkRecords;
    /// assert!(BulkRecords::of(&[]).as_bytes().is_empty());
    /// ```
    pub fn as_bytes(&self) -> &'b [u8] {
        self.rest
    }
}

impl<'b> Iterator for BulkRecords<'b> {
    type Item = KeyValue<'b>;

    #[inline]
    fn next(&mut self) -> Option<KeyValue<'b>> {
        let (head, rest) = self.rest.split_first_chunk::<HEAD>()?;
        let head = u64::from_le_bytes(*head);
        let (key, rest) = rest.split_at_checked(head as u32 as usize)?;
        let (value, rest) = rest.split_at_checked((head >> 32) as usize)?;
        self.rest = rest;
        Some((key, value))
    }
}

impl Cursor<'_> {
    /// Copies the records that follow the cursor's position into `buffer`, as many as it holds
    /// whole, and moves to the last of them. At the end it gives none.
    ///
    /// # Errors
    /// `ValueTooLong` if not even one record fits; as [`Cursor::next`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::Options;
    /// # use remanent_kv::{Environment, KvOptions};
    /// # let environment = Environment::open(Options::new())?;
    /// # let database = environment.create("d", KvOptions::ordered())?;
    /// let tx = environment.begin_write()?;
    /// for key in 0..100_u8 {
    ///     database.put(&tx, &[key], b"value")?;
    /// }
    /// let mut cursor = database.cursor(&tx)?;
    /// let mut buffer = [0; 200];
    /// let mut count = 0;
    /// loop {
    ///     let records = cursor.next_bulk(&mut buffer)?.count();
    ///     if records == 0 {
    ///         break;
    ///     }
    ///     count += records;
    /// }
    /// assert_eq!(count, 100);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn next_bulk<'b>(&mut self, buffer: &'b mut [u8]) -> Result<BulkRecords<'b>> {
        let before = self.place();
        let Some(first) = self.next()? else { return Ok(BulkRecords { rest: &[] }) };
        let Some(mut end) = put_record(first, buffer) else {
            self.return_to(before);
            let (room, (key, value)) = (buffer.len(), first);
            let need = HEAD + key.len() + value.len();
            return Err(Error::new(ErrorKind::ValueTooLong)
                .because(format!("the buffer has {room} bytes, the next record takes {need}")));
        };
        self.advance_while(|record| {
            let len = put_record(record, &mut buffer[end..]);
            end += len.unwrap_or(0);
            len.is_some()
        })?;
        Ok(BulkRecords { rest: &buffer[..end] })
    }
}

/// Writes a record to the start of `place`, if there is room for it; gives its length.
#[inline]
fn put_record((key, value): KeyValue<'_>, place: &mut [u8]) -> Option<usize> {
    let len = HEAD + key.len() + value.len();
    let (head, rest) = place.get_mut(..len)?.split_first_chunk_mut::<HEAD>()?;
    *head = (key.len() as u64 | (value.len() as u64) << 32).to_le_bytes();
    let (key_place, value_place) = rest.split_at_mut(key.len());
    key_place.copy_from_slice(key);
    value_place.copy_from_slice(value);
    Some(len)
}
