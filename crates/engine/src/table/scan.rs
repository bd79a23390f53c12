//! Reading all rows of a table, in the order of their row ids.
//!
//! Rows come in batches of up to 256; while a batch is made, the headers of its versions are asked
//! for ahead, so that their cache misses overlap.

use super::reader::Reader;
use super::row::{Row, RowId};
use super::segment::newest_of;
use super::table::TableAt;
use super::version::visible;
use crate::memory::atomic::Acquire;

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
    /// How many rows of the batch were given out.
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
        let end = self.limit.min(self.next + BATCH_ROWS as u64);
        let mut newest = [0; BATCH_ROWS];
        let mut count = 0;
        for (_, slot) in directory.slots_from(memory, self.next as u32, end) {
            newest[count] = newest_of(slot.load(Acquire));
            memory.region().prefetch(newest[count]);
            count += 1;
        }
        self.next += count as u64;
        for &at in &newest[..count] {
            if let Some(at) = visible(memory, at, self.reader.snapshot) {
                let row = Row::at(self.table, at);
                if let Some(reads) = self.reader.reads {
                    reads.hand_out(self.table.core.id, row.id().0);
                }
                self.batch.push(row);
            }
        }
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

    /// Goes through whole batches of slots; so do `for_each`, `count`, `sum` and their like.
    fn fold<B, F: FnMut(B, Row<'t>) -> B>(mut self, initial: B, mut fold: F) -> B {
        let given = std::mem::take(&mut self.batch).into_iter().skip(self.given);
        let mut folded = given.fold(initial, &mut fold);
        while self.next < self.limit {
            folded = self.fold_batch(folded, &mut fold);
        }
        folded
    }
}

/// The version of a row that a snapshot sees.
#[inline]
pub(crate) fn visible_row(table: TableAt<'_>, reader: Reader<'_>, row: RowId) -> Option<u64> {
    if u64::from(row.0) >= table.directory().limit() {
        return None;
    }
    visible(table.memory, table.directory().newest(table.memory, row.0), reader.snapshot)
}
