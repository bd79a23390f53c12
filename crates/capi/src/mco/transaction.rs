//! Transactions of the mco-style runtime: start, upgrade, commit, roll back.
//!
//! Readers are snapshots. Writers run side by side; where two want the same object, or one has
//! read what another changed, one gets `E_CONFLICT`, from a call or from its commit. Exclusive
//! ones keep other writers out. A commit first makes rows of the drafts, in the order in which
//! they came to be; whatever it returns, the transaction has ended.

use std::ffi::c_int;
use std::sync::atomic::Ordering::{Relaxed, Release};

use remanent_engine::{Isolation, Priority, TransactionOptions};

use super::database::{CONNECTIONS, Instance};
use super::gate::Pass;
use super::object;
use super::session::{Session, SessionSlot, State, find_session};
use super::status::*;
use crate::ffi::OutPtr;
use crate::slots::SlotState;

const READ_ONLY: c_int = 0;
const EXCLUSIVE: c_int = 3;

/// Starts a transaction.
#[unsafe(no_mangle)]
pub extern "C" fn mco_trans_start(
    connection: u64,
    kind: c_int,
    priority: c_int,
    out: OutPtr<u64>,
) -> MCO_RET {
    status(start(connection, kind, priority, 0, out))
}

/// Starts a transaction of this isolation: 1 and 2 are snapshot isolation, 4 is serializable.
#[unsafe(no_mangle)]
pub extern "C" fn mco_trans_start_ex(
    connection: u64,
    kind: c_int,
    priority: c_int,
    isolation: c_int,
    out: OutPtr<u64>,
) -> MCO_RET {
    call(|| start(connection, kind, priority, isolation, out))
}

#[inline]
fn start(
    connection: u64,
    kind: c_int,
    priority: c_int,
    isolation: c_int,
    out: OutPtr<u64>,
) -> Outcome {
    out.set(0).ok_or(MCO_E_ILLEGAL_PARAM)?;
    if !(READ_ONLY..=EXCLUSIVE).contains(&kind) {
        return Err(MCO_E_ILLEGAL_PARAM);
    }
    if priority == 0 && matches!(isolation, 0 | 4) {
        return start_with(connection, kind, None, out);
    }
    start_with_options(connection, kind, priority, isolation, out)
}

/// Starts with a priority and an isolation that are not the usual ones.
#[cold]
fn start_with_options(
    connection: u64,
    kind: c_int,
    priority: c_int,
    isolation: c_int,
    out: OutPtr<u64>,
) -> Outcome {
    start_with(connection, kind, Some(&options_of(priority, isolation)?), out)
}

#[inline]
fn start_with(
    connection: u64,
    kind: c_int,
    options: Option<&TransactionOptions>,
    out: OutPtr<u64>,
) -> Outcome {
    let slot = Session::slots().take().ok_or(MCO_E_SESLIMIT)?;
    // SAFETY: the slot's user changes when the transaction has ended, in `put_back`.
    let Some(used) = (unsafe { CONNECTIONS.pin(connection, &slot.user) }) else {
        Session::slots().put_back(slot);
        return Err(MCO_E_ILLEGAL_HANDLE);
    };
    slot.set_instance(&used.instance);
    let begun = begin(slot, kind, options);
    if begun.is_err() {
        slot.leave();
        Session::slots().put_back(slot);
        return begun;
    }
    out.put(slot.open());
    Ok(())
}

#[inline]
fn begin(slot: SessionSlot, kind: c_int, options: Option<&TransactionOptions>) -> Outcome {
    let instance = slot.instance()?;
    let begun = if kind == READ_ONLY {
        // SAFETY: the slot was idle, and names the connection that keeps the database open.
        unsafe { slot.started().begin_read(&instance.database, options) }
    } else {
        let pass = if kind == EXCLUSIVE { Pass::Exclusive } else { Pass::Shared };
        enter(slot, pass)?;
        slot.writes.set(true);
        // SAFETY: as above.
        unsafe { slot.started().begin_write(&instance.database, options) }
    };
    begun.map_err(status_of)
}

/// Passes the database's gate; a thread that would wait for itself is refused.
#[inline]
fn enter(slot: SessionSlot, pass: Pass) -> Outcome {
    let Instance { gate, number, .. } = slot.instance()?;
    let number = *number;
    if !gate.try_pass(pass, number, &slot.writes_in) {
        wait(slot, pass)?;
    }
    slot.pass.set(pass);
    Ok(())
}

#[cold]
fn wait(slot: SessionSlot, pass: Pass) -> Outcome {
    let instance = slot.instance()?;
    let number = instance.number;
    let in_the_way = |other: &SessionSlot| {
        let same = other.instance().is_ok_and(|other| other.number == number);
        same && (other.pass.get() == Pass::Exclusive
            || pass == Pass::Exclusive && other.pass.get() == Pass::Shared)
    };
    if Session::slots().own().any(|other| in_the_way(&other)) {
        keep("this thread has a transaction that would have to end first");
        return Err(MCO_E_TRANSACT);
    }
    instance.gate.wait(pass, number, &slot.writes_in);
    Ok(())
}

