//! Statuses of the mco-style runtime: numbers, words, and which error of the engine is which.
//!
//! Numbers below 1000 are those of the style; from 1000 on they are this implementation's own.
//! Numbers from 100000 on are fatal and go to the program's handler as well. The thread's last
//! error keeps its text until the next one.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use remanent_engine::{Error, ErrorKind};

/// The status that every function returns.
pub type MCO_RET = c_int;

macro_rules! statuses {
    ($($name:ident = $number:literal, $text:literal;)+) => {
        $(#[doc = $text] pub const $name: MCO_RET = $number;)+

        const TEXTS: &[(MCO_RET, &std::ffi::CStr)] = &[$(($number, {
            match std::ffi::CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
                Ok(text) => text,
                Err(_) => panic!("a text has no NUL"),
            }
        }),)+];
    };
}

statuses! {
    MCO_S_OK = 0, "success";
    MCO_S_NOTFOUND = 10, "nothing was found";
    MCO_S_CURSOR_END = 11, "the cursor is at the end";
    MCO_S_CURSOR_EMPTY = 12, "there is nothing for the cursor to stand on";
    MCO_S_DUPLICATE = 13, "a unique index has this key already";
    MCO_E_NOMEM = 52, "the database's memory is used up";
    MCO_E_ACCESS = 53, "the transaction only reads";
    MCO_E_TRANSACT = 54, "the transaction has ended, or a call in it failed";
    MCO_E_CURSOR_INVALID = 60, "the cursor was not opened, was closed, or stands nowhere";
    MCO_E_ILLEGAL_PARAM = 62, "an argument is null or out of range";
    MCO_E_CURSOR_MISMATCH = 63, "the cursor is of another class or index";
    MCO_E_DELETED = 64, "the object was deleted";
    MCO_E_INSTANCE_DUPLICATE = 66, "a database of this name is open";
    MCO_E_UPGRADE_FAILED = 67, "others have committed since the transaction began";
    MCO_E_NOINSTANCE = 68, "no database of this name is open";
    MCO_E_OPENED_SESSIONS = 69, "somebody is connected or at work";
    MCO_E_PAGESIZE = 70, "the page size is not a multiple of 16 from 64 to 32768";
    MCO_E_WRITE_STREAM = 71, "the stream takes no more";
    MCO_E_READ_STREAM = 72, "the stream ended early";
    MCO_E_LOAD_DICT = 73, "the image is of another schema or of no database";
    MCO_E_LOAD_DATA = 74, "the image is damaged";
    MCO_E_VOLUNTARY_NOT_EXIST = 76, "the index is not there";
    MCO_E_SESLIMIT = 82, "there are too many sessions or transactions";
    MCO_E_INSTANCES_LIMIT = 83, "there are too many databases";
    MCO_E_CONFLICT = 87, "another transaction was first; run this one again";
    MCO_E_ILLEGAL_HANDLE = 1000, "the handle refers to nothing";
    MCO_E_WRONG_THREAD = 1001, "the transaction belongs to another thread";
    MCO_E_ILLEGAL_SCHEMA = 1002, "the dictionary is not understood";
    MCO_E_NOT_SUPPORTED = 1003, "this database cannot do that";
    MCO_E_TOO_LONG = 1004, "a value is longer than its field allows";
    MCO_ERR_BASE = 100000, "fatal codes begin here";
    MCO_ERR_INTERNAL = 100001, "a fault of the library";
}

/// The result of a call inside.
pub(super) type Outcome<T = ()> = Result<T, MCO_RET>;

/// The function that is called with fatal codes.
pub type mco_error_handler = Option<extern "C" fn(MCO_RET)>;

/// The address of the program's handler, 0 for none.
static HANDLER: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static TEXT: RefCell<CString> = RefCell::new(CString::default());
}

/// The status of a quick call's outcome: nothing lands a panic.
#[inline]
pub(super) fn status(outcome: Outcome) -> MCO_RET {
    match outcome {
        Ok(()) => MCO_S_OK,
        Err(status) => status,
    }
}

/// Runs a call's work; a panic becomes the fatal status.
#[inline]
pub(super) fn call(work: impl FnOnce() -> Outcome) -> MCO_RET {
    match crate::ffi::catch_panic(Err(MCO_ERR_INTERNAL), work) {
        Ok(()) => MCO_S_OK,
        Err(status) => {
            if status >= MCO_ERR_BASE {
                report_fatal(status);
            }
            status
        }
    }
}

/// The status of an engine's error, whose text is kept.
#[cold]
pub(super) fn status_of(error: Error) -> MCO_RET {
    use ErrorKind as Kind;
    keep(&error.to_string());
    match error.kind() {
        Kind::DuplicateKey => MCO_S_DUPLICATE,
        Kind::Conflict | Kind::SnapshotExpired | Kind::DeadlineReached | Kind::TableBusy => {
            MCO_E_CONFLICT
        }
        Kind::BudgetReached | Kind::OutOfMachineMemory | Kind::LimitReached => MCO_E_NOMEM,
        Kind::TooManyTransactions => MCO_E_SESLIMIT,
        Kind::ValueTooLong | Kind::KeyTooLong | Kind::RowTooLong => MCO_E_TOO_LONG,
        Kind::RowNotFound => MCO_E_DELETED,
        Kind::TransactionEnded => MCO_E_TRANSACT,
        Kind::InvalidSchema | Kind::TableExists | Kind::IndexExists | Kind::SchemaMismatch => {
            MCO_E_ILLEGAL_SCHEMA
        }
        Kind::UnknownIndex => MCO_E_VOLUNTARY_NOT_EXIST,
        _ => MCO_E_ILLEGAL_PARAM,
    }
}

/// Keeps a text for `mco_error_text`.
#[cold]
pub(super) fn keep(text: &str) {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    let _ = TEXT.try_with(|kept| *kept.borrow_mut() = text);
}

#[cold]
fn report_fatal(fatal: MCO_RET) {
    if let Some(handler) = handler_at(HANDLER.load(SeqCst)) {
        handler(fatal);
    }
}

fn handler_at(address: usize) -> mco_error_handler {
    // SAFETY: the address is 0 or was stored from a function of this very type.
    unsafe { std::mem::transmute::<usize, mco_error_handler>(address) }
}

/// Sets the function that is called with fatal codes; returns the one before.
#[unsafe(no_mangle)]
pub extern "C" fn mco_error_set_handler(handler: mco_error_handler) -> mco_error_handler {
    let address = handler.map_or(0, |handler| handler as usize);
    handler_at(HANDLER.swap(address, SeqCst))
}

/// A status as text.
#[unsafe(no_mangle)]
pub extern "C" fn mco_strerror(status: MCO_RET) -> *const c_char {
    let known = TEXTS.iter().find(|(number, _)| *number == status);
    known.map_or(c"an unknown status", |(_, text)| *text).as_ptr()
}

/// The text of the thread's last error; valid until the next.
#[unsafe(no_mangle)]
pub extern "C" fn mco_error_text() -> *const c_char {
    TEXT.try_with(|kept| kept.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn mco_get_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
