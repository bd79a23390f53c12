//! Records and keys.
//!
//! How many bytes lie behind a `void *` is what the schema says of the record, field or key; that
//! there are so many is what the program promises. Everything else is the task's business.

use std::ffi::{c_int, c_long, c_void};

use remanent_navigation::{Outcome, Status};

use super::tasks::{DbTask, with};
use crate::ffi::{InPtr, OutPtr};

/// Makes a record from a struct.
#[unsafe(no_mangle)]
pub extern "C" fn d_fillnew(
    record: c_int,
    value: InPtr<c_void>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| {
        let size = context.task.record_type_size(record, dbn)?;
        context.task.fill_new(record, given(value, size)?, dbn)
    })
}

/// Makes a record of zeros.
#[unsafe(no_mangle)]
pub extern "C" fn d_makenew(record: c_int, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.make_new(record, dbn))
}

/// Copies the current record.
#[unsafe(no_mangle)]
pub extern "C" fn d_recread(value: OutPtr<c_void>, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| {
        let size = context.task.record_size(dbn)?;
        context.task.record_read(room(value, size)?, dbn)
    })
}

/// Replaces the current record.
#[unsafe(no_mangle)]
pub extern "C" fn d_recwrite(value: InPtr<c_void>, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| {
        let size = context.task.record_size(dbn)?;
        context.task.record_write(given(value, size)?, dbn)
    })
}

/// Copies a field of the current record.
#[unsafe(no_mangle)]
pub extern "C" fn d_crread(
    field: c_long,
    value: OutPtr<c_void>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| {
        let size = context.task.field_size(field, dbn)?;
        context.task.field_read(field, room(value, size)?, dbn)
    })
}

/// Writes a field of the current record.
#[unsafe(no_mangle)]
pub extern "C" fn d_crwrite(
    field: c_long,
    value: InPtr<c_void>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| {
        let size = context.task.field_size(field, dbn)?;
        let value = match context.task.is_text(field, dbn)? {
            true => value.cast::<u8>().text_within(size).ok_or(Status::INVALID_POINTER)?,
            false => given(value, size)?,
        };
        context.task.field_write(field, value, dbn)
    })
}

/// Deletes the current record.
#[unsafe(no_mangle)]
pub extern "C" fn d_delete(task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.delete(dbn))
}

/// Disconnects the current record from all sets and deletes it.
#[unsafe(no_mangle)]
pub extern "C" fn d_disdel(task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.disconnect_and_delete(dbn))
}

/// Goes to the first record of a type.
#[unsafe(no_mangle)]
pub extern "C" fn d_recfrst(record: c_int, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.record_first(record, dbn))
}

/// Goes to the last record of a type.
#[unsafe(no_mangle)]
pub extern "C" fn d_reclast(record: c_int, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.record_last(record, dbn))
}

/// Goes to the next record.
#[unsafe(no_mangle)]
pub extern "C" fn d_recnext(task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.record_next(dbn))
}

/// Goes to the record before.
#[unsafe(no_mangle)]
pub extern "C" fn d_recprev(task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.record_previous(dbn))
}

/// Says which record type is gone through.
#[unsafe(no_mangle)]
pub extern "C" fn d_recset(record: c_int, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.record_set(record, dbn))
}

/// Finds a record by key.
#[unsafe(no_mangle)]
pub extern "C" fn d_keyfind(
    field: c_long,
    value: InPtr<c_void>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| {
        let size = context.task.key_size(field, dbn)?;
        let value = match context.task.is_text(field, dbn)? {
            true => value.cast::<u8>().text_within(size),
            false => value.cast::<u8>().slice(size),
        };
        context.task.key_find(field, value, dbn)
    })
}

/// Goes to the record with the first key.
#[unsafe(no_mangle)]
pub extern "C" fn d_keyfrst(field: c_long, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.key_first(field, dbn))
}

/// Goes to the record with the last key.
#[unsafe(no_mangle)]
pub extern "C" fn d_keylast(field: c_long, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.key_last(field, dbn))
}

/// Goes to the record with the next key.
#[unsafe(no_mangle)]
pub extern "C" fn d_keynext(field: c_long, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.key_next(field, dbn))
}

/// Goes to the record with the key before.
#[unsafe(no_mangle)]
pub extern "C" fn d_keyprev(field: c_long, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.key_previous(field, dbn))
}

/// Copies the value of the key that was used last.
#[unsafe(no_mangle)]
pub extern "C" fn d_keyread(value: OutPtr<c_void>, task: InPtr<DbTask>) -> c_int {
    with(task, |context| {
        let size = context.task.last_key_size()?;
        context.task.key_read(room(value, size)?)
    })
}

fn given<'a>(value: InPtr<c_void>, size: usize) -> Outcome<&'a [u8]> {
    value.cast::<u8>().slice(size).ok_or_else(|| Status::INVALID_POINTER.into())
}

fn room<'a>(value: OutPtr<c_void>, size: usize) -> Outcome<&'a mut [u8]> {
    value.cast::<u8>().slice(size).ok_or_else(|| Status::INVALID_POINTER.into())
}
