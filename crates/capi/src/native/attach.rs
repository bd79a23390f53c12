//! One database through several interfaces: its rows for mco-style and d_-style programs too.
//!
//! A database that was opened here is made known under a name, where the other interfaces look for
//! theirs. Classes and records of their schemas are tables of the same name; those that are there
//! must have the same columns and keys, whatever the limits of their text, the others are made.

use std::ffi::c_char;
use std::sync::Arc;

use super::database::rem_database;
use super::schema::read_text;
use super::session::database;
use super::status::*;
use crate::ffi::InPtr;
use crate::mco::dictionary::Dictionary;
use crate::mco::{attach, status::MCO_S_OK};

/// Lets `mco_db_connect` find the database under this name, with the classes of a dictionary that
/// a generated header gives. `mco_db_close` ends that, and the database stays. `REM_BAD_SCHEMA` if
/// a table is there with other columns or the name is in use.
#[unsafe(no_mangle)]
pub extern "C" fn rem_attach_mco(
    db: *const rem_database,
    name: *const c_char,
    dictionary: *const std::ffi::c_void,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        let dictionary = InPtr::from(dictionary).cast::<Dictionary>();
        let dictionary = dictionary.get().ok_or(REM_NULL_ARGUMENT)?;
        match attach(read_text(name)?.as_bytes(), dictionary, Arc::clone(&base.database)) {
            MCO_S_OK => Ok(()),
            _ => Err(REM_BAD_SCHEMA),
        }
    })
}

/// Lets `d_open` find the database under this name, that of a schema whose generated header the
/// program includes. It has no file then. `rem_detach_d` ends that for tasks that open it later.
#[unsafe(no_mangle)]
pub extern "C" fn rem_attach_d(db: *const rem_database, name: *const c_char) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        remanent_navigation::attach(read_text(name)?, Arc::clone(&base.database));
        Ok(())
    })
}

/// Ends what `rem_attach_d` began.
#[unsafe(no_mangle)]
pub extern "C" fn rem_detach_d(name: *const c_char) -> rem_status {
    call(|| {
        remanent_navigation::detach(read_text(name)?);
        Ok(())
    })
}
