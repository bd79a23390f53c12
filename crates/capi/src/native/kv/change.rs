//! Changing the records of key/value databases in a transaction.
//!
//! A change of a database with secondaries calls functions of the program. Meanwhile the
//! transaction's token leads nowhere, so that they cannot end it, and they change no key/value
//! database through another one: `outside_callback` refuses.

use remanent_engine::{Result, WriteTransaction};
use remanent_kv::KvDatabase;

use super::databases::{rem_blob, rem_kv};
use super::secondary::outside_callback;
use crate::ffi::OutPtr;
use crate::native::session::{SessionSlot, find_session};
use crate::native::status::*;
use crate::native::transaction::rem_transaction;

/// Only if the key has no value; `REM_DUPLICATE_KEY` if it has one.
pub const REM_KV_NO_OVERWRITE: u32 = 1;
/// Only if the key does not have this value; `REM_DUPLICATE_KEY` if it does. For databases with
/// duplicates.
pub const REM_KV_NO_DUPLICATE: u32 = 2;

/// Gives a key a value: in place of its value or, in a database with duplicates, besides those
/// that it has. `flags` is 0, REM_KV_NO_OVERWRITE or REM_KV_NO_DUPLICATE.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_put(
    transaction: *const rem_transaction,
    kv: rem_kv,
    key: rem_blob,
    value: rem_blob,
    flags: u32,
) -> rem_status {
    call(|| {
        let way = PutWay::of(flags)?;
        let (key, value) = (key.bytes()?, value.bytes()?);
        change(transaction, kv, |kv, tx| way.put(kv, tx, key, value))
    })
}

/// Puts bytes in the place of the `length` bytes from `offset` on of a key's value, which grows or
/// shrinks if they are more or fewer; beyond its end come zeros first. `REM_INVALID_OPTIONS` in a
/// database with duplicates.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_put_part(
    transaction: *const rem_transaction,
    kv: rem_kv,
    key: rem_blob,
    offset: usize,
    length: usize,
    bytes: rem_blob,
) -> rem_status {
    call(|| {
        let (key, bytes) = (key.bytes()?, bytes.bytes()?);
        change(transaction, kv, |kv, tx| kv.put_partial(tx, key, offset, length, bytes))
    })
}

/// Removes all values of a key; `REM_NOT_FOUND` if it has none. `removed`, which may be null,
/// receives how many.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_delete(
    transaction: *const rem_transaction,
    kv: rem_kv,
    key: rem_blob,
    removed: *mut u64,
) -> rem_status {
    call(|| {
        let key = key.bytes()?;
        tell_removed(change(transaction, kv, |kv, tx| kv.delete(tx, key))?, removed)
    })
}

/// Removes all records; `removed`, which may be null, receives how many.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_truncate(
    transaction: *const rem_transaction,
    kv: rem_kv,
    removed: *mut u64,
) -> rem_status {
    call(|| {
        let count = change(transaction, kv, |kv, tx| kv.truncate(tx))?;
        OutPtr::from(removed).put(count);
        Ok(())
    })
}

/// Tells how many records were removed.
pub(super) fn tell_removed(count: u64, removed: *mut u64) -> Outcome {
    OutPtr::from(removed).put(count);
    if count == 0 { Err(REM_NOT_FOUND) } else { Ok(()) }
}

fn change<T>(
    transaction: *const rem_transaction,
    kv: rem_kv,
    work: impl FnOnce(&KvDatabase, &WriteTransaction<'_>) -> Result<T>,
) -> Outcome<T> {
    let slot = find_session(transaction as u64)?;
    let kv = slot.base()?.stores().database(kv.id)?;
    changing(slot, |tx| work(kv, tx))
}

/// Changes something in a transaction, which functions of the program cannot reach meanwhile.
#[inline]
pub(super) fn changing<T>(
    slot: SessionSlot,
    work: impl FnOnce(&WriteTransaction<'static>) -> Result<T>,
) -> Outcome<T> {
    outside_callback()?;
    let writing = slot.held.writing().ok_or(REM_READ_ONLY)?;
    let _hidden = slot.hide();
    work(writing).map_err(status_of)
}

/// How a put treats values that are there.
#[derive(Clone, Copy)]
pub(super) enum PutWay {
    Any,
    NoOverwrite,
    NoDuplicate,
}

impl PutWay {
    pub(super) fn of(flags: u32) -> Outcome<Self> {
        match flags {
            0 => Ok(Self::Any),
            REM_KV_NO_OVERWRITE => Ok(Self::NoOverwrite),
            REM_KV_NO_DUPLICATE => Ok(Self::NoDuplicate),
            _ => Err(REM_BAD_ARGUMENT),
        }
    }

    pub(super) fn put(
        self,
        kv: &KvDatabase,
        tx: &WriteTransaction<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        match self {
            Self::Any => kv.put(tx, key, value),
            Self::NoOverwrite => kv.put_no_overwrite(tx, key, value),
            Self::NoDuplicate => kv.put_no_duplicate(tx, key, value),
        }
    }
}
