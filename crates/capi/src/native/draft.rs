//! Writing rows: a draft is filled column by column, then inserted or put in a row's place.
//!
//! A draft is a valid row at every moment; what is not put is the default, null where that is
//! allowed, else zero or empty. Drafts are of one transaction, end with it, and are used again
//! without allocating. A put that fails leaves the draft as it was.

use std::ffi::{c_char, c_void};

use remanent_engine::schema::Value;
use remanent_engine::{RowDraft, RowId};
use remanent_navigation::text;

use super::row::rem_row;
use super::schema::{rem_column, rem_table};
use super::session::{Leaf, SessionSlot, find_session, table_of};
use super::status::*;
use super::transaction::rem_transaction;
use super::value::*;
use crate::ffi::{InPtr, OutPtr};
use crate::row_at::RowAt;

/// A row in the making.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rem_draft {
    /// The token of its transaction.
    pub transaction: u64,
    /// Which of the transaction's drafts.
    pub number: u64,
}

/// Makes a draft of a new row.
#[unsafe(no_mangle)]
pub extern "C" fn rem_draft_new(
    transaction: *const rem_transaction,
    table: rem_table,
    out: *mut rem_draft,
) -> rem_status {
    status(make(transaction as u64, table, out))
}

#[inline]
fn make(transaction: u64, table: rem_table, out: *mut rem_draft) -> Outcome {
    let slot = find_session(transaction)?;
    if slot.held.writing().is_none() {
        return Err(REM_READ_ONLY);
    }
    let Some(out) = OutPtr::from(out).get() else { return Err(REM_NULL_ARGUMENT) };
    let entry = slot.base()?.entry(table.id)?;
    out.number = slot.drafts.borrow_mut().add(entry)?;
    out.transaction = transaction;
    Ok(())
}

/// Makes a draft that is a copy of a row, to be changed.
#[unsafe(no_mangle)]
pub extern "C" fn rem_draft_load(row: *const rem_row, out: *mut rem_draft) -> rem_status {
    call(|| {
        let row = InPtr::from(row).get().ok_or(REM_NULL_ARGUMENT)?;
        make(row.transaction, row.table, out)?;
        let slot = find_session(row.transaction)?;
        let entry = slot.base()?.entry(row.table.id)?;
        let reading = slot.held.reading().ok_or(REM_TRANSACTION_ENDED)?;
        let id = RowId::from_number(row.id.into()).ok_or(REM_ROW_NOT_FOUND)?;
        let row = reading.row(&entry.table, id).map_err(status_of)?.ok_or(REM_ROW_NOT_FOUND)?;
        let made = OutPtr::from(out).get().ok_or(REM_NULL_ARGUMENT)?;
        slot.drafts.borrow_mut().get(made.number)?.1.load(&row).map_err(status_of)
    })
}

/// Gives a draft up before its transaction ends.
#[unsafe(no_mangle)]
pub extern "C" fn rem_draft_free(draft: *const rem_draft) -> rem_status {
    call(|| {
        let draft = InPtr::from(draft).get().ok_or(REM_NULL_ARGUMENT)?;
        find_session(draft.transaction)?.drafts.borrow_mut().remove(draft.number)
    })
}

/// The content of a draft, to read. Pointers that getters give are good until the draft changes.
#[unsafe(no_mangle)]
pub extern "C" fn rem_draft_row(draft: *const rem_draft, out: *mut rem_row) -> rem_status {
    let Some(handle) = InPtr::from(draft).get() else { return REM_NULL_ARGUMENT };
    let number = handle.number as u32;
    with(draft, |slot, table, _| {
        let row = RowAt::from_parts(std::ptr::null(), number, u32::MAX);
        rem_row::put(slot, table, row, OutPtr::from(out))
    })
}

#[inline(always)]
fn with(
    draft: *const rem_draft,
    work: impl FnOnce(SessionSlot, u64, &mut RowDraft) -> Outcome,
) -> rem_status {
    let Some(draft) = InPtr::from(draft).get() else { return REM_NULL_ARGUMENT };
    let slot = match find_session(draft.transaction) {
        Ok(slot) => slot,
        Err(status) => return status,
    };
    let mut drafts = slot.drafts.borrow_mut();
    match drafts.get(draft.number) {
        Ok((table, draft)) => status(work(slot, table, draft)),
        Err(status) => status,
    }
}

/// Changes a column of a draft.
#[inline(always)]
fn edit(
    draft: *const rem_draft,
    column: rem_column,
    change: impl FnOnce(&mut RowDraft, &Leaf) -> Outcome,
) -> rem_status {
    with(draft, |slot, table, draft| {
        if table_of(column.id) != table {
            return Err(REM_WRONG_TABLE);
        }
        change(draft, slot.base()?.entry(table)?.leaf(column.id)?)
    })
}

#[inline(always)]
fn put(draft: *const rem_draft, column: rem_column, value: Value<'_>) -> rem_status {
    edit(draft, column, |draft, leaf| draft.set(leaf.column, value).map_err(status_of))
}

/// Puts a Bool.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_bool(
    draft: *const rem_draft,
    column: rem_column,
    value: bool,
) -> rem_status {
    put(draft, column, Value::Bool(value))
}

/// Puts an I8 into a column of any integer type that it fits.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_i8(draft: *const rem_draft, column: rem_column, value: i8) -> rem_status {
    put(draft, column, Value::I8(value))
}

/// Puts an I16 into a column of any integer type that it fits.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_i16(
    draft: *const rem_draft,
    column: rem_column,
    value: i16,
) -> rem_status {
    put(draft, column, Value::I16(value))
}

