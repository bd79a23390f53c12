//! Structs within objects: handles of them, and their fields wherever the struct lies.
//!
//! A struct lies in one of three places: as leaves of the row, as an element of an array (its
//! fields at their C offsets), or as an element of a vector (packed, its fields by number). A
//! handle says which, so the same generated functions serve all three.

use std::ffi::{c_char, c_int, c_void};

use super::fields::{
    rem_mco_get_fixed, rem_mco_get_text, rem_mco_put_fixed, rem_mco_put_null, rem_mco_put_text,
    text_out, trimmed,
};
use super::object::{Object, edit, read};
use super::packed::Packed;
use super::status::*;
use super::vectors::{
    bytes_out, edit_packed, edit_part, fill_text, packed, part, raw_text_out, with_part,
};
use crate::ffi::{InPtr, OutPtr};

const NO_ELEMENT: u32 = u32::MAX;

/// `rem_mco_struct` of the header.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Struct {
    object: Object,
    leaf: u32,
    element: u32,
    stride: u32,
    field: u32,
    offset: u32,
}

/// The location of a field of a struct.
enum Field {
    Leaf(u32),
    /// In an array, at this offset.
    Part(u32),
    /// In an element of a vector, with this number.
    Packed(usize),
}

impl Struct {
    fn field(&self, field: u32, offset: u32) -> Outcome<Field> {
        if self.element == NO_ELEMENT {
            return Ok(Field::Leaf(self.leaf.wrapping_add(field)));
        }
        if self.stride == 0 {
            let number = self.field.checked_add(field).filter(|number| *number < 1 << 16);
            return Ok(Field::Packed(number.ok_or(MCO_E_ILLEGAL_PARAM)? as usize));
        }
        let element = u64::from(self.element) * u64::from(self.stride);
        let offset = element + u64::from(self.offset) + u64::from(offset);
        u32::try_from(offset).map(Field::Part).map_err(|_| MCO_E_ILLEGAL_PARAM)
    }

    /// Puts the bytes of a field into an element of a vector.
    fn put_packed(&mut self, field: usize, content: &[u8]) -> Outcome {
        let (leaf, element) = (self.leaf, self.element as usize);
        edit(OutPtr::to(&mut self.object), |context, draft| {
            edit_packed(context, leaf, draft, |vector| {
                let fields = Packed::of(vector.get(element)?).with_field(field, content)?;
                vector.with(element, &fields)
            })
        })
    }

    /// Calls `get` with the bytes of a field of an element of a vector.
    fn with_packed(&self, field: usize, get: impl FnOnce(&[u8]) -> Outcome) -> Outcome {
        read(InPtr::of(&self.object), |context, row| {
            let element = packed(context, self.leaf, row)?.get(self.element as usize)?;
            get(Packed::of(element).get(field).unwrap_or_default())
        })
    }
}

/// Makes a handle of a struct.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_struct_of(
    object: OutPtr<Object>,
    presence: u32,
    leaf: u32,
    element: u32,
    stride: u32,
    write: c_int,
    out: OutPtr<Struct>,
) -> MCO_RET {
    if !out.put(Struct::default()) {
        return MCO_E_ILLEGAL_PARAM;
    }
    let Some(handle) = object.get() else { return MCO_E_ILLEGAL_PARAM };
    let is_there = if write != 0 {
        match presence {
            NO_ELEMENT => status(edit(object, |_, _| Ok(()))),
            presence => rem_mco_put_null(object, presence, 0),
        }
    } else {
        status(read(InPtr::of(handle), |context, row| {
            context.leaf(leaf)?;
            let layout = context.class.table.layout();
            if presence == NO_ELEMENT {
                return Ok(());
            }
            context.leaf(presence)?;
            let absent = layout.is_null(row, presence as usize);
            if absent { Err(MCO_S_NOTFOUND) } else { Ok(()) }
        }))
    };
    if is_there == MCO_S_OK {
        out.put(Struct { object: *handle, leaf, element, stride, field: 0, offset: 0 });
    }
    is_there
}

