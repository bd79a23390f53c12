//! One LMDB environment with one table of integer keys, or of keys of eight bytes.
//!
//! The only file of this crate that calls C. An `Environment` always holds an open environment
//! and one reset read transaction, which every read of its owner renews; both end when it is
//! dropped. Threads that share it have a `Reading` each, renewed in the same way, and one of them
//! at a time a `Writing`; both borrow the environment. References into the map are given to
//! closures only, so none outlives its transaction.

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::slice;

use lab_harness::Outcome;
use lmdb_master_sys as ffi;

/// An open environment.
pub(crate) struct Environment {
    env: *mut ffi::MDB_env,
    reader: *mut ffi::MDB_txn,
    dbi: ffi::MDB_dbi,
}

// SAFETY: LMDB allows an environment's handle and the number of a table to be used by any thread
// once they are open, which they are before anybody else sees them; `reader` is used through
// `&mut self` alone.
unsafe impl Sync for Environment {}

/// A thread's read transaction, reset between uses.
pub(crate) struct Reading<'e> {
    environment: &'e Environment,
    txn: *mut ffi::MDB_txn,
    cursor: *mut ffi::MDB_cursor,
}

/// A write transaction with one cursor. Dropping it aborts it.
pub(crate) struct Writing<'e> {
    environment: PhantomData<&'e Environment>,
    txn: *mut ffi::MDB_txn,
    cursor: *mut ffi::MDB_cursor,
}

/// Where a cursor moves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// The entry with this key.
    Equal(u64),
    /// The first entry whose key is not less.
    AtLeast(u64),
    First,
    Next,
}

impl Environment {
    /// Opens a new environment in an empty directory, with integer keys.
    pub(crate) fn open(directory: &Path, flags: c_uint, map_bytes: usize) -> Outcome<Self> {
        Self::open_table(directory, flags, map_bytes, ffi::MDB_INTEGERKEY)
    }

    /// Opens an environment whose keys are ordered as their bytes; a key is then an integer whose
    /// bytes in memory are the key's.
    pub(crate) fn open_bytes(directory: &Path, flags: c_uint, map_bytes: usize) -> Outcome<Self> {
        Self::open_table(directory, flags, map_bytes, 0)
    }

    fn open_table(
        directory: &Path,
        flags: c_uint,
        map_bytes: usize,
        table: c_uint,
    ) -> Outcome<Self> {
        let path = CString::new(directory.as_os_str().as_bytes())?;
        let mut made =
            Self { env: ptr::null_mut(), reader: ptr::null_mut(), dbi: Default::default() };
        let mut txn = ptr::null_mut();
        // SAFETY: every pointer handed over is to a live local or to what LMDB made before; on
        // an early return `made` is dropped, which closes what there is.
        unsafe {
            check(ffi::mdb_env_create(&mut made.env))?;
            check(ffi::mdb_env_set_mapsize(made.env, map_bytes))?;
            check(ffi::mdb_env_open(made.env, path.as_ptr(), flags | ffi::MDB_NOTLS, 0o644))?;
            check(ffi::mdb_txn_begin(made.env, ptr::null_mut(), 0, &mut txn))?;
            let table = ffi::MDB_CREATE | table;
            check(ffi::mdb_dbi_open(txn, ptr::null(), table, &mut made.dbi))?;
            check(ffi::mdb_txn_commit(txn))?;
            let reading = ffi::MDB_RDONLY;
            check(ffi::mdb_txn_begin(made.env, ptr::null_mut(), reading, &mut made.reader))?;
            ffi::mdb_txn_reset(made.reader);
        }
        Ok(made)
    }

