//! Databases of the native interface: open, close, memory, snapshots.
//!
//! A database is a token that any thread may use. Closing refuses while a transaction or a call of
//! any thread is under way; afterwards the token is known to be stale.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use remanent_engine::{CallerMemory, Database, Options};

use super::durability::durability_level;
use super::session::{Base, DATABASES, Session, database};
use super::status::*;
use crate::ffi::{InPtr, OutPtr};
use crate::handles::NotClosed;
use crate::slots::SlotState;

/// A database: a token, never a pointer to anything.
pub struct rem_database(());

/// How a database is opened. Zeros and nulls are the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rem_options {
    /// Bytes that it may hold; 0 for half of the machine's memory.
    pub budget: u64,
    /// Bytes that the budget may be raised to; 0 for all of the machine's.
    pub budget_max: u64,
    /// Bytes to get from the system beforehand.
    pub commit_ahead: u64,
    /// Transactions at the same time; 0 for 4096.
    pub transactions_max: u64,
    /// Memory of the caller's to live in, which must outlive the database; or null.
    pub memory: *mut c_void,
    /// Bytes of that memory, which is the budget then.
    pub memory_size: u64,
    /// The folder that the database lies in, UTF-8 with a final NUL, made if it is not there; null
    /// for one in memory alone.
    pub path: *const std::ffi::c_char,
    /// What a commit waits for, REM_BUFFERED to REM_DISK; 0 for REM_DISK. In a folder only.
    pub durability: u32,
    /// 1 to open a damaged database to write: what lies behind the damage is put aside.
    pub accept_damage: u32,
    /// Bytes of log after which a checkpoint is made; 0 for 64 MiB, the largest number for never.
    pub checkpoint_after: u64,
}

/// Memory in use, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rem_memory {
    /// The most that may be held.
    pub budget: u64,
    /// Held for any purpose.
    pub held: u64,
    /// Of that, for rows.
    pub rows: u64,
    /// Of that, for indexes.
    pub indexes: u64,
    /// Got from the system.
    pub committed: u64,
    /// The part of the budget that only deletes, rollbacks and reclamation may use.
    pub reserve: u64,
    /// Of what is held, for directories of rows.
    pub segments: u64,
    /// Of that, for queues, write sets and the catalogue.
    pub internal: u64,
    /// Of that, for buffers of the log.
    pub log: u64,
    /// Of that, for the head of the region.
    pub overhead: u64,
    /// Of that, room that nothing lies in. The seven together are what is held.
    pub free: u64,
    /// Of the rows, about how much was superseded or deleted and waits to be freed.
    pub reclaimable: u64,
    /// Addresses that the budget may be raised to.
    pub reserved: u64,
}

/// A snapshot that a transaction holds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rem_snapshot {
    /// The newest commit that it sees.
    pub timestamp: u64,
    /// Microseconds since its transaction began.
    pub age_us: u64,
    /// Bytes of old rows that are kept for it.
    pub pinned_bytes: u64,
    /// Whose it is, with a final NUL.
    pub name: [std::ffi::c_char; 40],
}

/// Opens a database. `options` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn rem_open(
    options: *const rem_options,
    out: *mut *const rem_database,
) -> rem_status {
    call(|| {
        let out = OutPtr::from(out);
        out.set(std::ptr::null()).ok_or(REM_NULL_ARGUMENT)?;
        let opened = Arc::new(open(InPtr::from(options).get())?);
        out.put(handle_of(opened)? as *const rem_database);
        Ok(())
    })
}

/// The token of a new handle.
pub(super) fn handle_of(database: Arc<Database>) -> Outcome<u64> {
    DATABASES.add(Base::new(database)).map_err(|_| REM_TOO_MANY_HANDLES)
}

fn open(options: Option<&rem_options>) -> Outcome<Database> {
    let Some(options) = options else {
        return Database::open(Options::new()).map_err(status_of);
    };
    let resolved = options.resolve()?;
    match InPtr::from(options.path).text() {
        None => Database::open(resolved).map_err(status_of),
        Some(path) => {
            let path = std::str::from_utf8(path).map_err(|_| REM_BAD_TEXT)?;
            remanent_compression::open_at(path, resolved).map_err(status_of)
        }
    }
}

impl rem_options {
    fn resolve(&self) -> Outcome<Options> {
        let mut options = self.numbers().resolve()?;
        if let Some(memory) = NonNull::new(self.memory.cast::<u8>()) {
            // SAFETY: C hands the memory over until `rem_close`, which drops the database.
            let memory = unsafe { CallerMemory::from_raw(memory, self.memory_size as usize) };
            options = options.caller_memory(memory);
        }
        Ok(options)
    }

