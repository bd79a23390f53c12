//! The program in C of one writer and many readers in the d_-style, called from Rust.
//!
//! Each thread has a task of its own, which its `open` made and `close` ends once. C shows a row by
//! calling back with a pointer that is good for that call; words about a failure are written into a
//! buffer that lies here.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};

use lab_harness::readers::{
    Deleted, Ended, PAYLOAD_LEN, Row, RowReader, RowView, RowWriter, See, SharedStore,
};
use lab_harness::{Location, Outcome};

use crate::programs::{DONE, FAILURE_SIZE};

/// `struct lab_row`.
#[repr(C)]
struct LabRow {
    id: i32,
    hexkey: [i16; 3],
    payload: [u8; PAYLOAD_LEN],
}

type Shows = unsafe extern "C" fn(*mut c_void, *const LabRow);
type Open = unsafe extern "C" fn(*const c_char, *const c_char, *mut c_char) -> *mut c_void;
type Close = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
type Write = unsafe extern "C" fn(*mut c_void, *const LabRow, usize, *mut c_char) -> c_int;
type Delete =
    unsafe extern "C" fn(*mut c_void, i32, usize, *mut usize, *mut i32, *mut c_char) -> c_int;
type Read =
    unsafe extern "C" fn(*mut c_void, *const i32, usize, Shows, *mut c_void, *mut c_char) -> c_int;
type Scan = unsafe extern "C" fn(*mut c_void, Shows, *mut c_void, *mut c_char) -> c_int;

/// The functions of one program, declared as in d_readers.c.
pub(crate) struct Functions {
    open: Open,
    close: Close,
    insert: Write,
    update: Write,
    delete: Delete,
    read: Read,
    scan: Scan,
}

macro_rules! program {
    ($name:ident, $open:ident, $close:ident, $insert:ident, $update:ident, $delete:ident,
     $read:ident, $scan:ident) => {
        pub(crate) const $name: Functions = {
            // SAFETY: these are the declarations of the C file, which the build compiled.
            unsafe extern "C" {
                fn $open(
                    folder: *const c_char,
                    user: *const c_char,
                    failure: *mut c_char,
                ) -> *mut c_void;
                fn $close(opened: *mut c_void, failure: *mut c_char) -> c_int;
                fn $insert(
                    opened: *mut c_void,
                    rows: *const LabRow,
                    count: usize,
                    failure: *mut c_char,
                ) -> c_int;
                fn $update(
                    opened: *mut c_void,
                    rows: *const LabRow,
                    count: usize,
                    failure: *mut c_char,
                ) -> c_int;
                fn $delete(
                    opened: *mut c_void,
                    from: i32,
                    count: usize,
                    deleted: *mut usize,
                    last: *mut i32,
                    failure: *mut c_char,
                ) -> c_int;
                fn $read(
                    opened: *mut c_void,
                    ids: *const i32,
                    count: usize,
                    shows: Shows,
                    closure: *mut c_void,
                    failure: *mut c_char,
                ) -> c_int;
                fn $scan(
                    opened: *mut c_void,
                    shows: Shows,
                    closure: *mut c_void,
                    failure: *mut c_char,
                ) -> c_int;
            }
            Functions {
                open: $open,
                close: $close,
                insert: $insert,
                update: $update,
                delete: $delete,
                read: $read,
                scan: $scan,
            }
        };
    };
}

program!(
    IN_MEMORY,
    lab_readers_open,
    lab_readers_close,
    lab_readers_insert,
    lab_readers_update,
    lab_readers_delete,
    lab_readers_read,
    lab_readers_scan
);
program!(
    KEPT,
    lab_readers_kept_open,
    lab_readers_kept_close,
    lab_readers_kept_insert,
    lab_readers_kept_update,
    lab_readers_kept_delete,
    lab_readers_kept_read,
    lab_readers_kept_scan
);

/// A database that threads open, each for itself.
pub(crate) struct Shared {
    functions: &'static Functions,
    folder: CString,
    users: AtomicU64,
    /// Keeps the database open.
    _first: Thread,
}

/// The task of a thread.
struct Thread {
    functions: &'static Functions,
    opened: *mut c_void,
    failure: [c_char; FAILURE_SIZE],
}

// SAFETY: the first task of a database is used by nobody but whoever drops it.
unsafe impl Sync for Shared {}

impl Shared {
    /// Opens the database in a folder; `syncs` is what its `rdm.ini` says.
    pub(crate) fn open(
        functions: &'static Functions,
        location: &Location<'_>,
        syncs: bool,
    ) -> Outcome<Self> {
        let files = location.files()?;
        std::fs::write(files.join("rdm.ini"), format!("SYNCFILES={}\n", u8::from(syncs)))?;
        let folder = CString::new(files.as_os_str().as_bytes())?;
        let first = Thread::open(functions, &folder, "first")?;
        Ok(Self { functions, folder, users: AtomicU64::new(0), _first: first })
    }

