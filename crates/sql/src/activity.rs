//! What a session shows of itself to others: who is connected, and what runs.
//!
//! A session whose caller is a client stands in one table of the database, from the moment that it
//! is told of the client until it is dropped. Whoever reads the table takes a copy; a session
//! writes its own line alone, when a statement begins and when it waits for the next.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::catalog::role::Actor;
use crate::limits::cancel::Cancel;
use crate::transaction::TransactionStatus;

/// Bytes of a statement that others are shown, as `track_activity_query_size` has them.
const SHOWN_BYTES_MAX: usize = 1024;

/// The client of a session, as others are shown it.
pub struct Client {
    /// The number by which it is known, of which there is one at a time.
    pub process: i32,
    /// Its address; none of a local one.
    pub address: Option<String>,
    /// Its port there.
    pub port: Option<u16>,
    /// Wakes whoever waits for its next message.
    pub wake: Box<dyn Fn() + Send + Sync>,
}

/// One session, as others see it.
pub(crate) struct Activity {
    pub(crate) client: Client,
    pub(crate) user: String,
    pub(crate) actor: Actor,
    pub(crate) begun: i64,
    cancel: Arc<Cancel>,
    now: Mutex<Now>,
}

/// What a session does; moments are microseconds since 1970.
#[derive(Clone, Default)]
pub(crate) struct Now {
    pub(crate) state: &'static str,
    pub(crate) application: String,
    pub(crate) query: String,
    pub(crate) query_begun: Option<i64>,
    pub(crate) transaction_begun: Option<i64>,
    pub(crate) changed: Option<i64>,
}

/// All sessions that have clients, by the numbers of these.
#[derive(Default)]
pub(crate) struct Activities(Mutex<BTreeMap<i32, Arc<Activity>>>);

impl Activities {
    fn table(&self) -> MutexGuard<'_, BTreeMap<i32, Arc<Activity>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them, in the order of their numbers.
    pub(crate) fn all(&self) -> Vec<Arc<Activity>> {
        self.table().values().cloned().collect()
    }

    /// The one with this number.
    pub(crate) fn of(&self, process: i64) -> Option<Arc<Activity>> {
        self.table().get(&i32::try_from(process).ok()?).cloned()
    }

    /// One more.
    pub(crate) fn add(&self, activity: &Arc<Activity>) {
        self.table().insert(activity.client.process, Arc::clone(activity));
    }

    /// One less.
    pub(crate) fn remove(&self, activity: &Arc<Activity>) {
        let mut table = self.table();
        let process = activity.client.process;
        if table.get(&process).is_some_and(|other| Arc::ptr_eq(other, activity)) {
            table.remove(&process);
        }
    }
}

impl Activity {
    /// A session of this user's client, which `cancel` stops.
    pub(crate) fn new(client: Client, user: String, actor: Actor, cancel: Arc<Cancel>) -> Self {
        let begun = moment();
        let now = Now { state: "idle", changed: Some(begun), ..Now::default() };
        Self { client, user, actor, begun, cancel, now: Mutex::new(now) }
    }

    /// A statement begins, with this text.
    pub(crate) fn show_running(&self, text: &str) {
        let mut end = text.len().min(SHOWN_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (moment, mut now) = (moment(), self.now());
        now.state = "active";
        now.query.clear();
        now.query.push_str(&text[..end]);
        now.query_begun = Some(moment);
        now.transaction_begun.get_or_insert(moment);
        now.changed = Some(moment);
    }

    /// The next statement is waited for, in this state, by this program.
    pub(crate) fn show_waiting(&self, status: TransactionStatus, application: &str) {
        let (moment, mut now) = (moment(), self.now());
        now.state = match status {
            TransactionStatus::Idle => "idle",
            TransactionStatus::Active => "idle in transaction",
            TransactionStatus::Failed => "idle in transaction (aborted)",
        };
        if status == TransactionStatus::Idle {
            now.transaction_begun = None;
        }
        if now.application != application {
            application.clone_into(&mut now.application);
        }
        now.changed = Some(moment);
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it does at this moment.
    pub(crate) fn shown(&self) -> Now {
        self.now().clone()
    }

    /// Stops the statement that runs.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Ends the session: the statement that runs fails, and none follows.
    pub(crate) fn end(&self) {
        self.cancel.end();
        (self.client.wake)();
    }
}

/// Microseconds since 1970.
fn moment() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
