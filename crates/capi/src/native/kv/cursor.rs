//! Cursors over key/value databases: moves, changes at a place, and reading many records at once.
//!
//! A cursor lies in its transaction's slot and ends with it. A move that finds nothing is
//! `REM_NOT_FOUND` and leaves the cursor where it was. A cursor over a secondary database goes by
//! secondary keys and gives the primary's records.

use std::ffi::c_void;

use remanent_engine::{ErrorKind, Result};
use remanent_kv::{Cursor, KeyValue, SecondaryCursor, SecondaryRecord};

use super::change::changing;
use super::databases::{rem_blob, rem_kv};
use crate::ffi::{InPtr, OutPtr};
use crate::native::session::{SessionSlot, find_session};
use crate::native::status::*;
use crate::native::transaction::rem_transaction;

/// To the first record.
pub const REM_KV_FIRST: u32 = 1;
/// To the last record.
pub const REM_KV_LAST: u32 = 2;
/// To the next record; from nowhere to the first.
pub const REM_KV_NEXT: u32 = 3;
/// To the record before; from nowhere to the last.
pub const REM_KV_PREV: u32 = 4;
/// The record that it stands at; REM_NOT_FOUND if it was deleted.
pub const REM_KV_CURRENT: u32 = 5;
/// To a key; of several values to the first.
pub const REM_KV_SET: u32 = 6;
/// To a key, or else the next greater one; where there is no order, as REM_KV_SET.
pub const REM_KV_SET_RANGE: u32 = 7;
/// To the record of a key and a value.
pub const REM_KV_GET_BOTH: u32 = 8;
/// To a key's first value that is not less than the one given; without duplicates, as
/// REM_KV_GET_BOTH.
pub const REM_KV_GET_BOTH_RANGE: u32 = 9;
/// To the next value of the same key.
pub const REM_KV_NEXT_DUP: u32 = 10;
/// To the first value of the next key.
pub const REM_KV_NEXT_NODUP: u32 = 11;
/// To the value before of the same key.
pub const REM_KV_PREV_DUP: u32 = 12;
/// To the last value of the key before.
pub const REM_KV_PREV_NODUP: u32 = 13;

/// A position among the records of a key/value database.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rem_kv_cursor {
    /// The token of its transaction.
    pub transaction: u64,
    /// Which of the transaction's key/value cursors.
    pub number: u64,
}

/// A cursor of a transaction.
pub(in crate::native) enum OpenKvCursor {
    Records(Box<Cursor<'static>>),
    Secondary(Box<SecondaryCursor<'static>>),
}

/// Where to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Move {
    First,
    Last,
    Next,
    Previous,
    Current,
    Set,
    SetRange,
    GetBoth,
    GetBothRange,
    NextDuplicate,
    NextNoDuplicate,
    PreviousDuplicate,
    PreviousNoDuplicate,
}

/// The moves in the order of their numbers, which begin with 1.
const MOVES: [Move; REM_KV_PREV_NODUP as usize] = [
    Move::First,
    Move::Last,
    Move::Next,
    Move::Previous,
    Move::Current,
    Move::Set,
    Move::SetRange,
    Move::GetBoth,
    Move::GetBothRange,
    Move::NextDuplicate,
    Move::NextNoDuplicate,
    Move::PreviousDuplicate,
    Move::PreviousNoDuplicate,
];

/// Opens a cursor; it stands nowhere.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_cursor_open(
    transaction: *const rem_transaction,
    kv: rem_kv,
    out: *mut rem_kv_cursor,
) -> rem_status {
    call(|| {
        let slot = find_session(transaction as u64)?;
        let kv = slot.base()?.stores().database(kv.id)?;
        let reading = slot.held.reading().ok_or(REM_TRANSACTION_ENDED)?;
        keep_cursor(
            slot,
            OpenKvCursor::Records(Box::new(kv.cursor(reading).map_err(status_of)?)),
            out,
        )
    })
}

/// Gives a cursor up before its transaction ends.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_cursor_close(cursor: *const rem_kv_cursor) -> rem_status {
    call(|| {
        let cursor = InPtr::from(cursor).get().ok_or(REM_NULL_ARGUMENT)?;
        let slot = find_session(cursor.transaction)?;
        let open = slot.kv_cursors.borrow_mut().remove(cursor.number);
        open.map(drop).ok_or(REM_BAD_HANDLE)
    })
}

/// Moves and gets the record. `mode` is REM_KV_FIRST .. REM_KV_PREV_NODUP; with REM_KV_SET,
/// REM_KV_SET_RANGE and both REM_KV_GET_BOTH, `key` says what is sought, with the last two `value`
/// as well. Both receive what was found; what is not sought may be null. With a cursor over a
/// secondary database `value` is the primary's, and seeking both is `rem_kv_cursor_get_primary`'s.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_cursor_get(
    cursor: *const rem_kv_cursor,
    mode: u32,
    key: *mut rem_blob,
    value: *mut rem_blob,
) -> rem_status {
    call(|| {
        let sought = Sought::of(mode, key, value)?;
        let (found_key, found_value) = with_cursor(cursor, |_, open| match open {
            OpenKvCursor::Records(cursor) => {
                sought.find(cursor).map_err(status_of)?.ok_or(REM_NOT_FOUND)
            }
            OpenKvCursor::Secondary(_) if sought.is_of_both() => Err(REM_BAD_ARGUMENT),
            OpenKvCursor::Secondary(cursor) => {
                let SecondaryRecord { key, value, .. } = sought.find_primary(cursor)?;
                Ok((key, value))
            }
        })?;
        OutPtr::from(key).put(rem_blob::of(found_key));
        OutPtr::from(value).put(rem_blob::of(found_value));
        Ok(())
    })
}

