//! Getting and putting of fields: scalars, text, nulls, blobs, binaries.
//!
//! A scalar passes as the bytes that C and the row both have. Text is any bytes (`text.rs`); what
//! does not fit a buffer is cut and its whole length is given. A field that is NULL reads as zeros
//! or as empty.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

use remanent_engine::schema::Value;
use remanent_navigation::text;

use super::dictionary::{Leaf, Shape};
use super::object::{Context, Object, edit, read};
use super::status::*;
use crate::ffi::{InPtr, OutPtr};

/// Puts a scalar, or anything else of fixed size.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_put_fixed(
    object: OutPtr<Object>,
    leaf: u32,
    value: InPtr<c_void>,
    size: u32,
) -> MCO_RET {
    status(edit(object, |context, draft| {
        let at = context.leaf(leaf)?;
        let value = fixed_value(at, value, size)?;
        draft.set_raw(at.column, value).map_err(status_of)
    }))
}

#[inline]
fn fixed_value<'a>(at: &Leaf, value: InPtr<c_void>, size: u32) -> Outcome<&'a [u8]> {
    let fixed = matches!(at.shape, Shape::Scalar | Shape::Binary | Shape::Array);
    if !fixed || at.size != size as usize {
        return Err(MCO_E_ILLEGAL_PARAM);
    }
    value.cast::<u8>().slice(at.size).ok_or(MCO_E_ILLEGAL_PARAM)
}

/// Gets a scalar, or anything else of fixed size.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_get_fixed(
    object: InPtr<Object>,
    leaf: u32,
    value: OutPtr<c_void>,
    size: u32,
) -> MCO_RET {
    status(read(object, |context, bytes| {
        let at = context.leaf(leaf)?;
        if at.size != size as usize || at.size == 0 {
            return Err(MCO_E_ILLEGAL_PARAM);
        }
        let place = bytes.get(at.offset..at.offset + at.size).ok_or(MCO_E_ILLEGAL_HANDLE)?;
        if value.cast::<u8>().fill_number(place) { Ok(()) } else { Err(MCO_E_ILLEGAL_PARAM) }
    }))
}

