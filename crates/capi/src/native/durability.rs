//! Durability of a database in a folder, in C: durability levels, tickets, checkpoints, backups.
//!
//! `docs/durability.md` says what each level means. A ticket is a small value of the program's; it
//! is good for the database that gave it, as long as that is open.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::time::Duration;

use remanent_engine::{CommitTicket, Durability};

use super::database::rem_database;
use super::session::database;
use super::status::*;
use crate::ffi::{InPtr, OutPtr};

/// Commits are in memory; in a folder, as REM_BUFFERED.
pub const REM_MEMORY: u32 = 1;
/// Commits are in the log's memory.
pub const REM_BUFFERED: u32 = 2;
/// The operating system has them.
pub const REM_OS: u32 = 3;
/// The disk has them.
pub const REM_DISK: u32 = 4;
/// A majority of the group has them in memory. In a replica only.
pub const REM_REPLICATED: u32 = 5;
/// A majority of the group has them on their disks. In a replica only.
pub const REM_REPLICATED_DISK: u32 = 6;

/// A commit, to be asked about later.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rem_ticket {
    /// Snapshots from this timestamp on see it.
    pub timestamp: u64,
    /// The end of it in the log; 0 if it is not there.
    pub position: u64,
}

impl From<&CommitTicket> for rem_ticket {
    fn from(ticket: &CommitTicket) -> Self {
        let (timestamp, position) = ticket.to_parts();
        Self { timestamp, position }
    }
}

/// The durability level with this number; none for 0.
pub(super) fn durability_level(number: u32) -> Outcome<Option<Durability>> {
    match number {
        0 => Ok(None),
        _ => {
            let level = Durability::ALL.get(number as usize - 1);
            level.copied().map(Some).ok_or(REM_INVALID_OPTIONS)
        }
    }
}

fn number_of(level: Durability) -> u32 {
    Durability::ALL.iter().position(|&other| other == level).map_or(0, |index| index as u32 + 1)
}

/// The durability level that a commit has reached by now, on this machine: none of the two of a
/// group.
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
        OutPtr::from(out).set(reached).ok_or(REM_NULL_ARGUMENT)
    })
}

/// What a majority of the group has of a commit, as far as this replica knows: `REM_REPLICATED`,
/// `REM_REPLICATED_DISK`, or 0.
#[unsafe(no_mangle)]
pub extern "C" fn rem_replication_of(
    database_token: *const rem_database,
    ticket: rem_ticket,
    out: *mut u32,
) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        let ticket = CommitTicket::from_parts(ticket.timestamp, ticket.position);
        let reached = pinned.database.replication_of(&ticket).map_or(0, number_of);
        OutPtr::from(out).set(reached).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Waits until a commit has reached a durability level; this call sees to it.
#[unsafe(no_mangle)]
pub extern "C" fn rem_wait_for(
    database_token: *const rem_database,
    ticket: rem_ticket,
    durability: u32,
) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        let level = durability_level(durability)?.ok_or(REM_INVALID_OPTIONS)?;
        let ticket = CommitTicket::from_parts(ticket.timestamp, ticket.position);
        pinned.database.wait_for(&ticket, level).map_err(status_of)
    })
}

/// Waits until transactions that begin see the commit with this timestamp, for so many microseconds
/// at most: `REM_DEADLINE_REACHED` if they do not by then. Who has written to the leader of a group
/// reads on a follower what they wrote.
#[unsafe(no_mangle)]
pub extern "C" fn rem_wait_for_timestamp(
    database_token: *const rem_database,
    timestamp: u64,
    time_us: u64,
) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        match pinned.database.wait_for_timestamp(timestamp, Duration::from_micros(time_us)) {
            true => Ok(()),
            false => Err(REM_DEADLINE_REACHED),
        }
    })
}

/// Makes everything committed so far durable, at this level.
#[unsafe(no_mangle)]
pub extern "C" fn rem_flush(database_token: *const rem_database, durability: u32) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        let level = durability_level(durability)?.ok_or(REM_INVALID_OPTIONS)?;
        pinned.database.flush(level).map_err(status_of)
    })
}

/// Writes an image beside the log and lets go what it makes needless.
#[unsafe(no_mangle)]
pub extern "C" fn rem_checkpoint(database_token: *const rem_database) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        pinned.database.checkpoint().map(|_| ()).map_err(status_of)
    })
}

/// Writes an image into another folder, which is then a database of its own. `path` is UTF-8 with a
/// final NUL.
#[unsafe(no_mangle)]
pub extern "C" fn rem_backup(
    database_token: *const rem_database,
    path: *const c_char,
) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        let path = InPtr::from(path).text().ok_or(REM_NULL_ARGUMENT)?;
        let path = std::str::from_utf8(path).map_err(|_| REM_BAD_TEXT)?;
        let folder = remanent_compression::folder(path).map_err(|_| REM_STORAGE_FAILED)?;
        pinned.database.backup(&folder).map(|_| ()).map_err(status_of)
    })
}

/// What was missing when the database was opened, as a text that stays until the thread asks again;
/// null if nothing was. Such a database can only be read.
#[unsafe(no_mangle)]
pub extern "C" fn rem_damage(
    database_token: *const rem_database,
    out: *mut *const c_char,
) -> rem_status {
    call(|| {
        let pinned = database(database_token as u64)?;
        let out = OutPtr::from(out);
        let text = pinned.database.damage().map(|damage| damage.to_string());
        out.set(kept_text(text)).ok_or(REM_NULL_ARGUMENT)
    })
}

thread_local! {
    static KEPT: RefCell<CString> = RefCell::new(CString::default());
}

/// Keeps a text for the thread until it asks for the next one; null for none.
pub(super) fn kept_text(text: Option<String>) -> *const c_char {
    let Some(text) = text.and_then(|text| CString::new(text).ok()) else {
        return std::ptr::null();
    };
    KEPT.with_borrow_mut(|kept| {
        *kept = text;
        kept.as_ptr()
    })
}