    fn thread(&self) -> Outcome<Thread> {
        let number = self.users.fetch_add(1, Ordering::Relaxed);
        Thread::open(self.functions, &self.folder, &format!("thread{number}"))
    }
}

impl SharedStore for Shared {
    fn writer(&self) -> Outcome<Box<dyn RowWriter + '_>> {
        Ok(Box::new(self.thread()?))
    }

    fn reader(&self) -> Outcome<Box<dyn RowReader + '_>> {
        Ok(Box::new(self.thread()?))
    }
}

impl Thread {
    fn open(functions: &'static Functions, folder: &CStr, user: &str) -> Outcome<Self> {
        let user = CString::new(user)?;
        let mut failure = [0; FAILURE_SIZE];
        // SAFETY: both texts end in a zero, the buffer has the size that C knows, and all outlive
        // the call.
        let opened =
            unsafe { (functions.open)(folder.as_ptr(), user.as_ptr(), failure.as_mut_ptr()) };
        if opened.is_null() {
            return Err(words(&failure).into());
        }
        Ok(Self { functions, opened, failure })
    }

    fn ended(&self, status: c_int) -> Outcome<Ended> {
        if status == DONE { Ok(Ended::Committed) } else { Err(words(&self.failure).into()) }
    }

    fn write(&mut self, write: Write, rows: &[Row]) -> Outcome<Ended> {
        let row = |row: &Row| LabRow { id: row.id, hexkey: row.hexkey, payload: row.payload };
        let rows: Vec<LabRow> = rows.iter().map(row).collect();
        let failure = self.failure.as_mut_ptr();
        // SAFETY: `opened` is what `open` made and `close`, which the drop calls, was not called;
        // the pointer and the count are of one list.
        let status = unsafe { write(self.opened, rows.as_ptr(), rows.len(), failure) };
        self.ended(status)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: as in `write`; nothing is called with `opened` any more.
        let _ = unsafe { (self.functions.close)(self.opened, self.failure.as_mut_ptr()) };
    }
}

impl RowWriter for Thread {
    fn insert(&mut self, rows: &[Row]) -> Outcome<Ended> {
        self.write(self.functions.insert, rows)
    }

    fn update(&mut self, changes: &[Row]) -> Outcome<Ended> {
        self.write(self.functions.update, changes)
    }

    fn delete(&mut self, from: i32, count: usize) -> Outcome<Option<Deleted>> {
        let (mut rows, mut last) = (0, from);
        let failure = self.failure.as_mut_ptr();
        // SAFETY: as in `write`; C writes two numbers.
        let status = unsafe {
            (self.functions.delete)(self.opened, from, count, &mut rows, &mut last, failure)
        };
        self.ended(status)?;
        Ok(Some(Deleted { rows, last }))
    }
}

impl RowReader for Thread {
    fn read(&mut self, ids: &[i32], see: &mut See<'_>) -> Outcome<Ended> {
        let mut closure: &mut See<'_> = see;
        let closure = (&raw mut closure).cast();
        let failure = self.failure.as_mut_ptr();
        // SAFETY: as in `write`; C gives the closure back to `shows` within the call, which knows
        // what it is.
        let status = unsafe {
            (self.functions.read)(self.opened, ids.as_ptr(), ids.len(), shows, closure, failure)
        };
        self.ended(status)
    }

    fn scan(&mut self, see: &mut See<'_>) -> Outcome<Ended> {
        let mut closure: &mut See<'_> = see;
        let closure = (&raw mut closure).cast();
        let failure = self.failure.as_mut_ptr();
        // SAFETY: as in `read`.
        let status = unsafe { (self.functions.scan)(self.opened, shows, closure, failure) };
        self.ended(status)
    }
}

/// Shows a row of C's, or that there is none.
///
/// # Safety
/// The closure is what `read` or `scan` has made of its own, and the row is null or one.
unsafe extern "C" fn shows(closure: *mut c_void, row: *const LabRow) {
    // SAFETY: that is what the caller promises; nobody else has the closure meanwhile.
    let see = unsafe { &mut *closure.cast::<&mut See<'_>>() };
    // SAFETY: as above.
    let row = unsafe { row.as_ref() };
    see(row.map(|row| RowView { id: row.id, hexkey: row.hexkey, payload: &row.payload }));
}

/// What C said about its failure.
fn words(failure: &[c_char; FAILURE_SIZE]) -> String {
    // SAFETY: the buffer is of zeros at first, and C writes a text with a final zero into it.
    unsafe { CStr::from_ptr(failure.as_ptr()) }.to_string_lossy().into_owned()
}
