//! Going through all rows of a table: as rows, as pieces, one call at a time.
//!
//! What is read is remembered as the whole table. Rows that are in columns cost a copy where a row
//! is handed out that stays as long as the transaction; pieces and visits copy nothing that stays.

use remanent_schema::Record;

use super::reading::ReadTransaction;
use crate::error::Result;
use crate::table::columns::frozen::FrozenSegment;
use crate::table::read::neighbour::Extent;
use crate::table::read::reader::Reader;
use crate::table::read::scan::{self, Scan};
use crate::table::rows::row::{Row, RowId};
use crate::table::table::TableAt;
use crate::table::{Pieces, Records, RowPredicate, Table, TypedTable};

impl ReadTransaction<'_> {
    /// A scan over all records.
    ///
    /// # Errors
    /// `UnknownTable`.
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
    /// # db.write(|tx| {
    /// #     for (id, city) in [(1, "Ulm"), (2, "Bonn"), (3, "Ulm"), (4, "Aalen")] {
    /// #         tx.insert(&shops, &Shop { id, city })?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let in_ulm = tx.records(&shops)?.filter(|shop| shop.city == "Ulm").count();
    /// assert_eq!(in_ulm, 2);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn records<'t, R: Record>(&'t self, table: &'t TypedTable<R>) -> Result<Records<'t, R>> {
        Ok(Records::new(self.scan(table)?, self.memory()))
    }

    /// A scan over all rows. A row that it gives stays as long as the transaction, so each frozen
    /// row takes memory until that ends; [`ReadTransaction::each_row`] and
    /// [`ReadTransaction::scan_pieces`] take none.
    ///
    /// # Errors
    /// `UnknownTable`.
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
    /// let large = tx.scan(&cities)?.filter(|row| row.get::<u32>(people) > Some(100_000));
    /// assert_eq!(large.filter_map(|row| row.str(name)).count(), 2);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn scan<'t>(&'t self, table: &'t Table) -> Result<Scan<'t>> {
        self.enter()?;
        if let Some(reads) = &self.reads {
            reads.add_table(table.core.id);
        }
        Ok(Scan::new(self.table_at(table)?, self.reader()))
    }

    /// All rows, in pieces: hot rows as rows, frozen segments as columns, in the order of row ids.
    /// For whoever works on many rows at once: nothing is copied or decoded, and every row that is
    /// seen comes once. A scan beside it costs memory for each frozen row.
    ///
    /// # Errors
    /// `UnknownTable`.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, Piece, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
    /// let a = table.column("a")?;
    /// let rows = (0..100_000_i64).map(|i| [Some(Value::I64(i))]);
    /// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
    /// db.freeze(&table)?;
    /// let tx = db.begin_read()?;
    /// let (mut least, mut count) = (i64::MAX, 0);
    /// let mut pieces = tx.scan_pieces(&table)?;
    /// while let Some(piece) = pieces.next_piece() {
    ///     match piece {
    ///         Piece::Rows(rows) => {
    ///             count += rows.len();
    ///             least = rows.iter().filter_map(|row| row.get::<i64>(a)).fold(least, i64::min);
    ///         }
    ///         Piece::Frozen(rows) => {
    ///             count += rows.visible_count();
    ///             // Of rows that are as they were frozen, none is less.
    ///             if let Some(Value::I64(min)) = rows.column(a)?.min() {
    ///                 least = least.min(min);
    ///             }
    ///         }
    ///     }
    /// }
    /// assert_eq!((least, count), (0, 100_000));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn scan_pieces<'t>(&'t self, table: &'t Table) -> Result<Pieces<'t>> {
        self.enter()?;
        if let Some(reads) = &self.reads {
            reads.add_table(table.core.id);
        }
        Ok(Pieces::new(self.table_at(table)?, table, self.reader()))
    }

    /// The same for whoever looks at no other rows than those that meet a predicate: only these
    /// count as read, so that others may change the rest. The predicate is asked at the commit, of
    /// rows that others have changed, as they were and as they are.
    ///
    /// # Errors
    /// `UnknownTable`.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use remanent_engine::{Database, Options, Piece, RowPredicate, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let (a, b) = (ColumnType::I64, ColumnType::I64);
    /// let table = db.create_table(TableSchema::new("T").column("a", a).column("b", b))?;
    /// let (a, b) = (table.column("a")?, table.column("b")?);
    /// let row = |a: i64| [Some(Value::I64(a)), Some(Value::I64(0))];
    /// let insert = |a: i64| db.write(|tx| tx.insert_values(&table, &row(a)));
    /// let (one, two) = (insert(1)?, insert(2)?);
    ///
    /// let tx = db.begin_write()?;
    /// let is_one: RowPredicate = Arc::new(move |row| row.get::<i64>(a) == Some(1));
    /// let mut pieces = tx.scan_pieces_where(&table, &is_one)?;
    /// while let Some(Piece::Rows(rows)) = pieces.next_piece() {
    ///     assert!(rows.iter().any(|row| is_one(row)));
    /// }
    /// drop(pieces);
    /// tx.update_values(&table, one, &[(b, 7_i64.into())])?;
    /// // Another transaction changes a row that the first one did not ask for.
    /// db.write(|other| other.update_values(&table, two, &[(b, 8_i64.into())]))?;
    /// tx.commit()?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn scan_pieces_where<'t>(
        &'t self,
        table: &'t Table,
        predicate: &RowPredicate,
    ) -> Result<Pieces<'t>> {
        self.enter()?;
        if let Some(reads) = &self.reads {
            reads.add_predicate(table.core.id, predicate);
        }
        Ok(Pieces::new(self.table_at(table)?, table, self.reader()))
    }

    /// Calls `visit` with all frozen segments of the table, be they seen or not.
    ///
    /// # Errors
    /// `UnknownTable`.
    pub(crate) fn each_segment(
        &self,
        table: &Table,
        visit: impl FnMut(&FrozenSegment),
    ) -> Result<()> {
        let _operation = self.enter()?;
        let at = self.table_at(table)?;
        at.directory().frozen_segments(at.memory).for_each(visit);
        Ok(())
    }

    /// How many rows a scan can give at most: for whoever decides how to read. It says nothing of
    /// what is there, and does not count as a read.
    ///
    /// # Errors
    /// `UnknownTable`.
    pub fn rows_max(&self, table: &Table) -> Result<u64> {
        Ok(self.table_at(table)?.directory().limit())
    }

    /// Calls `visit` with each row, in the order of row ids, until it fails. Of frozen rows, it
    /// keeps none in memory: a row cannot be kept for longer than the call. `visit` may read, and
    /// change rows of a transaction that writes.
    ///
    /// # Errors
    /// `UnknownTable`, `SnapshotExpired`, and what `visit` returns.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let rows = [[Some(Value::I32(7))], [Some(Value::I32(8))]];
    /// db.write(|tx| tx.insert_all_values(&table, rows))?;
    /// db.freeze_all(&table)?;
    /// let mut sum = 0;
    /// db.read(|tx| {
    ///     tx.each_row(&table, |row| {
    ///         sum += row.get::<i32>(a).unwrap_or(0);
    ///         Ok(())
    ///     })
    /// })?;
    /// assert_eq!(sum, 15);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn each_row(
        &self,
        table: &Table,
        mut visit: impl FnMut(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.enter()?;
        if let Some(reads) = &self.reads {
            reads.add_table(table.core.id);
        }
        scan::each_row(self.table_at(table)?, self.reader(), &mut visit)?;
        self.status()
    }

    /// The same for the rows that meet a predicate, and nothing else counts as read: see
    /// [`ReadTransaction::scan_pieces_where`].
    ///
    /// # Errors
    /// `UnknownTable`, `SnapshotExpired`, and what `visit` returns.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use remanent_engine::{Database, Options, RowPredicate, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let rows = [[Some(Value::I32(7))], [Some(Value::I32(8))]];
    /// db.write(|tx| tx.insert_all_values(&table, rows))?;
    /// let is_large: RowPredicate = Arc::new(move |row| row.get::<i32>(a) > Some(7));
    /// let mut sum = 0;
    /// db.read(|tx| {
    ///     tx.each_row_where(&table, &is_large, |row| {
    ///         sum += row.get::<i32>(a).unwrap_or(0);
    ///         Ok(())
    ///     })
    /// })?;
    /// assert_eq!(sum, 8);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn each_row_where(
        &self,
        table: &Table,
        predicate: &RowPredicate,
        mut visit: impl FnMut(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.enter()?;
        if let Some(reads) = &self.reads {
            reads.add_predicate(table.core.id, predicate);
        }
        let mut visit_met = |row: Row<'_>| if predicate(&row) { visit(row) } else { Ok(()) };
        scan::each_row(self.table_at(table)?, self.reader(), &mut visit_met)?;
        self.status()
    }

    /// Whether there is a row with this id. Unlike [`ReadTransaction::row`] it takes no memory.
    pub(crate) fn has_row(&self, table: &Table, row: RowId) -> Result<bool> {
        self.enter()?;
        if let Some(reads) = &self.reads {
            reads.add_row(table.core.id, row.0);
        }
        Ok(scan::has_row(self.table_at(table)?, self.reader(), row))
    }

    /// The next row in the order of row ids, behind `row` whether or not that is there; the first
    /// one without it. For a program that goes through a table one call at a time; a scan is
    /// quicker.
    ///
    /// # Errors
    /// `UnknownTable`, `SnapshotExpired`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let tx = db.begin_write()?;
    /// let one = tx.insert_values(&table, &[Some(1.into())])?;
    /// let two = tx.insert_values(&table, &[Some(2.into())])?;
    /// assert_eq!(tx.row_after(&table, None)?.map(|row| row.id()), Some(one));
    /// tx.delete(&table, one)?;
    /// assert_eq!(tx.row_after(&table, Some(one))?.map(|row| row.id()), Some(two));
    /// assert!(tx.row_after(&table, Some(two))?.is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn row_after<'t>(
        &'t self,
        table: &'t Table,
        row: Option<RowId>,
    ) -> Result<Option<Row<'t>>> {
        self.neighbour(table, |extent, table, reader| extent.after(table, reader, row))
    }

    /// The row before `row` in the order of row ids, or the last one; see
    /// [`ReadTransaction::row_after`].
    ///
    /// # Errors
    /// `UnknownTable`, `SnapshotExpired`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let tx = db.begin_write()?;
    /// let one = tx.insert_values(&table, &[Some(1.into())])?;
    /// let two = tx.insert_values(&table, &[Some(2.into())])?;
    /// assert_eq!(tx.row_before(&table, None)?.map(|row| row.id()), Some(two));
    /// assert_eq!(tx.row_before(&table, Some(two))?.map(|row| row.id()), Some(one));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn row_before<'t>(
        &'t self,
        table: &'t Table,
        row: Option<RowId>,
    ) -> Result<Option<Row<'t>>> {
        self.neighbour(table, |extent, table, reader| extent.before(table, reader, row))
    }

    fn neighbour<'t>(
        &'t self,
        table: &'t Table,
        find: impl FnOnce(&mut Extent, TableAt<'t>, Reader<'_>) -> Option<u64>,
    ) -> Result<Option<Row<'t>>> {
        let table = self.table_at(table)?;
        let _operation = self.enter()?;
        if let Some(reads) = &self.reads {
            reads.add_table(table.core.id);
        }
        let mut extent = Extent::of(table, self.extent.get());
        let found = find(&mut extent, table, self.reader());
        self.extent.set(Some(extent));
        self.complete(found.map(|at| {
            let row = Row::at(table, at);
            if let Some(reads) = &self.reads {
                reads.hand_out(table.core.id, row.id().0);
            }
            row
        }))
    }
}
