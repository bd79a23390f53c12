//! Searching: keys as C gives them, found in indexes.
//!
//! A key's parts become values of the index's columns; the engine encodes them. One object by a
//! whole key is found without a cursor. What is found is what indexes show: rows that were
//! committed before the transaction began, or that it has checkpointed.

use std::ffi::{c_int, c_void};

use remanent_engine::schema::{ColumnType, FixedField, Value};
use remanent_engine::{Find, Row};
use remanent_navigation::text;

use super::cursor::{Position, cursor_at, put_cursor};
use super::dictionary::{Index, PLAIN_PARTS_MAX, Part};
use super::object::{Context, Object};
use super::session::find_session;
use super::status::*;
use crate::ffi::{InPtr, OutPtr};
use crate::row_at::RowAt;

/// Parts of a key, at most.
const PARTS_MAX: usize = 16;
const FEW: usize = 3;

/// `mco_cursor_t` of the header.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    pub(super) transaction: u64,
    pub(super) slot: u32,
    pub(super) number: u32,
    pub(super) class_id: u32,
    pub(super) index: u32,
}

/// `rem_mco_key` of the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The bytes of a scalar, or text.
    pub value: InPtr<c_void>,
    /// How many.
    pub length: u32,
}

/// The index of a class by its number.
pub(super) fn index_of(context: Context, index: u32) -> Outcome<&'static Index> {
    context.class.indexes.get(index as usize).ok_or(MCO_E_VOLUNTARY_NOT_EXIST)
}

/// Calls `work` with a key's values.
#[inline]
pub(super) fn with_key<T>(
    index: &Index,
    keys: InPtr<Key>,
    count: u32,
    work: impl FnOnce(&[Value<'_>]) -> Outcome<T>,
) -> Outcome<T> {
    let count = count as usize;
    let keys = keys.slice(count).ok_or(MCO_E_ILLEGAL_PARAM)?;
    if count == 0 || count > index.parts.len() || count > PARTS_MAX {
        return Err(MCO_E_ILLEGAL_PARAM);
    }
    // Room for as many as most keys have is cheaper to make.
    match count {
        0..=FEW => with_values::<T, FEW>(index, keys, work),
        _ => with_values::<T, PARTS_MAX>(index, keys, work),
    }
}

#[inline(always)]
fn with_values<T, const ROOM: usize>(
    index: &Index,
    keys: &[Key],
    work: impl FnOnce(&[Value<'_>]) -> Outcome<T>,
) -> Outcome<T> {
    if !index.has_text {
        let mut values = [Value::Null; ROOM];
        for ((value, part), key) in values.iter_mut().zip(&index.parts).zip(keys) {
            value_into(part, key, value)?;
        }
        return work(&values[..keys.len()]);
    }
    let mut buffers = [const { Vec::new() }; ROOM];
    let mut values = [Value::Null; ROOM];
    let parts = index.parts.iter().zip(keys).zip(&mut buffers);
    for (value, ((part, key), buffer)) in values.iter_mut().zip(parts) {
        if part.is_text {
            let bytes = key.value.cast::<u8>().slice(key.length as usize);
            *value = Value::String(text::encode(bytes.ok_or(MCO_E_ILLEGAL_PARAM)?, buffer));
        } else {
            value_into(part, key, value)?;
        }
    }
    work(&values[..keys.len()])
}

/// The first object with a whole key that needs no checking.
#[inline]
fn find_plain(context: Context, index: &Index, keys: InPtr<Key>) -> Outcome<Option<RowAt>> {
    let keys = keys.slice(index.parts.len()).ok_or(MCO_E_ILLEGAL_PARAM)?;
    let mut parts: [&[u8]; PLAIN_PARTS_MAX] = [&[]; PLAIN_PARTS_MAX];
    for ((place, part), key) in parts.iter_mut().zip(&index.parts).zip(keys) {
        if part.size != key.length as usize {
            return Err(MCO_E_ILLEGAL_PARAM);
        }
        *place = key.value.cast::<u8>().slice(part.size).ok_or(MCO_E_ILLEGAL_PARAM)?;
    }
    let reading = context.slot.held().reading().ok_or(MCO_E_TRANSACT)?;
    let parts = &parts[..keys.len()];
    let row = reading.find_plain(&context.class.table, index.handle, parts).map_err(status_of)?;
    Ok(row.as_ref().map(RowAt::of))
}

/// Writes a part's value where it is used: passing it on costs more than making it.
#[inline(always)]
fn value_into(part: &Part, key: &Key, value: &mut Value<'_>) -> Outcome {
    let length = key.length as usize;
    if part.size != length && !matches!(part.column_type, ColumnType::Blob { .. }) {
        return Err(MCO_E_ILLEGAL_PARAM);
    }
    match (&part.column_type, key.value.cast::<u8>().slice(length)) {
        (_, None) => return Err(MCO_E_ILLEGAL_PARAM),
        (ColumnType::U32, Some(bytes)) => *value = Value::U32(u32::read(bytes)),
        (ColumnType::I32, Some(bytes)) => *value = Value::I32(i32::read(bytes)),
        (ColumnType::U64, Some(bytes)) => *value = Value::U64(u64::read(bytes)),
        (ColumnType::I64, Some(bytes)) => *value = Value::I64(i64::read(bytes)),
        (column_type, Some(bytes)) => *value = value_of(column_type, bytes)?,
    }
    Ok(())
}

fn value_of<'a>(column_type: &ColumnType, bytes: &'a [u8]) -> Outcome<Value<'a>> {
    Ok(match column_type {
        ColumnType::I8 => Value::I8(i8::read(bytes)),
        ColumnType::I16 => Value::I16(i16::read(bytes)),
        ColumnType::U8 => Value::U8(u8::read(bytes)),
        ColumnType::U16 => Value::U16(u16::read(bytes)),
        ColumnType::F32 => Value::F32(f32::read(bytes)),
        ColumnType::F64 => Value::F64(f64::read(bytes)),
        ColumnType::Bool => Value::Bool(bytes[0] != 0),
        ColumnType::Date => Value::Date(i32::read(bytes)),
        ColumnType::Time => Value::Time(i64::read(bytes)),
        ColumnType::Timestamp => Value::Timestamp(i64::read(bytes)),
        ColumnType::Decimal { .. } if bytes.len() == 8 => Value::Decimal(i64::read(bytes).into()),
        ColumnType::Decimal { .. } => Value::Decimal(
            i128::from(u64::read(&bytes[..8])) | i128::from(i64::read(&bytes[8..])) << 64,
        ),
        ColumnType::Blob { .. } | ColumnType::Binary(_) => Value::Bytes(bytes),
        _ => return Err(MCO_E_ILLEGAL_PARAM),
    })
}

/// Opens a cursor on an index.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_index_cursor(
    transaction: u64,
    class_id: u32,
    index: u32,
    out: OutPtr<Cursor>,
) -> MCO_RET {
    status(open(transaction, class_id, index, out))
}

fn open(transaction: u64, class_id: u32, index: u32, out: OutPtr<Cursor>) -> Outcome {
    let context = Context::of(find_session(transaction)?, class_id)?;
    index_of(context, index)?;
    let cursor = put_cursor(context, Position::new(class_id, index));
    out.set(cursor).ok_or(MCO_E_ILLEGAL_PARAM)?;
    if super::cursor::has_objects(context)? { Ok(()) } else { Err(MCO_S_CURSOR_EMPTY) }
}

/// Puts a cursor on the object nearest to a key.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_search(
    transaction: u64,
    cursor: OutPtr<Cursor>,
    class_id: u32,
    index: u32,
    opcode: c_int,
    keys: InPtr<Key>,
    count: u32,
) -> MCO_RET {
    let at = At { transaction, class_id, index };
    status(search(at, cursor, opcode, keys, count))
}

