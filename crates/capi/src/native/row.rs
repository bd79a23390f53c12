//! Reading rows: by column handle, without copying text or bytes.
//!
//! A row is where its bytes lie and whose transaction read it. Every getter checks that the
//! transaction lives and is this thread's, that the column is of the row's table, and its kind;
//! text and bytes are pointers into the row, good until the transaction ends. What is null reads
//! as zero or empty, with `REM_NULL_VALUE`.

use std::ffi::{c_char, c_void};

use super::schema::{rem_column, rem_table};
use super::session::{Entry, Leaf, SessionSlot, find_session, ordinal_of};
use super::status::*;
use super::value::*;
use crate::ffi::{InPtr, OutPtr};
use crate::row_at::RowAt;

/// A row that a transaction read, or a draft's content.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rem_row {
    /// The token of its transaction.
    pub transaction: u64,
    /// Its bytes, in Remanent's row format; null in a draft.
    pub bytes: *const c_void,
    /// How many; in a draft, its number.
    pub length: u32,
    /// Its number, which names it as long as it lives; in a draft, 0xffffffff.
    pub id: u32,
    /// The table.
    pub table: rem_table,
}

/// The leaf of a row that a column handle leads to.
struct At<'a> {
    entry: &'static Entry,
    leaf: &'static Leaf,
    number: usize,
    bytes: &'a [u8],
}

impl rem_row {
    /// Makes a row where C wants it, field by field: it is read again at once.
    #[inline(always)]
    pub(super) fn put(slot: SessionSlot, table: u64, row: RowAt, out: OutPtr<rem_row>) -> Outcome {
        let Some(place) = out.get() else { return Err(REM_NULL_ARGUMENT) };
        let (bytes, length) = row.parts();
        place.transaction = slot.token();
        place.bytes = bytes.cast();
        place.length = length;
        place.id = row.id;
        place.table = rem_table { id: table };
        Ok(())
    }
}

#[inline(always)]
fn at<'a>(row: *const rem_row, column: rem_column) -> Outcome<At<'a>> {
    let Some(row) = InPtr::from(row).get() else { return Err(REM_NULL_ARGUMENT) };
    let slot = find_session(row.transaction)?;
    let entry = slot.base()?.entry(row.table.id)?;
    let leaf = entry.leaf(column.id)?;
    let bytes = if row.bytes.is_null() {
        draft_at(slot, row)?
    } else {
        RowAt::from_parts(row.bytes.cast(), row.length, row.id)
    };
    // SAFETY: the token is that of the transaction in which the row was read; or the bytes are a
    // draft's, which does not change during the call.
    let bytes = unsafe { bytes.bytes() };
    Ok(At { entry, leaf, number: ordinal_of(column.id), bytes })
}

/// Where the content of a draft is now.
#[cold]
fn draft_at(slot: SessionSlot, row: &rem_row) -> Outcome<RowAt> {
    let mut drafts = slot.drafts.borrow_mut();
    let (table, draft) = drafts.get(row.length.into())?;
    if table == row.table.id { Ok(RowAt::of(&draft.row())) } else { Err(REM_BAD_HANDLE) }
}

impl<'a> At<'a> {
    /// The bytes of a column of this kind; those of a null are zeros.
    #[inline(always)]
    fn fixed<const SIZE: usize>(&self, kind: u32) -> Outcome<[u8; SIZE]> {
        if self.leaf.kind != kind {
            return Err(REM_WRONG_TYPE);
        }
        let place = self.bytes.get(self.leaf.offset..self.leaf.offset + SIZE);
        place.and_then(|place| place.try_into().ok()).ok_or(REM_BAD_HANDLE)
    }

    #[inline(always)]
    fn is_null(&self) -> bool {
        self.leaf.nullable && self.entry.table.layout().is_null(self.bytes, self.number)
    }

    /// Success, or that the value is null.
    #[inline(always)]
    fn found(&self) -> Outcome {
        if self.is_null() { Err(REM_NULL_VALUE) } else { Ok(()) }
    }

    #[inline(always)]
    fn content(&self) -> &'a [u8] {
        self.entry.table.layout().get_bytes(self.bytes, self.number).unwrap_or_default()
    }
}

#[inline(always)]
fn put<T>(out: *mut T, value: T, at: &At<'_>) -> Outcome {
    OutPtr::from(out).set(value).ok_or(REM_NULL_ARGUMENT)?;
    at.found()
}

/// Gets a Bool.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_bool(
    row: *const rem_row,
    column: rem_column,
    out: *mut bool,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = at.fixed::<1>(REM_BOOL)?[0] != 0;
        put(out, value, &at)
    }))
}

/// Gets an I8.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_i8(row: *const rem_row, column: rem_column, out: *mut i8) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = i8::from_le_bytes(at.fixed(REM_I8)?);
        put(out, value, &at)
    }))
}

/// Gets an I16.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_i16(
    row: *const rem_row,
    column: rem_column,
    out: *mut i16,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = i16::from_le_bytes(at.fixed(REM_I16)?);
        put(out, value, &at)
    }))
}

