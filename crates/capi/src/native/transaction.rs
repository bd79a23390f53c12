//! Transactions of the native interface: begin, commit, roll back, savepoints.
//!
//! A transaction is a token and belongs to the thread that began it. Committing or rolling back
//! ends it, whatever is returned; what came from it (rows, drafts, cursors) has ended too.

use std::time::{Duration, Instant};

use remanent_engine::{CommitTicket, Isolation, Priority, TransactionOptions};

use super::database::rem_database;
use super::durability::{durability_level, rem_ticket};
use super::session::{DATABASES, Session, SessionSlot, find_session};
use super::status::*;
use crate::ffi::{InPtr, OutPtr};
use crate::slots::SlotState;

/// A transaction: a token, never a pointer to anything.
pub struct rem_transaction(());

/// How a transaction is begun. Zeros are the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rem_transaction_options {
    /// REM_SERIALIZABLE or REM_SNAPSHOT.
    pub isolation: u32,
    /// From -2, which yields to all, to 2.
    pub priority: i32,
    /// Microseconds from now until it has to be over; 0 for no end.
    pub deadline_us: u64,
    /// Microseconds to wait for rows that others are changing; 0 to fail at once.
    pub wait_us: u64,
    /// Microseconds that the snapshot of a transaction that reads may get old; 0 for any.
    pub snapshot_age_us_max: u64,
    /// Bytes of old rows that such a snapshot may keep; 0 for any.
    pub snapshot_pinned_max: u64,
    /// Whose it is, UTF-8 with a final NUL; or null.
    pub name: *const std::ffi::c_char,
    /// What the commit waits for, REM_MEMORY to REM_DISK; 0 for what the database does.
    pub durability: u32,
}

/// Transactions are as if they ran one after the other.
pub const REM_SERIALIZABLE: u32 = 0;
/// Of two transactions that change one row, one fails.
pub const REM_SNAPSHOT: u32 = 1;

/// A point in a transaction to roll back to.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rem_savepoint {
    /// The transaction's token.
    pub transaction: u64,
    /// Which of its savepoints.
    pub number: u64,
}

/// Begins a transaction that reads. `options` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn rem_begin_read(
    database: *const rem_database,
    options: *const rem_transaction_options,
    out: *mut *const rem_transaction,
) -> rem_status {
    status(begin(database as u64, InPtr::from(options), OutPtr::from(out), false))
}

/// Begins a transaction that writes. `options` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn rem_begin_write(
    database: *const rem_database,
    options: *const rem_transaction_options,
    out: *mut *const rem_transaction,
) -> rem_status {
    status(begin(database as u64, InPtr::from(options), OutPtr::from(out), true))
}

#[inline(always)]
fn begin(
    database: u64,
    options: InPtr<rem_transaction_options>,
    out: OutPtr<*const rem_transaction>,
    writes: bool,
) -> Outcome {
    if database == 0 || !out.put(std::ptr::null()) {
        return Err(REM_NULL_ARGUMENT);
    }
    match options.get() {
        None => begin_with(database, None, out, writes),
        Some(options) => begin_with_options(database, options, out, writes),
    }
}

#[cold]
fn begin_with_options(
    database: u64,
    options: &rem_transaction_options,
    out: OutPtr<*const rem_transaction>,
    writes: bool,
) -> Outcome {
    begin_with(database, Some(&options.resolve()?), out, writes)
}

#[inline(always)]
fn begin_with(
    database: u64,
    options: Option<&TransactionOptions>,
    out: OutPtr<*const rem_transaction>,
    writes: bool,
) -> Outcome {
    let slot = Session::slots().take().ok_or(REM_TOO_MANY_TRANSACTIONS)?;
    // SAFETY: the slot's user changes when the transaction has ended, in `put_back`.
    let Some(base) = (unsafe { DATABASES.pin(database, &slot.user) }) else {
        Session::slots().put_back(slot);
        return Err(REM_BAD_HANDLE);
    };
    // SAFETY: the slot was idle, and names the handle that keeps the database open.
    let begun = unsafe {
        match writes {
            true => slot.held.begin_write(&base.database, options),
            false => slot.held.begin_read(&base.database, options),
        }
    };
    if let Err(error) = begun {
        Session::slots().put_back(slot);
        return Err(status_of(error));
    }
    slot.set_base(Some(base));
    out.put(slot.open() as *const rem_transaction);
    Ok(())
}