/// As `rem_kv_cursor_get` for a cursor over a secondary database, with the primary key too: with
/// both REM_KV_GET_BOTH it is what is sought besides `key`. `value` receives the primary's value.
/// `REM_BAD_ARGUMENT` for other cursors.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_cursor_get_primary(
    cursor: *const rem_kv_cursor,
    mode: u32,
    key: *mut rem_blob,
    primary_key: *mut rem_blob,
    value: *mut rem_blob,
) -> rem_status {
    call(|| {
        let sought = Sought::of(mode, key, primary_key)?;
        let found = with_cursor(cursor, |_, open| match open {
            OpenKvCursor::Secondary(cursor) => sought.find_primary(cursor),
            OpenKvCursor::Records(_) => Err(REM_BAD_ARGUMENT),
        })?;
        OutPtr::from(key).put(rem_blob::of(found.key));
        OutPtr::from(primary_key).put(rem_blob::of(found.primary_key));
        OutPtr::from(value).put(rem_blob::of(found.value));
        Ok(())
    })
}

/// As `rem_kv_put` without flags, and moves to the record. `REM_INVALID_OPTIONS` with a cursor
/// over a secondary database.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_cursor_put(
    cursor: *const rem_kv_cursor,
    key: rem_blob,
    value: rem_blob,
) -> rem_status {
    call(|| {
        let (key, value) = (key.bytes()?, value.bytes()?);
        with_cursor(cursor, |slot, open| {
            changing(slot, |tx| open.index(|cursor| cursor.put(tx, key, value)))
        })
    })
}

/// Gives the record that it stands at another value. `REM_ROW_NOT_FOUND` if there is none,
/// `REM_INVALID_OPTIONS` for a duplicate, whose place in the order its value is.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_cursor_put_current(
    cursor: *const rem_kv_cursor,
    value: rem_blob,
) -> rem_status {
    call(|| {
        let value = value.bytes()?;
        with_cursor(cursor, |slot, open| {
            changing(slot, |tx| open.index(|cursor| cursor.put_current(tx, value)))
        })
    })
}

/// Removes the record that it stands at, over a secondary database the primary's. The next move
/// goes to what was beside it. `REM_ROW_NOT_FOUND` if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_cursor_delete(cursor: *const rem_kv_cursor) -> rem_status {
    call(|| {
        with_cursor(cursor, |slot, open| {
            changing(slot, |tx| match open {
                OpenKvCursor::Records(cursor) => cursor.delete(tx),
                OpenKvCursor::Secondary(cursor) => cursor.delete(tx),
            })
        })
    })
}

/// How many values the key has that it stands at; 0 if it stands nowhere.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_cursor_count(cursor: *const rem_kv_cursor, out: *mut u64) -> rem_status {
    call(|| {
        let count =
            with_cursor(cursor, |_, open| open.index(|cursor| cursor.count()).map_err(status_of))?;
        OutPtr::from(out).set(count).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Opens another cursor at the same position.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_cursor_duplicate(
    cursor: *const rem_kv_cursor,
    out: *mut rem_kv_cursor,
) -> rem_status {
    call(|| {
        let (slot, other) = with_cursor(cursor, |slot, open| {
            let other = match open {
                OpenKvCursor::Records(cursor) => {
                    OpenKvCursor::Records(Box::new(cursor.duplicate_cursor().map_err(status_of)?))
                }
                OpenKvCursor::Secondary(cursor) => {
                    OpenKvCursor::Secondary(Box::new(cursor.duplicate_cursor().map_err(status_of)?))
                }
            };
            Ok((slot, other))
        })?;
        keep_cursor(slot, other, out)
    })
}

/// Copies the records that follow into a buffer of `size` bytes, as many as it holds whole, and
/// moves to the last of them; `length` receives how many bytes they take, and `rem_kv_bulk_next`
/// goes through them. `REM_NOT_FOUND` at the end. `REM_BUFFER_TOO_SMALL` if not even one fits;
/// then `length` receives what that one takes. Over a secondary database the values are primary
/// keys.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_cursor_bulk(
    cursor: *const rem_kv_cursor,
    buffer: *mut c_void,
    size: usize,
    length: *mut usize,
) -> rem_status {
    call(|| {
        let buffer = match size {
            0 => &mut [],
            size => OutPtr::from(buffer.cast::<u8>()).slice(size).ok_or(REM_NULL_ARGUMENT)?,
        };
        let length = OutPtr::from(length);
        length.set(0).ok_or(REM_NULL_ARGUMENT)?;
        let copied =
            with_cursor(cursor, |_, open| open.index(|it| bulk(it, buffer)).map_err(status_of))?;
        let (bytes, outcome) = match copied {
            Bulk::Copied(0) => (0, Err(REM_NOT_FOUND)),
            Bulk::Copied(bytes) => (bytes, Ok(())),
            Bulk::Needs(bytes) => (bytes, Err(REM_BUFFER_TOO_SMALL)),
        };
        length.put(bytes);
        outcome
    })
}

/// What comes of copying records: how many bytes, or how many the next one takes.
enum Bulk {
    Copied(usize),
    Needs(usize),
}

/// Two lengths stand before each record.
const BULK_HEAD: usize = 8;

fn bulk(cursor: &mut Cursor<'_>, buffer: &mut [u8]) -> Result<Bulk> {
    match cursor.next_bulk(buffer) {
        Ok(records) => Ok(Bulk::Copied(records.as_bytes().len())),
        Err(error) if error.kind() == ErrorKind::ValueTooLong => {
            let next = cursor.duplicate_cursor()?.next()?;
            Ok(next.map_or(Bulk::Copied(0), |(key, value)| {
                Bulk::Needs(BULK_HEAD + key.len() + value.len())
            }))
        }
        Err(error) => Err(error),
    }
}

/// A move, and what it seeks.
struct Sought<'k> {
    to: Move,
    key: &'k [u8],
    value: &'k [u8],
}