/// Gets an I32.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_i32(
    row: *const rem_row,
    column: rem_column,
    out: *mut i32,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = i32::from_le_bytes(at.fixed(REM_I32)?);
        put(out, value, &at)
    }))
}

/// Gets an I64.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_i64(
    row: *const rem_row,
    column: rem_column,
    out: *mut i64,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = i64::from_le_bytes(at.fixed(REM_I64)?);
        put(out, value, &at)
    }))
}

/// Gets a U8.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_u8(row: *const rem_row, column: rem_column, out: *mut u8) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = u8::from_le_bytes(at.fixed(REM_U8)?);
        put(out, value, &at)
    }))
}

/// Gets a U16.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_u16(
    row: *const rem_row,
    column: rem_column,
    out: *mut u16,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = u16::from_le_bytes(at.fixed(REM_U16)?);
        put(out, value, &at)
    }))
}

/// Gets a U32.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_u32(
    row: *const rem_row,
    column: rem_column,
    out: *mut u32,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = u32::from_le_bytes(at.fixed(REM_U32)?);
        put(out, value, &at)
    }))
}

/// Gets a U64.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_u64(
    row: *const rem_row,
    column: rem_column,
    out: *mut u64,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = u64::from_le_bytes(at.fixed(REM_U64)?);
        put(out, value, &at)
    }))
}

/// Gets an F32.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_f32(
    row: *const rem_row,
    column: rem_column,
    out: *mut f32,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = f32::from_le_bytes(at.fixed(REM_F32)?);
        put(out, value, &at)
    }))
}

/// Gets an F64.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_f64(
    row: *const rem_row,
    column: rem_column,
    out: *mut f64,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = f64::from_le_bytes(at.fixed(REM_F64)?);
        put(out, value, &at)
    }))
}

/// Gets a date, in days since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_date(
    row: *const rem_row,
    column: rem_column,
    out: *mut i32,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = i32::from_le_bytes(at.fixed(REM_DATE)?);
        put(out, value, &at)
    }))
}

/// Gets a time, in microseconds since midnight.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_time(
    row: *const rem_row,
    column: rem_column,
    out: *mut i64,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = i64::from_le_bytes(at.fixed(REM_TIME)?);
        put(out, value, &at)
    }))
}

/// Gets a timestamp, in microseconds since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_timestamp(
    row: *const rem_row,
    column: rem_column,
    out: *mut i64,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = i64::from_le_bytes(at.fixed(REM_TIMESTAMP)?);
        put(out, value, &at)
    }))
}

/// Gets a decimal, as its scaled integer: the low and the high word. `high` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_decimal(
    row: *const rem_row,
    column: rem_column,
    low: *mut i64,
    high: *mut i64,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let scaled = match at.leaf.size {
            8 => i64::from_le_bytes(at.fixed(REM_DECIMAL)?).into(),
            _ => i128::from_le_bytes(at.fixed(REM_DECIMAL)?),
        };
        if !OutPtr::from(high).put((scaled >> 64) as i64) && i64::try_from(scaled).is_err() {
            return Err(REM_VALUE_OUT_OF_RANGE);
        }
        put(low, scaled as i64, &at)
    }))
}

/// Gets text, without a final NUL: where it is, and how many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_text(
    row: *const rem_row,
    column: rem_column,
    text: *mut *const c_char,
    length: *mut usize,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let mut content = at.content();
        match at.leaf.kind {
            REM_STRING => {}
            REM_CHAR => {
                let end = content.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                content = &content[..end];
            }
            _ => return Err(REM_WRONG_TYPE),
        }
        OutPtr::from(length).set(content.len()).ok_or(REM_NULL_ARGUMENT)?;
        put(text, content.as_ptr().cast(), &at)
    }))
}

/// Gets the bytes of a column as they lie in the row: a blob, a binary, the elements of an array
/// or a vector (which need not be aligned), text, a number.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_bytes(
    row: *const rem_row,
    column: rem_column,
    bytes: *mut *const c_void,
    length: *mut usize,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let content = at.content();
        OutPtr::from(length).set(content.len()).ok_or(REM_NULL_ARGUMENT)?;
        put(bytes, content.as_ptr().cast(), &at)
    }))
}

/// Whether a column is null.
#[unsafe(no_mangle)]
pub extern "C" fn rem_is_null(
    row: *const rem_row,
    column: rem_column,
    out: *mut bool,
) -> rem_status {
    status(
        at(row, column).and_then(|at| OutPtr::from(out).set(at.is_null()).ok_or(REM_NULL_ARGUMENT)),
    )
}

/// Gets any value; text and bytes are pointers into the row.
#[unsafe(no_mangle)]
pub extern "C" fn rem_get_value(
    row: *const rem_row,
    column: rem_column,
    out: *mut rem_value,
) -> rem_status {
    status(at(row, column).and_then(|at| {
        let value = at.entry.table.layout().read_value(at.bytes, at.number);
        let value = rem_value::of(&value, at.content());
        OutPtr::from(out).set(value).ok_or(REM_NULL_ARGUMENT)
    }))
}
