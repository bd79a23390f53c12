//! A site of the replication manager, through the C of replica.c.
//!
//! A `Site` holds an open handle, which is free-threaded, and closed exactly once, when it is
//! dropped.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::NonNull;

use lab_harness::Outcome;

/// What replica.c calls `lab_site`; never looked into from here.
#[repr(C)]
struct Handle {
    _opaque: [u8; 0],
}

// SAFETY: these are the declarations of replica.c and shim.c, which the build script compiled.
unsafe extern "C" {
    fn lab_bdb_error(code: c_int) -> *const c_char;
    fn lab_site_open(
        home: *const c_char,
        place: c_int,
        ports: *const u16,
        disk: c_int,
        made: *mut *mut Handle,
    ) -> c_int;
    fn lab_site_close(site: *mut Handle) -> c_int;
    fn lab_site_is_master(site: *mut Handle) -> c_int;
    fn lab_site_failed(site: *mut Handle) -> c_int;
    fn lab_site_create(site: *mut Handle) -> c_int;
    fn lab_site_load(site: *mut Handle, keys: *const u64, count: u32) -> c_int;
    fn lab_site_put(site: *mut Handle, key: u64) -> c_int;
    fn lab_site_count(site: *mut Handle, count: *mut u64) -> c_int;
}

/// A site of a group.
pub struct Site(NonNull<Handle>);

// SAFETY: environment and database are opened with DB_THREAD, for any thread at any time; what else
// the handle has is an integer that one event sets.
unsafe impl Send for Site {}
// SAFETY: as above.
unsafe impl Sync for Site {}

impl Site {
    /// Opens the site at this place among the ports; the first one is the master.
    ///
    /// # Errors
    /// What the library says.
    pub fn open(home: &str, place: usize, ports: &[u16], disk: bool) -> Outcome<Self> {
        let home = CString::new(home)?;
        assert!(place < ports.len(), "a site has a port");
        let mut made = std::ptr::null_mut();
        // SAFETY: the strings and ports are there during the call, which writes to `made`.
        let code = unsafe {
            lab_site_open(home.as_ptr(), place as c_int, ports.as_ptr(), disk.into(), &mut made)
        };
        checked(code)?;
        Ok(Self(NonNull::new(made).ok_or("no site was made")?))
    }

    /// Whether it takes changes.
    pub fn is_master(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { lab_site_is_master(self.0.as_ptr()) != 0 }
    }

    /// Makes the database, on the master.
    ///
    /// # Errors
    /// What the library says.
    pub fn create(&self) -> Outcome<()> {
        // SAFETY: the handle is open.
        checked(unsafe { lab_site_create(self.0.as_ptr()) })
    }

    /// Commits rows with these keys, and waits for nobody else.
    ///
    /// # Errors
    /// What the library says.
    pub fn load(&self, keys: &[u64]) -> Outcome<()> {
        let count = u32::try_from(keys.len())?;
        // SAFETY: the handle is open, and the keys are there during the call.
        checked(unsafe { lab_site_load(self.0.as_ptr(), keys.as_ptr(), count) })
    }

    /// Commits a row.
    ///
    /// # Errors
    /// What the library says.
    pub fn put(&self, key: u64) -> Outcome<()> {
        // SAFETY: the handle is open.
        checked(unsafe { lab_site_put(self.0.as_ptr(), key) })?;
        // SAFETY: the handle is open.
        match unsafe { lab_site_failed(self.0.as_ptr()) } {
            0 => Ok(()),
            failed => Err(format!("no quorum has acknowledged {failed} commits").into()),
        }
    }

    /// Counts the rows.
    ///
    /// # Errors
    /// What the library says.
    pub fn count(&self) -> Outcome<u64> {
        let mut count = 0;
        // SAFETY: the handle is open, and the call writes to `count`.
        checked(unsafe { lab_site_count(self.0.as_ptr(), &mut count) })?;
        Ok(count)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and nobody has it any more.
        unsafe { lab_site_close(self.0.as_ptr()) };
    }
}

fn checked(code: c_int) -> Outcome<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the library gives a string that lasts until another thread asks; it is copied.
    let text = unsafe { CStr::from_ptr(lab_bdb_error(code)) };
    Err(text.to_string_lossy().into_owned().into())
}
