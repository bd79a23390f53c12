//! Statuses of the native interface: the engine's kinds of error by number, and a few of its own.
//!
//! From 1 on they are the numbers of `ErrorKind`, from 1000 on those of this interface. The text of
//! the thread's last error stays until its next one. A function that fails has changed nothing.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

use remanent_engine::{Error, ErrorKind};

/// The status that every function returns: 0, or why it failed.
pub type rem_status = i32;

/// Success.
pub const REM_OK: rem_status = 0;
/// A unique index has another row with this key.
pub const REM_DUPLICATE_KEY: rem_status = 1;
/// Another transaction was first; roll back and try again.
pub const REM_CONFLICT: rem_status = 2;
/// A column that must have a value would be null.
pub const REM_NULL_IN_NOT_NULL: rem_status = 3;
/// A string, blob or vector is longer than its column allows.
pub const REM_VALUE_TOO_LONG: rem_status = 4;
/// A number does not fit its column.
pub const REM_VALUE_OUT_OF_RANGE: rem_status = 5;
/// A value is of another type than its column.
pub const REM_WRONG_TYPE: rem_status = 6;
/// The values of a key do not match the parts of its index.
pub const REM_WRONG_KEY_SHAPE: rem_status = 7;
/// The encoded key is longer than 1024 bytes.
pub const REM_KEY_TOO_LONG: rem_status = 8;
/// The row is longer than 512 MiB.
pub const REM_ROW_TOO_LONG: rem_status = 9;
/// There is no table of this name, or it was dropped.
pub const REM_UNKNOWN_TABLE: rem_status = 10;
/// There is no column of this name.
pub const REM_UNKNOWN_COLUMN: rem_status = 11;
/// There is no index of this name, or it was dropped.
pub const REM_UNKNOWN_INDEX: rem_status = 12;
/// A table of this name exists.
pub const REM_TABLE_EXISTS: rem_status = 13;
/// An index of this name exists.
pub const REM_INDEX_EXISTS: rem_status = 14;
/// A definition contradicts itself.
pub const REM_INVALID_SCHEMA: rem_status = 15;
/// The row is of another table.
pub const REM_SCHEMA_MISMATCH: rem_status = 16;
/// The row to change is not there.
pub const REM_ROW_NOT_FOUND: rem_status = 17;
/// The transaction has ended, or never was.
pub const REM_TRANSACTION_ENDED: rem_status = 18;
/// The memory budget is used up. Deletes and rollbacks still work.
pub const REM_BUDGET_REACHED: rem_status = 19;
/// The operating system has no more memory.
pub const REM_OUT_OF_MACHINE_MEMORY: rem_status = 20;
/// All transaction slots are taken.
pub const REM_TOO_MANY_TRANSACTIONS: rem_status = 21;
/// Writers did not end in time for a change of tables or indexes.
pub const REM_TABLE_BUSY: rem_status = 22;
/// A limit of the engine is reached.
pub const REM_LIMIT_REACHED: rem_status = 23;
/// The kind of index cannot do this.
pub const REM_WRONG_INDEX_KIND: rem_status = 24;
/// The options contradict each other or are out of range.
pub const REM_INVALID_OPTIONS: rem_status = 25;
/// The snapshot was older, or kept more memory, than allowed.
pub const REM_SNAPSHOT_EXPIRED: rem_status = 26;
/// The transaction's deadline has passed.
pub const REM_DEADLINE_REACHED: rem_status = 27;
/// The row has an owner in the set; disconnect it first.
pub const REM_ALREADY_MEMBER: rem_status = 28;
/// A row that owns members is not deleted; disconnect them first.
pub const REM_HAS_MEMBERS: rem_status = 29;
/// A row that is a member is not deleted; disconnect it first.
pub const REM_IS_MEMBER: rem_status = 30;
/// The row has no owner in the set, or another one.
pub const REM_NOT_MEMBER: rem_status = 31;
/// The table holds a set: connect and disconnect change it.
pub const REM_RELATION_OF_SET: rem_status = 32;
/// The table has rows that can be in a set; drop the set first.
pub const REM_TABLE_IN_SET: rem_status = 33;
/// The stream of an image could not be written or read.
pub const REM_STREAM_FAILED: rem_status = 34;
/// The bytes are not a whole image, or one of another version.
pub const REM_DAMAGED_IMAGE: rem_status = 35;
/// The log cannot be read, not even in part, or belongs to another database.
pub const REM_DAMAGED_LOG: rem_status = 36;
/// Writing the log failed. What is in memory can be read; nothing can be committed any more.
pub const REM_LOG_FAILED: rem_status = 37;
/// Files of the database cannot be read, made or renamed.
pub const REM_STORAGE_FAILED: rem_status = 38;
/// Somebody else has the database open.
pub const REM_DATABASE_IN_USE: rem_status = 39;
/// The database can only be read, for something that was logged is missing.
pub const REM_DATABASE_READ_ONLY: rem_status = 40;
/// The log does not reach back so far: a checkpoint has removed what was there.
pub const REM_LOG_POSITION_GONE: rem_status = 41;
/// Another replica of the group takes changes; this one can be read.
pub const REM_NOT_LEADER: rem_status = 42;
/// The group has lost its leader, or a majority, before it was known to have the commit: it may or
/// may not be there.
pub const REM_NOT_REPLICATED: rem_status = 43;
/// The handle refers to nothing, or not any more.
pub const REM_BAD_HANDLE: rem_status = 1000;
/// The transaction belongs to another thread.
pub const REM_WRONG_THREAD: rem_status = 1001;
/// The buffer is too small; the length that is needed was given.
pub const REM_BUFFER_TOO_SMALL: rem_status = 1002;
/// The database has transactions or calls under way; or the call would wait for the one in whose
/// midst a function of the program was called.
pub const REM_OPEN_HANDLES: rem_status = 1003;
/// An argument is null that must not be.
pub const REM_NULL_ARGUMENT: rem_status = 1004;
/// The column or index is of another table.
pub const REM_WRONG_TABLE: rem_status = 1005;
/// The value is null; what was asked for is zero or empty.
pub const REM_NULL_VALUE: rem_status = 1006;
/// There is no such row or key, or no further one.
pub const REM_NOT_FOUND: rem_status = 1007;
/// The transaction only reads.
pub const REM_READ_ONLY: rem_status = 1008;
/// The text is not UTF-8.
pub const REM_BAD_TEXT: rem_status = 1009;
/// The schema's text is not understood.
pub const REM_BAD_SCHEMA: rem_status = 1010;
/// There are too many handles.
pub const REM_TOO_MANY_HANDLES: rem_status = 1011;
/// An argument is out of range.
pub const REM_BAD_ARGUMENT: rem_status = 1012;
/// A fault of the library: what the call did may be half done, and the transaction is to be rolled
/// back. In calls for single rows and values a fault ends the process.
pub const REM_INTERNAL: rem_status = 1099;

