//! One Berkeley DB database through the C shim, owned by one thread or shared by several.
//!
//! Calls the C of shim.c, as `pairs` does that of pairs.c. A `Database` always holds an open
//! handle, which is closed exactly once: by `close`, or when it is dropped. A `Shared` one is the
//! same with a free-threaded handle; its transactions and cursors borrow it, and end when they are
//! dropped.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use lab_harness::readers::VALUE_LEN;
use lab_harness::sensors::{
    Measure, MeasureBuffer, PACKED_HEAD_LEN, SPECTRA_LEN_MAX, SensorKey, SensorStore, pack,
    packed_len, unpack,
};
use lab_harness::{Location, Medium, Outcome, Promise, Setting};

pub(crate) const TRANSACTIONS: c_int = 1;
pub(crate) const LOG_IN_MEMORY: c_int = 2;
pub(crate) const FILE: c_int = 4;
pub(crate) const NOSYNC: c_int = 8;
pub(crate) const WRITE_NOSYNC: c_int = 16;
pub(crate) const SHARED: c_int = 32;

/// Bytes of a shared database's key, whose order is the order of ids.
const KEY_LEN: u32 = 4;

const VALUE_LEN_MAX: usize = PACKED_HEAD_LEN + SPECTRA_LEN_MAX;

/// What the shim calls `lab_bdb`; never looked into from here.
#[repr(C)]
struct Handle {
    _opaque: [u8; 0],
}

// SAFETY: these are the declarations of shim.c, which the build script compiled.
unsafe extern "C" {
    fn lab_bdb_version() -> *const c_char;
    fn lab_bdb_error(code: c_int) -> *const c_char;
    fn lab_bdb_is_absent(code: c_int) -> c_int;
    fn lab_bdb_open(
        home: *const c_char,
        flags: c_int,
        cache_bytes: u64,
        made: *mut *mut Handle,
    ) -> c_int;
    fn lab_bdb_close(handle: *mut Handle) -> c_int;
    fn lab_bdb_put(
        handle: *mut Handle,
        key: *const c_void,
        key_len: u32,
        value: *const c_void,
        value_len: u32,
    ) -> c_int;
    fn lab_bdb_get(
        handle: *mut Handle,
        key: *const c_void,
        key_len: u32,
        buffer: *mut c_void,
        capacity: u32,
        value_len: *mut u32,
    ) -> c_int;
    fn lab_bdb_is_aborted(code: c_int) -> c_int;
    fn lab_bdb_begin(handle: *mut Handle, snapshot: c_int, begun: *mut *mut c_void) -> c_int;
    fn lab_bdb_commit(begun: *mut c_void) -> c_int;
    fn lab_bdb_abort(begun: *mut c_void) -> c_int;
    fn lab_bdb_insert_in(
        handle: *mut Handle,
        txn: *mut c_void,
        key: *const c_void,
        key_len: u32,
        value: *const c_void,
        value_len: u32,
    ) -> c_int;
    fn lab_bdb_get_in(
        handle: *mut Handle,
        txn: *mut c_void,
        key: *const c_void,
        key_len: u32,
        buffer: *mut c_void,
        capacity: u32,
        value_len: *mut u32,
    ) -> c_int;
    fn lab_bdb_change_in(
        handle: *mut Handle,
        txn: *mut c_void,
        key: *const c_void,
        key_len: u32,
        offset: u32,
        bytes: *const c_void,
        len: u32,
    ) -> c_int;
    fn lab_bdb_cursor(handle: *mut Handle, txn: *mut c_void, opened: *mut *mut c_void) -> c_int;
    fn lab_bdb_cursor_close(opened: *mut c_void) -> c_int;
    fn lab_bdb_cursor_move(
        opened: *mut c_void,
        next: c_int,
        for_writing: c_int,
        key: *mut c_void,
        key_len: u32,
        buffer: *mut c_void,
        capacity: u32,
        value_len: *mut u32,
    ) -> c_int;
    fn lab_bdb_cursor_delete(opened: *mut c_void) -> c_int;
}

/// An open database.
pub(crate) struct Database {
    handle: *mut Handle,
    value: [u8; VALUE_LEN_MAX],
}

impl Database {
    pub(crate) fn open(setting: &Setting, location: &Location<'_>) -> Outcome<Self> {
        let handle = open(setting, location, 0, location.data_bytes * 2 + (32 << 20))?;
        Ok(Self { handle, value: [0; VALUE_LEN_MAX] })
    }
}

/// Opens what a setting says, with these flags besides.
fn open(
    setting: &Setting,
    location: &Location<'_>,
    flags: c_int,
    cache_bytes: u64,
) -> Outcome<*mut Handle> {
    let (home, kept) = place_of(setting, location)?;
    let home = home.as_ref().map_or(ptr::null(), |home| home.as_ptr());
    let mut handle = ptr::null_mut();
    // SAFETY: `home` is null or ends in a zero and outlives the call; `handle` is a live local
    // that receives the handle on success.
    check(unsafe { lab_bdb_open(home, kept | flags, cache_bytes, &mut handle) })?;
    Ok(handle)
}

