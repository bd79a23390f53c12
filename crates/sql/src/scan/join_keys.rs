//! Index joins: a scan whose rows a join wants only for a few keys looks them up.
//!
//! A hash join reads its smaller side first and tells the scan of the other which keys it found
//! (DataFusion's dynamic filters). When the scan is asked for its first row, the keys are known; if
//! they are those of an index, or the first part of them, and have few rows beside those of the
//! table, the rows are found by them. Conditions may say what stands before them in the index. The
//! join checks what it gets as ever.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, Literal};
use datafusion::physical_expr::utils::split_conjunction;
use remanent_engine::{Error as EngineError, ErrorKind};

use super::access_path::Access;
use super::condition::Condition;
use super::rows_of::key_values;
use crate::catalog::table::{Index, Table};
use crate::error::Result;
use crate::transaction::Transaction;
use crate::values::datum::Datum;

/// Rows of a table that are taken to be read in the time in which one is found by its key: a guess
/// that lies between hot rows, which take long to read, and frozen ones. (At 20 TPC-H's twelfth
/// query took almost twice its time, for it looked 30,000 keys up among 1.5 million rows:
/// `lab/records/2026-11-22-tpch-many-keys.jsonl`, and `-tpch-keys.jsonl` for 500.)
const ROWS_A_KEY: usize = 500;

/// The same where a key may have several rows: whoever reads frozen rows passes more of them by in
/// the time in which one of these is made. (At 500 a third of TPC-DS's queries took twice their
/// time, for they found up to 5,700 sales of a few goods by the primary key.)
const ROWS_A_ROW: usize = 4000;

/// Rows that are always few.
const FEW_ROWS: usize = 64;

/// Keys that are looked up to learn how many rows one has, at most.
const SAMPLED_KEYS: usize = 16;

/// The way by the keys that joins want, instead of this one, if that finds fewer rows.
///
/// # Errors
/// As the engine; a fault in an expression.
pub(crate) fn access_by(
    access: &Access,
    runtime_filters: &[Condition],
    transaction: &Arc<Transaction>,
    table: &Table,
) -> Result<Option<Access>> {
    let Some(fixed) = Fixed::of(access) else { return Ok(None) };
    let rows = transaction.reading()?.rows_max(&table.handle)? as usize;
    let mut best: Option<(usize, Vec<Vec<Datum>>)> = None;
    for runtime_filter in runtime_filters {
        let known = runtime_filter.as_it_is_now()?;
        for part in split_conjunction(known.expr()) {
            let Some((column, values)) = values_of(part) else { continue };
            // A single key is that of a subquery, and looked up in whatever table.
            let is_many = values.len().saturating_mul(ROWS_A_KEY) >= rows;
            if values.len() > 1 && is_many && fixed.index.is_none() {
                continue;
            }
            let Some((index, keys)) = keys_of(column, values, runtime_filter, table, &fixed) else {
                continue;
            };
            let is_better = best.as_ref().is_none_or(|(_, others)| keys.len() < others.len());
            if is_better && have_few_rows(transaction, table, index, &keys, rows / ROWS_A_ROW)? {
                best = Some((index, keys));
            }
        }
    }
    Ok(best.map(|(index, keys)| Access::Keys { index, keys }))
}

/// The first values of keys that are looked up, which conditions say.
struct Fixed<'a> {
    /// The index that has them; any, if there are none.
    index: Option<usize>,
    prefix: &'a [Datum],
}

impl<'a> Fixed<'a> {
    fn of(access: &'a Access) -> Option<Self> {
        match access {
            Access::All => Some(Self { index: None, prefix: &[] }),
            Access::Range { index, prefix, low: None, high: None, .. } => {
                Some(Self { index: Some(*index), prefix })
            }
            _ => None,
        }
    }

    /// Whether keys of an index begin with these values and then one of a column, and there is
    /// nothing else to know.
    fn fits(&self, place: usize, index: &Index, column: usize) -> bool {
        let at = self.prefix.len();
        let is_next = index.columns.get(at) == Some(&column);
        let is_enough = index.ordered || index.columns.len() == at + 1;
        is_next && is_enough && self.index.is_none_or(|own| own == place)
    }
}

/// Whether the rows of these keys are few, as far as some of them tell: where an index may have
/// many rows for one of them, these are counted.
fn have_few_rows(
    transaction: &Transaction,
    table: &Table,
    index: usize,
    keys: &[Vec<Datum>],
    few: usize,
) -> Result<bool> {
    let index = &table.indexes[index];
    let is_whole = keys.first().is_none_or(|key| key.len() == index.columns.len());
    if index.unique && is_whole {
        return Ok(true);
    }
    let sampled = keys.len().min(SAMPLED_KEYS);
    // A few rows are looked up in whatever table: of a small one that is hot, too.
    let few = few.max(FEW_ROWS);
    let mut found = 0;
    for at in 0..sampled {
        let key = key_values(table, &index.columns, &keys[at * keys.len() / sampled]);
        let reading = transaction.reading()?;
        // As soon as all keys would have twice as many, nothing more is counted.
        let enough = (2 * few * (at + 1)).div_ceil(keys.len());
        let counted = reading.each(&table.handle, index.handle, &key, |_| {
            found += 1;
            match found <= enough {
                true => Ok(()),
                false => Err(EngineError::new(ErrorKind::LimitReached)),
            }
        });
        if found > enough {
            return Ok(false);
        }
        counted?;
    }
    Ok(found.saturating_mul(keys.len()) <= few.saturating_mul(sampled))
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

/// The index of a column with the keys that it may have, each once: behind what is fixed of them.
fn keys_of(
    column: &Column,
    values: &[Arc<dyn PhysicalExpr>],
    runtime_filter: &Condition,
    table: &Table,
    fixed: &Fixed<'_>,
) -> Option<(usize, Vec<Vec<Datum>>)> {
    let column = *runtime_filter.columns.get(column.index())?;
    let indexes = table.indexes.iter().enumerate();
    let fitting = indexes.filter(|(place, index)| fixed.fits(*place, index, column));
    // A whole key has the fewest rows.
    let (index, _) = fitting.min_by_key(|(_, index)| index.columns.len())?;
    let values = values.iter().map(|value| {
        let value = value.downcast_ref::<Literal>()?.value();
        (value.data_type() == table.columns[column].sql_type.to_arrow()).then_some(value)
    });
    let distinct: HashSet<&ScalarValue> = values.collect::<Option<_>>()?;
    let found = distinct.into_iter().filter(|value| !value.is_null());
    let keys = found.map(|value| {
        let value = Datum::from_scalar(value.clone()).ok()?;
        Some([fixed.prefix, &[value]].concat())
    });
    Some((index, keys.collect::<Option<_>>()?))
}