impl rem_transaction_options {
    #[cold]
    fn resolve(&self) -> Outcome<TransactionOptions> {
        let mut options = TransactionOptions::new();
        let priority = usize::try_from(self.priority + 2).ok();
        let priority = priority.and_then(|index| Priority::ALL.get(index));
        options = options.priority(*priority.ok_or(REM_INVALID_OPTIONS)?);
        options = options.isolation(match self.isolation {
            REM_SERIALIZABLE => Isolation::Serializable,
            REM_SNAPSHOT => Isolation::Snapshot,
            _ => return Err(REM_INVALID_OPTIONS),
        });
        if self.deadline_us != 0
            && let Some(end) = Instant::now().checked_add(Duration::from_micros(self.deadline_us))
        {
            options = options.deadline(end);
        }
        if self.wait_us != 0 {
            options = options.wait(Duration::from_micros(self.wait_us));
        }
        if self.snapshot_age_us_max != 0 {
            options = options.snapshot_age_max(Duration::from_micros(self.snapshot_age_us_max));
        }
        if self.snapshot_pinned_max != 0 {
            options = options.snapshot_pinned_max(self.snapshot_pinned_max);
        }
        if let Some(name) = InPtr::from(self.name).text() {
            options = options.name(std::str::from_utf8(name).map_err(|_| REM_BAD_TEXT)?);
        }
        if let Some(durability) = durability_level(self.durability)? {
            options = options.durability(durability);
        }
        Ok(options)
    }
}

/// Commits, and ends the transaction; it has ended if this fails, too.
#[unsafe(no_mangle)]
pub extern "C" fn rem_commit(transaction: *const rem_transaction) -> rem_status {
    let slot = match find_session(transaction as u64) {
        Ok(slot) => slot,
        Err(status) => return status,
    };
    let committed = commit(slot);
    Session::slots().put_back(slot);
    status(committed.map(|_| ()))
}

/// As `rem_commit`, and gives a ticket to ask about the commit later.
#[unsafe(no_mangle)]
pub extern "C" fn rem_commit_with_ticket(
    transaction: *const rem_transaction,
    out: *mut rem_ticket,
) -> rem_status {
    call(|| {
        let slot = find_session(transaction as u64)?;
        let committed = commit(slot);
        Session::slots().put_back(slot);
        let ticket = committed?.as_ref().map_or(rem_ticket::default(), rem_ticket::from);
        OutPtr::from(out).set(ticket).ok_or(REM_NULL_ARGUMENT)
    })
}

#[inline]
fn commit(slot: SessionSlot) -> Outcome<Option<CommitTicket>> {
    slot.forget();
    // SAFETY: cursors are gone; no call is using the transaction.
    unsafe { slot.held.commit() }.map_err(status_of)
}

/// Takes back what the transaction wrote, and ends it.
#[unsafe(no_mangle)]
pub extern "C" fn rem_rollback(transaction: *const rem_transaction) -> rem_status {
    let slot = match find_session(transaction as u64) {
        Ok(slot) => slot,
        Err(status) => return status,
    };
    slot.end();
    Session::slots().put_back(slot);
    REM_OK
}

/// A point to roll back to.
#[unsafe(no_mangle)]
pub extern "C" fn rem_savepoint_set(
    transaction: *const rem_transaction,
    out: *mut rem_savepoint,
) -> rem_status {
    call(|| {
        let slot = find_session(transaction as u64)?;
        let writing = slot.held.writing().ok_or(REM_READ_ONLY)?;
        let number = slot.savepoints.borrow_mut().set(writing);
        let savepoint = rem_savepoint { transaction: slot.token(), number };
        OutPtr::from(out).set(savepoint).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Takes back what was written since a savepoint, which stays; later ones end.
#[unsafe(no_mangle)]
pub extern "C" fn rem_rollback_to(savepoint: *const rem_savepoint) -> rem_status {
    call(|| {
        let savepoint = InPtr::from(savepoint).get().ok_or(REM_NULL_ARGUMENT)?;
        let slot = find_session(savepoint.transaction)?;
        let writing = slot.held.writing().ok_or(REM_READ_ONLY)?;
        slot.savepoints.borrow_mut().roll_back_to(writing, savepoint.number)
    })
}
