//! Sets and currency.
//!
//! Addresses of records are numbers to the program, and 0 is none. Whether a number is the address
//! of a record, and where a task stands afterwards, is the task's business.

use std::ffi::{c_int, c_long};

use remanent_navigation::{Address, Outcome, Status};

use super::tasks::{DbTask, with};
use crate::ffi::{InPtr, OutPtr};

macro_rules! set_calls {
    ($($(#[doc = $doc:literal])+ $call:ident => $method:ident;)+) => {$(
        $(#[doc = $doc])+
        // SAFETY: each use names calls of its own, with the prefix `d_`.
        #[unsafe(no_mangle)]
        pub extern "C" fn $call(set: c_int, task: InPtr<DbTask>, dbn: c_int) -> c_int {
            with(task, |context| context.task.$method(set, dbn))
        }
    )+};
}

set_calls! {
    /// Makes the current record the current owner.
    d_setor => set_owner;
    /// Makes the current record the current member.
    d_setmr => set_member;
    /// Makes the current owner the current record.
    d_setro => record_from_owner;
    /// Makes the current member the current record.
    d_setrm => record_from_member;
    /// Connects the current record to the current owner.
    d_connect => connect;
    /// Disconnects the current member.
    d_discon => disconnect;
    /// Goes to the first member.
    d_findfm => find_first;
    /// Goes to the last member.
    d_findlm => find_last;
    /// Goes to the next member.
    d_findnm => find_next;
    /// Goes to the member before.
    d_findpm => find_previous;
    /// Goes to the current record's owner.
    d_findco => find_owner;
    /// Whether the current record is a member.
    d_ismember => is_member;
    /// Whether the current record owns members.
    d_isowner => is_owner;
}

/// How many members the current owner has.
#[unsafe(no_mangle)]
pub extern "C" fn d_members(
    set: c_int,
    count: OutPtr<c_long>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| put_out(count, context.task.member_count(set, dbn)? as c_long))
}

/// The current record.
#[unsafe(no_mangle)]
pub extern "C" fn d_crget(address: OutPtr<u64>, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| put_out(address, context.task.current_record(dbn)?.number()))
}

/// Sets the current record.
#[unsafe(no_mangle)]
pub extern "C" fn d_crset(address: InPtr<u64>, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.current_record_set(address_of(address)?, dbn))
}

/// The current owner.
#[unsafe(no_mangle)]
pub extern "C" fn d_csoget(
    set: c_int,
    address: OutPtr<u64>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| put_out(address, context.task.current_owner(set, dbn)?.number()))
}

/// Sets the current owner.
#[unsafe(no_mangle)]
pub extern "C" fn d_csoset(
    set: c_int,
    address: InPtr<u64>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| context.task.current_owner_set(set, address_of(address)?, dbn))
}

/// The current member.
#[unsafe(no_mangle)]
pub extern "C" fn d_csmget(
    set: c_int,
    address: OutPtr<u64>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| put_out(address, context.task.current_member(set, dbn)?.number()))
}

/// Sets the current member.
#[unsafe(no_mangle)]
pub extern "C" fn d_csmset(
    set: c_int,
    address: InPtr<u64>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| context.task.current_member_set(set, address_of(address)?, dbn))
}

/// The current record's type.
#[unsafe(no_mangle)]
pub extern "C" fn d_crtype(record: OutPtr<c_int>, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| put_out(record, context.task.record_type(dbn)?))
}

/// The current owner's type.
#[unsafe(no_mangle)]
pub extern "C" fn d_cotype(
    set: c_int,
    record: OutPtr<c_int>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| put_out(record, context.task.owner_type(set, dbn)?))
}

/// The current member's type.
#[unsafe(no_mangle)]
pub extern "C" fn d_cmtype(
    set: c_int,
    record: OutPtr<c_int>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| put_out(record, context.task.member_type(set, dbn)?))
}

fn put_out<T>(place: OutPtr<T>, value: T) -> Outcome {
    if place.put(value) { Ok(()) } else { Err(Status::INVALID_POINTER.into()) }
}

/// The address behind a pointer; 0, or no pointer, for none.
fn address_of(address: InPtr<u64>) -> Outcome<Option<Address>> {
    match address.get() {
        None | Some(0) => Ok(None),
        Some(&number) => match Address::from_number(number) {
            Some(address) => Ok(Some(address)),
            None => Err(Status::INVALID_RECORD.into()),
        },
    }
}
