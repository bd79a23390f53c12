//! The rows that an access path leads to: of a whole table, of keys, of a range of keys.
//!
//! Rows come in the order of the path.

use std::sync::Arc;

use remanent_engine::schema::Value;
use remanent_engine::{FrozenRows, KeyBound, Piece, Row, RowPredicate, SEGMENT_ROWS};

use super::access_path::{Access, Bound};
use super::shares::Shares;
use crate::catalog::table::Table;
use crate::error::{Result, SqlState};
use crate::transaction::owned::{HeldCursor, HeldFrozen, HeldPieces, Transaction};
use crate::values::datum::Datum;

/// The rows of a table that an access path leads to.
pub(crate) enum RowsOf {
    All(HeldPieces),
    /// Those of the segments that this reader takes.
    Some {
        pieces: HeldPieces,
        shares: Arc<Shares>,
        reader: usize,
        at: u64,
        /// How many stretches of segments it has begun.
        stretches: u64,
    },
    Nothing,
    Keys {
        transaction: Arc<Transaction>,
        table: Arc<Table>,
        index: usize,
        keys: Keys,
    },
    Range {
        cursor: Box<HeldCursor>,
        backwards: bool,
        started: bool,
        done: bool,
    },
}

/// Whole keys that are looked up together.
const KEYS_TOGETHER: usize = 64;

pub(crate) type Keys = std::vec::IntoIter<Vec<Datum>>;

/// What a reader has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// There may be more.
    Rows,
    /// A segment has come to its end.
    SegmentEnd,
    End,
}

impl RowsOf {
    pub(crate) fn start(
        transaction: &Arc<Transaction>,
        table: &Arc<Table>,
        access: &Access,
        asked: Option<RowPredicate>,
    ) -> Result<Self> {
        Ok(match access.clone() {
            Access::All => Self::All(HeldPieces::new(transaction, table, asked.as_ref())?),
            Access::Nothing => Self::Nothing,
            Access::Keys { index, keys } => Self::Keys {
                transaction: Arc::clone(transaction),
                table: Arc::clone(table),
                index,
                keys: keys.into_iter(),
            },
            Access::Range { index, prefix, low, high, backwards } => {
                let ends = [end_of(&prefix, low), end_of(&prefix, high)];
                let cursor = Box::new(cursor_within(transaction, table, index, ends)?);
                Self::Range { cursor, backwards, started: false, done: false }
            }
        })
    }

    /// The rows of the segments of a whole table that a reader takes, of several.
    pub(crate) fn of_segments(
        transaction: &Transaction,
        table: &Arc<Table>,
        shares: &Arc<Shares>,
        reader: usize,
    ) -> Result<Self> {
        let mut pieces = HeldPieces::new(transaction, table, None)?;
        pieces.go_to(0..0);
        Ok(Self::Some { pieces, shares: Arc::clone(shares), reader, at: 0, stretches: 1 })
    }

    /// The number of the segment that it is in, of those that several readers take.
    pub(crate) fn segment(&self) -> u64 {
        match self {
            Self::Some { at, .. } => *at,
            _ => 0,
        }
    }

    /// The number of the stretch of segments that it is in, of those that it takes.
    pub(crate) fn stretch(&self) -> u64 {
        match self {
            Self::Some { stretches, .. } => *stretches,
            _ => 0,
        }
    }