    /// Inserts a value of `len` bytes, written in place by `fill`, in a transaction of its own.
    pub(crate) fn put(
        &mut self,
        key: u64,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Outcome<()> {
        self.put_with(ffi::MDB_NOOVERWRITE, key, len, fill)
    }

    /// As [`Environment::put`]; replaces what is there. Any thread may do so: writers wait for
    /// each other.
    pub(crate) fn set(&self, key: u64, len: usize, fill: impl FnOnce(&mut [u8])) -> Outcome<()> {
        self.put_with(0, key, len, fill)
    }

    fn put_with(
        &self,
        flag: c_uint,
        mut key: u64,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Outcome<()> {
        let mut txn = ptr::null_mut();
        let mut name = key_value(&mut key);
        let mut value = ffi::MDB_val { mv_size: len, mv_data: ptr::null_mut() };
        // SAFETY: the environment is open; `name` points to `key`, which outlives the calls;
        // after a successful put with RESERVE, `value` spans `len` writable bytes of the map
        // that nobody else refers to before the commit.
        unsafe {
            check(ffi::mdb_txn_begin(self.env, ptr::null_mut(), 0, &mut txn))?;
            let flags = ffi::MDB_RESERVE | flag;
            let put = ffi::mdb_put(txn, self.dbi, &mut name, &mut value, flags);
            if put != 0 {
                ffi::mdb_txn_abort(txn);
                return check(put);
            }
            fill(slice::from_raw_parts_mut(value.mv_data.cast(), len));
            check(ffi::mdb_txn_commit(txn))
        }
    }

    /// Shows the value of a key to `see`, in a read transaction of its own.
    pub(crate) fn get<T>(
        &mut self,
        mut key: u64,
        see: impl FnOnce(&[u8]) -> T,
    ) -> Outcome<Option<T>> {
        let mut name = key_value(&mut key);
        let mut value = ffi::MDB_val { mv_size: 0, mv_data: ptr::null_mut() };
        // SAFETY: the reader was begun at open and is reset between reads; a found value spans
        // `mv_size` readable bytes until the reset, and `see` cannot keep the slice.
        unsafe {
            check(ffi::mdb_txn_renew(self.reader))?;
            let got = ffi::mdb_get(self.reader, self.dbi, &mut name, &mut value);
            let seen = match got {
                0 => Some(see(slice::from_raw_parts(value.mv_data.cast(), value.mv_size))),
                _ => None,
            };
            ffi::mdb_txn_reset(self.reader);
            if got != ffi::MDB_NOTFOUND {
                check(got)?;
            }
            Ok(seen)
        }
    }
}

impl Environment {
    /// A read transaction for the calling thread, reset.
    pub(crate) fn reading(&self) -> Outcome<Reading<'_>> {
        let made = self.standing()?;
        // SAFETY: the transaction was begun by `standing`.
        unsafe { ffi::mdb_txn_reset(made.txn) };
        Ok(made)
    }

    /// A read transaction that sees what is committed now until it is dropped; it needs no `run`.
    pub(crate) fn standing(&self) -> Outcome<Reading<'_>> {
        let mut made = Reading { environment: self, txn: ptr::null_mut(), cursor: ptr::null_mut() };
        // SAFETY: the environment is open; both pointers are to live locals, and what LMDB makes
        // is ended by the drop of `made`. NOTLS ties the transaction to its handle, not to a
        // thread.
        unsafe {
            let reading = ffi::MDB_RDONLY;
            check(ffi::mdb_txn_begin(self.env, ptr::null_mut(), reading, &mut made.txn))?;
            check(ffi::mdb_cursor_open(made.txn, self.dbi, &mut made.cursor))?;
        }
        Ok(made)
    }

    /// Begins a write transaction; waits for the one before.
    pub(crate) fn writing(&self) -> Outcome<Writing<'_>> {
        let mut made =
            Writing { environment: PhantomData, txn: ptr::null_mut(), cursor: ptr::null_mut() };
        // SAFETY: as in `reading`.
        unsafe {
            check(ffi::mdb_txn_begin(self.env, ptr::null_mut(), 0, &mut made.txn))?;
            check(ffi::mdb_cursor_open(made.txn, self.dbi, &mut made.cursor))?;
        }
        Ok(made)
    }
}

impl Reading<'_> {
    /// Runs reads in one transaction.
    pub(crate) fn run(&mut self, reads: impl FnOnce(&mut Self) -> Outcome<()>) -> Outcome<()> {
        // SAFETY: the transaction was begun and is reset; its cursor is renewed with it.
        unsafe {
            check(ffi::mdb_txn_renew(self.txn))?;
            check(ffi::mdb_cursor_renew(self.txn, self.cursor))?;
        }
        let done = reads(self);
        // SAFETY: the transaction was renewed above.
        unsafe { ffi::mdb_txn_reset(self.txn) };
        done
    }

    /// Shows the value of a key to `see`; called within `run`, or on a standing one.
    pub(crate) fn get<T>(
        &mut self,
        mut key: u64,
        see: impl FnOnce(&[u8]) -> T,
    ) -> Outcome<Option<T>> {
        let mut name = key_value(&mut key);
        let mut value = ffi::MDB_val { mv_size: 0, mv_data: ptr::null_mut() };
        // SAFETY: a transaction that is reset is refused by LMDB; a found value
        // spans `mv_size` readable bytes until the reset, and `see` cannot keep the slice.
        unsafe {
            let got = ffi::mdb_get(self.txn, self.environment.dbi, &mut name, &mut value);
            if got == ffi::MDB_NOTFOUND {
                return Ok(None);
            }
            check(got)?;
            Ok(Some(see(slice::from_raw_parts(value.mv_data.cast(), value.mv_size))))
        }
    }

    /// Moves the cursor and shows key and value; called within `run`, or on a standing one.
    pub(crate) fn walk<T>(
        &mut self,
        to: Move,
        see: impl FnOnce(u64, &[u8]) -> T,
    ) -> Outcome<Option<T>> {
        move_cursor(self.cursor, to, see)
    }
}

