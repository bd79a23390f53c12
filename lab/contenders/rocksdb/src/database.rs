//! One RocksDB database: the only file of this crate that calls C.
//!
//! The declarations are those of `rocksdb/c.h` 7.8, whose functions keep their meaning from
//! version to version. A `Pairs` holds an open database and the options it was opened with, all of
//! them freed when it is dropped, the database first. The library allows its handle to be used by
//! any thread. Every error is a text that the library allocates and `failure` frees.

use std::ffi::{CStr, CString, c_char, c_double, c_int, c_uchar, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::slice;

use lab_harness::pairs::{
    CommitStore, Committer, KEY_LEN, Key, Pair, PairStore, Seen, VALUE_LEN, Value,
};
use lab_harness::readers::Ended;
use lab_harness::{Location, Outcome, Promise, Setting};

const MEMTABLE_BYTES: usize = 256 << 20;

/// So large that a log is never left for a file of its own.
const MEMTABLE_BYTES_TO_RETURN: usize = 1 << 30;

const BLOCK_CACHE_BYTES: usize = 2 << 30;

const BLOOM_BITS: c_double = 10.0;

/// `rocksdb_no_compression`.
const NO_COMPRESSION: c_int = 0;

macro_rules! opaque {
    ($($name:ident),*) => {
        $(
            #[repr(C)]
            struct $name {
                _opaque: [u8; 0],
            }
        )*
    };
}

opaque!(Db, DbOptions, WriteOptions, ReadOptions, TableOptions, Filter, Cache);
opaque!(WriteBatch, Iterator, Pinned);

// SAFETY: these are declarations of rocksdb/c.h, against which the build script linked a probe.
unsafe extern "C" {
    fn rocksdb_options_create() -> *mut DbOptions;
    fn rocksdb_options_destroy(options: *mut DbOptions);
    fn rocksdb_options_set_create_if_missing(options: *mut DbOptions, value: c_uchar);
    fn rocksdb_options_set_write_buffer_size(options: *mut DbOptions, bytes: usize);
    fn rocksdb_options_set_compression(options: *mut DbOptions, kind: c_int);
    fn rocksdb_options_set_manual_wal_flush(options: *mut DbOptions, value: c_uchar);
    fn rocksdb_options_enable_statistics(options: *mut DbOptions);
    fn rocksdb_options_statistics_get_string(options: *mut DbOptions) -> *mut c_char;
    fn rocksdb_options_set_block_based_table_factory(
        options: *mut DbOptions,
        table: *mut TableOptions,
    );
    fn rocksdb_block_based_options_create() -> *mut TableOptions;
    fn rocksdb_block_based_options_destroy(table: *mut TableOptions);
    fn rocksdb_block_based_options_set_filter_policy(table: *mut TableOptions, filter: *mut Filter);
    fn rocksdb_block_based_options_set_block_cache(table: *mut TableOptions, cache: *mut Cache);
    fn rocksdb_filterpolicy_create_bloom_full(bits_per_key: c_double) -> *mut Filter;
    fn rocksdb_cache_create_lru(bytes: usize) -> *mut Cache;
    fn rocksdb_cache_destroy(cache: *mut Cache);
    fn rocksdb_writeoptions_create() -> *mut WriteOptions;
    fn rocksdb_writeoptions_destroy(options: *mut WriteOptions);
    fn rocksdb_writeoptions_set_sync(options: *mut WriteOptions, value: c_uchar);
    fn rocksdb_writeoptions_disable_WAL(options: *mut WriteOptions, value: c_int);
    fn rocksdb_readoptions_create() -> *mut ReadOptions;
    fn rocksdb_readoptions_destroy(options: *mut ReadOptions);
    fn rocksdb_open(
        options: *const DbOptions,
        path: *const c_char,
        error: *mut *mut c_char,
    ) -> *mut Db;
    fn rocksdb_close(db: *mut Db);
    fn rocksdb_put(
        db: *mut Db,
        options: *const WriteOptions,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        error: *mut *mut c_char,
    );
    fn rocksdb_write(
        db: *mut Db,
        options: *const WriteOptions,
        batch: *mut WriteBatch,
        error: *mut *mut c_char,
    );
    fn rocksdb_writebatch_create() -> *mut WriteBatch;
    fn rocksdb_writebatch_destroy(batch: *mut WriteBatch);
    fn rocksdb_writebatch_put(
        batch: *mut WriteBatch,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
    );
    fn rocksdb_get_pinned(
        db: *mut Db,
        options: *const ReadOptions,
        key: *const c_char,
        key_len: usize,
        error: *mut *mut c_char,
    ) -> *mut Pinned;
    fn rocksdb_pinnableslice_value(pinned: *const Pinned, len: *mut usize) -> *const c_char;
    fn rocksdb_pinnableslice_destroy(pinned: *mut Pinned);
    fn rocksdb_create_iterator(db: *mut Db, options: *const ReadOptions) -> *mut Iterator;
    fn rocksdb_iter_destroy(iterator: *mut Iterator);
    fn rocksdb_iter_valid(iterator: *const Iterator) -> c_uchar;
    fn rocksdb_iter_seek_to_first(iterator: *mut Iterator);
    fn rocksdb_iter_next(iterator: *mut Iterator);
    fn rocksdb_iter_key(iterator: *const Iterator, len: *mut usize) -> *const c_char;
    fn rocksdb_iter_value(iterator: *const Iterator, len: *mut usize) -> *const c_char;
    fn rocksdb_iter_get_error(iterator: *const Iterator, error: *mut *mut c_char);
    fn rocksdb_free(memory: *mut c_void);
}

/// What a database is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Ladder,
    /// Threads commit, and syncs are counted.
    Commits,
    /// It is to come back from its log.
    Return,
}