    /// What is no pointer.
    pub(super) fn numbers(&self) -> NumberOptions {
        NumberOptions {
            budget: self.budget,
            budget_max: self.budget_max,
            commit_ahead: self.commit_ahead,
            transactions_max: self.transactions_max,
            durability: self.durability,
            accept_damage: self.accept_damage != 0,
            checkpoint_after: self.checkpoint_after,
        }
    }
}

/// Those of the options that are numbers: they can be used more than once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NumberOptions {
    budget: u64,
    budget_max: u64,
    commit_ahead: u64,
    transactions_max: u64,
    durability: u32,
    accept_damage: bool,
    checkpoint_after: u64,
}

impl NumberOptions {
    pub(super) fn resolve(&self) -> Outcome<Options> {
        let mut options =
            Options::new().commit_ahead(self.commit_ahead).accept_damage(self.accept_damage);
        if let Some(durability) = durability_level(self.durability)? {
            options = options.durability(durability);
        }
        options = match self.checkpoint_after {
            0 => options,
            u64::MAX => options.checkpoint_after(0),
            bytes => options.checkpoint_after(bytes),
        };
        if self.budget != 0 {
            options = options.budget(self.budget);
        }
        if self.budget_max != 0 {
            options = options.budget_max(self.budget_max);
        }
        if self.transactions_max != 0 {
            options = options.transactions_max(self.transactions_max as usize);
        }
        Ok(options)
    }
}

/// Closes a database; `REM_OPEN_HANDLES` while it is used.
#[unsafe(no_mangle)]
pub extern "C" fn rem_close(database: *const rem_database) -> rem_status {
    call(|| {
        let token = database as u64;
        if token == 0 {
            return Err(REM_NULL_ARGUMENT);
        }
        match DATABASES.close(token, |_| Session::slots().is_used(token)) {
            Ok(_) => Ok(()),
            Err(NotClosed::InUse) => Err(REM_OPEN_HANDLES),
            Err(NotClosed::Unknown) => Err(REM_BAD_HANDLE),
        }
    })
}

/// How much memory is in use.
#[unsafe(no_mangle)]
pub extern "C" fn rem_memory_use(db: *const rem_database, out: *mut rem_memory) -> rem_status {
    call(|| {
        let memory = database(db as u64)?.database.memory();
        let rem = rem_memory {
            budget: memory.budget,
            held: memory.held,
            rows: memory.rows,
            indexes: memory.indexes,
            committed: memory.committed,
            reserve: memory.reserve,
            segments: memory.segments,
            internal: memory.internal,
            log: memory.log,
            overhead: memory.overhead,
            free: memory.free,
            reclaimable: memory.reclaimable,
            reserved: memory.reserved,
        };
        OutPtr::from(out).set(rem).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Changes the budget.
#[unsafe(no_mangle)]
pub extern "C" fn rem_budget_set(db: *const rem_database, bytes: u64) -> rem_status {
    call(|| database(db as u64)?.database.set_budget(bytes).map_err(status_of))
}

/// Gives free memory back to the system; `released` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn rem_memory_release(db: *const rem_database, released: *mut u64) -> rem_status {
    call(|| {
        OutPtr::from(released).put(database(db as u64)?.database.release_memory());
        Ok(())
    })
}

/// Lists the snapshots that are held, oldest first, as many as `capacity`; `count` receives how
/// many there are.
#[unsafe(no_mangle)]
pub extern "C" fn rem_snapshots(
    db: *const rem_database,
    snapshots: *mut rem_snapshot,
    capacity: usize,
    count: *mut usize,
) -> rem_status {
    call(|| {
        let held = database(db as u64)?.database.snapshots();
        let places = OutPtr::from(snapshots).uninit_slice(capacity).ok_or(REM_NULL_ARGUMENT)?;
        for (place, snapshot) in places.iter_mut().zip(&held) {
            let mut name = [0; 40];
            for (to, from) in name.iter_mut().take(39).zip(snapshot.name.bytes()) {
                *to = from as std::ffi::c_char;
            }
            place.write(rem_snapshot {
                timestamp: snapshot.timestamp,
                age_us: snapshot.age.as_micros() as u64,
                pinned_bytes: snapshot.pinned_bytes,
                name,
            });
        }
        OutPtr::from(count).set(held.len()).ok_or(REM_NULL_ARGUMENT)
    })
}
