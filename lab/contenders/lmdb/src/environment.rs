//! One LMDB environment with one table of integer keys, owned by one thread.
//!
//! The only file of this crate that calls C. An `Environment` always holds an open environment
//! and one reset read transaction, which every read renews; both end when it is dropped.
//! References into the map are given to closures only, so none outlives its transaction.

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
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

impl Environment {
    /// Opens a new environment in an empty directory.
    pub(crate) fn open(directory: &Path, flags: c_uint, map_bytes: usize) -> Outcome<Self> {
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
            let table = ffi::MDB_CREATE | ffi::MDB_INTEGERKEY;
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
            let flags = ffi::MDB_RESERVE | ffi::MDB_NOOVERWRITE;
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
