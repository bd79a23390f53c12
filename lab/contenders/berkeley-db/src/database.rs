//! One Berkeley DB database, owned by one thread, through the C shim.
//!
//! The only file of this crate that calls C. A `Database` always holds an open handle, which
//! is closed exactly once: by `close`, or when it is dropped.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use lab_harness::sensors::{
    Measure, MeasureBuffer, PACKED_HEAD_LEN, SPECTRA_LEN_MAX, SensorKey, SensorStore, pack,
    packed_len, unpack,
};
use lab_harness::{Medium, Outcome, Place, Promise, Setting};

const TRANSACTIONS: c_int = 1;
const LOG_IN_MEMORY: c_int = 2;
const FILE: c_int = 4;
const NOSYNC: c_int = 8;
const WRITE_NOSYNC: c_int = 16;

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
}

/// An open database.
pub(crate) struct Database {
    handle: *mut Handle,
    value: [u8; VALUE_LEN_MAX],
}

impl Database {
    pub(crate) fn open(setting: &Setting, place: &Place<'_>) -> Outcome<Self> {
        let home = match setting.medium {
            Medium::Memory => None,
            _ => Some(CString::new(place.files()?.as_os_str().as_bytes())?),
        };
        let promise = match setting.promise {
            Promise::None => 0,
            Promise::Memory => TRANSACTIONS | LOG_IN_MEMORY,
            Promise::Buffered => TRANSACTIONS | NOSYNC,
            Promise::Os => TRANSACTIONS | WRITE_NOSYNC,
            Promise::Disk => TRANSACTIONS,
        };
        let flags = if home.is_some() { promise | FILE } else { promise };
        let home_text = home.as_ref().map_or(ptr::null(), |home| home.as_ptr());
        let cache_bytes = place.data_bytes * 2 + (32 << 20);
        let mut handle = ptr::null_mut();
        // SAFETY: `home_text` is null or ends in a zero and outlives the call; `handle` is a
        // live local that receives the handle on success.
        check(unsafe { lab_bdb_open(home_text, flags, cache_bytes, &mut handle) })?;
        Ok(Self { handle, value: [0; VALUE_LEN_MAX] })
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

/// The version that the linked library reports.
pub(crate) fn version() -> String {
    // SAFETY: Berkeley DB returns a static string that ends in a zero.
    let text = unsafe { CStr::from_ptr(lab_bdb_version()) }.to_string_lossy();
    let number = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_numeric()));
    let number = number.unwrap_or(&text);
    number.trim_end_matches([':', ',']).to_owned()
}

fn check(code: c_int) -> Outcome<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: Berkeley DB returns a string that ends in a zero for every code.
    let text = unsafe { CStr::from_ptr(lab_bdb_error(code)) };
    Err(format!("Berkeley DB: {}", text.to_string_lossy()).into())
}