/// The result of a call inside.
pub(super) type Outcome<T = ()> = Result<T, rem_status>;

thread_local! {
    static TEXT: RefCell<CString> = RefCell::new(CString::default());
}

/// Names of the statuses and the states of those that are this interface's own.
const NAMES: &[(rem_status, &CStr, &CStr)] = &[
    (REM_OK, c"REM_OK", c"00000"),
    (REM_DUPLICATE_KEY, c"REM_DUPLICATE_KEY", c"23505"),
    (REM_CONFLICT, c"REM_CONFLICT", c"40001"),
    (REM_NULL_IN_NOT_NULL, c"REM_NULL_IN_NOT_NULL", c"23502"),
    (REM_VALUE_TOO_LONG, c"REM_VALUE_TOO_LONG", c"22001"),
    (REM_VALUE_OUT_OF_RANGE, c"REM_VALUE_OUT_OF_RANGE", c"22003"),
    (REM_WRONG_TYPE, c"REM_WRONG_TYPE", c"42804"),
    (REM_WRONG_KEY_SHAPE, c"REM_WRONG_KEY_SHAPE", c"42883"),
    (REM_KEY_TOO_LONG, c"REM_KEY_TOO_LONG", c"54000"),
    (REM_ROW_TOO_LONG, c"REM_ROW_TOO_LONG", c"54001"),
    (REM_UNKNOWN_TABLE, c"REM_UNKNOWN_TABLE", c"42P01"),
    (REM_UNKNOWN_COLUMN, c"REM_UNKNOWN_COLUMN", c"42703"),
    (REM_UNKNOWN_INDEX, c"REM_UNKNOWN_INDEX", c"42704"),
    (REM_TABLE_EXISTS, c"REM_TABLE_EXISTS", c"42P07"),
    (REM_INDEX_EXISTS, c"REM_INDEX_EXISTS", c"42710"),
    (REM_INVALID_SCHEMA, c"REM_INVALID_SCHEMA", c"42P16"),
    (REM_SCHEMA_MISMATCH, c"REM_SCHEMA_MISMATCH", c"42P17"),
    (REM_ROW_NOT_FOUND, c"REM_ROW_NOT_FOUND", c"P0002"),
    (REM_TRANSACTION_ENDED, c"REM_TRANSACTION_ENDED", c"25000"),
    (REM_BUDGET_REACHED, c"REM_BUDGET_REACHED", c"53200"),
    (REM_OUT_OF_MACHINE_MEMORY, c"REM_OUT_OF_MACHINE_MEMORY", c"58030"),
    (REM_TOO_MANY_TRANSACTIONS, c"REM_TOO_MANY_TRANSACTIONS", c"53300"),
    (REM_TABLE_BUSY, c"REM_TABLE_BUSY", c"55006"),
    (REM_LIMIT_REACHED, c"REM_LIMIT_REACHED", c"54023"),
    (REM_WRONG_INDEX_KIND, c"REM_WRONG_INDEX_KIND", c"42809"),
    (REM_INVALID_OPTIONS, c"REM_INVALID_OPTIONS", c"22023"),
    (REM_SNAPSHOT_EXPIRED, c"REM_SNAPSHOT_EXPIRED", c"72000"),
    (REM_DEADLINE_REACHED, c"REM_DEADLINE_REACHED", c"57014"),
    (REM_ALREADY_MEMBER, c"REM_ALREADY_MEMBER", c"23S01"),
    (REM_HAS_MEMBERS, c"REM_HAS_MEMBERS", c"23001"),
    (REM_IS_MEMBER, c"REM_IS_MEMBER", c"23S02"),
    (REM_NOT_MEMBER, c"REM_NOT_MEMBER", c"23S03"),
    (REM_RELATION_OF_SET, c"REM_RELATION_OF_SET", c"2F002"),
    (REM_TABLE_IN_SET, c"REM_TABLE_IN_SET", c"2BP01"),
    (REM_STREAM_FAILED, c"REM_STREAM_FAILED", c"58R01"),
    (REM_DAMAGED_IMAGE, c"REM_DAMAGED_IMAGE", c"XX001"),
    (REM_DAMAGED_LOG, c"REM_DAMAGED_LOG", c"XX002"),
    (REM_LOG_FAILED, c"REM_LOG_FAILED", c"58R02"),
    (REM_STORAGE_FAILED, c"REM_STORAGE_FAILED", c"58R03"),
    (REM_DATABASE_IN_USE, c"REM_DATABASE_IN_USE", c"55R01"),
    (REM_DATABASE_READ_ONLY, c"REM_DATABASE_READ_ONLY", c"25006"),
    (REM_LOG_POSITION_GONE, c"REM_LOG_POSITION_GONE", c"55R02"),
    (REM_NOT_LEADER, c"REM_NOT_LEADER", c"25006"),
    (REM_NOT_REPLICATED, c"REM_NOT_REPLICATED", c"57P04"),
    (REM_BAD_HANDLE, c"REM_BAD_HANDLE", c"HY000"),
    (REM_WRONG_THREAD, c"REM_WRONG_THREAD", c"HY010"),
    (REM_BUFFER_TOO_SMALL, c"REM_BUFFER_TOO_SMALL", c"22001"),
    (REM_OPEN_HANDLES, c"REM_OPEN_HANDLES", c"55006"),
    (REM_NULL_ARGUMENT, c"REM_NULL_ARGUMENT", c"22004"),
    (REM_WRONG_TABLE, c"REM_WRONG_TABLE", c"42703"),
    (REM_NULL_VALUE, c"REM_NULL_VALUE", c"22002"),
    (REM_NOT_FOUND, c"REM_NOT_FOUND", c"02000"),
    (REM_READ_ONLY, c"REM_READ_ONLY", c"25006"),
    (REM_BAD_TEXT, c"REM_BAD_TEXT", c"22021"),
    (REM_BAD_SCHEMA, c"REM_BAD_SCHEMA", c"42601"),
    (REM_TOO_MANY_HANDLES, c"REM_TOO_MANY_HANDLES", c"53300"),
    (REM_BAD_ARGUMENT, c"REM_BAD_ARGUMENT", c"22023"),
    (REM_INTERNAL, c"REM_INTERNAL", c"XX000"),
];

