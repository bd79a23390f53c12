//! Reading the records of key/value databases in a transaction.
//!
//! What is got is a place in the database, good until the transaction ends whatever is put or
//! deleted meanwhile, or a copy in a buffer of the program's. No such key is `REM_NOT_FOUND`.

use std::ffi::c_void;

use remanent_engine::{ReadTransaction, Result};
use remanent_kv::KvDatabase;

use super::databases::{rem_blob, rem_kv};
use crate::ffi::{InPtr, OutPtr};
use crate::native::session::find_session;
use crate::native::status::*;
use crate::native::transaction::rem_transaction;

/// The content of a key/value database, as one transaction sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rem_kv_statistics {
    /// Different keys.
    pub keys: u64,
    /// Records, each duplicate one of its own.
    pub records: u64,
    /// Bytes of the records' keys, once for each duplicate.
    pub key_bytes: u64,
    /// Bytes of the records' values.
    pub value_bytes: u64,
}

/// Gets the value of a key; of several the first.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_get(
    transaction: *const rem_transaction,
    kv: rem_kv,
    key: rem_blob,
    out: *mut rem_blob,
) -> rem_status {
    call(|| {
        let key = key.bytes()?;
        let value = read(transaction, kv, |kv, tx| kv.get(tx, key))?.ok_or(REM_NOT_FOUND)?;
        OutPtr::from(out).set(rem_blob::of(value)).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Copies the value of a key into a buffer of `size` bytes. `length` receives the value's length,
/// also where the buffer is too small for it: `REM_BUFFER_TOO_SMALL`, and nothing is copied.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_get_into(
    transaction: *const rem_transaction,
    kv: rem_kv,
    key: rem_blob,
    buffer: *mut c_void,
    size: usize,
    length: *mut usize,
) -> rem_status {
    call(|| {
        let key = key.bytes()?;
        let value = read(transaction, kv, |kv, tx| kv.get(tx, key))?.ok_or(REM_NOT_FOUND)?;
        copy_out(value, buffer, size, length)
    })
}

/// Gets, of the value of a key, the `length` bytes from `offset` on: fewer or none where it ends
/// before.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_get_part(
    transaction: *const rem_transaction,
    kv: rem_kv,
    key: rem_blob,
    offset: usize,
    length: usize,
    out: *mut rem_blob,
) -> rem_status {
    call(|| {
        let key = key.bytes()?;
        let part = read(transaction, kv, |kv, tx| kv.get_partial(tx, key, offset, length))?;
        let part = rem_blob::of(part.ok_or(REM_NOT_FOUND)?);
        OutPtr::from(out).set(part).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Gets the values of many keys at once, which overlaps their waits for memory. A key without a
/// value gets one whose `data` is null.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_get_batch(
    transaction: *const rem_transaction,
    kv: rem_kv,
    keys: *const rem_blob,
    count: usize,
    values: *mut rem_blob,
) -> rem_status {
    call(|| {
        let keys = InPtr::from(keys).slice(count).ok_or(REM_NULL_ARGUMENT)?;
        let keys = keys.iter().map(|key| key.bytes()).collect::<Outcome<Vec<&[u8]>>>()?;
        let places = OutPtr::from(values).uninit_slice(count).ok_or(REM_NULL_ARGUMENT)?;
        let mut found = vec![rem_blob::NONE; count];
        read(transaction, kv, |kv, tx| {
            kv.get_batch(tx, &keys, |number, value| {
                found[number] = value.map_or(rem_blob::NONE, rem_blob::of);
            })
        })?;
        places.write_copy_of_slice(&found);
        Ok(())
    })
}

/// Whether a key has a value.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_exists(
    transaction: *const rem_transaction,
    kv: rem_kv,
    key: rem_blob,
    out: *mut bool,
) -> rem_status {
    call(|| {
        let key = key.bytes()?;
        let exists = read(transaction, kv, |kv, tx| kv.exists(tx, key))?;
        OutPtr::from(out).set(exists).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Counts the records, by going through all of them.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_count(
    transaction: *const rem_transaction,
    kv: rem_kv,
    out: *mut rem_kv_statistics,
) -> rem_status {
    call(|| {
        let counted = read(transaction, kv, |kv, tx| kv.statistics(tx))?;
        let counted = rem_kv_statistics {
            keys: counted.keys,
            records: counted.records,
            key_bytes: counted.key_bytes,
            value_bytes: counted.value_bytes,
        };
        OutPtr::from(out).set(counted).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Reads in a transaction; what comes of it is good until that ends.
#[inline]
fn read<T>(
    transaction: *const rem_transaction,
    kv: rem_kv,
    work: impl FnOnce(&'static KvDatabase, &'static ReadTransaction<'static>) -> Result<T>,
) -> Outcome<T> {
    let slot = find_session(transaction as u64)?;
    let kv = slot.base()?.stores().database(kv.id)?;
    work(kv, slot.held.reading().ok_or(REM_TRANSACTION_ENDED)?).map_err(status_of)
}

/// Copies a value that there is room for; gives its length in any case.
pub(super) fn copy_out(
    value: &[u8],
    buffer: *mut c_void,
    size: usize,
    length: *mut usize,
) -> Outcome {
    OutPtr::from(length).set(value.len()).ok_or(REM_NULL_ARGUMENT)?;
    if value.len() > size {
        return Err(REM_BUFFER_TOO_SMALL);
    }
    if OutPtr::from(buffer.cast::<u8>()).fill(value) { Ok(()) } else { Err(REM_NULL_ARGUMENT) }
}
