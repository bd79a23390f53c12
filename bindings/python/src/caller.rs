//! A caller: its session, the thread in which that works, and what stops it.
//!
//! Rows that are read and statements that run share it. Whoever waits for its lock has let go of
//! the interpreter, and whoever has it does not ask for the interpreter.

use std::sync::Arc;

use remanent_sql::{Cancel, Session, SqlDatabase};

use crate::forked::Opened;
use crate::working::Working;

/// What a session is, for those who read its rows too.
pub(crate) struct Caller {
    pub(crate) session: Opened<Session>,
    pub(crate) cancel: Arc<Cancel>,
    pub(crate) working: Working,
}

impl Caller {
    pub(crate) fn new(database: &Arc<SqlDatabase>) -> Self {
        let session = database.session();
        let cancel = session.cancel_handle();
        Self { session: Opened::new(session), cancel, working: Working::default() }
    }
}
