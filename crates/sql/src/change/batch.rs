//! Rows that a program has as batches of Arrow, inserted without a statement's text.
//!
//! They meet the table's columns by place, and all that an INSERT meets: types, NOT NULL, checks,
//! keys, references.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};

use super::apply::Storage;
use crate::access::Privilege;
use crate::error::{Error, Result, SqlState};
use crate::query::planner::BATCH_ROWS;
use crate::session::changing::Tries;
use crate::session::statements::Session;
use crate::session::transaction::Transaction;

/// Rows that become columns together.
const FROZEN_ROWS: usize = 65_536;

impl Session {
    /// Inserts the rows of a batch, which has a column for each of the table's, in their order; how
    /// many. Outside a transaction block it is a transaction of its own.
    ///
    /// # Errors
    /// As INSERT; what failed has changed nothing.
    pub fn insert_batch(&mut self, table: &str, batch: &RecordBatch) -> Result<u64> {
        self.insert_batch_as(table, batch, Storage::Hot)
    }

    /// As [`Session::insert_batch`], but each 65,536 rows of the batch become frozen columns at
    /// once, as `VACUUM` would make of them later: less work, and never the memory of rows.
    ///
    /// # Errors
    /// As [`Session::insert_batch`].
    pub fn insert_frozen_batch(&mut self, table: &str, batch: &RecordBatch) -> Result<u64> {
        self.insert_batch_as(table, batch, Storage::Frozen)
    }

    fn insert_batch_as(
        &mut self,
        table: &str,
        batch: &RecordBatch,
        storage: Storage,
    ) -> Result<u64> {
        self.begin_without_text()?;
        let inserted = self.insert_whole(table, batch, storage);
        if let Err(error) = &inserted {
            self.failed_with(error);
        }
        inserted
    }

    fn insert_whole(&mut self, table: &str, batch: &RecordBatch, storage: Storage) -> Result<u64> {
        let name = ObjectName::from(vec![Ident::with_quote('"', table)]);
        let mut tries = Tries::default();
        loop {
            let changing = self.begin_change(&mut tries)?;
            let done = self.insert_in(&changing.transaction, &name, batch, storage);
            if let Some(rows) = self.end_change(changing, done, &mut tries)? {
                return Ok(rows);
            }
            std::thread::yield_now();
        }
    }

    fn insert_in(
        &mut self,
        transaction: &Arc<Transaction>,
        name: &ObjectName,
        batch: &RecordBatch,
        storage: Storage,
    ) -> Result<u64> {
        let target = self.target(name, None, &[Privilege::Insert])?;
        if batch.num_columns() != target.table.columns.len() {
            let (has, wants) = (batch.num_columns(), target.table.columns.len());
            let text = format!("a batch of {has} columns for a table of {wants}");
            return Err(Error::new(SqlState::CARDINALITY, text));
        }
        let cancel = Arc::clone(self.cancel());
        let _entered = cancel.enter();
        let rows = self.new_rows(&target, batch)?;
        let part = match storage {
            Storage::Hot => BATCH_ROWS,
            Storage::Frozen => FROZEN_ROWS,
        };
        for first in (0..rows.num_rows()).step_by(part) {
            self.check_cancelled()?;
            let count = part.min(rows.num_rows() - first);
            self.lay_down(transaction, &target, &rows.slice(first, count), storage)?;
        }
        // A row may refer to a later one.
        self.check_inserted(transaction, &target, &rows)?;
        Ok(rows.num_rows() as u64)
    }
}
