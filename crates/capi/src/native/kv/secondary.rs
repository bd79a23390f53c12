//! Secondary key/value databases in C: other keys for records, found by a function of the program.
//!
//! The function is called by every thread that changes the primary database, in the midst of that
//! change. It adds keys through a token that is good for this one call. Meanwhile it cannot reach
//! the transaction, whose token leads nowhere, and calls that change key/value databases are
//! refused: what they would wait for is held by the change that is under way.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use remanent_kv::{Secondary, SecondaryKeys};

use super::change::{changing, tell_removed};
use super::cursor::{OpenKvCursor, keep_cursor, rem_kv_cursor};
use super::databases::{rem_blob, rem_kv};
use crate::ffi::OutPtr;
use crate::native::database::rem_database;
use crate::native::session::{database, find_session};
use crate::native::status::*;
use crate::native::transaction::rem_transaction;

/// A secondary database together with its primary one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct rem_kv_secondary {
    /// 0 is none.
    pub id: u64,
}

/// Where the keys of one record go: a token, never a pointer to anything.
pub struct rem_kv_keys(());

/// Finds the secondary keys of a record and gives them to `rem_kv_key_add`: always the same for the
/// same record. It may be called by any thread, and must return.
pub type rem_kv_extract = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        key: rem_blob,
        value: rem_blob,
        keys: *const rem_kv_keys,
    ),
>;

/// A function of C with what it is given.
struct Extract {
    function: unsafe extern "C" fn(*mut c_void, rem_blob, rem_blob, *const rem_kv_keys),
    context: *mut c_void,
}

// SAFETY: the program promises that any thread may call the function with this context.
unsafe impl Send for Extract {}
// SAFETY: as above.
unsafe impl Sync for Extract {}

/// Threads that have found keys so far, and 1; above the bits that count a thread's callbacks.
static THREADS: AtomicU64 = AtomicU64::new(1);
const THREAD_SHIFT: u32 = 40;

thread_local! {
    /// The token of the callback that is under way; 0 for none.
    static CALLBACK: Cell<u64> = const { Cell::new(0) };
    /// The token that this thread gave last: no two threads give the same.
    static CALLBACKS: Cell<u64> = Cell::new(THREADS.fetch_add(1, Relaxed) << THREAD_SHIFT);
    static KEYS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Makes `secondary` lead from the keys that `extract` finds to the records of `primary`, from now
/// on and in step with it. An empty one is filled with what is there already. `context` is handed
/// to the function, and must be good until `rem_kv_dissociate` or `rem_close`. To be called anew
/// whenever the database is opened, while no transaction is under way that has changed `primary`.
/// `REM_INVALID_OPTIONS` if `primary` has duplicates or either is a secondary already.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_associate(
    db: *const rem_database,
    primary: rem_kv,
    secondary: rem_kv,
    extract: rem_kv_extract,
    context: *mut c_void,
    out: *mut rem_kv_secondary,
) -> rem_status {
    call(|| {
        outside_callback()?;
        let base = database(db as u64)?;
        let stores = base.stores();
        let (primary, secondary) = (stores.database(primary.id)?, stores.database(secondary.id)?);
        let extract = Extract { function: extract.ok_or(REM_NULL_ARGUMENT)?, context };
        let out = OutPtr::from(out);
        out.set(rem_kv_secondary::default()).ok_or(REM_NULL_ARGUMENT)?;
        let associate = || {
            let find = move |key: &[u8], value: &[u8], keys: &mut SecondaryKeys| {
                extract.call(key, value, keys);
            };
            primary.associate(secondary, find).map_err(status_of)
        };
        let id = stores.associate(associate)?;
        out.put(rem_kv_secondary { id });
        Ok(())
    })
}

/// Ends an association: the secondary database stays as it is and can be changed by itself again.
/// Transactions that have changed the primary should have ended.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_dissociate(
    db: *const rem_database,
    secondary: rem_kv_secondary,
) -> rem_status {
    call(|| {
        outside_callback()?;
        database(db as u64)?.stores().dissociate(secondary.id)
    })
}