/// The folder of a setting, if it has one, and the flags of its promise.
pub(crate) fn place_of(
    setting: &Setting,
    location: &Location<'_>,
) -> Outcome<(Option<CString>, c_int)> {
    let promise = match setting.promise {
        Promise::None => 0,
        Promise::Memory => TRANSACTIONS | LOG_IN_MEMORY,
        Promise::Buffered => TRANSACTIONS | NOSYNC,
        Promise::Os => TRANSACTIONS | WRITE_NOSYNC,
        Promise::Disk => TRANSACTIONS,
    };
    match setting.medium {
        Medium::Memory => Ok((None, promise)),
        _ => {
            let home = CString::new(location.files()?.as_os_str().as_bytes())?;
            Ok((Some(home), promise | FILE))
        }
    }
}

impl SensorStore for Database {
    fn insert(&mut self, measure: &Measure<'_>) -> Outcome<()> {
        let key = measure.key().to_bytes();
        let value = &mut self.value[..packed_len(measure)];
        pack(measure, value);
        // SAFETY: the handle is open; both buffers are live for the call and as long as stated.
        check(unsafe {
            lab_bdb_put(
                self.handle,
                key.as_ptr().cast(),
                key.len() as u32,
                value.as_ptr().cast(),
                value.len() as u32,
            )
        })
    }

    fn read(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
        let name = key.to_bytes();
        let mut value_len = 0;
        // SAFETY: the handle is open; the key is live for the call; at most `VALUE_LEN_MAX`
        // bytes are written to `value`, which has as many.
        let code = unsafe {
            lab_bdb_get(
                self.handle,
                name.as_ptr().cast(),
                name.len() as u32,
                self.value.as_mut_ptr().cast(),
                VALUE_LEN_MAX as u32,
                &mut value_len,
            )
        };
        if code == 0 {
            return Ok(unpack(key, &self.value[..value_len as usize], out));
        }
        // SAFETY: a pure function of its argument.
        if unsafe { lab_bdb_is_absent(code) } != 0 {
            return Ok(false);
        }
        check(code).map(|()| false)
    }

    fn close(mut self: Box<Self>) -> Outcome<()> {
        let handle = std::mem::replace(&mut self.handle, ptr::null_mut());
        // SAFETY: the handle is open and, being replaced by null, is not used again.
        check(unsafe { lab_bdb_close(handle) })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is open and not used again; the result has nobody to go to.
            unsafe { lab_bdb_close(self.handle) };
        }
    }
}

/// A database that threads share, with versions of pages.
pub(crate) struct Shared {
    handle: *mut Handle,
}

// SAFETY: environment and database are opened with DB_THREAD, which makes their handles free for
// use by any thread; transactions and cursors, which are not, are neither `Send` nor `Sync`.
unsafe impl Sync for Shared {}

/// How a call within a transaction ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Yes,
    /// There is no such entry.
    Absent,
    /// The transaction was given up for another one.
    Aborted,
}

/// A transaction of one thread. Dropping it aborts it.
pub(crate) struct Transaction<'s> {
    shared: &'s Shared,
    txn: *mut c_void,
}

/// A cursor of a transaction, with the key and the value on which it stands.
pub(crate) struct Walk<'t> {
    cursor: *mut c_void,
    pub(crate) key: [u8; KEY_LEN as usize],
    pub(crate) value: [u8; VALUE_LEN],
    for_writing: bool,
    transaction: PhantomData<&'t ()>,
}

impl Shared {
    /// Opens a new one, whose log is in memory if it is.
    pub(crate) fn open(setting: &Setting, location: &Location<'_>) -> Outcome<Self> {
        // Old versions of pages are in the cache too.
        let cache_bytes = location.data_bytes * 8 + (256 << 20);
        Ok(Self { handle: open(setting, location, SHARED, cache_bytes)? })
    }

    /// Begins a transaction, or a snapshot that only reads.
    pub(crate) fn begin(&self, snapshot: bool) -> Outcome<Transaction<'_>> {
        let mut txn = ptr::null_mut();
        // SAFETY: the handle is open; `txn` is a live local.
        check(unsafe { lab_bdb_begin(self.handle, c_int::from(snapshot), &mut txn) })?;
        Ok(Transaction { shared: self, txn })
    }
}

