//! The program in C that keeps a set in the d_-style, called from Rust.
//!
//! As in `programs`: what `open` made is given back to `close` at most once, and words about a
//! failure are written into a buffer that lies here. Numbers of members are checked before C uses
//! them as places in its list of addresses.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

use lab_harness::sets::{End, SetStore};
use lab_harness::{Location, Outcome};

use crate::programs::{DONE, FAILURE_SIZE};

// SAFETY: these are the declarations of d_sets.c, which the build compiled.
unsafe extern "C" {
    fn lab_sets_open(folder: *const c_char, failure: *mut c_char) -> *mut c_void;
    fn lab_sets_fill(opened: *mut c_void, count: u32, failure: *mut c_char) -> c_int;
    fn lab_sets_connect(
        opened: *mut c_void,
        members: *const u32,
        count: usize,
        failure: *mut c_char,
    ) -> c_int;
    fn lab_sets_disconnect(
        opened: *mut c_void,
        members: *const u32,
        count: usize,
        failure: *mut c_char,
    ) -> c_int;
    fn lab_sets_walk(
        opened: *mut c_void,
        out: *mut u32,
        capacity: usize,
        count: *mut usize,
        failure: *mut c_char,
    ) -> c_int;
    fn lab_sets_go_to(
        opened: *mut c_void,
        last: c_int,
        out: *mut u32,
        count: usize,
        failure: *mut c_char,
    ) -> c_int;
    fn lab_sets_next_of(
        opened: *mut c_void,
        members: *const u32,
        out: *mut u32,
        count: usize,
        failure: *mut c_char,
    ) -> c_int;
    fn lab_sets_close(opened: *mut c_void, failure: *mut c_char) -> c_int;
}

/// An open database with a set.
pub(crate) struct Sets {
    opened: *mut c_void,
    members: u32,
    failure: [c_char; FAILURE_SIZE],
}

impl Sets {
    pub(crate) fn open(location: &Location<'_>) -> Outcome<Self> {
        let folder = CString::new(location.files()?.as_os_str().as_bytes())?;
        let mut failure = [0; FAILURE_SIZE];
        // SAFETY: the folder ends in a zero, the buffer has the size that C knows, and both outlive
        // the call.
        let opened = unsafe { lab_sets_open(folder.as_ptr(), failure.as_mut_ptr()) };
        let sets = Self { opened, members: 0, failure };
        if opened.is_null() { Err(sets.words().into()) } else { Ok(sets) }
    }

    /// What C said about its failure.
    fn words(&self) -> String {
        // SAFETY: the buffer is of zeros at first, and C writes a text with a final zero into it.
        unsafe { CStr::from_ptr(self.failure.as_ptr()) }.to_string_lossy().into_owned()
    }

    fn done(&self, status: c_int) -> Outcome<()> {
        if status == DONE { Ok(()) } else { Err(self.words().into()) }
    }

    /// Whether C has an address for each of these.
    fn check(&self, members: &[u32]) -> Outcome<()> {
        let known = members.iter().all(|&member| member < self.members);
        if known { Ok(()) } else { Err("no member has this number".into()) }
    }
}

impl SetStore for Sets {
    fn fill(&mut self, members: u32) -> Outcome<()> {
        if self.members != 0 {
            return Err("it was filled before".into());
        }
        // SAFETY: `opened` is what `open` made and `close`, which takes the store, was not called.
        let status = unsafe { lab_sets_fill(self.opened, members, self.failure.as_mut_ptr()) };
        self.done(status)?;
        self.members = members;
        Ok(())
    }

    fn connect(&mut self, members: &[u32]) -> Outcome<()> {
        self.check(members)?;
        let failure = self.failure.as_mut_ptr();
        // SAFETY: as in `fill`; the pointer and the count are of one slice, whose numbers were
        // checked.
        let status =
            unsafe { lab_sets_connect(self.opened, members.as_ptr(), members.len(), failure) };
        self.done(status)
    }

    fn disconnect(&mut self, members: &[u32]) -> Outcome<()> {
        self.check(members)?;
        let failure = self.failure.as_mut_ptr();
        // SAFETY: as in `connect`.
        let status =
            unsafe { lab_sets_disconnect(self.opened, members.as_ptr(), members.len(), failure) };
        self.done(status)
    }

    fn walk(&mut self, out: &mut [u32]) -> Outcome<usize> {
        let mut count = 0;
        let failure = self.failure.as_mut_ptr();
        // SAFETY: as in `fill`; C writes at most as many numbers as `out` has places.
        let status =
            unsafe { lab_sets_walk(self.opened, out.as_mut_ptr(), out.len(), &mut count, failure) };
        self.done(status)?;
        Ok(count)
    }

    fn go_to(&mut self, end: End, out: &mut [u32]) -> Outcome<()> {
        let last = c_int::from(end == End::Last);
        let failure = self.failure.as_mut_ptr();
        // SAFETY: as in `walk`.
        let status =
            unsafe { lab_sets_go_to(self.opened, last, out.as_mut_ptr(), out.len(), failure) };
        self.done(status)
    }

    fn next_of(&mut self, members: &[u32], out: &mut [u32]) -> Outcome<()> {
        self.check(members)?;
        let count = members.len().min(out.len());
        let failure = self.failure.as_mut_ptr();
        // SAFETY: as in `connect`; C reads and writes as many numbers as both slices have.
        let status = unsafe {
            lab_sets_next_of(self.opened, members.as_ptr(), out.as_mut_ptr(), count, failure)
        };
        self.done(status)
    }

    fn close(mut self: Box<Self>) -> Outcome<()> {
        // SAFETY: as in `fill`; the store is taken, so nothing is called with `opened` any more.
        let status = unsafe { lab_sets_close(self.opened, self.failure.as_mut_ptr()) };
        self.done(status)
    }
}
