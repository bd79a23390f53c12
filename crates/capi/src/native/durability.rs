//! What of a database in a folder survives what, in C: rungs, tickets, checkpoints, backups.
//!
//! `docs/durability.md` says what each rung means. A ticket is a small value of the program's; it
//! is good for the database that gave it, as long as that is open.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

use remanent_engine::{CommitTicket, Durability, Folder};

use super::database::rem_database;
use super::session::database;
use super::status::*;
use crate::border::{In, Out};

/// Commits are in memory; in a folder, as REM_BUFFERED.
pub const REM_MEMORY: u32 = 1;
/// Commits are in the log's memory.
pub const REM_BUFFERED: u32 = 2;
/// The operating system has them.
pub const REM_OS: u32 = 3;
/// The disk has them.
pub const REM_DISK: u32 = 4;

/// A commit, to be asked about later.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rem_ticket {
    /// Snapshots from this timestamp on see it.
    pub timestamp: u64,
    /// Where it ends in the log; 0 if it is not there.
    pub position: u64,
}

impl From<&CommitTicket> for rem_ticket {
    fn from(ticket: &CommitTicket) -> Self {
        let (timestamp, position) = ticket.to_parts();
        Self { timestamp, position }
    }
}

/// The rung with this number; none for 0.
pub(super) fn rung(number: u32) -> Outcome<Option<Durability>> {
    match number {
        0 => Ok(None),
        _ => {
            let rung = Durability::ALL.get(number as usize - 1);
            rung.copied().map(Some).ok_or(REM_INVALID_OPTIONS)
        }
    }
}

fn number_of(rung: Durability) -> u32 {
    Durability::ALL.iter().position(|&other| other == rung).map_or(0, |index| index as u32 + 1)
}

/// The rung that a commit has reached by now.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn rem_durability_of(
    database_token: *const rem_database,
    ticket: rem_ticket,
    out: *mut u32,
) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        let ticket = CommitTicket::from_parts(ticket.timestamp, ticket.position);
        let reached = number_of(pinned.database.durability_of(&ticket));
        if Out::from(out).put(reached) { Ok(()) } else { Err(REM_NULL_ARGUMENT) }
    })
}

/// Waits until a commit has reached a rung, which this call sees to.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn rem_wait_for(
    database_token: *const rem_database,
    ticket: rem_ticket,
    durability: u32,
) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        let rung = rung(durability)?.ok_or(REM_INVALID_OPTIONS)?;
        let ticket = CommitTicket::from_parts(ticket.timestamp, ticket.position);
        pinned.database.wait_for(&ticket, rung).map_err(of)
    })
}

/// Brings everything committed so far to a rung.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn rem_flush(database_token: *const rem_database, durability: u32) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        let rung = rung(durability)?.ok_or(REM_INVALID_OPTIONS)?;
        pinned.database.flush(rung).map_err(of)
    })
}

/// Writes an image beside the log and lets go what it makes needless.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn rem_checkpoint(database_token: *const rem_database) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        pinned.database.checkpoint().map(|_| ()).map_err(of)
    })
}

/// Writes an image into another folder, which is then a database of its own. `path` is UTF-8 with a
/// final NUL.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn rem_backup(
    database_token: *const rem_database,
    path: *const c_char,
) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        let path = In::from(path).text().ok_or(REM_NULL_ARGUMENT)?;
        let path = std::str::from_utf8(path).map_err(|_| REM_BAD_TEXT)?;
        let folder = Folder::create(path).map_err(|_| REM_STORAGE_FAILED)?;
        pinned.database.backup(&folder).map(|_| ()).map_err(of)
    })
}

/// What was missing when the database was opened, as a text that stays until the thread asks again;
/// null if nothing was. Such a database can only be read.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
pub extern "C" fn rem_damage(
    database_token: *const rem_database,
    out: *mut *const c_char,
) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        let out = Out::from(out);
        let text = pinned.database.damage().map(|damage| damage.to_string());
        let text = text.and_then(|text| CString::new(text).ok());
        let told = text.map_or(std::ptr::null(), tell);
        if out.put(told) { Ok(()) } else { Err(REM_NULL_ARGUMENT) }
    })
}

thread_local! {
    static DAMAGE: RefCell<CString> = RefCell::new(CString::default());
}

fn tell(text: CString) -> *const c_char {
    DAMAGE.with_borrow_mut(|told| {
        *told = text;
        told.as_ptr()
    })
}
