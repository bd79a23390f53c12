//! A connection and its prepared statements: the only file of this crate that calls C.
//!
//! Statements borrow nothing: a `Connection` owns its statements and finalises them before it
//! closes, so none outlives it; a `Session` does the same with as many as it was given, for one
//! of several threads. A static bind lends the caller's bytes to SQLite for the length of one
//! call, which resets the statement before it returns.

use std::ffi::{CStr, CString, c_int};
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use lab_harness::Outcome;
use lab_harness::readers::Ended;
use libsqlite3_sys as ffi;

/// An open database with its two statements.
#[derive(Debug)]
pub(crate) struct Connection {
    db: *mut ffi::sqlite3,
    insert: *mut ffi::sqlite3_stmt,
    select: *mut ffi::sqlite3_stmt,
}

/// A row on which the select statement stands.
pub(crate) struct Row {
    statement: *mut ffi::sqlite3_stmt,
}

/// A connection of one of several threads, with statements by number.
#[derive(Debug)]
pub(crate) struct Session {
    connection: Connection,
    statements: Vec<*mut ffi::sqlite3_stmt>,
}

/// A value for a parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound<'b> {
    Integer(i64),
    Text(&'b [u8]),
    Bytes(&'b [u8]),
}

/// How many threads use SQLite in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threads {
    One,
    Several,
}

impl Connection {
    /// Opens a database by its path, or `:memory:`, in a process that uses it in one thread.
    pub(crate) fn open(path: &CStr) -> Outcome<Self> {
        Self::open_for(Threads::One, path)
    }

    fn open_for(threads: Threads, path: &CStr) -> Outcome<Self> {
        if configured(threads) != threads {
            return Err("SQLite was configured for other threads in this process".into());
        }
        let mut made =
            Self { db: ptr::null_mut(), insert: ptr::null_mut(), select: ptr::null_mut() };
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE | ffi::SQLITE_OPEN_NOMUTEX;
        // SAFETY: the path ends in a zero and outlives the call; on failure SQLite still gives
        // a handle for the message, which the drop of `made` closes.
        let code = unsafe { ffi::sqlite3_open_v2(path.as_ptr(), &mut made.db, flags, ptr::null()) };
        made.check(code)?;
        Ok(made)
    }

    /// Runs statements whose rows nobody looks at.
    pub(crate) fn execute(&self, sql: &str) -> Outcome<()> {
        let text = CString::new(sql)?;
        // SAFETY: the connection is open, the text ends in a zero, no callback is given.
        let code = unsafe {
            ffi::sqlite3_exec(self.db, text.as_ptr(), None, ptr::null_mut(), ptr::null_mut())
        };
        self.check(code)
    }

    /// Prepares the two statements that every later call uses.
    pub(crate) fn prepare(&mut self, insert: &str, select: &str) -> Outcome<()> {
        self.insert = self.statement(insert)?;
        self.select = self.statement(select)?;
        Ok(())
    }

