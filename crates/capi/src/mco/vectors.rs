//! Arrays and vectors: parts of fixed arrays by offset, elements of vectors by number.
//!
//! An array's elements lie as in C, so a part of one is a range of bytes, checked as a whole when
//! it is put. A vector of scalars is the column's own; a vector of text or structs is a blob in
//! the format of `packed.rs`. A number beyond the end is `E_ILLEGAL_PARAM`.

use std::ffi::{c_char, c_void};
use std::ops::Range;

use remanent_engine::RowDraft;
use remanent_navigation::text;

use super::dictionary::{Leaf, Shape};
use super::fields::{text_out, trimmed};
use super::object::{Context, Object, edit, read};
use super::packed::Packed;
use super::status::*;
use crate::ffi::{InPtr, OutPtr};

/// The bytes from `offset` on, `size` of them, if that many are there.
pub(super) fn part(len: usize, offset: u32, size: u32) -> Outcome<Range<usize>> {
    let range = offset as usize..offset as usize + size as usize;
    if range.end <= len { Ok(range) } else { Err(MCO_E_ILLEGAL_PARAM) }
}

/// Changes a part of an array.
pub(super) fn edit_part(
    at: &Leaf,
    draft: &mut RowDraft,
    offset: u32,
    size: u32,
    change: impl FnOnce(&mut [u8]) -> Outcome,
) -> Outcome {
    if !matches!(at.shape, Shape::Array | Shape::Binary) {
        return Err(MCO_E_ILLEGAL_PARAM);
    }
    let range = part(at.size, offset, size)?;
    let mut whole = match draft.row().blob(at.column) {
        Some(whole) => whole.to_vec(),
        None => vec![0; at.size],
    };
    change(&mut whole[range])?;
    draft.set_raw(at.column, &whole).map_err(status_of)
}

/// Calls `get` with a part of an array.
pub(super) fn with_part(
    context: Context,
    leaf: u32,
    row: &[u8],
    offset: u32,
    size: u32,
    get: impl FnOnce(&[u8]) -> Outcome,
) -> Outcome {
    let at = context.leaf(leaf)?;
    if !matches!(at.shape, Shape::Array | Shape::Binary) {
        return Err(MCO_E_ILLEGAL_PARAM);
    }
    let range = part(at.size, offset, size)?;
    get(&row[at.offset..at.offset + at.size][range])
}

/// Puts text into a place of fixed size and fills it up.
pub(super) fn fill_text(place: &mut [u8], from: &[u8]) -> Outcome {
    let mut buffer = Vec::new();
    let stored = text::encode(from, &mut buffer).as_bytes();
    if stored.len() > place.len() {
        return Err(MCO_E_TOO_LONG);
    }
    let (filled, rest) = place.split_at_mut(stored.len());
    filled.copy_from_slice(stored);
    rest.fill(0);
    Ok(())
}

/// Gives bytes to C.
pub(super) fn bytes_out(bytes: &[u8], out: OutPtr<c_void>) -> Outcome {
    if out.cast::<u8>().fill(bytes) { Ok(()) } else { Err(MCO_E_ILLEGAL_PARAM) }
}

/// Puts a part of an array.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_part_put(
    object: OutPtr<Object>,
    leaf: u32,
    offset: u32,
    value: InPtr<c_void>,
    size: u32,
) -> MCO_RET {
    call(|| {
        edit(object, |context, draft| {
            let value = value.cast::<u8>().slice(size as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
            edit_part(context.leaf(leaf)?, draft, offset, size, |place| {
                place.copy_from_slice(value);
                Ok(())
            })
        })
    })
}

/// Gets a part of an array.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_part_get(
    object: InPtr<Object>,
    leaf: u32,
    offset: u32,
    value: OutPtr<c_void>,
    size: u32,
) -> MCO_RET {
    call(|| {
        read(object, |context, row| {
            with_part(context, leaf, row, offset, size, |place| bytes_out(place, value))
        })
    })
}

/// Puts text into a part of an array.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_part_put_text(
    object: OutPtr<Object>,
    leaf: u32,
    offset: u32,
    capacity: u32,
    from: InPtr<c_char>,
    length: u32,
) -> MCO_RET {
    call(|| {
        edit(object, |context, draft| {
            let from = from.bytes(length as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
            let at = context.leaf(leaf)?;
            edit_part(at, draft, offset, capacity, |place| fill_text(place, from))
        })
    })
}

/// Gets text from a part of an array.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_part_get_text(
    object: InPtr<Object>,
    leaf: u32,
    offset: u32,
    capacity: u32,
    buffer: OutPtr<c_char>,
    size: u32,
    length: OutPtr<u16>,
) -> MCO_RET {
    call(|| {
        read(object, |context, row| {
            with_part(context, leaf, row, offset, capacity, |place| {
                text_out(trimmed(place), buffer, size, length)
            })
        })
    })
}

/// The size of a vector's elements.
fn element_of(context: Context, leaf: u32) -> Outcome<(&'static Leaf, u32)> {
    match context.leaf(leaf)? {
        at @ Leaf { shape: Shape::Vector(element), .. } => Ok((at, *element)),
        _ => Err(MCO_E_ILLEGAL_PARAM),
    }
}

/// Where elements lie, if `size` is that of one.
fn elements(element: u32, index: u32, count: u32, size: u32) -> Outcome<Range<usize>> {
    if element != size {
        return Err(MCO_E_ILLEGAL_PARAM);
    }
    let start = index as usize * element as usize;
    Ok(start..start + count as usize * element as usize)
}