/// Puts text.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_put_text(
    object: OutPtr<Object>,
    leaf: u32,
    from: InPtr<c_char>,
    length: u32,
) -> MCO_RET {
    status(edit(object, |context, draft| {
        let at = context.leaf(leaf)?;
        let bytes = from.bytes(length as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
        if at.shape != Shape::Text {
            return Err(MCO_E_ILLEGAL_PARAM);
        }
        if let Some(ascii) = text::ascii(bytes) {
            return draft.set(at.column, ascii.into()).map_err(status_of);
        }
        context.instance.note_wide_text();
        let mut buffer = context.slot.text.borrow_mut();
        let stored = text::encode(bytes, &mut buffer);
        draft.set(at.column, stored.into()).map_err(status_of)
    }))
}

/// Gets text.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_get_text(
    object: InPtr<Object>,
    leaf: u32,
    buffer: OutPtr<c_char>,
    size: u32,
    length: OutPtr<u16>,
) -> MCO_RET {
    status(read(object, |context, bytes| {
        let stored = text_at(context, leaf, bytes)?;
        if context.instance.has_wide_text() {
            return text_out(stored, buffer, size, length);
        }
        let places = buffer.cast::<u8>().uninit_slice(size as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
        let fits = stored.len().min(places.len());
        places[..fits].write_copy_of_slice(&stored[..fits]);
        end_text(places, stored.len(), length);
        Ok(())
    }))
}

/// The text of a leaf, as it is stored.
#[inline(always)]
fn text_at(context: Context, leaf: u32, bytes: &[u8]) -> Outcome<&[u8]> {
    let at = context.leaf(leaf)?;
    if at.shape != Shape::Text {
        return Err(MCO_E_ILLEGAL_PARAM);
    }
    let stored = context.class.table.layout().get_bytes(bytes, leaf as usize).unwrap_or_default();
    Ok(if at.size == 0 { stored } else { trimmed(stored) })
}

/// Text of fixed size without the NULs that fill it up.
pub(super) fn trimmed(stored: &[u8]) -> &[u8] {
    let end = stored.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &stored[..end]
}

/// Gives text to C: as much as fits, NUL if there is room, and the whole length.
#[inline]
pub(super) fn text_out(
    stored: &[u8],
    buffer: OutPtr<c_char>,
    size: u32,
    length: OutPtr<u16>,
) -> Outcome {
    let places = buffer.cast::<u8>().uninit_slice(size as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
    let whole = text::decode(stored, places);
    end_text(places, whole, length);
    Ok(())
}

/// Adds NUL behind text if there is room, and gives the whole length.
#[inline]
fn end_text(places: &mut [MaybeUninit<u8>], whole: usize, length: OutPtr<u16>) {
    if let Some(end) = places.get_mut(whole) {
        end.write(0);
    }
    length.put(u16::try_from(whole).unwrap_or(u16::MAX));
}

/// Puts text in characters of 2 or 4 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_put_wide(
    object: OutPtr<Object>,
    leaf: u32,
    from: InPtr<c_void>,
    length: u32,
    width: u32,
) -> MCO_RET {
    call(|| {
        edit(object, |context, draft| {
            let at = context.leaf(leaf)?;
            let count = length as usize;
            let text: Option<String> = match width {
                2 => from.cast::<u16>().slice(count).and_then(|from| String::from_utf16(from).ok()),
                4 => from
                    .cast::<u32>()
                    .slice(count)
                    .and_then(|from| from.iter().map(|&code| char::from_u32(code)).collect()),
                _ => None,
            };
            let text = text.ok_or(MCO_E_ILLEGAL_PARAM)?;
            context.instance.note_wide_text();
            if at.shape != Shape::Text {
                return Err(MCO_E_ILLEGAL_PARAM);
            }
            draft.set(at.column, text.as_str().into()).map_err(status_of)
        })
    })
}

/// Gets text in characters of 2 or 4 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_get_wide(
    object: InPtr<Object>,
    leaf: u32,
    buffer: OutPtr<c_void>,
    size: u32,
    width: u32,
    length: OutPtr<u16>,
) -> MCO_RET {
    call(|| {
        read(object, |context, bytes| {
            let text = String::from_utf8_lossy(text_at(context, leaf, bytes)?);
            match width {
                2 => wide_out(text.encode_utf16(), buffer.cast(), size, length),
                4 => wide_out(text.chars().map(u32::from), buffer.cast(), size, length),
                _ => Err(MCO_E_ILLEGAL_PARAM),
            }
        })
    })
}

fn wide_out<T: Copy + Default>(
    characters: impl Iterator<Item = T>,
    buffer: OutPtr<T>,
    size: u32,
    length: OutPtr<u16>,
) -> Outcome {
    let places = buffer.uninit_slice(size as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
    let mut whole = 0;
    for character in characters {
        if let Some(place) = places.get_mut(whole) {
            place.write(character);
        }
        whole += 1;
    }
    if let Some(end) = places.get_mut(whole) {
        end.write(T::default());
    }
    length.put(u16::try_from(whole).unwrap_or(u16::MAX));
    Ok(())
}

/// The size of a field: bytes of text, blobs and binaries, elements of arrays and vectors.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_size(object: InPtr<Object>, leaf: u32, out: OutPtr<u32>) -> MCO_RET {
    status(read(object, |context, bytes| {
        let at = context.leaf(leaf)?;
        let layout = context.class.table.layout();
        let content = || layout.get_bytes(bytes, leaf as usize).unwrap_or_default();
        let size = match at.shape {
            Shape::Text => text::decoded_len(text_at(context, leaf, bytes)?),
            Shape::Blob => content().len(),
            Shape::Vector(element) => content().len() / element.max(1) as usize,
            Shape::Array => match layout.read_value(bytes, leaf as usize) {
                Value::Elements(elements) => elements.len(),
                _ => 0,
            },
            Shape::Scalar | Shape::Binary => at.size,
            Shape::Presence => return Err(MCO_E_ILLEGAL_PARAM),
        };
        out.set(size as u32).ok_or(MCO_E_ILLEGAL_PARAM)
    }))
}

