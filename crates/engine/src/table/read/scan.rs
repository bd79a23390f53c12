//! Reading all rows of a table, in the order of their row ids.
//!
//! Rows come in batches of up to 256; while a batch is made, the headers of its versions are asked
//! for ahead, so that their cache misses overlap.

use super::reader::Reader;
use crate::error::Result;
use crate::memory::atomic::{Acquire, Relaxed};
use crate::table::columns::frozen::FrozenRow;
use crate::table::rows::row::{Row, RowId};
use crate::table::rows::segment::is_frozen;
use crate::table::table::TableAt;

/// Rows in a batch, at most.
///
/// # Examples
/// ```
/// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
/// # let db = Database::open(Options::new())?;
/// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// # let a = table.column("a")?;
/// use remanent_engine::BATCH_ROWS;
/// db.write(|tx| {
///     (0..1000).try_for_each(|i| tx.insert_values(&table, &[Some(Value::I32(i))]).map(drop))
/// })?;
/// let tx = db.begin_read()?;
/// let mut scan = tx.scan(&table)?;
/// while let Some(batch) = scan.next_batch() {
///     assert!((1..=BATCH_ROWS).contains(&batch.len()));
/// }
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub const BATCH_ROWS: usize = 256;

/// A scan over a table: an iterator of rows that also gives them in batches.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// let a = table.column("a")?;
/// db.write(|tx| {
///     for number in 0..1000 {
///         tx.insert_values(&table, &[Some(Value::I32(number))])?;
///     }
///     Ok(())
/// })?;
/// let sum = db.read(|tx| {
///     let mut sum = 0;
///     let mut scan = tx.scan(&table)?;
///     while let Some(batch) = scan.next_batch() {
///         sum += batch.iter().filter_map(|row| row.get::<i32>(a)).sum::<i32>();
///     }
///     Ok(sum)
/// })?;
/// assert_eq!(sum, 499_500);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub struct Scan<'t> {
    pub(super) table: TableAt<'t>,
    pub(super) reader: Reader<'t>,
    /// The next row id to look at, and the end.
    pub(super) next: u64,
    pub(super) limit: u64,
    batch: Vec<Row<'t>>,
    /// Rows of the batch that were given out.
    given: usize,
}

impl<'t> Scan<'t> {
    /// A scan of what `snapshot` sees.
    pub(crate) fn new(table: TableAt<'t>, reader: Reader<'t>) -> Self {
        let limit = table.directory().limit();
        Self { table, reader, next: 0, limit, batch: Vec::new(), given: 0 }
    }

    /// The next rows, at most [`BATCH_ROWS`]; `None` after the last.
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
    /// let tx = db.begin_read()?;
    /// let mut scan = tx.scan(&cities)?;
    /// let batch = scan.next_batch().expect("the table is not empty");
    /// assert_eq!(batch.iter().filter(|row| row.get::<u32>(people) > Some(100_000)).count(), 2);
    /// assert!(scan.next_batch().is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn next_batch(&mut self) -> Option<&[Row<'t>]> {
        self.fill_batch();
        let rows = &self.batch[self.given..];
        self.given = self.batch.len();
        (!rows.is_empty()).then_some(rows)
    }

    /// Makes sure that the batch holds a row not given out yet, if there is one.
    fn fill_batch(&mut self) {
        if self.given < self.batch.len() {
            return;
        }
        self.batch.clear();
        self.given = 0;
        while self.next < self.limit && self.batch.is_empty() {
            self.fill();
        }
    }

    fn fill(&mut self) {
        let memory = self.table.memory;
        let _operation = self.reader.enter(memory);
        if self.reader.is_expired() {
            self.next = self.limit;
            return;
        }
        let directory = self.table.directory();
        let slots = directory.stretch(memory, &mut self.next, self.limit, BATCH_ROWS as u64);
        let mut words = [0; BATCH_ROWS];
        for (word, slot) in words.iter_mut().zip(slots) {
            *word = slot.load(Acquire);
            // Whatever else the word may be, to ask for it does no harm.
            memory.region().prefetch(*word);
        }
        let first = self.next as u32;
        self.next += slots.len() as u64;
        for (row, &word) in (first..).zip(&words[..slots.len()]) {
            if let Some(at) = self.reader.see(&self.table, row, word) {
                hand_out(self.reader, self.table, row);
                self.batch.push(Row::at(self.table, at));
            }
        }
    }
}