/// The version that is linked.
pub(crate) fn version() -> String {
    env!("LAB_ROCKSDB_VERSION").to_owned()
}

/// Opens an empty database of pairs.
pub(crate) fn open_pairs(
    setting: &Setting,
    location: &Location<'_>,
) -> Outcome<Box<dyn PairStore>> {
    Ok(Box::new(Pairs::open(setting, location, Purpose::Ladder)?))
}

/// Opens a database of pairs that is to come back, or has.
pub(crate) fn open_to_return(
    setting: &Setting,
    location: &Location<'_>,
) -> Outcome<Box<dyn PairStore>> {
    Ok(Box::new(Pairs::open(setting, location, Purpose::Return)?))
}

/// Opens an empty database in which threads commit.
pub(crate) fn open_commits(
    setting: &Setting,
    location: &Location<'_>,
) -> Outcome<Box<dyn CommitStore>> {
    Ok(Box::new(Pairs::open(setting, location, Purpose::Commits)?))
}

/// An open database and its options.
struct Pairs {
    db: *mut Db,
    options: *mut DbOptions,
    writing: *mut WriteOptions,
    reading: *mut ReadOptions,
    counts: bool,
}

// SAFETY: the library documents that any thread may use an open database; the options are only
// read once it is open, and through a shared reference nothing changes any of the pointers.
unsafe impl Sync for Pairs {}

impl Pairs {
    /// Opens a database, new or not.
    fn open(setting: &Setting, location: &Location<'_>, purpose: Purpose) -> Outcome<Self> {
        let path = CString::new(location.files()?.as_os_str().as_bytes())?;
        let counts = purpose == Purpose::Commits;
        // SAFETY: constructors without conditions; what they make is freed by the drop of `made`.
        let mut made = unsafe {
            Self {
                db: ptr::null_mut(),
                options: rocksdb_options_create(),
                writing: rocksdb_writeoptions_create(),
                reading: rocksdb_readoptions_create(),
                counts,
            }
        };
        made.configure(setting.promise, purpose);
        let mut error = ptr::null_mut();
        // SAFETY: the options are live; the path ends in a zero and outlives the call.
        made.db = unsafe { rocksdb_open(made.options, path.as_ptr(), &mut error) };
        failure(error)?;
        Ok(made)
    }

