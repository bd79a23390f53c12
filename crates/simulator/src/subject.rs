//! The table under test, and statements carried out on it.
//!
//! One table with a unique key and a place that is not unique, each in an ordered and in a hash
//! index, so that every way to find a row exists. Statements go in and answers come out as a
//! history has them; what to ask is up to sessions, what is right up to the checks.

use std::sync::Arc;

use remanent_derive::Record;
use remanent_engine::schema::{ColumnValues, Value};
use remanent_engine::{
    ColumnHandle, Cursor, Database, Find, IndexHandle, KeyBound, Options, ReadTransaction, Result,
    Row, RowId, Savepoint, TypedCursor, TypedTable, WriteTransaction,
};

use crate::history::{Answer, Bound, Column, Content, Edit, Query, Range, Seen, Statement};

const BUDGET: u64 = 32 << 20;
/// Under the model checker every access of memory is a step, and its bookkeeping is per byte.
const BUDGET_MODELLED: u64 = 2 << 20;

/// Of so many rows that are inserted, one is bulk inserted, by its mark. Not under the model
/// checker: the slots before a segment would take it too long.
const BULK: u64 = 256;

/// A row as the database holds it.
#[derive(Record)]
#[record(
    crate = "remanent_engine::schema",
    primary_key(key),
    unique_hash_index(key_hash(key)),
    index(place(place)),
    hash_index(place_hash(place))
)]
pub(crate) struct Cell<'a> {
    pub(crate) item: u64,
    pub(crate) key: u32,
    pub(crate) place: u32,
    pub(crate) mark: u64,
    pub(crate) list: &'a [u8],
}

/// A database with the table, and the table's handles.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) db: Database,
    table: TypedTable<Cell<'static>>,
    primary: IndexHandle,
    key_hash: IndexHandle,
    place: IndexHandle,
    place_hash: IndexHandle,
    columns: Columns,
}

#[derive(Debug)]
struct Columns {
    key: ColumnHandle,
    place: ColumnHandle,
    mark: ColumnHandle,
    list: ColumnHandle,
}

impl Subject {
    pub(crate) fn open() -> Result<Self> {
        let budget = if cfg!(shuttle) { BUDGET_MODELLED } else { BUDGET };
        let db = Database::open(Options::new().budget(budget).transactions_max(16).hash_seed(0))?;
        let table = db.create_table_of::<Cell<'_>>()?;
        let columns = Columns {
            key: table.column("key")?,
            place: table.column("place")?,
            mark: table.column("mark")?,
            list: table.column("list")?,
        };
        Ok(Self {
            primary: table.index("primary")?,
            key_hash: table.index("key_hash")?,
            place: table.index("place")?,
            place_hash: table.index("place_hash")?,
            columns,
            db,
            table,
        })
    }

    /// Makes columns of all rows that nobody is changing.
    pub(crate) fn freeze(&self) -> Result<()> {
        self.db.freeze_all(&self.table).map(|_| ())
    }

    /// Carries a statement out that changes something or sets a savepoint. `savepoints` are those
    /// that still stand.
    pub(crate) fn write(
        &self,
        tx: &WriteTransaction<'_>,
        statement: &Statement,
        savepoints: &mut Vec<Savepoint>,
    ) -> Answer {
        let done = match statement {
            Statement::Read(query) => return self.read(tx, query),
            Statement::Insert(content) => match self.insert(tx, content) {
                Ok(row) => return Answer::Inserted(row.number()),
                Err(error) => Err(error),
            },
            Statement::Change { row, edit } => self.change(tx, row_id(*row), edit),
            Statement::Delete { row } => tx.delete(&self.table, row_id(*row)),
            Statement::Savepoint => {
                savepoints.push(tx.savepoint());
                Ok(())
            }
            Statement::RollBackTo(number) => {
                savepoints.truncate(number + 1);
                savepoints.last().map_or(Ok(()), |savepoint| tx.roll_back_to(*savepoint))
            }
        };
        done.map_or_else(|error| Answer::Refused(error.kind()), |()| Answer::Done)
    }

    /// Carries a read out.
    pub(crate) fn read(&self, tx: &ReadTransaction<'_>, query: &Query) -> Answer {
        match self.find(tx, query) {
            Ok(rows) => Answer::Rows(rows),
            Err(error) => Answer::Refused(error.kind()),
        }
    }

    fn insert(&self, tx: &WriteTransaction<'_>, content: &Content) -> Result<RowId> {
        let &Content { item, key, place, mark, .. } = content;
        let list = bytes_of(&content.list);
        if !cfg!(shuttle) && mark.is_multiple_of(BULK) {
            return self.insert_bulk(tx, content, &list);
        }
        tx.insert(&self.table, &Cell { item, key, place, mark, list: &list })
    }