fn options_of(priority: c_int, isolation: c_int) -> Outcome<TransactionOptions> {
    let index = usize::try_from(priority + 2).map_err(|_| MCO_E_ILLEGAL_PARAM)?;
    let priority = *Priority::ALL.get(index).ok_or(MCO_E_ILLEGAL_PARAM)?;
    let isolation = match isolation {
        0 | 4 => Isolation::Serializable,
        1 | 2 => Isolation::Snapshot,
        _ => return Err(MCO_E_ILLEGAL_PARAM),
    };
    Ok(TransactionOptions::new().priority(priority).isolation(isolation))
}

/// Lets a transaction that reads write, if nobody has committed since it began. Its commit is
/// refused if others have changed any class by then.
#[unsafe(no_mangle)]
pub extern "C" fn mco_trans_upgrade(transaction: u64) -> MCO_RET {
    call(|| {
        let slot = find_session(transaction)?;
        if slot.writes.get() {
            return Ok(());
        }
        let instance = slot.instance()?;
        if !instance.gate.try_pass(Pass::Shared, instance.number, &slot.writes_in) {
            return Err(MCO_E_UPGRADE_FAILED);
        }
        slot.pass.set(Pass::Shared);
        // SAFETY: nothing was begun here, and the slot names its connection.
        let begun = unsafe { slot.upgraded().begin_write(&instance.database, None) };
        let same = match (slot.started().reading(), slot.upgraded().reading()) {
            (Some(first), Some(second)) if begun.is_ok() => first.timestamp() == second.timestamp(),
            _ => false,
        };
        if !same {
            // SAFETY: nothing was done with it.
            unsafe { slot.upgraded().end() };
            instance.gate.leave(Pass::Shared, &slot.writes_in);
            slot.pass.set(Pass::None);
            return Err(begun.map_or_else(status_of, |()| MCO_E_UPGRADE_FAILED));
        }
        slot.writes.set(true);
        // What was read as a reader was not remembered, so all objects count as read.
        let upgraded = slot.upgraded().writing().ok_or(MCO_E_TRANSACT)?;
        for class in &instance.classes {
            upgraded.scan(&class.table).map_err(status_of)?;
        }
        Ok(())
    })
}

/// Commits; the transaction has ended, whatever this returns.
#[unsafe(no_mangle)]
pub extern "C" fn mco_trans_commit(transaction: u64) -> MCO_RET {
    let slot = match find_session(transaction) {
        Ok(slot) if slot.in_handler.get() => return MCO_E_TRANSACT,
        Ok(slot) => slot,
        Err(status) => return status,
    };
    // Nothing of a transaction that reads can fail.
    let committed = if slot.writes.get() { call(|| commit(slot)) } else { status(commit(slot)) };
    if committed != MCO_S_OK {
        call(|| {
            slot.end();
            Ok(())
        });
    }
    Session::slots().put_back(slot);
    committed
}

#[inline]
fn commit(slot: SessionSlot) -> Outcome {
    if slot.has_failed() {
        return Err(MCO_E_TRANSACT);
    }
    if !slot.writes.get() {
        slot.forget();
        // SAFETY: cursors and drafts are gone; no call is using the transaction.
        unsafe { slot.started().end() };
        slot.leave();
        return Ok(());
    }
    object::write_all(slot)?;
    if slot.has_failed() {
        return Err(MCO_E_TRANSACT);
    }
    slot.cursors.borrow_mut().clear();
    // SAFETY: cursors are gone; drafts hold bytes of their own.
    let ticket = unsafe { slot.held().commit() }.map_err(status_of)?;
    let committed_at = ticket.map_or(0, |ticket| ticket.timestamp());
    note_classes(slot, committed_at);
    slot.forget();
    // SAFETY: as above.
    unsafe { slot.started().end() };
    slot.leave();
    Ok(())
}

/// Notes for each class whether it has objects and whether any were deleted.
#[inline]
fn note_classes(slot: SessionSlot, committed_at: u64) {
    let Ok(instance) = slot.instance() else { return };
    for draft in &slot.drafts.borrow().all {
        let class = &instance.classes[draft.class_id as usize];
        if draft.state == State::Deleted {
            class.deleted.store(true, Release);
        } else if class.filled.load(Relaxed) == u64::MAX {
            class.filled.fetch_min(committed_at, Release);
        }
    }
}

/// Takes back everything; the transaction has ended.
#[unsafe(no_mangle)]
pub extern "C" fn mco_trans_rollback(transaction: u64) -> MCO_RET {
    let slot = match find_session(transaction) {
        Ok(slot) if slot.in_handler.get() => return MCO_E_TRANSACT,
        Ok(slot) => slot,
        Err(status) => return status,
    };
    let ended = call(|| {
        slot.end();
        Ok(())
    });
    Session::slots().put_back(slot);
    ended
}