    fn configure(&mut self, promise: Promise, purpose: Purpose) {
        let memtable_bytes = match purpose {
            Purpose::Return => MEMTABLE_BYTES_TO_RETURN,
            _ => MEMTABLE_BYTES,
        };
        // SAFETY: all of these are live; the table's options own the filter from here on, the
        // cache is counted, and both may be let go once the options have taken them.
        unsafe {
            rocksdb_options_set_create_if_missing(self.options, 1);
            rocksdb_options_set_write_buffer_size(self.options, memtable_bytes);
            rocksdb_options_set_compression(self.options, NO_COMPRESSION);
            let manual = c_uchar::from(promise == Promise::Buffered);
            rocksdb_options_set_manual_wal_flush(self.options, manual);
            if self.counts {
                rocksdb_options_enable_statistics(self.options);
            }
            let table = rocksdb_block_based_options_create();
            let cache = rocksdb_cache_create_lru(BLOCK_CACHE_BYTES);
            let filter = rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS);
            rocksdb_block_based_options_set_filter_policy(table, filter);
            rocksdb_block_based_options_set_block_cache(table, cache);
            rocksdb_options_set_block_based_table_factory(self.options, table);
            rocksdb_block_based_options_destroy(table);
            rocksdb_cache_destroy(cache);
            let without_log = c_int::from(promise == Promise::Memory);
            rocksdb_writeoptions_disable_WAL(self.writing, without_log);
            let sync = c_uchar::from(promise == Promise::Disk);
            rocksdb_writeoptions_set_sync(self.writing, sync);
        }
    }

    fn put(&self, key: &Key, value: &Value) -> Outcome<()> {
        let (key, value) = (key.as_ptr().cast(), value.as_ptr().cast());
        let mut error = ptr::null_mut();
        // SAFETY: database and options are live; key and value are as long as stated.
        unsafe {
            rocksdb_put(self.db, self.writing, key, KEY_LEN, value, VALUE_LEN, &mut error);
        }
        failure(error)
    }

    fn get(&self, key: &Key, out: &mut Value) -> Outcome<bool> {
        let mut error = ptr::null_mut();
        // SAFETY: database and options are live; the key is as long as stated; a found value
        // spans `len` readable bytes until it is let go.
        unsafe {
            let key = key.as_ptr().cast();
            let pinned = rocksdb_get_pinned(self.db, self.reading, key, KEY_LEN, &mut error);
            failure(error)?;
            if pinned.is_null() {
                return Ok(false);
            }
            let mut len = 0;
            let start = rocksdb_pinnableslice_value(pinned, &mut len);
            let whole = len == VALUE_LEN;
            if whole {
                out.copy_from_slice(slice::from_raw_parts(start.cast(), len));
            }
            rocksdb_pinnableslice_destroy(pinned);
            Ok(whole)
        }
    }

    /// What the statistics say of a counter: `NAME COUNT : 123`.
    fn ticker(&self, name: &str) -> Option<u64> {
        // SAFETY: the options are live; the text ends in a zero and is freed once it is copied.
        let text = unsafe {
            let text = rocksdb_options_statistics_get_string(self.options);
            if text.is_null() {
                return None;
            }
            let copied = CStr::from_ptr(text).to_string_lossy().into_owned();
            rocksdb_free(text.cast());
            copied
        };
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.rsplit(' ').next()?.parse().ok()
    }
}

impl PairStore for Pairs {
    fn insert(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        self.put(key, value)
    }

    fn overwrite(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        self.put(key, value)
    }

    fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()> {
        let mut error = ptr::null_mut();
        // SAFETY: the batch is live until it is destroyed, and copies every key and value, which
        // are as long as stated; database and options are live.
        unsafe {
            let batch = rocksdb_writebatch_create();
            for (key, value) in pairs {
                let (key, value) = (key.as_ptr().cast(), value.as_ptr().cast());
                rocksdb_writebatch_put(batch, key, KEY_LEN, value, VALUE_LEN);
            }
            rocksdb_write(self.db, self.writing, batch, &mut error);
            rocksdb_writebatch_destroy(batch);
        }
        failure(error)
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        self.get(key, out)
    }

    fn read_in_order(&mut self, seen: &mut Seen) -> Outcome<()> {
        let mut error = ptr::null_mut();
        // SAFETY: database and options outlive the iterator; where it is valid, key and value
        // span as many readable bytes as are said, until it moves.
        unsafe {
            let iterator = rocksdb_create_iterator(self.db, self.reading);
            rocksdb_iter_seek_to_first(iterator);
            let (mut key_len, mut value_len) = (0, 0);
            while rocksdb_iter_valid(iterator) != 0 {
                let key = rocksdb_iter_key(iterator, &mut key_len).cast();
                let value = rocksdb_iter_value(iterator, &mut value_len).cast();
                let key = slice::from_raw_parts(key, key_len);
                seen.see_bytes(key, slice::from_raw_parts(value, value_len));
                rocksdb_iter_next(iterator);
            }
            rocksdb_iter_get_error(iterator, &mut error);
            rocksdb_iter_destroy(iterator);
        }
        failure(error)
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl CommitStore for Pairs {
    fn committer(&self) -> Outcome<Box<dyn Committer + '_>> {
        Ok(Box::new(self))
    }

    fn syncs(&self) -> Outcome<Option<u64>> {
        Ok(if self.counts { self.ticker("rocksdb.wal.synced") } else { None })
    }
}

impl Committer for &Pairs {
    fn commit(&mut self, key: &Key, value: &Value) -> Outcome<Ended> {
        self.put(key, value)?;
        Ok(Ended::Committed)
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        self.get(key, out)
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        // SAFETY: the database is null or open, and closed before the options it was opened with;
        // none of them is used again.
        unsafe {
            if !self.db.is_null() {
                rocksdb_close(self.db);
            }
            rocksdb_readoptions_destroy(self.reading);
            rocksdb_writeoptions_destroy(self.writing);
            rocksdb_options_destroy(self.options);
        }
    }
}

/// Fails with the library's text, which is freed; does nothing without one.
fn failure(error: *mut c_char) -> Outcome<()> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the library allocated a text that ends in a zero, for the caller to free.
    let text = unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        rocksdb_free(error.cast());
        text
    };
    Err(format!("RocksDB: {text}").into())
}