impl Writing<'_> {
    /// Moves the cursor and shows key and value.
    pub(crate) fn walk<T>(
        &mut self,
        to: Move,
        see: impl FnOnce(u64, &[u8]) -> T,
    ) -> Outcome<Option<T>> {
        move_cursor(self.cursor, to, see)
    }

    /// Inserts a new key, its value of `len` bytes written in place by `fill`.
    pub(crate) fn insert(
        &mut self,
        key: u64,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Outcome<()> {
        self.reserve(key, len, ffi::MDB_NOOVERWRITE, fill)
    }

    /// Inserts a key that is greater than all others.
    pub(crate) fn append(
        &mut self,
        key: u64,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Outcome<()> {
        self.reserve(key, len, ffi::MDB_APPEND, fill)
    }

    /// Replaces the value on which the cursor stands by one of the same length.
    pub(crate) fn replace(
        &mut self,
        key: u64,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Outcome<()> {
        self.reserve(key, len, ffi::MDB_CURRENT, fill)
    }

    fn reserve(
        &mut self,
        mut key: u64,
        len: usize,
        flag: c_uint,
        fill: impl FnOnce(&mut [u8]),
    ) -> Outcome<()> {
        let mut name = key_value(&mut key);
        let mut value = ffi::MDB_val { mv_size: len, mv_data: ptr::null_mut() };
        // SAFETY: the transaction is active; after a successful put with RESERVE, `value` spans
        // `len` writable bytes that nobody else refers to before the commit.
        unsafe {
            let flags = ffi::MDB_RESERVE | flag;
            check(ffi::mdb_cursor_put(self.cursor, &mut name, &mut value, flags))?;
            fill(slice::from_raw_parts_mut(value.mv_data.cast(), len));
        }
        Ok(())
    }

    /// Deletes the entry on which the cursor stands; `Next` is then the one behind it.
    pub(crate) fn delete(&mut self) -> Outcome<()> {
        // SAFETY: the cursor belongs to the active transaction.
        check(unsafe { ffi::mdb_cursor_del(self.cursor, 0) })
    }

    /// Commits.
    pub(crate) fn commit(mut self) -> Outcome<()> {
        let txn = std::mem::replace(&mut self.txn, ptr::null_mut());
        // SAFETY: the cursor is closed before its transaction ends; neither is used again, both
        // being null for the drop.
        unsafe {
            ffi::mdb_cursor_close(std::mem::replace(&mut self.cursor, ptr::null_mut()));
            check(ffi::mdb_txn_commit(txn))
        }
    }
}

fn move_cursor<T>(
    cursor: *mut ffi::MDB_cursor,
    to: Move,
    see: impl FnOnce(u64, &[u8]) -> T,
) -> Outcome<Option<T>> {
    let (operation, mut key) = match to {
        Move::Equal(key) => (ffi::MDB_SET_KEY, key),
        Move::AtLeast(key) => (ffi::MDB_SET_RANGE, key),
        Move::First => (ffi::MDB_FIRST, 0),
        Move::Next => (ffi::MDB_NEXT, 0),
    };
    let mut name = key_value(&mut key);
    let mut value = ffi::MDB_val { mv_size: 0, mv_data: ptr::null_mut() };
    // SAFETY: callers hold the cursor's transaction; a found key is a `u64`, perhaps unaligned,
    // and the value spans `mv_size` readable bytes while `see` runs, which cannot keep them.
    unsafe {
        let got = ffi::mdb_cursor_get(cursor, &mut name, &mut value, operation);
        if got == ffi::MDB_NOTFOUND {
            return Ok(None);
        }
        check(got)?;
        let key = name.mv_data.cast::<u64>().read_unaligned();
        Ok(Some(see(key, slice::from_raw_parts(value.mv_data.cast(), value.mv_size))))
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        // SAFETY: both are null or what LMDB made; the environment is still open, being borrowed.
        unsafe {
            if !self.cursor.is_null() {
                ffi::mdb_cursor_close(self.cursor);
            }
            if !self.txn.is_null() {
                ffi::mdb_txn_abort(self.txn);
            }
        }
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        // SAFETY: as for a `Reading`.
        unsafe {
            if !self.cursor.is_null() {
                ffi::mdb_cursor_close(self.cursor);
            }
            if !self.txn.is_null() {
                ffi::mdb_txn_abort(self.txn);
            }
        }
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: both pointers are null or what LMDB made; neither is used afterwards.
        unsafe {
            if !self.reader.is_null() {
                ffi::mdb_txn_abort(self.reader);
            }
            if !self.env.is_null() {
                ffi::mdb_env_close(self.env);
            }
        }
    }
}

/// The version that LMDB reports.
pub(crate) fn version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three live integers; the returned text is static and not used.
    unsafe { ffi::mdb_version(&mut major, &mut minor, &mut patch) };
    format!("{major}.{minor}.{patch}")
}

fn key_value(key: &mut u64) -> ffi::MDB_val {
    ffi::MDB_val { mv_size: size_of::<u64>(), mv_data: ptr::from_mut(key).cast::<c_void>() }
}

fn check(code: c_int) -> Outcome<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: LMDB returns a static string that ends in a zero for every code.
    let text = unsafe { CStr::from_ptr(ffi::mdb_strerror(code)) };
    Err(format!("LMDB: {}", text.to_string_lossy()).into())
}