/// Makes a handle of a struct within a struct.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_struct_within(
    outer: InPtr<Struct>,
    field: u32,
    offset: u32,
    out: OutPtr<Struct>,
) -> MCO_RET {
    let Some(outer) = outer.get() else { return MCO_E_ILLEGAL_PARAM };
    let mut inner = *outer;
    if inner.element == NO_ELEMENT {
        inner.leaf = inner.leaf.wrapping_add(field);
    } else {
        inner.field = inner.field.wrapping_add(field);
        inner.offset = inner.offset.wrapping_add(offset);
    }
    if out.put(inner) { MCO_S_OK } else { MCO_E_ILLEGAL_PARAM }
}

/// Puts a scalar field.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_struct_put_fixed(
    at: OutPtr<Struct>,
    field: u32,
    offset: u32,
    value: InPtr<c_void>,
    size: u32,
) -> MCO_RET {
    call(|| {
        let at = at.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
        let bytes = value.cast::<u8>().slice(size as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
        match at.field(field, offset)? {
            Field::Leaf(leaf) => {
                outcome(rem_mco_put_fixed(OutPtr::to(&mut at.object), leaf, value, size))
            }
            Field::Packed(field) => at.put_packed(field, bytes),
            Field::Part(offset) => {
                let leaf = at.leaf;
                edit(OutPtr::to(&mut at.object), |context, draft| {
                    edit_part(context.leaf(leaf)?, draft, offset, size, |place| {
                        place.copy_from_slice(bytes);
                        Ok(())
                    })
                })
            }
        }
    })
}

/// Gets a scalar field.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_struct_get_fixed(
    at: InPtr<Struct>,
    field: u32,
    offset: u32,
    value: OutPtr<c_void>,
    size: u32,
) -> MCO_RET {
    call(|| {
        let at = at.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
        match at.field(field, offset)? {
            Field::Leaf(leaf) => {
                outcome(rem_mco_get_fixed(InPtr::of(&at.object), leaf, value, size))
            }
            Field::Part(offset) => read(InPtr::of(&at.object), |context, row| {
                with_part(context, at.leaf, row, offset, size, |place| bytes_out(place, value))
            }),
            Field::Packed(field) => at.with_packed(field, |content| {
                // A field that was never put is zero.
                let mut whole = [0; 64];
                let range = part(whole.len(), 0, size)?;
                let given = content.len().min(range.end);
                whole[..given].copy_from_slice(&content[..given]);
                bytes_out(&whole[range], value)
            }),
        }
    })
}

/// Puts a field of text.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_struct_put_text(
    at: OutPtr<Struct>,
    field: u32,
    offset: u32,
    capacity: u32,
    from: InPtr<c_char>,
    length: u32,
) -> MCO_RET {
    call(|| {
        let at = at.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
        let bytes = from.bytes(length as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
        match at.field(field, offset)? {
            Field::Leaf(leaf) => {
                outcome(rem_mco_put_text(OutPtr::to(&mut at.object), leaf, from, length))
            }
            Field::Packed(field) => at.put_packed(field, bytes),
            Field::Part(offset) => {
                let leaf = at.leaf;
                edit(OutPtr::to(&mut at.object), |context, draft| {
                    let at = context.leaf(leaf)?;
                    edit_part(at, draft, offset, capacity, |place| fill_text(place, bytes))
                })
            }
        }
    })
}

/// Gets a field of text.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_struct_get_text(
    at: InPtr<Struct>,
    field: u32,
    offset: u32,
    capacity: u32,
    buffer: OutPtr<c_char>,
    size: u32,
    length: OutPtr<u16>,
) -> MCO_RET {
    call(|| {
        let at = at.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
        match at.field(field, offset)? {
            Field::Leaf(leaf) => {
                outcome(rem_mco_get_text(InPtr::of(&at.object), leaf, buffer, size, length))
            }
            Field::Part(offset) => read(InPtr::of(&at.object), |context, row| {
                with_part(context, at.leaf, row, offset, capacity, |place| {
                    text_out(trimmed(place), buffer, size, length)
                })
            }),
            Field::Packed(field) => {
                at.with_packed(field, |content| raw_text_out(content, buffer, size, length))
            }
        }
    })
}

fn outcome(status: MCO_RET) -> Outcome {
    if status == MCO_S_OK { Ok(()) } else { Err(status) }
}
