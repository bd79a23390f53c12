//! Key/value calls without a transaction of the caller's: each is the smallest one of its own.
//!
//! What is got is copied, since there is no transaction that would keep it. A change is run again
//! after a conflict: it names its record, so of two changes of one key both take effect, one after
//! the other. Any thread may call with the same handles.

use std::ffi::c_void;

use remanent_engine::{Isolation, Result, TransactionOptions, WriteTransaction};
use remanent_kv::KvDatabase;

use super::change::{PutWay, tell_removed};
use super::databases::{rem_blob, rem_kv};
use super::record::copy_out;
use super::secondary::outside_callback;
use crate::ffi::OutPtr;
use crate::native::database::rem_database;
use crate::native::session::database;
use crate::native::status::*;

/// As `rem_kv_get_into`, in a transaction of its own.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_get_one(
    db: *const rem_database,
    kv: rem_kv,
    key: rem_blob,
    buffer: *mut c_void,
    size: usize,
    length: *mut usize,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        let (kv, key) = (base.stores().database(kv.id)?, key.bytes()?);
        let copied = base.database.read(|tx| {
            let value = kv.get(tx, key)?;
            Ok(value.ok_or(REM_NOT_FOUND).and_then(|value| copy_out(value, buffer, size, length)))
        });
        copied.map_err(status_of)?
    })
}

/// As `rem_kv_exists`, in a transaction of its own.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_exists_one(
    db: *const rem_database,
    kv: rem_kv,
    key: rem_blob,
    out: *mut bool,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        let (kv, key) = (base.stores().database(kv.id)?, key.bytes()?);
        let exists = base.database.read(|tx| kv.exists(tx, key)).map_err(status_of)?;
        OutPtr::from(out).set(exists).ok_or(REM_NULL_ARGUMENT)
    })
}

/// As `rem_kv_put`, in a transaction of its own, which has been committed when this returns.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_put_one(
    db: *const rem_database,
    kv: rem_kv,
    key: rem_blob,
    value: rem_blob,
    flags: u32,
) -> rem_status {
    call(|| {
        let way = PutWay::of(flags)?;
        let (key, value) = (key.bytes()?, value.bytes()?);
        change(db, kv, |kv, tx| way.put(kv, tx, key, value))
    })
}

/// As `rem_kv_delete`, in a transaction of its own.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_delete_one(
    db: *const rem_database,
    kv: rem_kv,
    key: rem_blob,
    removed: *mut u64,
) -> rem_status {
    call(|| {
        let key = key.bytes()?;
        tell_removed(change(db, kv, |kv, tx| kv.delete(tx, key))?, removed)
    })
}

fn change<T>(
    db: *const rem_database,
    kv: rem_kv,
    work: impl Fn(&KvDatabase, &WriteTransaction<'_>) -> Result<T>,
) -> Outcome<T> {
    outside_callback()?;
    let base = database(db as u64)?;
    let kv = base.stores().database(kv.id)?;
    let options = TransactionOptions::new().isolation(Isolation::Snapshot);
    base.database.write_with(&options, |tx| work(kv, tx)).map_err(status_of)
}
