//! Finding rows: by key, by number, with cursors over ordered indexes, and by scanning a table.
//!
//! A cursor or a scan lies in its transaction's slot and ends with it. Cursors move both ways; a
//! scan goes through all rows once, in the order of their numbers.

use remanent_engine::schema::Value;
use remanent_engine::{Find, RowId};

use super::row::rem_row;
use super::schema::{rem_index, rem_table};
use super::session::{OpenCursor, SessionSlot, find_session, ordinal_of, table_of};
use super::status::*;
use super::transaction::rem_transaction;
use super::value::rem_value;
use crate::ffi::{InPtr, OutPtr};
use crate::row_at::RowAt;

const PARTS_MAX: usize = 16;
const FEW: usize = 3;

/// Nearest row with this key, or whose key begins so.
pub const REM_EQUAL: u32 = 0;
/// First row at or above.
pub const REM_AT_LEAST: u32 = 1;
/// First row above.
pub const REM_ABOVE: u32 = 2;
/// Last row at or below.
pub const REM_AT_MOST: u32 = 3;
/// Last row below.
pub const REM_BELOW: u32 = 4;

/// A position in an ordered index, or a scan of a table.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rem_cursor {
    /// The token of its transaction.
    pub transaction: u64,
    /// Which of the transaction's cursors.
    pub number: u64,
}

#[derive(Clone, Copy)]
enum Step {
    First,
    Last,
    Next,
    Previous,
}

