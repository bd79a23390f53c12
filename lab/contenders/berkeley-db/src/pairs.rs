//! Small pairs in one Berkeley DB database, owned by one thread or shared by threads that commit.
//!
//! `unsafe` for the calls of pairs.c. A `Pairs` always holds an open handle, closed exactly once:
//! by `close`, or when it is dropped; a `Commits` is the same with a free-threaded handle. Reading
//! in order asks for as many pairs as 4 MiB hold and goes over them as the macros of db.h do.

use std::ffi::{c_int, c_void};
use std::ptr;

use lab_harness::pairs::{
    CommitStore, Committer, KEY_LEN, Key, Pair, PairStore, Seen, VALUE_LEN, Value,
};
use lab_harness::readers::Ended;
use lab_harness::{Location, Outcome, Setting};

use crate::database::{Done, SHARED, check, done, place_of};

const RECOVER: c_int = 64;

/// Bytes that a bulk read asks for at once.
const BULK_BYTES: usize = 4 << 20;

/// The cache of the variant that has as much as its makers' paper.
const SMALL_CACHE_BYTES: u64 = 32 << 20;

/// What pairs.c calls `lab_pairs`; never looked into from here.
#[repr(C)]
struct Handle {
    _opaque: [u8; 0],
}

// SAFETY: these are the declarations of pairs.c, which the build script compiled.
unsafe extern "C" {
    fn lab_pairs_open(
        home: *const std::ffi::c_char,
        flags: c_int,
        cache_bytes: u64,
        made: *mut *mut Handle,
    ) -> c_int;
    fn lab_pairs_close(handle: *mut Handle) -> c_int;
    fn lab_pairs_put(
        handle: *mut Handle,
        key: *const c_void,
        key_len: u32,
        value: *const c_void,
        value_len: u32,
    ) -> c_int;
    fn lab_pairs_put_many(
        handle: *mut Handle,
        pairs: *const c_void,
        count: u64,
        key_len: u32,
        value_len: u32,
    ) -> c_int;
    fn lab_pairs_get(
        handle: *mut Handle,
        key: *const c_void,
        key_len: u32,
        buffer: *mut c_void,
        capacity: u32,
        value_len: *mut u32,
    ) -> c_int;
    fn lab_pairs_cursor(handle: *mut Handle, opened: *mut *mut c_void) -> c_int;
    fn lab_pairs_cursor_close(opened: *mut c_void) -> c_int;
    fn lab_pairs_next_many(opened: *mut c_void, buffer: *mut c_void, capacity: u32) -> c_int;
    fn lab_pairs_syncs(handle: *mut Handle, syncs: *mut u64) -> c_int;
}

/// A database of one thread.
pub(crate) struct Pairs {
    handle: *mut Handle,
    /// Of 32-bit words, since the engine writes such at its end.
    bulk: Vec<u32>,
}

/// A database in which threads commit.
pub(crate) struct Commits(Pairs);

// SAFETY: environment and database are opened with DB_THREAD, which makes their handles free for
// use by any thread; through a shared reference nothing but the handle is used.
unsafe impl Sync for Commits {}

/// Opens a database for one thread: an empty one, or with `recover` what a process left behind.
pub(crate) fn open(setting: &Setting, location: &Location<'_>, recover: bool) -> Outcome<Pairs> {
    open_with(setting, location, if recover { RECOVER } else { 0 })
}

/// Opens an empty database for threads that commit.
pub(crate) fn open_commits(setting: &Setting, location: &Location<'_>) -> Outcome<Commits> {
    Ok(Commits(open_with(setting, location, SHARED)?))
}

fn open_with(setting: &Setting, location: &Location<'_>, flags: c_int) -> Outcome<Pairs> {
    let (home, kept) = place_of(setting, location)?;
    let flags = flags | kept;
    let home_text = home.as_ref().map_or(ptr::null(), |home| home.as_ptr());
    let cache_bytes = match setting.variant {
        "32mb" => SMALL_CACHE_BYTES,
        _ => location.data_bytes * 4 + (64 << 20),
    };
    let mut handle = ptr::null_mut();
    // SAFETY: `home_text` is null or ends in a zero and outlives the call; `handle` is a live
    // local that receives the handle on success.
    check(unsafe { lab_pairs_open(home_text, flags, cache_bytes, &mut handle) })?;
    Ok(Pairs { handle, bulk: Vec::new() })
}

impl Pairs {
    fn put(&self, key: &Key, value: &Value) -> c_int {
        let (key, value) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: the handle is open; key and value are live and as long as stated.
        unsafe { lab_pairs_put(self.handle, key, KEY_LEN as u32, value, VALUE_LEN as u32) }
    }

    fn get(&self, key: &Key, out: &mut Value) -> Outcome<bool> {
        let (key, buffer, mut len) = (key.as_ptr().cast(), out.as_mut_ptr().cast(), 0);
        let (key_len, capacity) = (KEY_LEN as u32, VALUE_LEN as u32);
        // SAFETY: the handle is open; the key is live, and at most `capacity` bytes are written
        // to `out`, which has as many.
        let code = unsafe { lab_pairs_get(self.handle, key, key_len, buffer, capacity, &mut len) };
        match done(code)? {
            Done::Yes => Ok(len == capacity),
            Done::Absent => Ok(false),
            Done::Aborted => Err("a read was given up for another transaction".into()),
        }
    }
}

