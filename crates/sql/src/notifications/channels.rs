//! Who listens to what, in a database.
//!
//! Whoever commits and notifies has a turn, so that all are told in the order of commits.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Inbox, Notification};
use crate::error::{Error, Result, SqlState};

/// Bytes that may wait in all inboxes together.
const WAITING_MAX: usize = 64 << 20;

/// The channels of a database, and who listens there.
#[derive(Default)]
pub(crate) struct Channels {
    listeners: Mutex<HashMap<String, Vec<Listener>>>,
    /// Bytes that wait in inboxes.
    waiting: Arc<AtomicUsize>,
    /// Held by whoever commits and notifies: so each session is told in the order of commits.
    order: Mutex<()>,
    watching: Mutex<Watching>,
    /// Held by whoever watches changes as long as it has the database open.
    looking: Mutex<()>,
}

struct Listener {
    inbox: Arc<Inbox>,
    /// For a channel of the database's own: that its changes are watched.
    _watched: Option<Watched>,
}

/// Whether changes are watched.
#[derive(Default)]
struct Watching {
    /// How many want that.
    wanted: usize,
    /// Whether somebody does.
    runs: bool,
}

/// As long as this is there, changes are watched. When the last has gone, whoever watches does not
/// have the database open any more. It is not dropped by who holds the listeners, whom the other
/// one may wait for.
pub(crate) struct Watched(Arc<Channels>);

impl Drop for Watched {
    fn drop(&mut self) {
        let is_last = {
            let mut watching = self.0.watching();
            watching.wanted -= 1;
            watching.wanted == 0
        };
        if is_last {
            drop(self.0.looking.lock());
        }
    }
}

impl Channels {
    fn listeners(&self) -> MutexGuard<'_, HashMap<String, Vec<Listener>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watching(&self) -> MutexGuard<'_, Watching> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An inbox, for one more session.
    pub(crate) fn inbox(&self) -> Arc<Inbox> {
        Arc::new(Inbox::counting(&self.waiting))
    }

    /// The part of the room for what waits that is taken.
    pub(crate) fn usage(&self) -> f64 {
        self.waiting.load(Ordering::Relaxed) as f64 / WAITING_MAX as f64
    }

    /// Lets whoever has this commit and notify before all others do.
    ///
    /// # Errors
    /// `LIMIT_EXCEEDED` where too much waits for sessions that do not take it.
    pub(crate) fn take_turn(&self) -> Result<MutexGuard<'_, ()>> {
        let turn = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        if self.waiting.load(Ordering::Relaxed) >= WAITING_MAX {
            let text = "too many notifications in the NOTIFY queue";
            let hint = "A session that listens takes none while it is in a transaction.";
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, text).hint(hint));
        }
        Ok(turn)
    }

    /// A session listens.
    pub(crate) fn listen(&self, channel: &str, inbox: &Arc<Inbox>, watched: Option<Watched>) {
        let mut listeners = self.listeners();
        let there = listeners.entry(channel.to_owned()).or_default();
        if there.iter().any(|listener| Arc::ptr_eq(&listener.inbox, inbox)) {
            return;
        }
        there.push(Listener { inbox: Arc::clone(inbox), _watched: watched });
    }

    /// A session listens no more: to a channel, or to any.
    pub(crate) fn unlisten(&self, channel: Option<&str>, inbox: &Arc<Inbox>) {
        let mut removed = Vec::new();
        let mut listeners = self.listeners();
        listeners.retain(|name, there| {
            if channel.is_none_or(|channel| channel == name) {
                removed.extend(there.extract_if(.., |it| Arc::ptr_eq(&it.inbox, inbox)));
            }
            !there.is_empty()
        });
        drop(listeners);
        drop(removed);
    }

    /// To what a session listens, in no order.
    pub(crate) fn of(&self, inbox: &Arc<Inbox>) -> Vec<String> {
        let listeners = self.listeners();
        let is_there =
            |there: &&Vec<Listener>| there.iter().any(|it| Arc::ptr_eq(&it.inbox, inbox));
        let of = listeners.iter().filter(|(_, there)| is_there(there));
        of.map(|(channel, _)| channel.clone()).collect()
    }

    /// Tells those who listen.
    pub(crate) fn tell(&self, notification: Notification) {
        let listeners = self.listeners();
        let Some(there) = listeners.get(&notification.channel) else { return };
        let notification = Arc::new(notification);
        there.iter().for_each(|listener| listener.inbox.put(&notification));
    }

    /// Tells those who listen to a channel of the database's own.
    pub(crate) fn tell_newest(&self, channel: String, payload: String) {
        let listeners = self.listeners();
        let Some(there) = listeners.get(&channel) else { return };
        let notification = Arc::new(Notification { channel, payload, process: 0 });
        there.iter().for_each(|listener| listener.inbox.put_newest(&notification));
    }

    /// The channels of the database's own to which somebody listens.
    pub(crate) fn own(&self) -> Vec<String> {
        self.listeners().keys().filter(|channel| super::is_own(channel)).cloned().collect()
    }

    /// Has changes watched; whether somebody has to begin with it.
    pub(crate) fn watch(self: &Arc<Self>) -> (Watched, bool) {
        let mut watching = self.watching();
        watching.wanted += 1;
        let begins = !std::mem::replace(&mut watching.runs, true);
        (Watched(Arc::clone(self)), begins)
    }

    /// Lets whoever watches changes open the database for a look, if it is to go on; otherwise it
    /// has ended.
    pub(crate) fn look(&self) -> Option<MutexGuard<'_, ()>> {
        let looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let mut watching = self.watching();
        watching.runs = watching.wanted > 0;
        watching.runs.then_some(looking)
    }

    /// Nobody watches changes: no thread could be begun for it.
    pub(crate) fn watch_failed(&self) {
        self.watching().runs = false;
    }
}