    fn statement(&self, sql: &str) -> Outcome<*mut ffi::sqlite3_stmt> {
        let text = CString::new(sql)?;
        let mut made = ptr::null_mut();
        // SAFETY: the connection is open, the text ends in a zero, `made` is a live local.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(
                self.db,
                text.as_ptr(),
                -1,
                ffi::SQLITE_PREPARE_PERSISTENT as _,
                &mut made,
                ptr::null_mut(),
            )
        };
        self.check(code)?;
        Ok(made)
    }

    /// Runs the insert with integers first, then a text, then one more integer.
    #[inline]
    pub(crate) fn insert(&mut self, first: &[i64], text: &str, last: i64) -> Outcome<()> {
        // SAFETY: the statement is prepared and reset; the text outlives the step, and the
        // statement is reset before this returns, so that SQLite does not look at it again.
        let code = unsafe {
            for (place, &value) in (1..).zip(first) {
                ffi::sqlite3_bind_int64(self.insert, place, value);
            }
            let place = first.len() as c_int + 1;
            ffi::sqlite3_bind_text(
                self.insert,
                place,
                text.as_ptr().cast(),
                text.len() as c_int,
                ffi::SQLITE_STATIC(),
            );
            ffi::sqlite3_bind_int64(self.insert, place + 1, last);
            ffi::sqlite3_step(self.insert);
            ffi::sqlite3_reset(self.insert)
        };
        self.check(code)
    }

    /// Runs the select, shows its first row to `see`, and ends the transaction.
    #[inline]
    pub(crate) fn select<T>(
        &mut self,
        keys: &[i64],
        see: impl FnOnce(&Row) -> T,
    ) -> Outcome<Option<T>> {
        // SAFETY: the statement is prepared and reset; `see` gets the row only while the
        // statement stands on it.
        unsafe {
            for (place, &value) in (1..).zip(keys) {
                ffi::sqlite3_bind_int64(self.select, place, value);
            }
            let stepped = ffi::sqlite3_step(self.select);
            let seen = match stepped {
                ffi::SQLITE_ROW => Some(see(&Row { statement: self.select })),
                _ => None,
            };
            self.check(ffi::sqlite3_reset(self.select))?;
            Ok(seen)
        }
    }

    fn check(&self, code: c_int) -> Outcome<()> {
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        // SAFETY: SQLite gives a message that ends in a zero for any handle, even a null one.
        let text = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.db)) };
        Err(format!("SQLite: {} ({code})", text.to_string_lossy()).into())
    }
}

impl Row {
    /// An integer column.
    #[inline]
    pub(crate) fn integer(&self, column: c_int) -> i64 {
        // SAFETY: a `Row` exists only while its statement stands on a row.
        unsafe { ffi::sqlite3_column_int64(self.statement, column) }
    }

    /// The bytes of a text column, as they lie in the page where they do.
    #[inline]
    pub(crate) fn bytes(&self, column: c_int) -> &[u8] {
        // SAFETY: as above; the bytes stay until the statement moves, which needs the
        // connection that lent this row. A null pointer stands for an empty value.
        unsafe {
            let start = ffi::sqlite3_column_blob(self.statement, column);
            let len = ffi::sqlite3_column_bytes(self.statement, column);
            if start.is_null() {
                return &[];
            }
            slice::from_raw_parts(start.cast(), len as usize)
        }
    }
}

impl Session {
    /// Opens a database by its path for the calling thread, runs `setting_up` and prepares the
    /// statements.
    pub(crate) fn open(path: &CStr, setting_up: &str, statements: &[&str]) -> Outcome<Self> {
        Self::open_for(Threads::Several, path, setting_up, statements)
    }

    /// As [`Session::open`], in a process that uses SQLite in one thread.
    pub(crate) fn open_alone(path: &CStr, setting_up: &str, statements: &[&str]) -> Outcome<Self> {
        Self::open_for(Threads::One, path, setting_up, statements)
    }

    fn open_for(
        threads: Threads,
        path: &CStr,
        setting_up: &str,
        statements: &[&str],
    ) -> Outcome<Self> {
        let connection = Connection::open_for(threads, path)?;
        connection.execute(setting_up)?;
        let mut made = Self { connection, statements: Vec::new() };
        for sql in statements {
            let statement = made.connection.statement(sql)?;
            made.statements.push(statement);
        }
        Ok(made)
    }

