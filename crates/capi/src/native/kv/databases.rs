//! Key/value databases of the native interface: opened, created, removed, renamed and listed.
//!
//! A key/value database is a table of two blobs in a database, so it and other tables change in
//! one transaction; `rem_table_find` finds it as a table. Its handle is a number, found once by
//! name and good for any thread until the database is closed. Keys and values are given and got as
//! [`rem_blob`]: what is got lies in the database and is good until the transaction ends.

use std::ffi::{c_char, c_void};

use remanent_kv::{Kind, KvDatabase, KvOptions};

use super::secondary::outside_callback;
use crate::ffi::{InPtr, OutPtr};
use crate::native::database::rem_database;
use crate::native::schema::{put_name, read_text};
use crate::native::session::{Base, database};
use crate::native::status::*;

/// Without an order; look-ups take the same time for every number of records.
pub const REM_KV_HASHED: u32 = 1;
/// Several values for a key, in the order of their bytes, each once.
pub const REM_KV_DUPLICATES: u32 = 2;

/// A key/value database.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct rem_kv {
    /// 0 is no key/value database.
    pub id: u64,
}

/// Bytes of the program's, or in a database; `data` may be null for none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rem_blob {
    /// Their position.
    pub data: *const c_void,
    /// How many.
    pub length: usize,
}

impl rem_blob {
    pub(super) const NONE: Self = Self { data: std::ptr::null(), length: 0 };

    #[inline]
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), length: bytes.len() }
    }

    /// The bytes, for as long as the call takes.
    #[inline]
    pub(super) fn bytes<'a>(self) -> Outcome<&'a [u8]> {
        InPtr::from(self.data.cast::<u8>()).slice(self.length).ok_or(REM_NULL_ARGUMENT)
    }
}

/// Opens the key/value database of this name. `REM_UNKNOWN_TABLE` if there is none,
/// `REM_SCHEMA_MISMATCH` if the table of this name is none.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_find(
    db: *const rem_database,
    name: *const c_char,
    out: *mut rem_kv,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        put(&base, out, |base| {
            base.stores().environment.open_database(read_text(name)?).map_err(status_of)
        })
    })
}

/// Opens a key/value database, and creates it if there is none of this name. `flags` are
/// REM_KV_HASHED and REM_KV_DUPLICATES, `REM_SCHEMA_MISMATCH` if there is one with others.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_open(
    db: *const rem_database,
    name: *const c_char,
    flags: u32,
    out: *mut rem_kv,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        put(&base, out, |base| {
            let environment = &base.stores().environment;
            let (name, options) = (read_text(name)?, options(flags)?);
            if environment.database().table(name).is_err() {
                base.stores().check_room()?;
            }
            environment.open_or_create(name, options).map_err(status_of)
        })
    })
}

/// Creates a key/value database; `REM_TABLE_EXISTS` if a table has this name.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_create(
    db: *const rem_database,
    name: *const c_char,
    flags: u32,
    out: *mut rem_kv,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        put(&base, out, |base| {
            base.stores().check_room()?;
            base.stores().environment.create(read_text(name)?, options(flags)?).map_err(status_of)
        })
    })
}

/// Removes a key/value database and its records. It waits for transactions to end, those that only
/// read too, and is `REM_TABLE_BUSY` if they do not; `REM_INVALID_OPTIONS` while it is a secondary
/// or has some. Handles of it answer `REM_UNKNOWN_TABLE` from then on.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_remove(db: *const rem_database, name: *const c_char) -> rem_status {
    call(|| {
        outside_callback()?;
        database(db as u64)?.stores().environment.remove(read_text(name)?).map_err(status_of)
    })
}

/// Gives a key/value database another name, by copying its records; `out` may be null. As
/// `rem_kv_remove`; `REM_TABLE_EXISTS` if a table has the new name, `REM_CONFLICT` if somebody
/// changed it meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_rename(
    db: *const rem_database,
    name: *const c_char,
    new_name: *const c_char,
    out: *mut rem_kv,
) -> rem_status {
    call(|| {
        outside_callback()?;
        let base = database(db as u64)?;
        base.stores().check_room()?;
        let renamed = base.stores().environment.rename(read_text(name)?, read_text(new_name)?);
        let renamed = renamed.map_err(status_of)?;
        if !OutPtr::from(out).is_null() {
            let id = base.stores().note(renamed)?;
            OutPtr::from(out).put(rem_kv { id });
        }
        Ok(())
    })
}

/// The name of a key/value database by its number, from 0 in the order of the names, with a final
/// NUL; `REM_NOT_FOUND` behind the last. `length` receives the name's length, without the NUL.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_name_at(
    db: *const rem_database,
    number: usize,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
) -> rem_status {
    call(|| {
        let names = database(db as u64)?.stores().environment.names();
        put_name(names.get(number).ok_or(REM_NOT_FOUND)?, buffer, size, length)
    })
}

/// What sort of key/value database it is: REM_KV_HASHED, REM_KV_DUPLICATES.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_flags(db: *const rem_database, kv: rem_kv, out: *mut u32) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        let options = base.stores().database(kv.id)?.options();
        let hashed = if options.kind() == Kind::Hash { REM_KV_HASHED } else { 0 };
        let duplicates = if options.has_duplicates() { REM_KV_DUPLICATES } else { 0 };
        OutPtr::from(out).set(hashed | duplicates).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Frees what deleted and replaced records have left behind, and gives unused memory of the whole
/// database back to the system; `released`, which may be null, receives how many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_compact(
    db: *const rem_database,
    kv: rem_kv,
    released: *mut u64,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        OutPtr::from(released).put(base.stores().database(kv.id)?.compact());
        Ok(())
    })
}

fn put(base: &Base, out: *mut rem_kv, open: impl FnOnce(&Base) -> Outcome<KvDatabase>) -> Outcome {
    let out = OutPtr::from(out);
    out.set(rem_kv::default()).ok_or(REM_NULL_ARGUMENT)?;
    let id = base.stores().note(open(base)?)?;
    out.put(rem_kv { id });
    Ok(())
}

fn options(flags: u32) -> Outcome<KvOptions> {
    if flags & !(REM_KV_HASHED | REM_KV_DUPLICATES) != 0 {
        return Err(REM_BAD_ARGUMENT);
    }
    let options = match flags & REM_KV_HASHED {
        0 => KvOptions::ordered(),
        _ => KvOptions::hashed(),
    };
    Ok(if flags & REM_KV_DUPLICATES != 0 { options.with_duplicates() } else { options })
}
