//! Panics planted behind calls of C: a status, or the end of the process.

use std::ptr::null;

use super::PLANTED;
use crate::native::database::{rem_close, rem_database, rem_open};
use crate::native::schema::rem_index;
use crate::native::search::{rem_cursor, rem_cursor_open, rem_find};
use crate::native::status::{REM_INTERNAL, REM_OK};
use crate::native::transaction::{rem_begin_write, rem_rollback, rem_transaction};

const QUICK: &str = "REMANENT_PANIC_IN_A_QUICK_CALL";

fn begin() -> (*const rem_database, *const rem_transaction) {
    let (mut db, mut transaction) = (null(), null());
    assert_eq!(rem_open(null(), &raw mut db), REM_OK);
    assert_eq!(rem_begin_write(db, null(), &raw mut transaction), REM_OK);
    (db, transaction)
}

#[test]
fn a_panic_is_a_status() {
    let (db, transaction) = begin();
    let mut cursor = rem_cursor::default();
    PLANTED.set(true);
    let status = rem_cursor_open(transaction, rem_index::default(), &raw mut cursor);
    assert_eq!((status, PLANTED.get()), (REM_INTERNAL, false));
    assert_eq!(rem_rollback(transaction), REM_OK);
    assert_eq!(rem_close(db), REM_OK);
}

#[test]
fn a_panic_in_a_quick_call_ends_the_process() {
    if std::env::var_os(QUICK).is_some() {
        let (_, transaction) = begin();
        PLANTED.set(true);
        let _ = rem_find(transaction, rem_index::default(), null(), 0, std::ptr::null_mut());
        std::process::exit(0);
    }
    let program = std::env::current_exe().expect("it runs");
    let mut command = std::process::Command::new(program);
    command.args(["a_panic_in_a_quick_call", "--nocapture"]).env(QUICK, "1");
    let output = command.output().expect("it can be run again");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("a planted panic"), "{text}");
    let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
    assert_eq!(signal, Some(libc::SIGABRT), "{:?}", output.status);
}