impl Sought<'_> {
    /// As C says it: what the move does not seek is not inspected.
    fn of(mode: u32, key: *const rem_blob, value: *const rem_blob) -> Outcome<Self> {
        let to = *MOVES.get((mode as usize).wrapping_sub(1)).ok_or(REM_BAD_ARGUMENT)?;
        let mut sought = Self { to, key: &[], value: &[] };
        if matches!(to, Move::Set | Move::SetRange) || sought.is_of_both() {
            sought.key = InPtr::from(key).at(0).ok_or(REM_NULL_ARGUMENT)?.bytes()?;
        }
        if sought.is_of_both() {
            sought.value = InPtr::from(value).at(0).ok_or(REM_NULL_ARGUMENT)?.bytes()?;
        }
        Ok(sought)
    }

    fn is_of_both(&self) -> bool {
        matches!(self.to, Move::GetBoth | Move::GetBothRange)
    }

    fn find<'t>(&self, cursor: &mut Cursor<'t>) -> Result<Option<KeyValue<'t>>> {
        match self.to {
            Move::First => cursor.first(),
            Move::Last => cursor.last(),
            Move::Next => cursor.next(),
            Move::Previous => cursor.previous(),
            Move::Current => cursor.current(),
            Move::Set => cursor.set(self.key),
            Move::SetRange => cursor.set_range(self.key),
            Move::GetBoth => cursor.get_both(self.key, self.value),
            Move::GetBothRange => cursor.get_both_range(self.key, self.value),
            Move::NextDuplicate => cursor.next_duplicate(),
            Move::NextNoDuplicate => cursor.next_no_duplicate(),
            Move::PreviousDuplicate => cursor.previous_duplicate(),
            Move::PreviousNoDuplicate => cursor.previous_no_duplicate(),
        }
    }

    fn find_primary<'t>(&self, cursor: &mut SecondaryCursor<'t>) -> Outcome<SecondaryRecord<'t>> {
        cursor.step(|index| self.find(index)).map_err(status_of)?.ok_or(REM_NOT_FOUND)
    }
}

impl OpenKvCursor {
    /// What `work` does with the cursor over records, or over secondary keys.
    fn index<T>(&mut self, work: impl FnOnce(&mut Cursor<'static>) -> Result<T>) -> Result<T> {
        match self {
            Self::Records(cursor) => work(cursor),
            Self::Secondary(cursor) => {
                let mut done = None;
                cursor.step(|index| {
                    done = Some(work(index)?);
                    Ok(None)
                })?;
                let Some(done) = done else { unreachable!("a step does what it is given") };
                Ok(done)
            }
        }
    }
}

/// Gives a new cursor its number.
pub(super) fn keep_cursor(
    slot: SessionSlot,
    open: OpenKvCursor,
    out: *mut rem_kv_cursor,
) -> Outcome {
    let out = OutPtr::from(out).get().ok_or(REM_NULL_ARGUMENT)?;
    let number = slot.kv_cursors.borrow_mut().add(open).ok_or(REM_LIMIT_REACHED)?;
    *out = rem_kv_cursor { transaction: slot.token(), number };
    Ok(())
}

#[inline]
fn with_cursor<T>(
    cursor: *const rem_kv_cursor,
    work: impl FnOnce(SessionSlot, &mut OpenKvCursor) -> Outcome<T>,
) -> Outcome<T> {
    let cursor = InPtr::from(cursor).get().ok_or(REM_NULL_ARGUMENT)?;
    let slot = find_session(cursor.transaction)?;
    let mut cursors = slot.kv_cursors.borrow_mut();
    work(slot, cursors.get(cursor.number).ok_or(REM_BAD_HANDLE)?)
}