    /// Inserts a row as a segment of columns.
    fn insert_bulk(
        &self,
        tx: &WriteTransaction<'_>,
        content: &Content,
        list: &[u8],
    ) -> Result<RowId> {
        let &Content { item, key, place, mark, .. } = content;
        let numbers = [Value::U64(item), Value::U32(key), Value::U32(place), Value::U64(mark)];
        let values = numbers.into_iter().chain([Value::Bytes(list)]);
        let values: Vec<_> = values.map(|value| move |_: usize| Some(value)).collect();
        let columns: Vec<_> = values.iter().map(|value| ColumnValues::Any(value)).collect();
        tx.insert_segment(&self.table, &columns, 1)
    }

    fn change(&self, tx: &WriteTransaction<'_>, row: RowId, edit: &Edit) -> Result<()> {
        let list = edit.list.as_deref().map(bytes_of);
        let mut changes = vec![(self.columns.mark, Value::U64(edit.mark))];
        changes.extend(edit.key.map(|key| (self.columns.key, Value::U32(key))));
        changes.extend(edit.place.map(|place| (self.columns.place, Value::U32(place))));
        changes.extend(list.as_deref().map(|list| (self.columns.list, Value::Bytes(list))));
        tx.update_values(&self.table, row, &changes)
    }

    fn find(&self, tx: &ReadTransaction<'_>, query: &Query) -> Result<Vec<Seen>> {
        let mut found = Vec::new();
        match query {
            Query::Row { row, typed: false } => {
                found.extend(tx.row(&self.table, row_id(*row))?.map(|row| self.seen(&row)));
            }
            Query::Row { row, typed: true } => {
                found.extend(tx.record(&self.table, row_id(*row))?.map(|cell| seen_cell(&cell)));
            }
            Query::Key { key, hash, typed: false } => {
                let index = if *hash { self.key_hash } else { self.primary };
                let row = tx.find(&self.table, index, &[Value::U32(*key)])?;
                found.extend(row.map(|row| self.seen(&row)));
            }
            &Query::Key { key, hash: true, typed: true } => {
                let row = tx.get_row(&self.table, &CellKeyHash { key })?;
                found.extend(row.map(|row| self.seen(&row)));
            }
            &Query::Key { key, hash: false, typed: true } => {
                let cell = tx.get(&self.table, &CellPrimary { key })?;
                found.extend(cell.map(|cell| seen_cell(&cell)));
            }
            Query::Batch { keys, hash: true } => {
                let keys: Vec<_> = keys.iter().map(|&key| CellKeyHash { key }).collect();
                let visit = |_, cell: Option<Cell<'_>>| found.extend(cell.map(|c| seen_cell(&c)));
                tx.get_batch(&self.table, &keys, visit)?;
            }
            Query::Batch { keys, hash: false } => {
                let keys: Vec<_> = keys.iter().map(|&key| CellPrimary { key }).collect();
                let visit = |_, cell: Option<Cell<'_>>| found.extend(cell.map(|c| seen_cell(&c)));
                tx.get_batch(&self.table, &keys, visit)?;
            }
            Query::Place { place, hash } => {
                let index = if *hash { self.place_hash } else { self.place };
                tx.each(&self.table, index, &[Value::U32(*place)], |row| {
                    found.push(self.seen(&row));
                    Ok(())
                })?;
            }
            Query::Range(range) => self.find_range(tx, range, &mut found)?,
            Query::Scan { limit, typed: false } => {
                found.extend(tx.scan(&self.table)?.take(*limit).map(|row| self.seen(&row)));
            }
            Query::Scan { limit, typed: true } => {
                let cells = tx.records(&self.table)?.take(*limit);
                found.extend(cells.map(|cell| seen_cell(&cell)));
            }
        }
        Ok(found)
    }