    /// Gives the next rows to `take`, or frozen ones to `freeze`.
    pub(crate) fn next(
        &mut self,
        take: impl FnMut(&[Row<'_>]),
        freeze: impl FnOnce(HeldFrozen),
    ) -> Result<Next> {
        if self.next_within(take, freeze)? {
            return Ok(Next::Rows);
        }
        let Self::Some { pieces, shares, reader, at, stretches } = self else {
            return Ok(Next::End);
        };
        let Some(taken) = shares.take(*reader) else { return Ok(Next::End) };
        let rows = SEGMENT_ROWS as u64;
        pieces.go_to(taken.segment * rows..(taken.segment + 1) * rows);
        *at = taken.segment;
        *stretches += u64::from(taken.is_of_other);
        Ok(Next::SegmentEnd)
    }

    /// Gives the frozen segment that follows to `look`, if it could be worth announcing.
    pub(crate) fn look_ahead(&self, look: impl FnOnce(&FrozenRows<'_>)) -> Result<()> {
        match self {
            Self::All(pieces) | Self::Some { pieces, .. } => pieces.look_ahead(look),
            Self::Nothing | Self::Keys { .. } | Self::Range { .. } => Ok(()),
        }
    }

    /// The same within a segment, if it is one; whether there were any rows.
    fn next_within(
        &mut self,
        mut take: impl FnMut(&[Row<'_>]),
        freeze: impl FnOnce(HeldFrozen),
    ) -> Result<bool> {
        match self {
            Self::All(pieces) | Self::Some { pieces, .. } => {
                pieces.next(|piece, kept| match piece {
                    Piece::Rows(rows) => take(rows),
                    Piece::Frozen(rows) => freeze(kept.keep(&rows)),
                })
            }
            Self::Nothing => Ok(false),
            Self::Keys { transaction, table, index, keys } => {
                transaction.cancel.check()?;
                let index = &table.indexes[*index];
                let first = keys.as_slice().first();
                let Some(first) = first else { return Ok(false) };
                let is_whole = first.len() == index.columns.len();
                let together = if is_whole { KEYS_TOGETHER } else { 1 };
                let found: Vec<Vec<Datum>> = keys.by_ref().take(together).collect();
                let values = found.iter().map(|key| key_values(table, &index.columns, key));
                let values: Vec<_> = values.collect();
                let reading = transaction.reading()?;
                let (handle, index) = (&table.handle, index.handle);
                match is_whole {
                    true => reading.each_batch(handle, index, &values, |_, row| {
                        take(&[row]);
                        Ok(())
                    })?,
                    false => reading.each(handle, index, &values[0], |row| {
                        take(&[row]);
                        Ok(())
                    })?,
                }
                Ok(true)
            }
            Self::Range { cursor, backwards, started, done } => {
                if *done {
                    return Ok(false);
                }
                let take = |row: Row<'_>| take(&[row]);
                *done = !match std::mem::replace(started, true) {
                    false => cursor.start(*backwards, take)?,
                    true => cursor.step(*backwards, take)?,
                };
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

/// An end of a range of keys.
struct End {
    key: Vec<Datum>,
    /// Whether the key belongs to the range.
    inclusive: bool,
}

/// An end of a range; `None` if there is none.
fn end_of(prefix: &[Datum], bound: Option<Bound>) -> Option<End> {
    match bound {
        Some(Bound { value, inclusive }) => {
            Some(End { key: [prefix, &[value]].concat(), inclusive })
        }
        None => (!prefix.is_empty()).then(|| End { key: prefix.to_vec(), inclusive: true }),
    }
}

/// A cursor between two ends. An end that is longer than keys can be is none: all rows are checked
/// against the conditions anyway.
fn cursor_within(
    transaction: &Arc<Transaction>,
    table: &Arc<Table>,
    index: usize,
    ends: [Option<End>; 2],
) -> Result<HeldCursor> {
    let columns = &table.indexes[index].columns;
    let keys = ends.each_ref().map(|end| {
        let key = end.as_ref().map(|end| end.key.as_slice());
        key_values(table, columns, key.unwrap_or_default())
    });
    let bound = |end: usize| {
        let included = ends[end].as_ref()?.inclusive;
        Some(KeyBound { key: &keys[end], included })
    };
    let (low, high) = (bound(0), bound(1));
    let ways = [(low, high), (low, None), (None, high)];
    for (low, high) in ways {
        match HeldCursor::new(transaction, table, index, low, high) {
            Err(error) if error.state() == SqlState::LIMIT_EXCEEDED => {}
            cursor => return cursor,
        }
    }
    HeldCursor::new(transaction, table, index, None, None)
}
