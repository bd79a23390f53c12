//! Rows that come without a statement's text: batches of Arrow, COPY .. FROM STDIN, and records,
//! which are read and written by key.
//!
//! They meet all that an INSERT meets: rights, types, constraints, the block, the read-only
//! setting.

use datafusion::arrow::array::RecordBatch;
use remanent_engine::WriteTransaction;

use super::Session;
use crate::change::batch;
use crate::change::copy::{self, CopyIn};
use crate::copy::Copy;
use crate::error::{Error, Result};
use crate::point::records::{self, RecordReading, RecordTable};
use crate::result::answer::Outcome;
use crate::values::datum::Datum;

impl Session {
    /// Inserts the rows of a batch, which has a column for each of the table's, in their order; how
    /// many. Each 65,536 of them become frozen columns at once, as `VACUUM` would make of them
    /// later: less work, and never the memory of rows. Outside a transaction block it is a
    /// transaction of its own.
    ///
    /// # Errors
    /// As INSERT; what failed has changed nothing.
    pub fn insert_batch(&mut self, table: &str, batch: &RecordBatch) -> Result<u64> {
        batch::insert_batch(&mut self.context, table, batch)
    }

    /// The same as [`Session::insert_batch`], which has not always made columns.
    ///
    /// # Errors
    /// As [`Session::insert_batch`].
    pub fn insert_frozen_batch(&mut self, table: &str, batch: &RecordBatch) -> Result<u64> {
        self.insert_batch(table, batch)
    }

    /// Begins to copy rows into a table.
    ///
    /// # Errors
    /// `NO_PRIVILEGE`; tables and columns that are not there; as a transaction that begins.
    pub fn copy_in(&mut self, copy: &Copy) -> Result<CopyIn> {
        copy::copy_in(&mut self.context, copy)
    }

    /// Inserts the rows that were read.
    ///
    /// # Errors
    /// As [`Session::copy_in_rows`].
    pub async fn copy_in_read(&mut self, copy: &mut CopyIn) -> Result<()> {
        copy::copy_in_read(&mut self.context, copy).await
    }

    /// Inserts rows, whose values are cast to what the columns are.
    ///
    /// # Errors
    /// As INSERT; the copy is to be [given up](Session::copy_undo) then.
    pub async fn copy_in_rows(&mut self, copy: &mut CopyIn, rows: &[Vec<Datum>]) -> Result<()> {
        copy::copy_in_rows(&mut self.context, copy, rows).await
    }

    /// Ends a copy with its rows.
    ///
    /// # Errors
    /// `FOREIGN_KEY_VIOLATION`, after which it is as if it had never begun; as a commit.
    pub fn copy_done(&mut self, copy: CopyIn) -> Result<Outcome> {
        copy::copy_done(&mut self.context, copy)
    }

    /// Ends a copy as if it had never begun, because of this error.
    ///
    /// # Errors
    /// As the engine.
    pub fn copy_undo(&mut self, copy: CopyIn, cause: &Error) -> Result<()> {
        copy::copy_undo(&mut self.context, copy, cause)
    }

    /// The table of this name, as it was given when the table was made, for records. It may be used
    /// until its definition changes.
    ///
    /// # Errors
    /// `UNKNOWN_TABLE`; `WRONG_OBJECT` for a view; `NO_PRIVILEGE`.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let mut session = SqlDatabase::in_memory()?.session();
    /// session.execute("create table city (name text primary key, people int)")?;
    /// let cities = session.record_table("city")?;
    /// let row = [Some("Ulm".into()), Some(126_000.into())];
    /// let written = session.write_records(&cities, |tx| tx.insert_values(cities.handle(), &row))?;
    /// assert!(written.is_some());
    /// let reading = session.record_reading(&cities)?.expect("nothing was defined since");
    /// let (name, people) = (cities.primary().expect("it has one").handle, 1);
    /// let people = cities.columns().nth(people).expect("there are two").handle();
    /// let found = cities.read(&reading, |tx| {
    ///     Ok(tx.find(cities.handle(), name, &["Ulm".into()])?.and_then(|row| row.get(people)))
    /// })?;
    /// assert_eq!(found, Some(Some(126_000_i32)));
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn record_table(&mut self, name: &str) -> Result<RecordTable> {
        records::find(&mut self.context, name)
    }

    /// The transaction in which records are read now: the block's, or one for each call. `None` if
    /// the table's definition has changed: it is to be asked for anew.
    ///
    /// # Errors
    /// `IN_FAILED_TRANSACTION`; as a transaction that begins.
    pub fn record_reading(&mut self, table: &RecordTable) -> Result<Option<RecordReading>> {
        records::reading(&mut self.context, table)
    }

    /// Changes records in the block's transaction, or in one of its own. It is called again after a
    /// conflict with another transaction, where that is possible. `None` as for
    /// [`Session::record_reading`].
    ///
    /// # Errors
    /// As INSERT, UPDATE and DELETE; `FEATURE_NOT_SUPPORTED` for a table
    /// [that statements write](RecordTable::written_by_statements). Nothing was changed then.
    pub fn write_records<T>(
        &mut self,
        table: &RecordTable,
        work: impl FnMut(&WriteTransaction<'_>) -> remanent_engine::Result<T>,
    ) -> Result<Option<T>> {
        records::write(&mut self.context, table, work)
    }
}
