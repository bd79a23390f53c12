//! The rows that an access path leads to: of a whole table, of keys, of a range of keys.
//!
//! Rows come in the order of the path.

use std::sync::Arc;

use remanent_engine::schema::Value;
use remanent_engine::{Find, Piece, Row};

use super::access::{Access, Bound};
use crate::catalog::table::Table;
use crate::error::Result;
use crate::session::transaction::{HeldCursor, HeldFrozen, HeldPieces, Transaction};
use crate::values::datum::Datum;

/// The rows of a table that an access path leads to.
pub(super) enum RowsOf {
    All(HeldPieces),
    Nothing,
    Keys { transaction: Arc<Transaction>, table: Arc<Table>, index: usize, keys: Keys },
    Range { cursor: Box<HeldCursor>, range: Range, started: bool, done: bool },
}

pub(super) type Keys = std::vec::IntoIter<Vec<Datum>>;

/// What a cursor goes through.
pub(super) struct Range {
    prefix: Vec<Datum>,
    low: Option<Bound>,
    high: Option<Bound>,
    backwards: bool,
    table: Arc<Table>,
    index: usize,
}

impl RowsOf {
    pub(super) fn start(
        transaction: &Arc<Transaction>,
        table: &Arc<Table>,
        access: &Access,
    ) -> Result<Self> {
        Ok(match access.clone() {
            Access::All => Self::All(HeldPieces::new(transaction, table)?),
            Access::Nothing => Self::Nothing,
            Access::Keys { index, keys } => Self::Keys {
                transaction: Arc::clone(transaction),
                table: Arc::clone(table),
                index,
                keys: keys.into_iter(),
            },
            Access::Range { index, prefix, low, high, backwards } => Self::Range {
                cursor: Box::new(HeldCursor::new(transaction, table, index)?),
                range: Range { prefix, low, high, backwards, table: Arc::clone(table), index },
                started: false,
                done: false,
            },
        })
    }

    /// Gives the next rows to `take`, or frozen ones to `freeze`; whether there were any.
    pub(super) fn next(
        &mut self,
        mut take: impl FnMut(&[Row<'_>]),
        freeze: impl FnOnce(HeldFrozen),
    ) -> Result<bool> {
        match self {
            Self::All(pieces) => pieces.next(|piece, held| {
                match piece {
                    Piece::Rows(rows) => take(rows),
                    Piece::Frozen(rows) => freeze(held.keep(rows)),
                }
                Ok(())
            }),
            Self::Nothing => Ok(false),
            Self::Keys { transaction, table, index, keys } => {
                transaction.cancel.check()?;
                let Some(key) = keys.next() else { return Ok(false) };
                let index = &table.indexes[*index];
                let values = key_values(table, &index.columns, &key);
                let reading = transaction.reading()?;
                reading.each(&table.handle, index.handle, &values, |row| {
                    take(&[row]);
                    Ok(())
                })?;
                Ok(true)
            }
            Self::Range { cursor, range, started, done } => {
                if *done {
                    return Ok(false);
                }
                let row = match std::mem::replace(started, true) {
                    false => range.find_first(cursor)?,
                    true => cursor.step(range.backwards)?,
                };
                match row.filter(|row| range.holds(row)) {
                    Some(row) => take(&[row]),
                    None => *done = true,
                }
                Ok(!*done)
            }
        }
    }
}

/// The values of a key for the engine.
pub(crate) fn key_values<'d>(table: &Table, columns: &[usize], key: &'d [Datum]) -> Vec<Value<'d>> {
    let stored = columns.iter().map(|&column| &table.columns[column].stored);
    key.iter().zip(stored).map(|(datum, stored)| datum.to_value(stored)).collect()
}

impl Range {
    fn find_first<'c>(&self, cursor: &'c mut HeldCursor) -> Result<Option<Row<'c>>> {
        let columns = &self.table.indexes[self.index].columns;
        let mut key = self.prefix.clone();
        let (from, at, beyond) = match self.backwards {
            false => (&self.low, Find::AtLeast, Find::Above),
            true => (&self.high, Find::AtMost, Find::Below),
        };
        let find = match from {
            Some(from) => {
                key.push(from.value.clone());
                if from.inclusive { at } else { beyond }
            }
            None => at,
        };
        if key.is_empty() {
            return cursor.start(self.backwards);
        }
        cursor.find(find, &key_values(&self.table, columns, &key))
    }

    /// Whether a row at which the cursor stands is still in the range.
    fn holds(&self, row: &Row<'_>) -> bool {
        let index = &self.table.indexes[self.index];
        let value = |part: usize| {
            let column = &self.table.columns[index.columns[part]];
            Datum::from_value(row.value(column.handle), &column.sql_type)
        };
        let fixed = self.prefix.iter().enumerate().all(|(part, wanted)| value(part) == *wanted);
        let end = if self.backwards { &self.low } else { &self.high };
        let Some(end) = end.as_ref().filter(|_| fixed) else { return fixed };
        let part = self.prefix.len();
        let order = order_of(&value(part), &end.value);
        let turned = index.descending[part] != self.backwards;
        let order = order.map(|order| if turned { order.reverse() } else { order });
        order.is_none_or(|order| order.is_lt() || (end.inclusive && order.is_eq()))
    }
}

/// How two values of one column compare; `None` if one is NULL.
fn order_of(one: &Datum, other: &Datum) -> Option<std::cmp::Ordering> {
    use Datum as D;
    match (one, other) {
        (D::Null, _) | (_, D::Null) => None,
        (D::Bool(a), D::Bool(b)) => Some(a.cmp(b)),
        (D::Int(a), D::Int(b)) => Some(a.cmp(b)),
        (D::UInt(a), D::UInt(b)) => Some(a.cmp(b)),
        (D::Int(_), D::UInt(_)) => Some(std::cmp::Ordering::Less),
        (D::UInt(_), D::Int(_)) => Some(std::cmp::Ordering::Greater),
        (D::Real(a), D::Real(b)) => a.partial_cmp(b),
        (D::Double(a), D::Double(b)) => a.partial_cmp(b),
        (D::Decimal(a, _), D::Decimal(b, _)) => Some(a.cmp(b)),
        (D::Date(a), D::Date(b)) => Some(a.cmp(b)),
        (
            D::Time(a) | D::Timestamp(a) | D::TimestampTz(a),
            D::Time(b) | D::Timestamp(b) | D::TimestampTz(b),
        ) => Some(a.cmp(b)),
        (D::Text(a), D::Text(b)) => Some(a.cmp(b)),
        (D::Bytes(a), D::Bytes(b)) => Some(a.cmp(b)),
        _ => None,
    }
}