/// An index, as C names it in each call.
#[derive(Clone, Copy)]
struct At {
    transaction: u64,
    class_id: u32,
    index: u32,
}

fn search(at: At, cursor: OutPtr<Cursor>, opcode: c_int, keys: InPtr<Key>, count: u32) -> Outcome {
    let At { transaction, class_id, index } = at;
    let context = Context::of(find_session(transaction)?, class_id)?;
    let cursor = cursor.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
    let at = index_of(context, index)?;
    let way = match opcode {
        1 => Find::Below,
        2 => Find::AtMost,
        3 => Find::Equal,
        4 => Find::AtLeast,
        5 => Find::Above,
        _ => return Err(MCO_E_ILLEGAL_PARAM),
    };
    let mut cursors = context.slot.cursors.borrow_mut();
    let position = cursor_at(&mut cursors, context, cursor, index)?;
    if at.is_plain && way == Find::Equal && count as usize == at.parts.len() {
        return position.stand(find_plain(context, at, keys)?);
    }
    with_key(at, keys, count, |values| position.search(context, at, way, values))
}

/// Finds an object by a whole key.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_find(
    transaction: u64,
    class_id: u32,
    index: u32,
    keys: InPtr<Key>,
    count: u32,
    out: OutPtr<Object>,
) -> MCO_RET {
    status(find_one(At { transaction, class_id, index }, keys, count, out))
}