    /// Runs a statement to its end and shows each of its rows. A lock that somebody holds for too
    /// long rolls the transaction back.
    #[inline]
    pub(crate) fn run(
        &mut self,
        number: usize,
        values: &[Bound<'_>],
        mut see: impl FnMut(&Row),
    ) -> Outcome<Ended> {
        let statement = self.statements[number];
        // SAFETY: the statement is prepared and reset, and belongs to this connection; the bytes
        // outlive the steps, and the statement is reset before this returns.
        let code = unsafe {
            for (place, value) in (1..).zip(values) {
                match *value {
                    Bound::Integer(integer) => {
                        ffi::sqlite3_bind_int64(statement, place, integer);
                    }
                    Bound::Text(bytes) => {
                        let (start, len) = (bytes.as_ptr().cast(), bytes.len() as c_int);
                        let lent = ffi::SQLITE_STATIC();
                        ffi::sqlite3_bind_text(statement, place, start, len, lent);
                    }
                    Bound::Bytes(bytes) => {
                        let (start, len) = (bytes.as_ptr().cast(), bytes.len() as c_int);
                        let lent = ffi::SQLITE_STATIC();
                        ffi::sqlite3_bind_blob(statement, place, start, len, lent);
                    }
                }
            }
            while ffi::sqlite3_step(statement) == ffi::SQLITE_ROW {
                see(&Row { statement });
            }
            ffi::sqlite3_reset(statement)
        };
        if code & 0xff == ffi::SQLITE_BUSY {
            // SAFETY: the connection is open.
            if unsafe { ffi::sqlite3_get_autocommit(self.connection.db) } == 0 {
                self.connection.execute("ROLLBACK")?;
            }
            return Ok(Ended::Aborted);
        }
        self.connection.check(code)?;
        Ok(Ended::Committed)
    }

    /// Runs a statement that is not kept and shows each of its rows.
    pub(crate) fn run_text(&mut self, sql: &str, see: impl FnMut(&Row)) -> Outcome<Ended> {
        let statement = self.connection.statement(sql)?;
        self.statements.push(statement);
        let ended = self.run(self.statements.len() - 1, &[], see);
        self.statements.pop();
        // SAFETY: SQLite made it, and it is not used afterwards.
        unsafe { ffi::sqlite3_finalize(statement) };
        ended
    }

    /// How many rows the last statement that writes has changed.
    pub(crate) fn changed(&self) -> i64 {
        // SAFETY: the connection is open.
        i64::from(unsafe { ffi::sqlite3_changes(self.connection.db) })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for &statement in &self.statements {
            // SAFETY: SQLite made it, it is not used afterwards, and the connection closes later.
            unsafe { ffi::sqlite3_finalize(statement) };
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: all three are null or what SQLite made, and none is used afterwards; SQLite
        // ignores nulls here.
        unsafe {
            ffi::sqlite3_finalize(self.insert);
            ffi::sqlite3_finalize(self.select);
            ffi::sqlite3_close(self.db);
        }
    }
}

/// The version that SQLite reports, and whether it was compiled with the argument checks that
/// its documentation advises against for speed.
pub(crate) fn version() -> String {
    // SAFETY: a static string that ends in a zero, and a pure function of one such string.
    let (version, checked) = unsafe {
        let version = CStr::from_ptr(ffi::sqlite3_libversion());
        (version, ffi::sqlite3_compileoption_used(c"ENABLE_API_ARMOR".as_ptr()) != 0)
    };
    let suffix = if checked { " (API armor)" } else { "" };
    format!("{}{suffix}", version.to_string_lossy())
}

/// Threading mode and no memory statistics: both must be said before the first connection. Says
/// for whom it was configured, which is decided by the first who comes.
fn configured(threads: Threads) -> Threads {
    static CONFIGURED: OnceLock<Threads> = OnceLock::new();
    *CONFIGURED.get_or_init(|| {
        let mode = match threads {
            Threads::One => ffi::SQLITE_CONFIG_SINGLETHREAD,
            Threads::Several => ffi::SQLITE_CONFIG_MULTITHREAD,
        };
        // SAFETY: called once, before any other call of SQLite in this process; a refusal
        // leaves the defaults, which are correct and slower.
        unsafe {
            ffi::sqlite3_config(mode);
            ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int);
            ffi::sqlite3_initialize();
        }
        threads
    })
}