/// The status of a quick call's outcome: nothing lands a panic.
#[inline]
pub(super) fn status(outcome: Outcome) -> rem_status {
    match outcome {
        Ok(()) => REM_OK,
        Err(status) => status,
    }
}

/// Runs a call's work; a panic becomes `REM_INTERNAL`.
pub(super) fn call(work: impl FnOnce() -> Outcome) -> rem_status {
    status(crate::ffi::catch_panic(Err(REM_INTERNAL), work))
}

/// The status of an engine's error, whose text is kept.
#[cold]
pub(super) fn status_of(error: Error) -> rem_status {
    keep(&error.to_string());
    code(error.kind())
}

fn code(kind: ErrorKind) -> rem_status {
    kind.code().into()
}

/// Keeps a text for `rem_error_text`.
#[cold]
pub(super) fn keep(text: &str) {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    let _ = TEXT.try_with(|kept| *kept.borrow_mut() = text);
}

/// What the thread's last error of the engine was about; valid until the next one.
#[unsafe(no_mangle)]
pub extern "C" fn rem_error_text() -> *const c_char {
    TEXT.try_with(|kept| kept.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The name of a status, as `REM_CONFLICT`; never null.
#[unsafe(no_mangle)]
pub extern "C" fn rem_status_name(status: rem_status) -> *const c_char {
    let found = NAMES.iter().find(|(number, _, _)| *number == status);
    found.map_or(c"REM_UNKNOWN", |(_, name, _)| *name).as_ptr()
}

/// The SQLSTATE of a status; never null.
#[unsafe(no_mangle)]
pub extern "C" fn rem_status_sqlstate(status: rem_status) -> *const c_char {
    let found = NAMES.iter().find(|(number, _, _)| *number == status);
    found.map_or(c"HY000", |(_, _, state)| *state).as_ptr()
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn rem_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

#[cfg(test)]
mod tests;