/// Adds a secondary key of a record; `keys` is what the function was given, and good until it
/// returns. A key that was added already counts once.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_key_add(keys: *const rem_kv_keys, key: rem_blob) -> rem_status {
    call(|| {
        let token = keys as u64;
        if token == 0 {
            return Err(REM_NULL_ARGUMENT);
        }
        if CALLBACK.get() != token {
            return Err(REM_BAD_HANDLE);
        }
        let key = key.bytes()?.to_vec();
        KEYS.with_borrow_mut(|keys| keys.push(key));
        Ok(())
    })
}

/// Gets the primary key, which may be null, and the primary value that a secondary key leads to; of
/// several the first. `REM_ROW_NOT_FOUND` if the two databases are out of step.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_secondary_get(
    transaction: *const rem_transaction,
    secondary: rem_kv_secondary,
    key: rem_blob,
    primary_key: *mut rem_blob,
    value: *mut rem_blob,
) -> rem_status {
    call(|| {
        let slot = find_session(transaction as u64)?;
        let secondary = slot.base()?.stores().secondary(secondary.id)?;
        let reading = slot.held.reading().ok_or(REM_TRANSACTION_ENDED)?;
        let found = secondary.get_primary(reading, key.bytes()?).map_err(status_of)?;
        let found = found.ok_or(REM_NOT_FOUND)?;
        OutPtr::from(value).set(rem_blob::of(found.1)).ok_or(REM_NULL_ARGUMENT)?;
        OutPtr::from(primary_key).put(rem_blob::of(found.0));
        Ok(())
    })
}

/// Removes the primary records that a secondary key leads to; `REM_NOT_FOUND` if there are none.
/// `removed`, which may be null, receives how many.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_secondary_delete(
    transaction: *const rem_transaction,
    secondary: rem_kv_secondary,
    key: rem_blob,
    removed: *mut u64,
) -> rem_status {
    call(|| {
        let slot = find_session(transaction as u64)?;
        let secondary: &Secondary = slot.base()?.stores().secondary(secondary.id)?;
        let key = key.bytes()?;
        tell_removed(changing(slot, |tx| secondary.delete(tx, key))?, removed)
    })
}

/// Opens a cursor that goes by secondary keys and gives the primary's records; it stands nowhere.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_secondary_cursor_open(
    transaction: *const rem_transaction,
    secondary: rem_kv_secondary,
    out: *mut rem_kv_cursor,
) -> rem_status {
    call(|| {
        let slot = find_session(transaction as u64)?;
        let secondary = slot.base()?.stores().secondary(secondary.id)?;
        let reading = slot.held.reading().ok_or(REM_TRANSACTION_ENDED)?;
        keep_cursor(
            slot,
            OpenKvCursor::Secondary(Box::new(secondary.cursor(reading).map_err(status_of)?)),
            out,
        )
    })
}

/// That no function of the program is finding keys on this thread, which the call would wait for.
#[inline]
pub(super) fn outside_callback() -> Outcome {
    if CALLBACK.get() == 0 { Ok(()) } else { Err(REM_OPEN_HANDLES) }
}

impl Extract {
    fn call(&self, key: &[u8], value: &[u8], keys: &mut SecondaryKeys) {
        let token = CALLBACKS.get() + 1;
        CALLBACKS.set(token);
        KEYS.with_borrow_mut(Vec::clear);
        CALLBACK.set(token);
        let (key, value) = (rem_blob::of(key), rem_blob::of(value));
        // SAFETY: the program gave a function of this type, and bytes that it may read.
        unsafe { (self.function)(self.context, key, value, token as *const rem_kv_keys) };
        CALLBACK.set(0);
        KEYS.with_borrow(|found| found.iter().for_each(|key| keys.push(key)));
    }
}
