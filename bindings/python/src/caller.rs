//! A caller: its session, the thread in which that works, and what stops it.
//!
//! Rows that are read and statements that run share it. Whoever waits for its lock has let go of
//! the interpreter, and whoever has it does not ask for the interpreter.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use remanent_sql::{Cancel, Session, SqlDatabase};

use crate::forked::Process;
use crate::working::Working;

/// What a session is, for those who read its rows too.
pub(crate) struct Caller {
    pub(crate) session: Mutex<Option<Session>>,
    pub(crate) cancel: Arc<Cancel>,
    pub(crate) working: Working,
    pub(crate) process: Process,
}

impl Caller {
    pub(crate) fn new(database: &Arc<SqlDatabase>, process: Process) -> Self {
        let session = database.session();
        let cancel = session.cancel_handle();
        Self { session: Mutex::new(Some(session)), cancel, working: Working::default(), process }
    }

    /// The session, unless it is closed.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