    fn find_range(
        &self,
        tx: &ReadTransaction<'_>,
        range: &Range,
        found: &mut Vec<Seen>,
    ) -> Result<()> {
        match (range.typed, range.by) {
            (false, Column::Key) => self.find_within(tx, self.primary, range, found),
            (false, Column::Place) => self.find_within(tx, self.place, range, found),
            (true, Column::Key) => {
                walk(tx.cursor_by::<Cell<'_>, CellPrimary>(&self.table)?, range, found)
            }
            (true, Column::Place) => {
                walk(tx.cursor_by::<Cell<'_>, CellPlace>(&self.table)?, range, found)
            }
        }
    }

    /// The same by a cursor with the range: nothing beyond it counts as read.
    fn find_within(
        &self,
        tx: &ReadTransaction<'_>,
        index: IndexHandle,
        range: &Range,
        found: &mut Vec<Seen>,
    ) -> Result<()> {
        let ends = [range.low, range.high];
        let keys = ends.map(|bound| [Value::U32(bound.map_or(0, |bound| bound.value))]);
        let bound = |end: usize| {
            ends[end].map(|bound| KeyBound { key: &keys[end], included: bound.inclusive })
        };
        let (low, high) = (bound(0), bound(1));
        let cursor = tx.cursor_within(&self.table, index, low, high)?;
        let unbounded = Range { low: None, high: None, ..range.clone() };
        walk(Untyped { subject: self, cursor }, &unbounded, found)
    }

    fn seen(&self, row: &Row<'_>) -> Seen {
        let mut values = row.values();
        let mut number = || values.next().and_then(|value| value.as_integer()).unwrap_or(-1);
        let (item, key, place, mark) = (number(), number(), number(), number());
        let list = row.blob(self.columns.list).unwrap_or_default();
        let content = Content {
            item: item as u64,
            key: key as u32,
            place: place as u32,
            mark: mark as u64,
            list: list_of(list),
        };
        Seen { row: Some(row.id().number()), content: Arc::new(content) }
    }
}

/// A cursor, typed or not.
trait Walk {
    fn seek(&mut self, find: Option<(Find, u32)>, backward: bool) -> Result<Option<Seen>>;
    fn step(&mut self, backward: bool) -> Option<Seen>;
}

struct Untyped<'t> {
    subject: &'t Subject,
    cursor: Cursor<'t>,
}

impl Walk for Untyped<'_> {
    fn seek(&mut self, find: Option<(Find, u32)>, backward: bool) -> Result<Option<Seen>> {
        let row = match find {
            Some((find, value)) => self.cursor.find(find, &[Value::U32(value)])?,
            None if backward => self.cursor.last(),
            None => self.cursor.first(),
        };
        Ok(row.map(|row| self.subject.seen(&row)))
    }

    fn step(&mut self, backward: bool) -> Option<Seen> {
        let row = if backward { self.cursor.previous() } else { self.cursor.next() };
        row.map(|row| self.subject.seen(&row))
    }
}

macro_rules! walk_typed {
    ($key:ident, $field:ident) => {
        impl Walk for TypedCursor<'_, $key> {
            fn seek(&mut self, find: Option<(Find, u32)>, backward: bool) -> Result<Option<Seen>> {
                let cell = match find {
                    Some((find, $field)) => self.find(find, &$key { $field })?,
                    None if backward => self.last(),
                    None => self.first(),
                };
                Ok(cell.map(|cell| seen_cell(&cell)))
            }

            fn step(&mut self, backward: bool) -> Option<Seen> {
                let cell = if backward { self.previous() } else { self.next() };
                cell.map(|cell| seen_cell(&cell))
            }
        }
    };
}

walk_typed!(CellPrimary, key);
walk_typed!(CellPlace, place);

/// Moves through a range until its end, or until there are enough rows.
fn walk(mut cursor: impl Walk, range: &Range, found: &mut Vec<Seen>) -> Result<()> {
    let (start, inclusive, exclusive) = match range.backward {
        false => (range.low, Find::AtLeast, Find::Above),
        true => (range.high, Find::AtMost, Find::Below),
    };
    let find = |bound: Bound| (if bound.inclusive { inclusive } else { exclusive }, bound.value);
    let mut next = cursor.seek(start.map(find), range.backward)?;
    while let Some(seen) = next
        && range.contains(&seen.content)
    {
        found.push(seen);
        if found.len() >= range.limit {
            break;
        }
        next = cursor.step(range.backward);
    }
    Ok(())
}

fn seen_cell(cell: &Cell<'_>) -> Seen {
    let &Cell { item, key, place, mark, list } = cell;
    Seen { row: None, content: Arc::new(Content { item, key, place, mark, list: list_of(list) }) }
}

fn row_id(number: u64) -> RowId {
    RowId::from_number(number).expect("row ids in a history come from the engine")
}

fn bytes_of(list: &[u64]) -> Vec<u8> {
    list.iter().flat_map(|mark| mark.to_le_bytes()).collect()
}

fn list_of(bytes: &[u8]) -> Vec<u64> {
    let (marks, _) = bytes.as_chunks();
    marks.iter().map(|mark| u64::from_le_bytes(*mark)).collect()
}
