//! What all connections share: the database, the options, and who is connected.
//!
//! Each connection is registered in one table until its thread ends, whatever ends it. Connections
//! that are not authenticated yet have slots of their own: when these are all taken, the oldest
//! such connection is closed, so that nobody who only connects keeps others out. The last of the
//! other slots are for superusers.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use remanent_sql::{Cancel, Error, SqlDatabase, SqlState};

use crate::options::Options;
use crate::wire::socket::Socket;

/// Bytes of the secret by which a statement is cancelled.
pub(crate) const SECRET_BYTES: usize = 4;

/// Connections that are not authenticated yet.
pub(crate) const UNAUTHENTICATED_MAX: usize = 128;

pub(crate) struct Shared {
    pub(crate) database: Arc<SqlDatabase>,
    pub(crate) options: Options,
    pub(crate) connections: Connections,
    stopping: AtomicBool,
}

impl Shared {
    pub(crate) fn new(database: Arc<SqlDatabase>, options: Options) -> Self {
        // Half of the slots at least are for everybody.
        let reserved = options.superuser_reserved.min(options.connections_max / 2);
        let connections = Connections::new(options.connections_max, reserved);
        Self { database, options, connections, stopping: AtomicBool::new(false) }
    }

    /// No statement begins any more.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

/// Who is connected.
pub(crate) struct Connections {
    max: usize,
    /// Of these, those that only superusers get.
    reserved: usize,
    table: Mutex<Table>,
    left: Condvar,
}

#[derive(Default)]
struct Table {
    /// By their numbers, of which the lowest is the oldest until they begin anew.
    entries: BTreeMap<i32, Entry>,
    last: i32,
    /// Connections not authenticated that were closed and whose threads have not ended yet.
    leaving: usize,
}

struct Entry {
    secret: [u8; SECRET_BYTES],
    socket: Arc<Socket>,
    /// Whether its client is authenticated.
    is_session: bool,
    cancel: Option<Arc<Cancel>>,
}

/// An entry of the table, which is removed when this is dropped.
pub(crate) struct Registration {
    shared: Arc<Shared>,
    pub(crate) process: i32,
    pub(crate) secret: [u8; SECRET_BYTES],
}

impl Table {
    fn sessions(&self) -> usize {
        self.entries.values().filter(|entry| entry.is_session).count()
    }

    /// A number that nobody has.
    fn number(&mut self) -> i32 {
        loop {
            self.last = self.last.checked_add(1).unwrap_or(1);
            if !self.entries.contains_key(&self.last) {
                return self.last;
            }
        }
    }

    /// Closes the oldest connection that is not authenticated; whether there was one.
    fn end_oldest_unauthenticated(&mut self) -> bool {
        let oldest = self.entries.iter().find(|(_, entry)| !entry.is_session);
        let Some(process) = oldest.map(|(process, _)| *process) else { return false };
        if let Some(entry) = self.entries.remove(&process) {
            entry.socket.shut(Shutdown::Both);
            self.leaving += 1;
        }
        true
    }
}

impl Connections {
    fn new(max: usize, reserved: usize) -> Self {
        Self { max, reserved, table: Mutex::default(), left: Condvar::new() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the oldest connection that is not authenticated, unless one is ending; whether there
    /// was one.
    pub(crate) fn make_room(&self) -> bool {
        let mut table = self.table();
        table.leaving > 0 || table.end_oldest_unauthenticated()
    }

    /// Stops the statement of a connection, if the secret is its own.
    pub(crate) fn cancel(&self, process: i32, secret: &[u8]) {
        let table = self.table();
        if let Some(entry) = table.entries.get(&process)
            && entry.secret == *secret
            && let Some(cancel) = &entry.cancel
        {
            tracing::info!(connection = process, "cancels its statement");
            cancel.cancel();
        }
    }

    /// Wakes those that wait for their client.
    pub(crate) fn wake(&self) {
        self.table().entries.values().for_each(|entry| entry.socket.shut(Shutdown::Read));
    }

    /// Waits until all have gone, at most until then; whether they have.
    pub(crate) fn wait_until(&self, end: Instant) -> bool {
        let mut table = self.table();
        while !table.entries.is_empty() {
            let Some(rest) = end.checked_duration_since(Instant::now()) else { return false };
            let waited = self.left.wait_timeout(table, rest.max(Duration::from_millis(1)));
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Stops all statements.
    pub(crate) fn cancel_all(&self) {
        self.table().entries.values().filter_map(|e| e.cancel.as_ref()).for_each(|c| c.cancel());
    }

    /// Ends all connections.
    pub(crate) fn sever(&self) {
        self.table().entries.values().for_each(|entry| entry.socket.shut(Shutdown::Both));
    }
}

impl Registration {
    /// Registers a connection that is not authenticated.
    pub(crate) fn new(shared: &Arc<Shared>, socket: &Arc<Socket>) -> Self {
        let mut table = shared.connections.table();
        while table.entries.len() - table.sessions() >= UNAUTHENTICATED_MAX {
            table.end_oldest_unauthenticated();
        }
        let (process, secret) = (table.number(), rand::random());
        let socket = Arc::clone(socket);
        let entry = Entry { secret, socket, is_session: false, cancel: None };
        table.entries.insert(process, entry);
        Self { shared: Arc::clone(shared), process, secret }
    }

    /// Its client is authenticated and is to have a session.
    ///
    /// # Errors
    /// `TOO_MANY_CONNECTIONS` if there is no slot for one more, or none for those that are no
    /// superusers.
    pub(crate) fn begin_session(&self, is_superuser: bool) -> Result<(), Error> {
        let connections = &self.shared.connections;
        let mut table = connections.table();
        let free = connections.max.saturating_sub(table.sessions());
        let refused = |text| Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, text));
        if free == 0 {
            return refused("sorry, too many clients already");
        }
        if free <= connections.reserved && !is_superuser {
            let text = "remaining connection slots are reserved for superuser connections";
            return refused(text);
        }
        match table.entries.get_mut(&self.process) {
            Some(entry) => entry.is_session = true,
            // It was closed for others that came later.
            None => return refused("sorry, too many clients at a time"),
        }
        Ok(())
    }

    /// It has a session, whose statements can be stopped.
    pub(crate) fn begin(&self, cancel: Arc<Cancel>) {
        if let Some(entry) = self.shared.connections.table().entries.get_mut(&self.process) {
            entry.cancel = Some(cancel);
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let connections = &self.shared.connections;
        let mut table = connections.table();
        if table.entries.remove(&self.process).is_none() {
            table.leaving = table.leaving.saturating_sub(1);
        }
        drop(table);
        connections.left.notify_all();
    }
}