impl PairStore for Pairs {
    fn insert(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        check(self.put(key, value))
    }

    fn overwrite(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        check(self.put(key, value))
    }

    fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()> {
        let mut ordered = Vec::with_capacity(pairs.len() * (KEY_LEN + VALUE_LEN));
        for (key, value) in pairs {
            ordered.extend_from_slice(key);
            ordered.extend_from_slice(value);
        }
        let (start, count) = (ordered.as_ptr().cast(), pairs.len() as u64);
        let (key_len, value_len) = (KEY_LEN as u32, VALUE_LEN as u32);
        // SAFETY: the handle is open; `ordered` is live and holds `count` keys and values.
        check(unsafe { lab_pairs_put_many(self.handle, start, count, key_len, value_len) })
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        self.get(key, out)
    }

    fn read_in_order(&mut self, seen: &mut Seen) -> Outcome<()> {
        self.bulk.resize(BULK_BYTES / size_of::<u32>(), 0);
        let mut cursor = ptr::null_mut();
        // SAFETY: the handle is open; `cursor` is a live local.
        check(unsafe { lab_pairs_cursor(self.handle, &mut cursor) })?;
        // SAFETY: the cursor is open and not used again.
        unsafe { show_through(cursor, &mut self.bulk, seen) }
    }

    fn close(mut self: Box<Self>) -> Outcome<()> {
        let handle = std::mem::replace(&mut self.handle, ptr::null_mut());
        // SAFETY: the handle is open and, being replaced by null, is not used again.
        check(unsafe { lab_pairs_close(handle) })
    }
}

/// As [`show_through`], with a buffer of its own.
///
/// # Safety
///
/// As there.
pub(crate) unsafe fn show_all_from(cursor: *mut c_void, seen: &mut Seen) -> Outcome<()> {
    let mut bulk = vec![0; BULK_BYTES / size_of::<u32>()];
    // SAFETY: as the caller promises.
    unsafe { show_through(cursor, &mut bulk, seen) }
}

/// Shows every pair through a cursor, as many at once as the buffer holds, and closes the cursor.
///
/// # Safety
///
/// The cursor is open, of a database that is, and nobody uses it afterwards.
unsafe fn show_through(cursor: *mut c_void, bulk: &mut [u32], seen: &mut Seen) -> Outcome<()> {
    let read = loop {
        let (buffer, bytes) = (bulk.as_mut_ptr().cast(), size_of_val(bulk) as u32);
        // SAFETY: the cursor is open; the buffer has as many bytes as are said.
        let code = unsafe { lab_pairs_next_many(cursor, buffer, bytes) };
        match done(code) {
            Ok(Done::Yes) => {}
            Ok(Done::Absent) => break Ok(()),
            Ok(Done::Aborted) => break Err("a read was given up".into()),
            Err(failure) => break Err(failure),
        }
        if show_all(bulk, seen).is_none() {
            break Err("Berkeley DB: a bulk buffer is not as it should be".into());
        }
    };
    // SAFETY: the cursor is open and not used again.
    check(unsafe { lab_pairs_cursor_close(cursor) })?;
    read
}

/// Goes over a buffer from its end: offset and length of a key, then of its value, until an offset
/// of all ones; `None` when one of them leads out of the buffer.
fn show_all(words: &[u32], seen: &mut Seen) -> Option<()> {
    // SAFETY: any byte of an initialised word is a byte, and bytes need no alignment.
    let bytes =
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), size_of_val(words)) };
    let part = |at: &[u32]| bytes.get(at[1] as usize..)?.get(..at[0] as usize);
    let mut rest = words;
    while let Some((places, [key_len, key_at])) = rest.split_last_chunk::<2>() {
        if *key_at == u32::MAX {
            return Some(());
        }
        let (before, value) = places.split_last_chunk::<2>()?;
        seen.see_bytes(part(&[*key_len, *key_at])?, part(value)?);
        rest = before;
    }
    None
}

impl CommitStore for Commits {
    fn committer(&self) -> Outcome<Box<dyn Committer + '_>> {
        Ok(Box::new(self))
    }

    fn syncs(&self) -> Outcome<Option<u64>> {
        let mut syncs = 0;
        // SAFETY: the handle is open; `syncs` is a live local.
        check(unsafe { lab_pairs_syncs(self.0.handle, &mut syncs) })?;
        Ok(Some(syncs))
    }
}

impl Committer for &Commits {
    fn commit(&mut self, key: &Key, value: &Value) -> Outcome<Ended> {
        Ok(match done(self.0.put(key, value))? {
            Done::Yes => Ended::Committed,
            Done::Aborted => Ended::Aborted,
            Done::Absent => return Err("a new pair was not found".into()),
        })
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        self.0.get(key, out)
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is open and not used again; the result has nobody to go to.
            unsafe { lab_pairs_close(self.handle) };
        }
    }
}
