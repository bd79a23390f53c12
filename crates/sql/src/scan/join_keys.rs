//! Index joins: a scan whose rows a join wants only for a few keys looks them up.
//!
//! A hash join reads its smaller side first and tells the scan of the other which keys it found
//! (DataFusion's dynamic filters). When the scan is asked for its first row, the keys are known; if
//! they are those of an index, and few beside the rows of the table, the rows are found by them.
//! The join checks what it gets as ever.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, Literal};
use datafusion::physical_expr::utils::split_conjunction;

use super::access_path::Access;
use super::condition::Condition;
use crate::catalog::table::Table;
use crate::error::Result;
use crate::transaction::Transaction;
use crate::values::datum::Datum;

/// Rows of a table that are taken to be read in the time in which one is found by its key: a guess
/// that lies between hot rows, which take long to read, and frozen ones. (At 20 TPC-H's twelfth
/// query took almost twice its time, for it looked 30,000 keys up among 1.5 million rows:
/// `lab/records/2026-11-22-tpch-many-keys.jsonl`, and `-tpch-keys.jsonl` for 500.)
const ROWS_A_KEY: usize = 500;

/// The way by the keys that joins want, instead of reading all rows.
///
/// # Errors
/// As the engine; a fault in an expression.
pub(crate) fn access_by(
    runtime_filters: &[Condition],
    transaction: &Arc<Transaction>,
    table: &Table,
) -> Result<Option<Access>> {
    let rows = transaction.reading()?.rows_max(&table.handle)? as usize;
    let mut best: Option<(usize, Vec<Vec<Datum>>)> = None;
    for runtime_filter in runtime_filters {
        let known = runtime_filter.as_it_is_now()?;
        for part in split_conjunction(known.expr()) {
            let Some((column, values)) = values_of(part) else { continue };
            // A single key is that of a subquery, and looked up in whatever table.
            if values.len() > 1 && values.len().saturating_mul(ROWS_A_KEY) >= rows {
                continue;
            }
            let Some((index, keys)) = keys_of(column, values, runtime_filter, table) else {
                continue;
            };
            if best.as_ref().is_none_or(|(_, others)| keys.len() < others.len()) {
                best = Some((index, keys));
            }
        }
    }
    Ok(best.map(|(index, keys)| Access::Keys { index, keys }))
}

/// The column that a condition is about and the values that it may have, if it says no more.
fn values_of(condition: &Arc<dyn PhysicalExpr>) -> Option<(&Column, &[Arc<dyn PhysicalExpr>])> {
    if let Some(list) = condition.downcast_ref::<InListExpr>() {
        let column = list.expr().downcast_ref::<Column>()?;
        return (!list.negated()).then(|| (column, list.list()));
    }
    let equal = condition.downcast_ref::<BinaryExpr>().filter(|it| *it.op() == Operator::Eq)?;
    let (left, right) = (equal.left(), equal.right());
    match (left.downcast_ref::<Column>(), right.downcast_ref::<Column>()) {
        (Some(column), None) => Some((column, std::slice::from_ref(right))),
        (None, Some(column)) => Some((column, std::slice::from_ref(left))),
        _ => None,
    }
}

/// The index of a column with the values that it may have, each once.
fn keys_of(
    column: &Column,
    values: &[Arc<dyn PhysicalExpr>],
    runtime_filter: &Condition,
    table: &Table,
) -> Option<(usize, Vec<Vec<Datum>>)> {
    let column = *runtime_filter.columns.get(column.index())?;
    let index = table.indexes.iter().position(|index| index.columns == [column])?;
    let values = values.iter().map(|value| {
        let value = value.downcast_ref::<Literal>()?.value();
        (value.data_type() == table.columns[column].sql_type.to_arrow()).then_some(value)
    });
    let distinct: HashSet<&ScalarValue> = values.collect::<Option<_>>()?;
    let found = distinct.into_iter().filter(|value| !value.is_null());
    let keys = found.map(|value| Some(vec![Datum::from_scalar(value.clone()).ok()?]));
    Some((index, keys.collect::<Option<_>>()?))
}
