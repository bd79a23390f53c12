//! Maintenance of memory on request: prefault, compact, freeze, reset.
//!
//! Programs may call these while a database is in use. None is needed for a database to work:
//! regions grow by themselves, in steps, and writers compact by and by.

use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::table::Table;
use crate::transaction::FreezeReport;
use crate::transaction::cleanup::compact;
use crate::transaction::cleanup::freeze::{self, Extent};

impl Database {
    /// Makes columns of the rows of a table, of every segment of 65,536 row ids that have all been
    /// given out: rows that change seldom take less memory so, and can be read column by column
    /// ([`ReadTransaction::scan_pieces`](crate::ReadTransaction::scan_pieces)). Everything else
    /// goes on as before: row ids and indexes stay, rows are read and changed. A segment is skipped
    /// if a row in it has old versions, is being changed, or is not yet seen by every snapshot
    /// that is held. Others may read and write meanwhile; changes of tables and indexes wait.
    ///
    /// A frozen segment of which more than a tenth of the rows was changed or deleted is frozen
    /// again, in the same way: changed rows are versions beside the columns until then.
    ///
    /// It takes about as long as scanning the rows a few times, and as much memory beside the
    /// budget as the columns of one segment. What the rows took is free when everybody has ended
    /// who read or wrote meanwhile.
    ///
    /// # Errors
    /// `UnknownTable`, `TooManyTransactions`; `BudgetReached` and `OutOfMachineMemory`: then some
    /// segments are frozen, and the others as they were.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("T").column("a", ColumnType::I64).primary_key(["a"]);
    /// let table = db.create_table(schema)?;
    /// let (a, primary) = (table.column("a")?, table.index("primary")?);
    /// let rows = (0..100_000_i64).map(|i| [Some(Value::I64(i))]);
    /// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
    /// let report = db.freeze(&table)?;
    /// // One segment is full; the rows in it take an eighth.
    /// assert_eq!((report.segments, report.rows, report.skipped), (1, 65_536, 0));
    /// assert!(report.bytes_after * 8 < report.bytes_before);
    /// // Rows are found and changed as before.
    /// db.write(|tx| {
    ///     let row = tx.find(&table, primary, &[Value::I64(7)])?.expect("it is there").id();
    ///     tx.update_values(&table, row, &[(a, Value::I64(-7))])
    /// })?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn freeze(&self, table: &Table) -> Result<FreezeReport> {
        freeze::freeze(&self.instance, &table.core, Extent::Full, u64::MAX)
    }

    /// As [`Database::freeze`], the last segment included, though it is not full: for a table that
    /// has been loaded. Rows that are inserted later lie in further segments, so each call takes up
    /// to 65,535 of the 4,294,967,040 row ids that a table has.
    ///
    /// # Errors
    /// As [`Database::freeze`].
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
    /// assert_eq!(db.freeze(&table)?.rows, 0);
    /// assert_eq!(db.freeze_all(&table)?.rows, 1);
    /// assert_eq!(db.memory().rows, 0);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn freeze_all(&self, table: &Table) -> Result<FreezeReport> {
        freeze::freeze(&self.instance, &table.core, Extent::All, u64::MAX)
    }

    /// As [`Database::freeze`], of a few segments: those with these numbers, which are those of
    /// their row ids divided by 65,536. `goes_on` is asked before each. Nobody is waited for: while
    /// somebody else freezes, or changes tables, nothing is done. A segment with a row id that is
    /// free is skipped, since rows may soon be inserted there.
    ///
    /// For a program that has just read these rows and can tell that nobody changes them, or has
    /// met [`FrozenRows`](crate::FrozenRows) that are worn; each segment takes about 20 ms.
    ///
    /// # Errors
    /// As [`Database::freeze`].
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
    /// let rows = (0..200_000_i64).map(|i| [Some(Value::I64(i))]);
    /// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
    /// let mut left = 2;
    /// let report = db.freeze_segments(&table, &[0, 1, 2, 3], || {
    ///     left -= 1;
    ///     left >= 0
    /// })?;
    /// assert_eq!((report.segments, report.rows), (2, 131_072));
    /// assert_eq!(db.statistics().frozen_segments, 2);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn freeze_segments(
        &self,
        table: &Table,
        segments: &[u32],
        goes_on: impl FnMut() -> bool,
    ) -> Result<FreezeReport> {
        freeze::freeze_some(&self.instance, &table.core, segments, goes_on)
    }

    /// Gets memory from the system, so that `bytes` more than now can be used without a page fault,
    /// as far as the budget allows; how many bytes can be. Other threads go on meanwhile: a thread
    /// of the program's own can keep ahead of a burst, and page faults off its path.
    ///
    /// # Errors
    /// `OutOfMachineMemory`.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new().budget(64 << 20))?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| db.commit_ahead(16 << 20));
    ///     for i in 0..1000 {
    ///         db.write(|tx| tx.insert_values(&table, &[Some(i.into())])).expect("there is room");
    ///     }
    /// });
    /// assert!(db.memory().committed >= 16 << 20);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn commit_ahead(&self, bytes: u64) -> Result<u64> {
        self.instance.memory().commit_beyond(bytes)
    }

    /// Moves rows together that lie in pages in which much is free, so that those pages can be
    /// given back; how many bytes of rows were moved. Writers do so by and by when more than an
    /// eighth of what rows take is free; this does all of it now. Other transactions go on; what
    /// active ones may refer to is freed when they have ended.
    ///
    /// # Errors
    /// `TooManyTransactions`, `BudgetReached`, `OutOfMachineMemory`; nothing is lost then.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new().budget(64 << 20))?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// db.write(|tx| tx.insert_all_values(&table, (0..20_000).map(|i| [Some(Value::I32(i))])))?;
    /// // Three of four rows go, some in each page.
    /// let rows: Vec<_> = db.read(|tx| Ok(tx.scan(&table)?.map(|row| row.id()).collect()))?;
    /// let gone: Vec<_> = rows.iter().enumerate().filter(|(i, _)| i % 4 != 0).collect();
    /// db.write(|tx| gone.iter().try_for_each(|(_, row)| tx.delete(&table, **row)))?;
    /// db.reclaim();
    /// let held = db.memory().held;
    /// assert!(db.compact()? > 0);
    /// assert!(db.memory().held < held);
    /// assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count()))?, 5000);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn compact(&self) -> Result<u64> {
        self.reclaim();
        let moved = compact::move_all_rows(&self.instance)?;
        self.reclaim();
        Ok(moved)
    }

    /// Makes the `n`-th time from now that the system is asked for memory fail, and all after it; 0
    /// ends that. For testing how a program takes it.
    #[doc(hidden)]
    pub fn fail_commits_from(&self, n: u64) {
        self.instance.memory().fail_commits_from(n);
    }

    /// Drops all tables and keeps the memory: as closing the database and opening it again, but
    /// nothing is given back to the system, and what comes next finds it committed. Takes the same
    /// time however much there was. Tables from before are unknown afterwards.
    ///
    /// # Errors
    /// `LogFailed` for a database in a folder, whose log would not know of it: drop its tables. And
    /// `OutOfMachineMemory`, where memory that was given back cannot be had again; then it can only
    /// be closed.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// let mut db = Database::open(Options::new().budget(64 << 20))?;
    /// let schema = TableSchema::new("T").column("a", ColumnType::I32);
    /// let table = db.create_table(schema.clone())?;
    /// db.write(|tx| tx.insert_all_values(&table, (0..9000).map(|i| [Some(Value::I32(i))])))?;
    /// let committed = db.memory().committed;
    /// db.reset()?;
    /// assert!(db.table_names().is_empty());
    /// assert_eq!((db.memory().rows, db.memory().committed), (0, committed));
    /// let error = db.read(|tx| Ok(tx.scan(&table)?.count())).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UnknownTable);
    /// db.create_table(schema)?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn reset(&mut self) -> Result<()> {
        if self.instance.log().is_some() || self.instance.damage().is_some() {
            return Err(Error::new(ErrorKind::LogFailed)
                .because("a database in a folder cannot be reset: drop its tables"));
        }
        self.instance.reset()
    }
}
