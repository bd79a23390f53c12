//! What all connections share: the database, the options, and who is connected.
//!
//! Whoever is connected stands in one table from the moment that a session is its own until its
//! thread ends, so that it can be cancelled, told to end, and waited for.

use std::collections::HashMap;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use remanent_sql::{Cancel, SqlDatabase};

use crate::options::Options;
use crate::wire::channel::Socket;

/// Bytes of the secret by which a statement is cancelled.
pub(crate) const SECRET_BYTES: usize = 4;

/// Threads beyond the limit of connections, for those that are still to be refused or cancel.
const STRANGERS_MAX: usize = 32;

pub(crate) struct Shared {
    pub(crate) database: Arc<SqlDatabase>,
    pub(crate) options: Options,
    pub(crate) connections: Connections,
    stopping: AtomicBool,
}

impl Shared {
    pub(crate) fn new(database: Arc<SqlDatabase>, options: Options) -> Self {
        let connections = Connections::new(options.connections_max);
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
    next: AtomicI32,
    table: Mutex<Table>,
    left: Condvar,
}

#[derive(Default)]
struct Table {
    entries: HashMap<i32, Entry>,
    /// Those of them that have a session.
    sessions: usize,
}

struct Entry {
    secret: [u8; SECRET_BYTES],
    socket: Socket,
    cancel: Option<Arc<Cancel>>,
}

/// A place in the table, which is given back with it.
pub(crate) struct Place {
    shared: Arc<Shared>,
    pub(crate) process: i32,
    pub(crate) secret: [u8; SECRET_BYTES],
}

impl Connections {
    fn new(max: usize) -> Self {
        let table = Mutex::default();
        Self { max, next: AtomicI32::new(1), table, left: Condvar::new() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Place {
    /// A place for a connection that nothing is known of; `None` if there are far too many.
    pub(crate) fn take(shared: &Arc<Shared>, socket: Socket) -> Option<Self> {
        let connections = &shared.connections;
        let mut table = connections.table();
        if table.entries.len() >= connections.max.saturating_add(STRANGERS_MAX) {
            return None;
        }
        let process = connections.next.fetch_add(1, Ordering::Relaxed).max(1);
        let secret = rand::random();
        table.entries.insert(process, Entry { secret, socket, cancel: None });
        Some(Self { shared: Arc::clone(shared), process, secret })
    }

    /// Its client is known and can have a session; whether there is room for one more.
    pub(crate) fn has_room(&self) -> bool {
        let mut table = self.shared.connections.table();
        let has_room = table.sessions < self.shared.connections.max;
        table.sessions += usize::from(has_room);
        has_room
    }

    /// It has a session, whose statements can be stopped.
    pub(crate) fn begin(&self, cancel: Arc<Cancel>) {
        if let Some(entry) = self.shared.connections.table().entries.get_mut(&self.process) {
            entry.cancel = Some(cancel);
        }
    }

    /// Its session has gone.
    pub(crate) fn end(&self) {
        let mut table = self.shared.connections.table();
        table.sessions = table.sessions.saturating_sub(1);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let connections = &self.shared.connections;
        connections.table().entries.remove(&self.process);
        connections.left.notify_all();
    }
}