/// Puts an I32 into a column of any integer type that it fits.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_i32(
    draft: *const rem_draft,
    column: rem_column,
    value: i32,
) -> rem_status {
    put(draft, column, Value::I32(value))
}

/// Puts an I64 into a column of any integer type that it fits.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_i64(
    draft: *const rem_draft,
    column: rem_column,
    value: i64,
) -> rem_status {
    put(draft, column, Value::I64(value))
}

/// Puts a U8 into a column of any integer type that it fits.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_u8(draft: *const rem_draft, column: rem_column, value: u8) -> rem_status {
    put(draft, column, Value::U8(value))
}

/// Puts a U16 into a column of any integer type that it fits.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_u16(
    draft: *const rem_draft,
    column: rem_column,
    value: u16,
) -> rem_status {
    put(draft, column, Value::U16(value))
}

/// Puts a U32 into a column of any integer type that it fits.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_u32(
    draft: *const rem_draft,
    column: rem_column,
    value: u32,
) -> rem_status {
    put(draft, column, Value::U32(value))
}

/// Puts a U64 into a column of any integer type that it fits.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_u64(
    draft: *const rem_draft,
    column: rem_column,
    value: u64,
) -> rem_status {
    put(draft, column, Value::U64(value))
}

/// Puts an F32.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_f32(
    draft: *const rem_draft,
    column: rem_column,
    value: f32,
) -> rem_status {
    put(draft, column, Value::F32(value))
}

/// Puts an F64.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_f64(
    draft: *const rem_draft,
    column: rem_column,
    value: f64,
) -> rem_status {
    put(draft, column, Value::F64(value))
}

/// Puts a date, in days since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_date(
    draft: *const rem_draft,
    column: rem_column,
    value: i32,
) -> rem_status {
    put(draft, column, Value::Date(value))
}

/// Puts a time, in microseconds since midnight.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_time(
    draft: *const rem_draft,
    column: rem_column,
    value: i64,
) -> rem_status {
    put(draft, column, Value::Time(value))
}

/// Puts a timestamp, in microseconds since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_timestamp(
    draft: *const rem_draft,
    column: rem_column,
    value: i64,
) -> rem_status {
    put(draft, column, Value::Timestamp(value))
}

/// Puts a decimal, as its scaled integer: the low and the high word.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_decimal(
    draft: *const rem_draft,
    column: rem_column,
    low: i64,
    high: i64,
) -> rem_status {
    put(draft, column, Value::Decimal(i128::from(high) << 64 | i128::from(low as u64)))
}

/// Puts text, which is UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_text(
    draft: *const rem_draft,
    column: rem_column,
    text: *const c_char,
    length: usize,
) -> rem_status {
    let Some(bytes) = InPtr::from(text).bytes(length) else { return REM_NULL_ARGUMENT };
    let text = text::ascii(bytes).or_else(|| std::str::from_utf8(bytes).ok());
    match text {
        Some(text) => put(draft, column, Value::String(text)),
        None => REM_BAD_TEXT,
    }
}

/// Puts the bytes of a column as they lie in rows: a blob, a binary, the elements of an array or
/// a vector, one after the other.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_bytes(
    draft: *const rem_draft,
    column: rem_column,
    bytes: *const c_void,
    length: usize,
) -> rem_status {
    let bytes = InPtr::from(bytes.cast::<u8>()).slice(length);
    let Some(bytes) = bytes else { return REM_NULL_ARGUMENT };
    edit(draft, column, |draft, leaf| draft.set_raw(leaf.column, bytes).map_err(status_of))
}

/// Makes a column null.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_null(draft: *const rem_draft, column: rem_column) -> rem_status {
    put(draft, column, Value::Null)
}

/// Puts any value.
#[unsafe(no_mangle)]
pub extern "C" fn rem_put_value(
    draft: *const rem_draft,
    column: rem_column,
    value: *const rem_value,
) -> rem_status {
    let Some(given) = InPtr::from(value).get() else { return REM_NULL_ARGUMENT };
    let mut value = Value::Null;
    match given.put_into(&mut value) {
        Ok(()) => put(draft, column, value),
        Err(status) => status,
    }
}

/// Inserts a draft as a new row; the draft stays. `id` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn rem_insert(draft: *const rem_draft, id: *mut u32) -> rem_status {
    with(draft, |slot, _, draft| {
        let writing = slot.held.writing().ok_or(REM_READ_ONLY)?;
        let row = writing.insert_draft(draft).map_err(status_of)?;
        OutPtr::from(id).put(row.number() as u32);
        Ok(())
    })
}

/// Puts a draft in the place of a row.
#[unsafe(no_mangle)]
pub extern "C" fn rem_update(draft: *const rem_draft, id: u32) -> rem_status {
    with(draft, |slot, _, draft| {
        let writing = slot.held.writing().ok_or(REM_READ_ONLY)?;
        let row = RowId::from_number(id.into()).ok_or(REM_ROW_NOT_FOUND)?;
        writing.update_draft(row, draft).map_err(status_of)
    })
}

/// Deletes a row.
#[unsafe(no_mangle)]
pub extern "C" fn rem_delete(
    transaction: *const rem_transaction,
    table: rem_table,
    id: u32,
) -> rem_status {
    call(|| {
        let slot = find_session(transaction as u64)?;
        let writing = slot.held.writing().ok_or(REM_READ_ONLY)?;
        let row = RowId::from_number(id.into()).ok_or(REM_ROW_NOT_FOUND)?;
        writing.delete(&slot.base()?.entry(table.id)?.table, row).map_err(status_of)
    })
}
