//! Network sets: members connected, disconnected and followed.
//!
//! Owners and members are a table and a row's number, as everywhere in this interface. A step from
//! one member to the next is found from the member alone, so nothing has to be kept open; it costs
//! two look-ups in an index, however many members there are.

use std::ffi::c_char;

use remanent_engine::{Member, Members, RowId, Set, Table};

use super::database::rem_database;
use super::row::rem_row;
use super::schema::{read_text, rem_table};
use super::session::{SessionSlot, database, find_session};
use super::status::*;
use super::transaction::rem_transaction;
use crate::ffi::OutPtr;
use crate::row_at::RowAt;

/// A set.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rem_set {
    /// Its database and its number there; 0 for none.
    pub id: u64,
}

/// The target of a step.
#[derive(Clone, Copy)]
enum Step {
    First,
    Last,
    Next,
    Previous,
}

/// Finds a set by its name.
#[unsafe(no_mangle)]
pub extern "C" fn rem_set_find(
    db: *const rem_database,
    name: *const c_char,
    out: *mut rem_set,
) -> rem_status {
    call(|| {
        let base = database(db as u64)?;
        let id = base.note_set(base.database.set(read_text(name)?).map_err(status_of)?)?;
        OutPtr::from(out).set(rem_set { id }).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Makes a row a member of an owner, at the place that the set's order says; in a set in order
/// next, before all others. `REM_ALREADY_MEMBER` if it has an owner.
#[unsafe(no_mangle)]
pub extern "C" fn rem_connect(
    transaction: *const rem_transaction,
    set: rem_set,
    owner: u32,
    table: rem_table,
    member: u32,
) -> rem_status {
    call(|| {
        let (slot, set) = of_set(transaction, set)?;
        let writing = slot.held.writing().ok_or(REM_READ_ONLY)?;
        writing.connect(set, row(owner)?, table_of(slot, table)?, row(member)?).map_err(status_of)
    })
}

/// As `rem_connect`; in a set in order next, behind the member `after` of the same owner.
#[unsafe(no_mangle)]
pub extern "C" fn rem_connect_after(
    transaction: *const rem_transaction,
    set: rem_set,
    owner: u32,
    table: rem_table,
    member: u32,
    after_table: rem_table,
    after: u32,
) -> rem_status {
    call(|| {
        let (slot, set) = of_set(transaction, set)?;
        let writing = slot.held.writing().ok_or(REM_READ_ONLY)?;
        let member = (table_of(slot, table)?, row(member)?);
        let after = Some((table_of(slot, after_table)?, row(after)?));
        writing.connect_after(set, row(owner)?, member, after).map_err(status_of)
    })
}

/// Ends a row's membership; `REM_NOT_MEMBER` if it has no owner.
#[unsafe(no_mangle)]
pub extern "C" fn rem_disconnect(
    transaction: *const rem_transaction,
    set: rem_set,
    table: rem_table,
    member: u32,
) -> rem_status {
    call(|| {
        let (slot, set) = of_set(transaction, set)?;
        let writing = slot.held.writing().ok_or(REM_READ_ONLY)?;
        writing.disconnect(set, table_of(slot, table)?, row(member)?).map_err(status_of)
    })
}

/// Gives a member another owner.
#[unsafe(no_mangle)]
pub extern "C" fn rem_reconnect(
    transaction: *const rem_transaction,
    set: rem_set,
    owner: u32,
    table: rem_table,
    member: u32,
) -> rem_status {
    call(|| {
        let (slot, set) = of_set(transaction, set)?;
        let writing = slot.held.writing().ok_or(REM_READ_ONLY)?;
        writing.reconnect(set, row(owner)?, table_of(slot, table)?, row(member)?).map_err(status_of)
    })
}

/// Gets the owner of a member; `REM_NOT_MEMBER` if it has none.
#[unsafe(no_mangle)]
pub extern "C" fn rem_owner_of(
    transaction: *const rem_transaction,
    set: rem_set,
    table: rem_table,
    member: u32,
    out: *mut rem_row,
) -> rem_status {
    call(|| {
        let (slot, set) = of_set(transaction, set)?;
        let reading = slot.held.reading().ok_or(REM_TRANSACTION_ENDED)?;
        let owner =
            reading.owner_of(set, table_of(slot, table)?, row(member)?).map_err(status_of)?;
        let owner = owner.ok_or(REM_NOT_MEMBER)?;
        let found = reading.row(set.owner(), owner).map_err(status_of)?.ok_or(REM_ROW_NOT_FOUND)?;
        let entry = slot.base()?.note(set.owner().clone())?;
        rem_row::put(slot, entry.id, RowAt::of(&found), OutPtr::from(out))
    })
}

/// Gets the first member of an owner; `REM_NOT_FOUND` if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn rem_member_first(
    transaction: *const rem_transaction,
    set: rem_set,
    owner: u32,
    out: *mut rem_row,
) -> rem_status {
    call(|| of_owner(transaction, set, owner, Step::First, out))
}

/// Gets the last member of an owner; `REM_NOT_FOUND` if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn rem_member_last(
    transaction: *const rem_transaction,
    set: rem_set,
    owner: u32,
    out: *mut rem_row,
) -> rem_status {
    call(|| of_owner(transaction, set, owner, Step::Last, out))
}

/// Gets the member behind another; `REM_NOT_FOUND` behind the last one, `REM_NOT_MEMBER` if the
/// row has no owner. `out` may be where the row came from.
#[unsafe(no_mangle)]
pub extern "C" fn rem_member_next(
    transaction: *const rem_transaction,
    set: rem_set,
    table: rem_table,
    member: u32,
    out: *mut rem_row,
) -> rem_status {
    call(|| beside(transaction, set, table, member, Step::Next, out))
}

/// Gets the member before another; as `rem_member_next`.
#[unsafe(no_mangle)]
pub extern "C" fn rem_member_previous(
    transaction: *const rem_transaction,
    set: rem_set,
    table: rem_table,
    member: u32,
    out: *mut rem_row,
) -> rem_status {
    call(|| beside(transaction, set, table, member, Step::Previous, out))
}

fn of_owner(
    transaction: *const rem_transaction,
    set: rem_set,
    owner: u32,
    step: Step,
    out: *mut rem_row,
) -> Outcome {
    let (slot, set) = of_set(transaction, set)?;
    let reading = slot.held.reading().ok_or(REM_TRANSACTION_ENDED)?;
    let mut members = reading.members(set, row(owner)?).map_err(status_of)?;
    put(slot, moved(&mut members, step)?, out)
}

fn beside(
    transaction: *const rem_transaction,
    set: rem_set,
    table: rem_table,
    member: u32,
    step: Step,
    out: *mut rem_row,
) -> Outcome {
    let (slot, set) = of_set(transaction, set)?;
    let reading = slot.held.reading().ok_or(REM_TRANSACTION_ENDED)?;
    let siblings =
        reading.siblings(set, table_of(slot, table)?, row(member)?).map_err(status_of)?;
    put(slot, moved(&mut siblings.ok_or(REM_NOT_MEMBER)?, step)?, out)
}

fn moved<'t>(members: &mut Members<'t>, step: Step) -> Outcome<Option<Member<'t>>> {
    let moved = match step {
        Step::First => members.first(),
        Step::Last => members.last(),
        Step::Next => members.next(),
        Step::Previous => members.previous(),
    };
    moved.map_err(status_of)
}

fn put(slot: SessionSlot, member: Option<Member<'_>>, out: *mut rem_row) -> Outcome {
    let member = member.ok_or(REM_NOT_FOUND)?;
    let entry = slot.base()?.note(member.table().clone())?;
    rem_row::put(slot, entry.id, RowAt::of(&member.row()), OutPtr::from(out))
}

fn of_set(
    transaction: *const rem_transaction,
    set: rem_set,
) -> Outcome<(SessionSlot, &'static Set)> {
    let slot = find_session(transaction as u64)?;
    Ok((slot, slot.base()?.set(set.id)?))
}

fn table_of(slot: SessionSlot, table: rem_table) -> Outcome<&'static Table> {
    Ok(&slot.base()?.entry(table.id)?.table)
}

fn row(number: u32) -> Outcome<RowId> {
    RowId::from_number(number.into()).ok_or(REM_ROW_NOT_FOUND)
}
