//! Inserting many rows with one statement.
//!
//! Rows are inserted unindexed as they come, and indexed a batch at a time
//! (`table/write/batch.rs`). The statement does all or nothing, as any other.

use std::borrow::Borrow;
use std::cell::Cell;
use std::iter;
use std::ops::Range;

use remanent_schema::{ColumnRows, ColumnValues, Record, RowLayout, Value};

use super::transaction::WriteTransaction;
use crate::error::{Error, ErrorKind, Result};
use crate::table::columns::bulk_segment::{EncodedRows, SEGMENT_ROWS};
use crate::table::rows::change::{Change, ChangedRow};
use crate::table::rows::row::RowId;
use crate::table::write::batch::{BulkRows, RowBatch};
use crate::table::{Table, TypedTable};

impl WriteTransaction<'_> {
    /// Inserts records, in any order: all of them, or none if one cannot be inserted; how many.
    /// Takes less time than inserting them one by one, since each index takes them in the order of
    /// its keys, up to 65,536 at a time. In order of a key they come cheapest. Rows that were
    /// inserted are found by a key once this returns, not by what `records` itself reads meanwhile.
    ///
    /// # Errors
    /// As [`WriteTransaction::insert`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_derive::Record;
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, schema::*};
    /// # #[derive(Record)]
    /// # #[record(primary_key(id), index(city(city, id)))]
    /// # struct Shop<'a> {
    /// #     id: u32,
    /// #     city: &'a str,
    /// # }
    /// # let db = Database::open(Options::new())?;
    /// # let shops = db.create_table_of::<Shop>()?;
    /// let tx = db.begin_write()?;
    /// let count = tx.insert_all(&shops, (0..1000).map(|id| Shop { id, city: "Ulm" }))?;
    /// assert_eq!(count, 1000);
    /// let twice = [Shop { id: 1000, city: "Bonn" }, Shop { id: 7, city: "Bonn" }];
    /// let error = tx.insert_all(&shops, &twice).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    /// assert_eq!(tx.scan(&shops)?.count(), 1000);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn insert_all<'a, R>(
        &self,
        table: &TypedTable<R>,
        records: impl IntoIterator<Item = impl Borrow<R::At<'a>>>,
    ) -> Result<u64>
    where
        R: Record,
        R::At<'a>: Record,
    {
        let records = records.into_iter();
        self.in_batches(table, records.size_hint().0, |batches| {
            for record in records {
                let record: &R::At<'a> = record.borrow();
                batches.add(record.encoded_len()?, |bytes| {
                    record.encode(bytes);
                    Ok(())
                })?;
            }
            Ok(())
        })
    }

    /// As [`WriteTransaction::insert_all`], of rows with one value for each leaf column; `None`
    /// takes the default or null.
    ///
    /// # Errors
    /// As [`WriteTransaction::insert_values`].
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]);
    /// # let table = db.create_table(schema)?;
    /// let rows = (0..1000).rev().map(|i| [Some(Value::I32(i))]);
    /// assert_eq!(db.write(|tx| tx.insert_all_values(&table, rows.clone()))?, 1000);
    /// assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count()))?, 1000);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn insert_all_values<'a>(
        &self,
        table: &Table,
        rows: impl IntoIterator<Item = impl AsRef<[Option<Value<'a>>]>>,
    ) -> Result<u64> {
        let rows = rows.into_iter();
        let layout = &table.core.layout;
        self.in_batches(table, rows.size_hint().0, |batches| {
            for row in rows {
                let values = row.as_ref();
                batches.add(layout.encoded_len(values)?, |bytes| {
                    layout.encode(values, bytes)?;
                    Ok(())
                })?;
            }
            Ok(())
        })
    }

    /// As [`WriteTransaction::insert_all_values`], of so many rows whose values lie in columns, one
    /// for each leaf: numbers in the columns' own types and text are then not inspected one by one.
    ///
    /// # Errors
    /// As [`WriteTransaction::insert_values`].
    ///
    /// # Panics
    /// If a column has fewer values.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("T").column("a", ColumnType::I64).primary_key(["a"]);
    /// # let table = db.create_table(schema.column("b", ColumnType::STRING))?;
    /// let names = ["one", "two", "three"];
    /// let text = |row: usize| names[row];
    /// let columns = [ColumnValues::I64(&[1, 2, 3]), ColumnValues::Text(&text)];
    /// assert_eq!(db.write(|tx| tx.insert_columns(&table, &columns, 3))?, 3);
    /// let tx = db.begin_read()?;
    /// let row = tx.find(&table, table.index("primary")?, &[Value::I64(2)])?;
    /// assert_eq!(row.and_then(|row| row.str(table.column("b").ok()?)), Some("two"));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn insert_columns(
        &self,
        table: &Table,
        columns: &[ColumnValues<'_>],
        rows: usize,
    ) -> Result<u64> {
        let layout = &table.core.layout;
        let Some(source) = ColumnRows::new(layout, columns, rows) else {
            let types = || layout.leaves().iter().map(|leaf| &leaf.column_type);
            let values =
                |row: usize| columns.iter().zip(types()).map(move |(it, of)| it.value(row, of));
            return self
                .insert_all_values(table, (0..rows).map(|row| values(row).collect::<Vec<_>>()));
        };
        self.in_batches(table, rows, |batches| {
            for row in 0..rows {
                batches.add(source.encoded_len(row)?, |bytes| {
                    source.encode(row, bytes)?;
                    Ok(())
                })?;
            }
            Ok(())
        })
    }

    /// As [`WriteTransaction::insert_columns`], but each 65,536 rows become a frozen segment at
    /// once, as [`freeze`](crate::Database::freeze) would make of them later; what is left are rows
    /// as usual. Takes less time than both together, and never the memory of versions.
    ///
    /// The rows belong to the transaction as any others: it sees and may change them, a rollback
    /// takes them back, others see them when it has committed. Row ids up to the next multiple of
    /// 65,536 that were not given out yet are left to rows that come later.
    ///
    /// # Errors
    /// As [`WriteTransaction::insert_values`]; then none of the rows is inserted.
    ///
    /// # Panics
    /// If a column has fewer values.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("T").column("a", ColumnType::I64).primary_key(["a"]);
    /// # let table = db.create_table(schema)?;
    /// let numbers: Vec<i64> = (0..100_000).collect();
    /// let columns = [ColumnValues::I64(&numbers)];
    /// assert_eq!(db.write(|tx| tx.insert_frozen(&table, &columns, numbers.len()))?, 100_000);
    /// let tx = db.begin_read()?;
    /// assert_eq!(tx.scan(&table)?.count(), 100_000);
    /// assert!(tx.find(&table, table.index("primary")?, &[Value::I64(70_000)])?.is_some());
    /// drop(tx);
    /// assert_eq!(db.memory_by_table()?[0].frozen_rows, 65_536);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn insert_frozen(
        &self,
        table: &Table,
        columns: &[ColumnValues<'_>],
        rows: usize,
    ) -> Result<u64> {
        let parts = rows / SEGMENT_ROWS;
        if parts == 0 || table.core.schema.set.is_some() {
            return self.insert_columns(table, columns, rows);
        }
        let layout = &table.core.layout;
        let source = ColumnRows::new(layout, columns, rows);
        let source = source.map_or(Source::Values(layout, columns), Source::Columns);
        self.together(|| {
            let mut arena = Arena::default();
            for part in 0..parts {
                arena.fill(&source, part * SEGMENT_ROWS..(part + 1) * SEGMENT_ROWS)?;
                self.insert_part(table, &arena)?;
            }
            let rest = parts * SEGMENT_ROWS..rows;
            arena.fill(&source, rest)?;
            self.insert_encoded(table, &arena)?;
            Ok(rows as u64)
        })
    }

    /// Inserts at most 65,536 rows as a frozen segment, which others of these cost as much as a
    /// whole one; the id of the first. For tests, which cannot wait for so many rows.
    ///
    /// # Errors
    /// As [`WriteTransaction::insert_frozen`].
    #[doc(hidden)]
    pub fn insert_segment(
        &self,
        table: &Table,
        columns: &[ColumnValues<'_>],
        rows: usize,
    ) -> Result<RowId> {
        let mut arena = Arena::default();
        arena.fill(&Source::Values(&table.core.layout, columns), 0..rows)?;
        self.together(|| {
            let first = self.insert_part(table, &arena)?;
            first.ok_or_else(|| Error::new(ErrorKind::LimitReached).because("too large a segment"))
        })
    }

    /// Inserts rows that are encoded, as many as a segment has, as columns under the row ids from
    /// this one on; `false` if these are given out, or the columns find no room: then nothing
    /// changed.
    ///
    /// # Errors
    /// As [`WriteTransaction::insert_values`]; then some rows may be inserted.
    pub(crate) fn insert_segment_at(
        &self,
        table: &Table,
        first: RowId,
        rows: &[Option<&[u8]>],
    ) -> Result<bool> {
        Ok(self.place_segment(table, rows, Some(first))?.is_some())
    }

    /// Inserts as many rows as a segment has: as columns, and returns the first; or if those would
    /// be too large for one, or there is no room for them side by side, as rows.
    fn insert_part(&self, table: &Table, rows: &Arena) -> Result<Option<RowId>> {
        let first = self.place_segment(table, &rows.slices(), None)?;
        if first.is_none() {
            self.insert_encoded(table, rows)?;
        }
        Ok(first)
    }

    /// Inserts rows as columns, under row ids from `at` on if that is said, and into the indexes:
    /// the first of them; `None` if the columns are too large, or find no room there.
    fn place_segment(
        &self,
        table: &Table,
        rows: &[Option<&[u8]>],
        at: Option<RowId>,
    ) -> Result<Option<RowId>> {
        let columns = EncodedRows::new(&table.core.layout, rows);
        let Some(columns) = columns.map(|columns| columns.to(at)) else { return Ok(None) };
        let (placed, count) = (self.change_segment(table, &columns), columns.count());
        drop(columns);
        let first = match placed {
            Ok(first) => first,
            Err(error) if error.is_out_of_memory() || error.kind() == ErrorKind::LimitReached => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let alloc = self.change_context(table)?.1;
        let batch = RowBatch::new(alloc, count as usize)?;
        let bulk = Some(BulkRows { first, rows });
        let mut batches = Batches { tx: self, table, batch, bulk, count: 0 };
        for row in first..first + count {
            batches.push(Change::new(row, 0))?;
        }
        batches.index().map(|()| Some(RowId(first)))
    }

    /// Inserts rows that are encoded as rows.
    fn insert_encoded(&self, table: &Table, rows: &Arena) -> Result<()> {
        let slices = rows.slices();
        self.in_batches(table, slices.len(), |batches| {
            for row in slices.into_iter().flatten() {
                batches.add(row.len(), |bytes| {
                    bytes.copy_from_slice(row);
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Lets `add_all` add about so many rows and puts them into the indexes, or takes all of them
    /// back; how many.
    fn in_batches(
        &self,
        table: &Table,
        rows: usize,
        add_all: impl FnOnce(&mut Batches<'_>) -> Result<()>,
    ) -> Result<u64> {
        self.together(|| {
            let batch = RowBatch::new(self.change_context(table)?.1, rows)?;
            let mut batches = Batches { tx: self, table, batch, bulk: None, count: 0 };
            add_all(&mut batches)?;
            batches.index()?;
            Ok(batches.count)
        })
    }
}

/// A source of rows.
enum Source<'l, 'a> {
    Columns(ColumnRows<'l, 'a>),
    /// Values of types that are to be inspected one by one.
    Values(&'l RowLayout, &'l [ColumnValues<'a>]),
}

/// Rows that were encoded, one behind the other.
#[derive(Default)]
struct Arena {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Arena {
    /// Encodes these rows, in place of those that were there.
    fn fill(&mut self, source: &Source<'_, '_>, rows: Range<usize>) -> Result<()> {
        self.bytes.clear();
        self.ends.clear();
        for row in rows {
            let start = self.bytes.len();
            match source {
                Source::Columns(columns) => {
                    self.bytes.resize(start + columns.encoded_len(row)?, 0);
                    columns.encode(row, &mut self.bytes[start..])?;
                }
                Source::Values(layout, columns) => {
                    let types = layout.leaves().iter().map(|leaf| &leaf.column_type);
                    let values = columns.iter().zip(types).map(|(it, of)| it.value(row, of));
                    let values: Vec<_> = values.collect();
                    self.bytes.resize(start + layout.encoded_len(&values)?, 0);
                    layout.encode(&values, &mut self.bytes[start..])?;
                }
            }
            self.ends.push(self.bytes.len());
        }
        Ok(())
    }

    /// The bytes of each row.
    fn slices(&self) -> Vec<Option<&[u8]>> {
        let starts = iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| Some(&self.bytes[start..end])).collect()
    }
}

/// Rows on their way into a table.
struct Batches<'t> {
    tx: &'t WriteTransaction<'t>,
    table: &'t Table,
    batch: RowBatch<'t>,
    /// Rows without a version, if there are any.
    bulk: Option<BulkRows<'t>>,
    count: u64,
}

impl Batches<'_> {
    /// Inserts a row of `length` bytes that `fill` writes, unindexed; now and then the rows so far
    /// go into the indexes.
    #[inline]
    fn add(&mut self, length: usize, fill: impl Fn(&mut [u8]) -> Result<()>) -> Result<()> {
        let version = Cell::new(0);
        let row = self.tx.change(self.table, ChangedRow::NEW, |at, alloc, snapshot| {
            let change = at.insert_unindexed(alloc, snapshot, length, &fill)?;
            version.set(change.version);
            Ok(change)
        })?;
        self.count += 1;
        self.push(Change::new(row.0, version.get()))
    }

    /// Adds a row that is there and in no index yet.
    #[inline]
    fn push(&mut self, change: Change) -> Result<()> {
        if self.batch.push(change) {
            self.index()?;
        }
        Ok(())
    }

    /// Puts the rows so far into the indexes: all at once, and what fails so one by one, which
    /// waits and clears away as single insertions do.
    fn index(&mut self) -> Result<()> {
        let (at, alloc, snapshot) = self.tx.change_context(self.table)?;
        if self.batch.index(at, alloc, snapshot, self.bulk).is_err() {
            for change in self.batch.rows() {
                for index in at.core.indexes() {
                    let add = || at.add_entry(alloc, index, change, snapshot).map(|()| change);
                    self.tx.persist(at, &add)?;
                }
            }
        }
        self.batch.clear();
        Ok(())
    }
}
