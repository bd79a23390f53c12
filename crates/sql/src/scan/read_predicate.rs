//! What a scan of a whole table asks of its rows, as the engine remembers it.
//!
//! A serializable transaction that reads a table by a condition which no index serves has read the
//! rows that meet it, and no others. At its commit the engine asks of each row that others have
//! changed whether it met the conditions, or meets them now. What joins told the scan of their keys
//! belongs to the conditions: the other side, from which they came, is remembered by its own scan.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::error::Result as PlanResult;
use remanent_engine::schema::Value;
use remanent_engine::{Row, RowPredicate};

use super::condition::{Condition, FilterResult};
use super::pushed::WantedKeys;
use super::scan_rows::ScanRequest;
use crate::catalog::table::Table;
use crate::error::Result;
use crate::values::arrow_in::ColumnBuilder;

/// The predicate of a scan with these conditions and runtime filters of joins; `None` if all rows
/// meet it. Runtime filters are taken as they are now: later they let fewer rows through, never
/// more.
///
/// # Errors
/// A fault in a runtime filter.
pub(crate) fn predicate_of(
    request: &ScanRequest,
    runtime_filters: &[Condition],
    keys: &[WantedKeys],
) -> PlanResult<Option<RowPredicate>> {
    let mut asked = request.conditions.clone();
    for runtime_filter in runtime_filters {
        asked.push(runtime_filter.as_it_is_now()?);
    }
    if asked.is_empty() && keys.is_empty() {
        return Ok(None);
    }
    let (table, keys) = (Arc::clone(&request.table), keys.to_vec());
    Ok(Some(Arc::new(move |row: &Row<'_>| {
        // Where nobody can tell, the row counts as read. A commit of somebody waits for the answer:
        // a panic must not get there.
        let meets = || {
            keys.iter().all(|keys| is_wanted(&table, keys, row))
                && asked.iter().all(|it| meets(&table, it, row).unwrap_or(true))
        };
        catch_unwind(AssertUnwindSafe(meets)).unwrap_or(true)
    })))
}

/// Whether a join wants a row's key; NULL it does not.
fn is_wanted(table: &Table, wanted: &WantedKeys, row: &Row<'_>) -> bool {
    match row.value(table.columns[wanted.column].handle) {
        Value::Null => false,
        Value::Date(days) => wanted.keys.may_have(days.into()),
        value => value.as_integer().is_none_or(|number| wanted.keys.may_have(number)),
    }
}

fn meets(table: &Table, condition: &Condition, row: &Row<'_>) -> Result<bool> {
    let arrays = condition.columns.iter().map(|&place| {
        let column = &table.columns[place];
        let (stored, sql_type) = (&column.stored, &column.sql_type);
        let mut builder = ColumnBuilder::new(column.handle, stored, sql_type, 1);
        builder.extend(std::slice::from_ref(row));
        builder.finish()
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    Ok(!matches!(condition.kept(arrays, 1)?, FilterResult::None))
}
