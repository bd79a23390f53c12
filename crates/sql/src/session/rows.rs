//! Rows that come without a statement's text: batches of Arrow, and COPY .. FROM STDIN.
//!
//! They meet all that an INSERT meets: rights, types, constraints, the block, the read-only
//! setting.

use datafusion::arrow::array::RecordBatch;

use super::Session;
use crate::change::batch;
use crate::change::copy::{self, CopyIn};
use crate::copy::Copy;
use crate::error::{Error, Result};
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
}