impl Transaction<'_> {
    /// Inserts a new key.
    pub(crate) fn insert(&mut self, key: [u8; 4], value: &[u8; VALUE_LEN]) -> Outcome<Done> {
        let (value, len) = (value.as_ptr().cast(), VALUE_LEN as u32);
        let key = key.as_ptr().cast();
        // SAFETY: handle and transaction are open; key and value are live and as long as stated.
        done(unsafe { lab_bdb_insert_in(self.shared.handle, self.txn, key, KEY_LEN, value, len) })
    }

    /// Copies the value of a key into `value`.
    pub(crate) fn get(&mut self, key: [u8; 4], value: &mut [u8; VALUE_LEN]) -> Outcome<Done> {
        let (value, capacity) = (value.as_mut_ptr().cast(), VALUE_LEN as u32);
        let key = key.as_ptr().cast();
        let (handle, txn, mut len) = (self.shared.handle, self.txn, 0);
        // SAFETY: handle and transaction are open; the key is live, and at most `capacity` bytes
        // are written to `value`, which has as many.
        done(unsafe { lab_bdb_get_in(handle, txn, key, KEY_LEN, value, capacity, &mut len) })
    }

    /// Replaces the end of a key's value, from `offset` on.
    pub(crate) fn change(&mut self, key: [u8; 4], offset: usize, end: &[u8]) -> Outcome<Done> {
        let (bytes, len) = (end.as_ptr().cast(), end.len() as u32);
        let key = key.as_ptr().cast();
        let (handle, txn) = (self.shared.handle, self.txn);
        // SAFETY: handle and transaction are open; key and bytes are live and as long as stated.
        done(unsafe { lab_bdb_change_in(handle, txn, key, KEY_LEN, offset as u32, bytes, len) })
    }

    /// A cursor, to be dropped before the transaction ends.
    pub(crate) fn walk(&self, for_writing: bool) -> Outcome<Walk<'_>> {
        let mut cursor = ptr::null_mut();
        // SAFETY: handle and transaction are open; `cursor` is a live local.
        check(unsafe { lab_bdb_cursor(self.shared.handle, self.txn, &mut cursor) })?;
        let (key, value) = ([0; 4], [0; VALUE_LEN]);
        Ok(Walk { cursor, key, value, for_writing, transaction: PhantomData })
    }

    /// Commits.
    pub(crate) fn commit(mut self) -> Outcome<Done> {
        let txn = std::mem::replace(&mut self.txn, ptr::null_mut());
        // SAFETY: the transaction is open and, being replaced by null, is not used again.
        done(unsafe { lab_bdb_commit(txn) })
    }
}

impl Walk<'_> {
    /// Moves to the first key that is not less than `key`, without its value when for writing.
    pub(crate) fn at_least(&mut self, key: [u8; 4]) -> Outcome<Done> {
        self.key = key;
        self.step(false)
    }

    /// Moves to the next key, without its value when for writing.
    pub(crate) fn next(&mut self) -> Outcome<Done> {
        self.step(true)
    }

    fn step(&mut self, next: bool) -> Outcome<Done> {
        let capacity = if self.for_writing { 0 } else { VALUE_LEN as u32 };
        let writing = c_int::from(self.for_writing);
        let (key, value) = (self.key.as_mut_ptr().cast(), self.value.as_mut_ptr().cast());
        let (next, mut len) = (c_int::from(next), 0);
        // SAFETY: the cursor is open; at most `KEY_LEN` and `capacity` bytes are written to
        // buffers that have as many.
        done(unsafe {
            let cursor = self.cursor;
            lab_bdb_cursor_move(cursor, next, writing, key, KEY_LEN, value, capacity, &mut len)
        })
    }

    /// Deletes the entry on which it stands.
    pub(crate) fn delete(&mut self) -> Outcome<Done> {
        // SAFETY: the cursor is open.
        done(unsafe { lab_bdb_cursor_delete(self.cursor) })
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        // SAFETY: the cursor is open, its transaction too, and it is not used again.
        unsafe { lab_bdb_cursor_close(self.cursor) };
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.txn.is_null() {
            // SAFETY: the transaction is open and not used again.
            unsafe { lab_bdb_abort(self.txn) };
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the handle is open, nothing borrows it, and it is not used again.
        unsafe { lab_bdb_close(self.handle) };
    }
}

/// How a call ended that did not fail.
pub(crate) fn done(code: c_int) -> Outcome<Done> {
    // SAFETY: pure functions of their argument.
    let (absent, aborted) = unsafe { (lab_bdb_is_absent(code), lab_bdb_is_aborted(code)) };
    match code {
        _ if absent != 0 => Ok(Done::Absent),
        _ if aborted != 0 => Ok(Done::Aborted),
        code => check(code).map(|()| Done::Yes),
    }
}

/// The version that the linked library reports.
pub(crate) fn version() -> String {
    // SAFETY: Berkeley DB returns a static string that ends in a zero.
    let text = unsafe { CStr::from_ptr(lab_bdb_version()) }.to_string_lossy();
    let number = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_numeric()));
    let number = number.unwrap_or(&text);
    number.trim_end_matches([':', ',']).to_owned()
}

/// Fails with the library's own words unless the code is 0.
pub(crate) fn check(code: c_int) -> Outcome<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: Berkeley DB returns a string that ends in a zero for every code.
    let text = unsafe { CStr::from_ptr(lab_bdb_error(code)) };
    Err(format!("Berkeley DB: {}", text.to_string_lossy()).into())
}
