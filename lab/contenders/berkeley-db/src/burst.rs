//! One large transaction in one Berkeley DB database, owned by one thread.
//!
//! `unsafe` for the calls of burst.c. A `Store` always holds an open handle, closed exactly once:
//! by `close`, or when it is dropped; an `Inserts` borrows it and ends its transaction when it is
//! dropped. Pairs are handed over in slices whose loop is in C, where a pair is a key and, behind
//! it, its value. Reading in order is the bulk read of `pairs`.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;
use std::ptr;

use lab_harness::burst::{Burst, BurstStore};
use lab_harness::pairs::{KEY_LEN, Pair, Seen, VALUE_LEN};
use lab_harness::{Location, Outcome, Promise, Setting};

use crate::database::{check, place_of};
use crate::pairs::show_all_from;

/// The log buffer of a log in files, as for small pairs.
const LOG_BUFFER_BYTES: u64 = 8 << 20;

/// Bytes of the log for each pair, where the log has to hold the whole transaction.
const LOG_BYTES_OF_PAIR: u64 = 300;

/// The longest log buffer that is taken; C counts it in 32 bits.
const LOG_BYTES_MAX: u64 = 4000 << 20;

/// What burst.c calls `lab_burst`; never looked into from here.
#[repr(C)]
struct Handle {
    _opaque: [u8; 0],
}

// A slice of pairs is what C expects: each value directly behind its key, no gap anywhere.
const _: () = assert!(offset_of!(Pair, 0) == 0 && offset_of!(Pair, 1) == KEY_LEN);
const _: () = assert!(size_of::<Pair>() == KEY_LEN + VALUE_LEN);

// SAFETY: these are the declarations of burst.c, which the build script compiled.
unsafe extern "C" {
    fn lab_burst_open(
        home: *const c_char,
        flags: c_int,
        cache_bytes: u64,
        log_bytes: u32,
        made: *mut *mut Handle,
    ) -> c_int;
    fn lab_burst_close(handle: *mut Handle) -> c_int;
    fn lab_burst_begin(handle: *mut Handle) -> c_int;
    fn lab_burst_insert(
        handle: *mut Handle,
        pairs: *const c_void,
        count: u64,
        key_len: u32,
        value_len: u32,
    ) -> c_int;
    fn lab_burst_commit(handle: *mut Handle) -> c_int;
    fn lab_burst_abort(handle: *mut Handle) -> c_int;
    fn lab_burst_cursor(handle: *mut Handle, opened: *mut *mut c_void) -> c_int;
}

struct Store {
    handle: *mut Handle,
}

struct Inserts<'s> {
    store: &'s Store,
    ended: bool,
}

/// Opens an empty database.
pub(crate) fn open(
    setting: &Setting,
    location: &Location<'_>,
    snapshots: u64,
) -> Outcome<Box<dyn BurstStore>> {
    if snapshots > 0 {
        return Err("it is opened for one thread here, without the locks that readers need".into());
    }
    let (home, flags) = place_of(setting, location)?;
    let log_bytes = match setting.promise {
        Promise::Memory => location.rows * LOG_BYTES_OF_PAIR + LOG_BUFFER_BYTES,
        _ => LOG_BUFFER_BYTES,
    };
    let home_text = home.as_ref().map_or(ptr::null(), |home| home.as_ptr());
    let cache_bytes = location.data_bytes * 4 + (64 << 20);
    let log_bytes = u32::try_from(log_bytes.min(LOG_BYTES_MAX))?;
    let mut handle = ptr::null_mut();
    // SAFETY: `home_text` is null or ends in a zero and outlives the call; `handle` is a live
    // local that receives the handle on success.
    check(unsafe { lab_burst_open(home_text, flags, cache_bytes, log_bytes, &mut handle) })?;
    Ok(Box::new(Store { handle }))
}

impl BurstStore for Store {
    fn begin(&self) -> Outcome<Box<dyn Burst + '_>> {
        // SAFETY: the handle is open.
        check(unsafe { lab_burst_begin(self.handle) })?;
        Ok(Box::new(Inserts { store: self, ended: false }))
    }

    fn read_in_order(&self, seen: &mut Seen) -> Outcome<()> {
        let mut cursor = ptr::null_mut();
        // SAFETY: the handle is open; `cursor` is a live local.
        check(unsafe { lab_burst_cursor(self.handle, &mut cursor) })?;
        // SAFETY: the cursor is open, and not used again.
        unsafe { show_all_from(cursor, seen) }
    }

    fn close(mut self: Box<Self>) -> Outcome<()> {
        let handle = std::mem::replace(&mut self.handle, ptr::null_mut());
        // SAFETY: the handle is open and, being replaced by null, is not used again.
        check(unsafe { lab_burst_close(handle) })
    }
}

impl Burst for Inserts<'_> {
    fn insert(&mut self, pairs: &[Pair]) -> Outcome<()> {
        let (start, count) = (pairs.as_ptr().cast(), pairs.len() as u64);
        let (key_len, value_len) = (KEY_LEN as u32, VALUE_LEN as u32);
        // SAFETY: the handle is open; the slice is live and, as asserted above, holds `count` keys
        // with their values behind them.
        check(unsafe { lab_burst_insert(self.store.handle, start, count, key_len, value_len) })
    }

    fn commit(mut self: Box<Self>) -> Outcome<()> {
        self.ended = true;
        // SAFETY: the handle is open.
        check(unsafe { lab_burst_commit(self.store.handle) })
    }

    fn roll_back(mut self: Box<Self>) -> Outcome<()> {
        self.ended = true;
        // SAFETY: the handle is open.
        check(unsafe { lab_burst_abort(self.store.handle) })
    }
}

impl Drop for Inserts<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // SAFETY: the handle is open; the result has nobody to go to.
            unsafe { lab_burst_abort(self.store.handle) };
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is open and not used again; the result has nobody to go to.
            unsafe { lab_burst_close(self.handle) };
        }
    }
}