/// Makes a vector one of so many zeros.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_vector_alloc(object: OutPtr<Object>, leaf: u32, count: u32) -> MCO_RET {
    call(|| {
        edit(object, |context, draft| {
            let (at, element) = element_of(context, leaf)?;
            let len = count as usize * element as usize;
            if len > remanent_engine::schema::ROW_LEN_MAX {
                return Err(MCO_E_TOO_LONG);
            }
            draft.set_raw(at.column, &vec![0; len]).map_err(status_of)
        })
    })
}

/// Puts elements of a vector.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_vector_put(
    object: OutPtr<Object>,
    leaf: u32,
    index: u32,
    count: u32,
    from: InPtr<c_void>,
    size: u32,
) -> MCO_RET {
    call(|| {
        edit(object, |context, draft| {
            let (at, element) = element_of(context, leaf)?;
            let range = elements(element, index, count, size)?;
            let from = from.cast::<u8>().slice(range.len()).ok_or(MCO_E_ILLEGAL_PARAM)?;
            let mut whole = draft.row().blob(at.column).unwrap_or_default().to_vec();
            whole.get_mut(range).ok_or(MCO_E_ILLEGAL_PARAM)?.copy_from_slice(from);
            draft.set_raw(at.column, &whole).map_err(status_of)
        })
    })
}

/// Gets elements of a vector.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_vector_get(
    object: InPtr<Object>,
    leaf: u32,
    index: u32,
    count: u32,
    to: OutPtr<c_void>,
    size: u32,
) -> MCO_RET {
    call(|| {
        read(object, |context, row| {
            let (_, element) = element_of(context, leaf)?;
            let range = elements(element, index, count, size)?;
            let whole = context.class.table.layout().get_bytes(row, leaf as usize);
            bytes_out(whole.unwrap_or_default().get(range).ok_or(MCO_E_ILLEGAL_PARAM)?, to)
        })
    })
}

/// Removes elements of a vector.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_vector_erase(
    object: OutPtr<Object>,
    leaf: u32,
    index: u32,
    count: u32,
) -> MCO_RET {
    call(|| {
        edit(object, |context, draft| {
            let (at, element) = element_of(context, leaf)?;
            let range = elements(element, index, count, element)?;
            let mut whole = draft.row().blob(at.column).unwrap_or_default().to_vec();
            if range.end > whole.len() {
                return Err(MCO_E_ILLEGAL_PARAM);
            }
            whole.drain(range);
            draft.set_raw(at.column, &whole).map_err(status_of)
        })
    })
}

/// Changes a packed vector.
pub(super) fn edit_packed(
    context: Context,
    leaf: u32,
    draft: &mut RowDraft,
    change: impl FnOnce(&Packed<'_>) -> Outcome<Vec<u8>>,
) -> Outcome {
    let at = context.leaf(leaf)?;
    if at.shape != Shape::Blob {
        return Err(MCO_E_ILLEGAL_PARAM);
    }
    let changed = change(&Packed::of(draft.row().blob(at.column).unwrap_or_default()))?;
    draft.set_raw(at.column, &changed).map_err(status_of)
}

/// A packed vector of a row.
pub(super) fn packed<'a>(context: Context, leaf: u32, row: &'a [u8]) -> Outcome<Packed<'a>> {
    if context.leaf(leaf)?.shape != Shape::Blob {
        return Err(MCO_E_ILLEGAL_PARAM);
    }
    let bytes = context.class.table.layout().get_bytes(row, leaf as usize);
    Ok(Packed::of(bytes.unwrap_or_default()))
}

/// Makes a vector one of so many empty elements.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_packed_alloc(object: OutPtr<Object>, leaf: u32, count: u32) -> MCO_RET {
    call(|| {
        edit(object, |context, draft| {
            edit_packed(context, leaf, draft, |_| Packed::empty(count as usize))
        })
    })
}

/// The number of elements.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_packed_size(
    object: InPtr<Object>,
    leaf: u32,
    out: OutPtr<u32>,
) -> MCO_RET {
    call(|| {
        read(object, |context, row| {
            let count = packed(context, leaf, row)?.count();
            out.set(count as u32).ok_or(MCO_E_ILLEGAL_PARAM)
        })
    })
}

/// Removes elements.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_packed_erase(
    object: OutPtr<Object>,
    leaf: u32,
    index: u32,
    count: u32,
) -> MCO_RET {
    call(|| {
        edit(object, |context, draft| {
            edit_packed(context, leaf, draft, |packed| {
                packed.without(index as usize, count as usize)
            })
        })
    })
}

/// Puts an element of a vector of text.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_packed_put_text(
    object: OutPtr<Object>,
    leaf: u32,
    index: u32,
    from: InPtr<c_char>,
    length: u32,
) -> MCO_RET {
    call(|| {
        edit(object, |context, draft| {
            let from = from.bytes(length as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
            edit_packed(context, leaf, draft, |packed| packed.with(index as usize, from))
        })
    })
}

/// Gets an element of a vector of text.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_packed_get_text(
    object: InPtr<Object>,
    leaf: u32,
    index: u32,
    buffer: OutPtr<c_char>,
    size: u32,
    length: OutPtr<u16>,
) -> MCO_RET {
    call(|| {
        read(object, |context, row| {
            let element = packed(context, leaf, row)?.get(index as usize)?;
            raw_text_out(element, buffer, size, length)
        })
    })
}

/// As `text_out`, for bytes that are not encoded.
pub(super) fn raw_text_out(
    bytes: &[u8],
    buffer: OutPtr<c_char>,
    size: u32,
    length: OutPtr<u16>,
) -> Outcome {
    let places = buffer.cast::<u8>().uninit_slice(size as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
    let fits = bytes.len().min(places.len());
    places[..fits].write_copy_of_slice(&bytes[..fits]);
    if let Some(end) = places.get_mut(bytes.len()) {
        end.write(0);
    }
    length.put(u16::try_from(bytes.len()).unwrap_or(u16::MAX));
    Ok(())
}
