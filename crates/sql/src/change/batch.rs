//! Rows that a program has as batches of Arrow, inserted without a statement's text.
//!
//! They meet the table's columns by place, and all that an INSERT meets: types, NOT NULL, checks,
//! keys, references. As many as fill segments become columns at once.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use remanent_engine::SEGMENT_ROWS;

use super::apply::{Storage, check_inserted};
use crate::catalog::privilege::Privilege;
use crate::change::apply;
use crate::change::insert;
use crate::change::owed;
use crate::change::target;
use crate::context::StatementContext;
use crate::context::runner::Tries;
use crate::error::{Error, Result, SqlState};
use crate::transaction::Transaction;

/// Inserts the rows of a batch, which has a column for each of the table's, in their order; how
/// many. Each 65,536 of them become frozen columns at once, as `VACUUM` would make of them later:
/// less work, and never the memory of rows. Outside a transaction block it is a transaction of its
/// own.
///
/// # Errors
/// As INSERT; what failed has changed nothing.
pub(crate) fn insert_batch(
    context: &mut StatementContext,
    table: &str,
    batch: &RecordBatch,
) -> Result<u64> {
    context.begin_without_text()?;
    let inserted = insert_whole(context, table, batch);
    if let Err(error) = &inserted {
        context.failed_with(error);
    }
    inserted
}

fn insert_whole(context: &mut StatementContext, table: &str, batch: &RecordBatch) -> Result<u64> {
    let name = ObjectName::from(vec![Ident::with_quote('"', table)]);
    let mut tries = Tries::default();
    loop {
        let changing = context.begin_change(&mut tries)?;
        let done = insert_in(context, &changing.transaction, &name, batch);
        if let Some(rows) = context.end_change(changing, done, &mut tries)? {
            return Ok(rows);
        }
        std::thread::yield_now();
    }
}

fn insert_in(
    context: &mut StatementContext,
    transaction: &Arc<Transaction>,
    name: &ObjectName,
    batch: &RecordBatch,
) -> Result<u64> {
    let target = target::target(context, name, None, &[Privilege::Insert])?;
    if batch.num_columns() != target.table.columns.len() {
        let (has, wants) = (batch.num_columns(), target.table.columns.len());
        let text = format!("a batch of {has} columns for a table of {wants}");
        return Err(Error::new(SqlState::CARDINALITY, text));
    }
    let cancel = Arc::clone(context.cancel());
    let _entered = cancel.enter();
    let rows = insert::new_rows(context, &target, batch)?;
    for first in (0..rows.num_rows()).step_by(SEGMENT_ROWS) {
        context.check_cancelled()?;
        let count = SEGMENT_ROWS.min(rows.num_rows() - first);
        let rows = rows.slice(first, count);
        apply::insert_unchecked(transaction, &target, &rows, Storage::Frozen)?;
    }
    // A row may refer to a later one.
    let mut owed = owed::owed(context);
    check_inserted(transaction, &target, &rows, &mut owed)?;
    owed::validate(context, transaction, &target.catalog, &mut owed)?;
    Ok(rows.num_rows() as u64)
}