/// Whether a field is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_get_null(object: InPtr<Object>, leaf: u32, out: OutPtr<u8>) -> MCO_RET {
    status(read(object, |context, bytes| {
        context.leaf(leaf)?;
        let is_null = context.class.table.layout().is_null(bytes, leaf as usize);
        out.set(is_null.into()).ok_or(MCO_E_ILLEGAL_PARAM)
    }))
}

/// Makes a field NULL, or zero or empty if it was.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_put_null(object: OutPtr<Object>, leaf: u32, is_null: u8) -> MCO_RET {
    call(|| {
        edit(object, |context, draft| {
            let at = context.leaf(leaf)?;
            if is_null != 0 {
                return draft.set(at.column, Value::Null).map_err(status_of);
            }
            if !draft.row().is_null(at.column) {
                return Ok(());
            }
            match at.shape {
                Shape::Presence => draft.set(at.column, true.into()).map_err(status_of),
                _ => draft.set_raw(at.column, &vec![0; at.size]).map_err(status_of),
            }
        })
    })
}

/// Puts a blob or a binary.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_blob_put(
    object: OutPtr<Object>,
    leaf: u32,
    from: InPtr<c_void>,
    length: u32,
) -> MCO_RET {
    call(|| {
        edit(object, |context, draft| {
            let at = context.leaf(leaf)?;
            let from = from.cast::<u8>().slice(length as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
            match at.shape {
                Shape::Blob => draft.set(at.column, from.into()).map_err(status_of),
                Shape::Binary if from.len() > at.size => Err(MCO_E_TOO_LONG),
                Shape::Binary => {
                    let mut whole = from.to_vec();
                    whole.resize(at.size, 0);
                    draft.set_raw(at.column, &whole).map_err(status_of)
                }
                _ => Err(MCO_E_ILLEGAL_PARAM),
            }
        })
    })
}

/// Puts more behind a blob.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_blob_append(
    object: OutPtr<Object>,
    leaf: u32,
    from: InPtr<c_void>,
    length: u32,
) -> MCO_RET {
    call(|| {
        edit(object, |context, draft| {
            let at = context.leaf(leaf)?;
            let from = from.cast::<u8>().slice(length as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
            if at.shape != Shape::Blob {
                return Err(MCO_E_ILLEGAL_PARAM);
            }
            let mut whole = draft.row().blob(at.column).unwrap_or_default().to_vec();
            whole.extend_from_slice(from);
            draft.set(at.column, Value::Bytes(&whole)).map_err(status_of)
        })
    })
}

/// Gets a piece of a blob or a binary, from an offset on.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_blob_get(
    object: InPtr<Object>,
    leaf: u32,
    offset: u32,
    buffer: OutPtr<c_void>,
    size: u32,
    length: OutPtr<u32>,
) -> MCO_RET {
    status(read(object, |context, bytes| {
        let at = context.leaf(leaf)?;
        if !matches!(at.shape, Shape::Blob | Shape::Binary) {
            return Err(MCO_E_ILLEGAL_PARAM);
        }
        let content = context.class.table.layout().get_bytes(bytes, leaf as usize);
        let content = content.unwrap_or_default();
        let piece = content.get(offset as usize..).ok_or(MCO_E_ILLEGAL_PARAM)?;
        let piece = &piece[..piece.len().min(size as usize)];
        if !buffer.cast::<u8>().fill(piece) {
            return Err(MCO_E_ILLEGAL_PARAM);
        }
        length.put(piece.len() as u32);
        Ok(())
    }))
}