#[inline(always)]
fn with_key<T>(
    values: *const rem_value,
    count: usize,
    work: impl FnOnce(&[Value<'_>]) -> Outcome<T>,
) -> Outcome<T> {
    let given = InPtr::from(values).slice(count).ok_or(REM_NULL_ARGUMENT)?;
    // Room for as many as most keys have is cheaper to make.
    if count <= FEW {
        with_values::<T, FEW>(given, work)
    } else if count <= PARTS_MAX {
        with_values::<T, PARTS_MAX>(given, work)
    } else {
        Err(REM_WRONG_KEY_SHAPE)
    }
}

#[inline(always)]
fn with_values<T, const ROOM: usize>(
    given: &[rem_value],
    work: impl FnOnce(&[Value<'_>]) -> Outcome<T>,
) -> Outcome<T> {
    let mut values = [Value::Null; ROOM];
    for (value, given) in values.iter_mut().zip(given) {
        given.put_into(value)?;
    }
    work(&values[..given.len()])
}

/// Finds a row by a whole key; `REM_NOT_FOUND` if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn rem_find(
    transaction: *const rem_transaction,
    index: rem_index,
    key: *const rem_value,
    count: usize,
    out: *mut rem_row,
) -> rem_status {
    status(find_row(transaction as u64, index, key, count, out))
}

#[inline(always)]
fn find_row(
    transaction: u64,
    index: rem_index,
    key: *const rem_value,
    count: usize,
    out: *mut rem_row,
) -> Outcome {
    let slot = find_session(transaction)?;
    let entry = slot.base()?.entry(index.id)?;
    let handle = entry.table.index_at(ordinal_of(index.id)).map_err(status_of)?;
    let reading = slot.held.reading().ok_or(REM_TRANSACTION_ENDED)?;
    with_key(key, count, |key| match reading.find(&entry.table, handle, key) {
        Ok(Some(row)) => rem_row::put(slot, entry.id, RowAt::of(&row), OutPtr::from(out)),
        Ok(None) => Err(REM_NOT_FOUND),
        Err(error) => Err(status_of(error)),
    })
}

/// The row with this number; `REM_NOT_FOUND` if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn rem_row_at(
    transaction: *const rem_transaction,
    table: rem_table,
    id: u32,
    out: *mut rem_row,
) -> rem_status {
    call(|| {
        let slot = find_session(transaction as u64)?;
        let entry = slot.base()?.entry(table.id)?;
        let reading = slot.held.reading().ok_or(REM_TRANSACTION_ENDED)?;
        let id = RowId::from_number(id.into()).ok_or(REM_NOT_FOUND)?;
        let row = reading.row(&entry.table, id).map_err(status_of)?.ok_or(REM_NOT_FOUND)?;
        rem_row::put(slot, entry.id, RowAt::of(&row), OutPtr::from(out))
    })
}

/// Opens a cursor on an ordered index; it stands nowhere.
#[unsafe(no_mangle)]
pub extern "C" fn rem_cursor_open(
    transaction: *const rem_transaction,
    index: rem_index,
    out: *mut rem_cursor,
) -> rem_status {
    call(|| {
        let slot = find_session(transaction as u64)?;
        let entry = slot.base()?.entry(index.id)?;
        let handle = entry.table.index_at(ordinal_of(index.id)).map_err(status_of)?;
        // SAFETY: it lies in the slot and is dropped before the transaction ends.
        let cursor = unsafe { slot.held.cursor(&entry.table, handle) }.map_err(status_of)?;
        let cursor = Box::new(cursor.ok_or(REM_TRANSACTION_ENDED)?);
        keep_cursor(slot, OpenCursor::Cursor { table: entry.id, cursor }, OutPtr::from(out))
    })
}

/// Opens a scan of a table, for `rem_cursor_next` alone.
#[unsafe(no_mangle)]
pub extern "C" fn rem_scan_open(
    transaction: *const rem_transaction,
    table: rem_table,
    out: *mut rem_cursor,
) -> rem_status {
    call(|| {
        let slot = find_session(transaction as u64)?;
        let entry = slot.base()?.entry(table.id)?;
        // SAFETY: it lies in the slot and is dropped before the transaction ends.
        let scan = unsafe { slot.held.scan(&entry.table) }.map_err(status_of)?;
        let scan = scan.ok_or(REM_TRANSACTION_ENDED)?;
        keep_cursor(slot, OpenCursor::Scan { table: entry.id, scan }, OutPtr::from(out))
    })
}

fn keep_cursor(slot: SessionSlot, open: OpenCursor, out: OutPtr<rem_cursor>) -> Outcome {
    let out = out.get().ok_or(REM_NULL_ARGUMENT)?;
    let number = slot.cursors.borrow_mut().add(open).ok_or(REM_LIMIT_REACHED)?;
    *out = rem_cursor { transaction: slot.token(), number };
    Ok(())
}

/// Gives a cursor or a scan up before its transaction ends.
#[unsafe(no_mangle)]
pub extern "C" fn rem_cursor_close(cursor: *const rem_cursor) -> rem_status {
    call(|| {
        let cursor = InPtr::from(cursor).get().ok_or(REM_NULL_ARGUMENT)?;
        let slot = find_session(cursor.transaction)?;
        let open = slot.cursors.borrow_mut().remove(cursor.number);
        open.map(drop).ok_or(REM_BAD_HANDLE)
    })
}

/// Goes to the row nearest to a key, or to one that begins so. `way` is REM_EQUAL .. REM_BELOW.
#[unsafe(no_mangle)]
pub extern "C" fn rem_cursor_find(
    cursor: *const rem_cursor,
    way: u32,
    key: *const rem_value,
    count: usize,
    out: *mut rem_row,
) -> rem_status {
    call(|| {
        let way = match way {
            REM_EQUAL => Find::Equal,
            REM_AT_LEAST => Find::AtLeast,
            REM_ABOVE => Find::Above,
            REM_AT_MOST => Find::AtMost,
            REM_BELOW => Find::Below,
            _ => return Err(REM_BAD_ARGUMENT),
        };
        move_cursor(cursor, out, |open| match open {
            OpenCursor::Cursor { cursor, .. } => with_key(key, count, |key| {
                Ok(cursor.find(way, key).map_err(status_of)?.as_ref().map(RowAt::of))
            }),
            OpenCursor::Scan { .. } => Err(REM_WRONG_INDEX_KIND),
        })
    })
}

#[inline]
fn move_cursor(
    cursor: *const rem_cursor,
    out: *mut rem_row,
    step: impl FnOnce(&mut OpenCursor) -> Outcome<Option<RowAt>>,
) -> Outcome {
    let cursor = InPtr::from(cursor).get().ok_or(REM_NULL_ARGUMENT)?;
    let slot = find_session(cursor.transaction)?;
    let mut cursors = slot.cursors.borrow_mut();
    let open = cursors.get(cursor.number).ok_or(REM_BAD_HANDLE)?;
    let Some(row) = step(open)? else {
        // There are no more, or one could not be read.
        let reading = slot.held.reading().ok_or(REM_TRANSACTION_ENDED)?;
        reading.status().map_err(status_of)?;
        return Err(REM_NOT_FOUND);
    };
    let (OpenCursor::Cursor { table, .. } | OpenCursor::Scan { table, .. }) = open;
    rem_row::put(slot, table_of(*table), row, OutPtr::from(out))
}

fn step(cursor: *const rem_cursor, out: *mut rem_row, step: Step) -> rem_status {
    call(|| {
        move_cursor(cursor, out, |open| {
            let row = match (open, step) {
                (OpenCursor::Cursor { cursor, .. }, Step::First) => cursor.first(),
                (OpenCursor::Cursor { cursor, .. }, Step::Last) => cursor.last(),
                (OpenCursor::Cursor { cursor, .. }, Step::Next) => cursor.next(),
                (OpenCursor::Cursor { cursor, .. }, Step::Previous) => cursor.previous(),
                (OpenCursor::Scan { scan, .. }, Step::Next) => scan.next(),
                (OpenCursor::Scan { .. }, _) => return Err(REM_WRONG_INDEX_KIND),
            };
            Ok(row.as_ref().map(RowAt::of))
        })
    })
}

/// Goes to the first row; `REM_NOT_FOUND` if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn rem_cursor_first(cursor: *const rem_cursor, out: *mut rem_row) -> rem_status {
    step(cursor, out, Step::First)
}

/// Goes to the last row; `REM_NOT_FOUND` if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn rem_cursor_last(cursor: *const rem_cursor, out: *mut rem_row) -> rem_status {
    step(cursor, out, Step::Last)
}

/// Goes to the next row; `REM_NOT_FOUND` behind the last.
#[unsafe(no_mangle)]
pub extern "C" fn rem_cursor_next(cursor: *const rem_cursor, out: *mut rem_row) -> rem_status {
    step(cursor, out, Step::Next)
}

/// Goes to the previous row; `REM_NOT_FOUND` before the first.
#[unsafe(no_mangle)]
pub extern "C" fn rem_cursor_previous(cursor: *const rem_cursor, out: *mut rem_row) -> rem_status {
    step(cursor, out, Step::Previous)
}
