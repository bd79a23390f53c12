//! The programs in C, called from Rust: one table of functions for each, one store for all.
//!
//! A `Program` holds what its `open` made and gives it back to
//! `close` at most once; if it is dropped without, the process keeps it until it ends. C writes the
//! laboratory's buffer itself, and words about a failure into a buffer that lies here.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

use lab_harness::sensors::{Measure, MeasureBuffer, SensorKey, SensorStore};
use lab_harness::{Location, Outcome};

/// `FAILURE_SIZE` of store.h.
pub(crate) const FAILURE_SIZE: usize = 256;

/// `LAB_ABSENT` and `LAB_DONE` of store.h; anything else is a failure.
const ABSENT: c_int = 0;
pub(crate) const DONE: c_int = 1;

type Open = unsafe extern "C" fn(*const c_char, u64, *mut c_char) -> *mut c_void;
type Insert =
    unsafe extern "C" fn(*mut c_void, u32, u32, *const c_char, u32, i16, *mut c_char) -> c_int;
type Read = unsafe extern "C" fn(*mut c_void, u32, u32, *mut MeasureBuffer, *mut c_char) -> c_int;
type Close = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;

/// The functions of one program, declared as in store.h.
pub(crate) struct Functions {
    open: Open,
    insert: Insert,
    read: Read,
    close: Close,
}

/// An open database of a program.
pub(crate) struct Program {
    functions: &'static Functions,
    opened: *mut c_void,
    failure: [c_char; FAILURE_SIZE],
}

macro_rules! program {
    ($name:ident, $open:ident, $insert:ident, $read:ident, $close:ident) => {
        pub(crate) const $name: Functions = {
            // SAFETY: these are the declarations of the C file, which the build compiled.
            unsafe extern "C" {
                fn $open(folder: *const c_char, bytes: u64, failure: *mut c_char) -> *mut c_void;
                fn $insert(
                    opened: *mut c_void,
                    sensor_id: u32,
                    timestamp: u32,
                    spectra: *const c_char,
                    spectra_len: u32,
                    thing: i16,
                    failure: *mut c_char,
                ) -> c_int;
                fn $read(
                    opened: *mut c_void,
                    sensor_id: u32,
                    timestamp: u32,
                    out: *mut MeasureBuffer,
                    failure: *mut c_char,
                ) -> c_int;
                fn $close(opened: *mut c_void, failure: *mut c_char) -> c_int;
            }
            Functions { open: $open, insert: $insert, read: $read, close: $close }
        };
    };
}

program!(NATIVE, lab_native_open, lab_native_insert, lab_native_read, lab_native_close);
program!(MCO, lab_mco_open, lab_mco_insert, lab_mco_read, lab_mco_close);
program!(D, lab_d_open, lab_d_insert, lab_d_read, lab_d_close);
program!(D_KEPT, lab_d_kept_open, lab_d_kept_insert, lab_d_kept_read, lab_d_kept_close);
program!(D_SYNCED, lab_d_kept_open_synced, lab_d_kept_insert, lab_d_kept_read, lab_d_kept_close);
program!(
    D_STRINGS,
    lab_d_strings_open,
    lab_d_strings_insert,
    lab_d_strings_read,
    lab_d_strings_close
);

impl Program {
    pub(crate) fn open(functions: &'static Functions, location: &Location<'_>) -> Outcome<Self> {
        let folder = match location.directory {
            Some(directory) => CString::new(directory.as_os_str().as_bytes())?,
            None => CString::default(),
        };
        let mut failure = [0; FAILURE_SIZE];
        // SAFETY: the folder ends in a zero, the buffer has the size that C knows, and both outlive
        // the call.
        let opened = unsafe {
            (functions.open)(folder.as_ptr(), memory_for(location), failure.as_mut_ptr())
        };
        let program = Self { functions, opened, failure };
        if opened.is_null() { Err(program.words().into()) } else { Ok(program) }
    }

    /// What C said about its failure.
    fn words(&self) -> String {
        // SAFETY: the buffer is of zeros at first, and C writes a text with a final zero into it.
        unsafe { CStr::from_ptr(self.failure.as_ptr()) }.to_string_lossy().into_owned()
    }
}

impl SensorStore for Program {
    fn insert(&mut self, measure: &Measure<'_>) -> Outcome<()> {
        // SAFETY: `opened` is what this program's `open` made and `close`, which takes the store,
        // has not been called. The text and its length belong together.
        let status = unsafe {
            (self.functions.insert)(
                self.opened,
                measure.sensor_id,
                measure.timestamp,
                measure.spectra.as_ptr().cast(),
                measure.spectra.len() as u32,
                measure.thing,
                self.failure.as_mut_ptr(),
            )
        };
        if status == DONE { Ok(()) } else { Err(self.words().into()) }
    }

    fn read(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
        // SAFETY: as in `insert`; C writes integers and bytes of text into the buffer, whose layout
        // is that of `struct lab_measure`.
        let status = unsafe {
            (self.functions.read)(
                self.opened,
                key.sensor_id,
                key.timestamp,
                out,
                self.failure.as_mut_ptr(),
            )
        };
        match status {
            DONE => Ok(true),
            ABSENT => Ok(false),
            _ => Err(self.words().into()),
        }
    }

    fn close(mut self: Box<Self>) -> Outcome<()> {
        // SAFETY: as in `insert`; the store is taken, so nothing is called with `opened` any more.
        let status = unsafe { (self.functions.close)(self.opened, self.failure.as_mut_ptr()) };
        if status == DONE { Ok(()) } else { Err(self.words().into()) }
    }
}

/// Memory for a database that lives in its program's: twice what it will hold.
fn memory_for(location: &Location<'_>) -> u64 {
    (location.data_bytes + location.rows * 96) * 2 + (8 << 20)
}