/// Calls `visit` with each row that is seen. Frozen rows are put together in one place, one after
/// the other.
pub(crate) fn each_row(
    table: TableAt<'_>,
    reader: Reader<'_>,
    visit: &mut dyn FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let memory = table.memory;
    let (mut next, limit) = (0, table.directory().limit());
    let mut bytes = Vec::new();
    while next < limit && !reader.is_expired() {
        let _operation = reader.enter(memory);
        let slots = table.directory().stretch(memory, &mut next, limit, BATCH_ROWS as u64);
        slots.iter().for_each(|slot| memory.region().prefetch(slot.load(Relaxed)));
        let first = next as u32;
        next += slots.len() as u64;
        for row in (first..).take(slots.len()) {
            let word = table.directory().word(memory, row);
            if is_frozen(word) {
                if let Some(frozen) = frozen_row(table, reader, row) {
                    bytes.resize(frozen.len(&table), 0);
                    frozen.write(&table, &mut bytes);
                    visit(Row::of_bytes(&table.core.layout, &bytes, RowId(row)))?;
                }
            } else if let Some(at) = reader.see(&table, row, word) {
                hand_out(reader, table, row);
                visit(Row::at(table, at))?;
            }
        }
    }
    Ok(())
}

/// A row that is as it was frozen, if the reader sees it.
fn frozen_row<'t>(table: TableAt<'t>, reader: Reader<'_>, row: u32) -> Option<FrozenRow<'t>> {
    let frozen = table.frozen_row(row)?;
    frozen.is_seen(table.memory, reader.snapshot).then_some(frozen)
}

/// Whether a reader sees a row that is as it was frozen, if there is one.
pub(in crate::table) fn sees_frozen(table: TableAt<'_>, reader: Reader<'_>, row: u32) -> bool {
    frozen_row(table, reader, row).is_some()
}

fn hand_out(reader: Reader<'_>, table: TableAt<'_>, row: u32) {
    if let Some(reads) = reader.reads {
        reads.hand_out(table.core.id, row);
    }
}

impl<'t> Iterator for Scan<'t> {
    type Item = Row<'t>;

    fn next(&mut self) -> Option<Row<'t>> {
        self.fill_batch();
        let row = self.batch.get(self.given).copied()?;
        self.given += 1;
        Some(row)
    }

    /// At most as many rows as there are row ids from here on.
    fn size_hint(&self) -> (usize, Option<usize>) {
        let ready = self.batch.len() - self.given;
        let ahead = usize::try_from(self.limit - self.next).ok();
        (ready, ahead.and_then(|ahead| ahead.checked_add(ready)))
    }

    /// Counts without putting frozen rows together.
    fn count(mut self) -> usize {
        let mut count = self.batch.len() - self.given;
        let memory = self.table.memory;
        while self.next < self.limit {
            let _operation = self.reader.enter(memory);
            if self.reader.is_expired() {
                break;
            }
            let directory = self.table.directory();
            let slots = directory.stretch(memory, &mut self.next, self.limit, BATCH_ROWS as u64);
            slots.iter().for_each(|slot| memory.region().prefetch(slot.load(Relaxed)));
            for (row, slot) in (self.next as u32..).zip(slots) {
                count += usize::from(sees(self.table, self.reader, row, slot.load(Acquire)));
            }
            self.next += slots.len() as u64;
        }
        count
    }

    /// Goes through whole batches of slots; so do `for_each`, `sum` and their like.
    fn fold<B, F: FnMut(B, Row<'t>) -> B>(mut self, initial: B, mut fold: F) -> B {
        let given = std::mem::take(&mut self.batch).into_iter().skip(self.given);
        let mut folded = given.fold(initial, &mut fold);
        while self.next < self.limit {
            folded = self.fold_batch(folded, &mut fold);
        }
        folded
    }
}

/// Whether a reader sees a row.
pub(crate) fn has_row(table: TableAt<'_>, reader: Reader<'_>, row: RowId) -> bool {
    let is_one = u64::from(row.0) < table.directory().limit();
    is_one && sees(table, reader, row.0, table.directory().word(table.memory, row.0))
}

/// Whether a reader sees a row whose slot holds `word`; frozen rows are not put together for it.
fn sees(table: TableAt<'_>, reader: Reader<'_>, row: u32, word: u64) -> bool {
    match is_frozen(word) {
        true => sees_frozen(table, reader, row),
        false => reader.see(&table, row, word).is_some(),
    }
}

/// The version of a row that a snapshot sees.
#[inline]
pub(crate) fn visible_row(table: TableAt<'_>, reader: Reader<'_>, row: RowId) -> Option<u64> {
    if u64::from(row.0) >= table.directory().limit() {
        return None;
    }
    reader.see(&table, row.0, table.directory().word(table.memory, row.0))
}