fn find_one(at: At, keys: InPtr<Key>, count: u32, out: OutPtr<Object>) -> Outcome {
    let At { transaction, class_id, index } = at;
    out.set(Object::default()).ok_or(MCO_E_ILLEGAL_PARAM)?;
    let context = Context::of(find_session(transaction)?, class_id)?;
    let at = index_of(context, index)?;
    if at.is_plain && count as usize == at.parts.len() {
        let found = find_plain(context, at, keys)?;
        return Object::put_row(context.slot, class_id, found.ok_or(MCO_S_NOTFOUND)?, out);
    }
    let reading = context.slot.held().reading().ok_or(MCO_E_TRANSACT)?;
    let found = with_key(at, keys, count, |values| {
        let row = reading.find(&context.class.table, at.handle, values).map_err(status_of)?;
        Ok(row.as_ref().map(RowAt::of))
    })?;
    Object::put_row(context.slot, class_id, found.ok_or(MCO_S_NOTFOUND)?, out)
}

/// The key at the cursor against this one, in the order of the index.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_compare(
    transaction: u64,
    cursor: InPtr<Cursor>,
    class_id: u32,
    index: u32,
    keys: InPtr<Key>,
    count: u32,
    result: OutPtr<c_int>,
) -> MCO_RET {
    call(|| {
        let context = Context::of(find_session(transaction)?, class_id)?;
        let cursor = cursor.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
        let at = index_of(context, index)?;
        let mut cursors = context.slot.cursors.borrow_mut();
        let row = cursor_at(&mut cursors, context, cursor, index)?.current()?;
        // SAFETY: the cursor is of this transaction, which has not ended.
        let row = unsafe { row.bytes() };
        let layout = context.class.table.layout();
        let order = with_key(at, keys, count, |values| {
            let parts = at.parts.iter().zip(values);
            let orders = parts.map(|(part, value)| {
                let order = compare(&layout.read_value(row, part.leaf), value);
                if part.descending { order.reverse() } else { order }
            });
            Ok(orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then))
        })?;
        result.set(order as c_int).ok_or(MCO_E_ILLEGAL_PARAM)
    })
}

/// The order of two values of one column: NULL first, NaN last.
fn compare(one: &Value<'_>, two: &Value<'_>) -> std::cmp::Ordering {
    let number = |value: &Value<'_>| match *value {
        Value::Bool(truth) => Some(i128::from(truth)),
        Value::Decimal(scaled) => Some(scaled),
        Value::Date(days) => Some(days.into()),
        Value::Time(count) | Value::Timestamp(count) => Some(count.into()),
        ref other => other.as_integer(),
    };
    if let (Some(one), Some(two)) = (number(one), number(two)) {
        return one.cmp(&two);
    }
    if let (Some(one), Some(two)) = (one.as_float(), two.as_float()) {
        return one.partial_cmp(&two).unwrap_or_else(|| one.is_nan().cmp(&two.is_nan()));
    }
    match (one, two) {
        (Value::String(one), Value::String(two)) => one.as_bytes().cmp(two.as_bytes()),
        (Value::Bytes(one), Value::Bytes(two)) => one.cmp(two),
        (one, two) => two.is_null().cmp(&one.is_null()),
    }
}

/// Puts a cursor on an object.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_locate(
    transaction: u64,
    cursor: OutPtr<Cursor>,
    class_id: u32,
    index: u32,
    object: InPtr<Object>,
) -> MCO_RET {
    call(|| {
        let context = Context::of(find_session(transaction)?, class_id)?;
        let object = object.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
        index_of(context, index)?;
        if object.transaction != transaction || object.class_id != class_id {
            return Err(MCO_E_ILLEGAL_HANDLE);
        }
        object.with_bytes(context, |_| Ok(()))?;
        let number = object.draft_number(&context.slot.drafts.borrow());
        let row = match number {
            0 => remanent_engine::RowId::from_number(object.row_id.into()),
            number => context.slot.drafts.borrow_mut().get(number, class_id)?.row,
        };
        let reading = context.slot.held().reading().ok_or(MCO_E_TRANSACT)?;
        let row: Row<'_> = reading
            .row(&context.class.table, row.ok_or(MCO_S_NOTFOUND)?)
            .map_err(status_of)?
            .ok_or(MCO_E_DELETED)?;
        let mut position = Position::new(class_id, index);
        position.stand_on(RowAt::of(&row));
        let put = cursor.put(put_cursor(context, position));
        if put { Ok(()) } else { Err(MCO_E_ILLEGAL_PARAM) }
    })
}

/// Key values for a row of this index, for a cursor that is to stand on it.
pub(super) fn key_of_row<'a>(
    context: Context,
    index: &Index,
    row: &'a [u8],
) -> ([Value<'a>; PARTS_MAX], usize)
where
    'static: 'a,
{
    let mut values = [Value::Null; PARTS_MAX];
    let layout = context.class.table.layout();
    let count = index.parts.len().min(PARTS_MAX);
    for (value, part) in values.iter_mut().zip(&index.parts) {
        *value = layout.read_value(row, part.leaf);
    }
    (values, count)
}
