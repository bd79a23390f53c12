//! What the transaction of a session asks for, until it has committed.
//!
//! What a savepoint or a failed statement takes back is forgotten from the end.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Channels, Inbox, Notification, Watched, is_own};
use crate::error::{Error, Result, SqlState};

/// Bytes of a payload, and of a channel's name, at most.
const PAYLOAD_MAX: usize = 7999;
const CHANNEL_MAX: usize = 63;
/// Bytes of all notifications of a transaction, at most.
const ASKED_MAX: usize = 16 << 20;

/// Something to be done when the transaction has committed.
pub(crate) enum Wish {
    Listen(String, Option<Watched>),
    /// To a channel, or to any.
    Unlisten(Option<String>),
    Notify(Arc<Notification>),
}

/// What was asked for, in this order.
#[derive(Default)]
pub(crate) struct Asked {
    wishes: Vec<Wish>,
    /// Notifications among these: none is made twice.
    notifications: HashSet<Arc<Notification>>,
    bytes: usize,
}

/// What the transaction of a session asks for, and the session's inbox. Its functions have it as
/// well.
pub(crate) struct Notifying {
    asked: Mutex<Asked>,
    pub(crate) inbox: Arc<Inbox>,
    /// What `pg_backend_pid()` says.
    pub(crate) process: AtomicI32,
    /// Whether anything was asked for, and whether that has ever been to listen.
    any: AtomicBool,
    has_listened: AtomicBool,
}

impl Notifying {
    /// That of a new session.
    pub(crate) fn over(channels: &Channels) -> Self {
        let inbox = channels.inbox();
        let (any, has_listened) = (AtomicBool::default(), AtomicBool::default());
        let process = AtomicI32::default();
        Self { asked: Mutex::default(), inbox, process, any, has_listened }
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for something.
    pub(crate) fn ask(&self, wish: Wish) {
        self.any.store(true, Ordering::Relaxed);
        if matches!(wish, Wish::Listen(..)) {
            self.has_listened.store(true, Ordering::Relaxed);
        }
        self.asked().wishes.push(wish);
    }

    /// Whether it was ever asked to listen.
    pub(crate) fn has_listened(&self) -> bool {
        self.has_listened.load(Ordering::Relaxed)
    }

    /// Asks for a notification.
    ///
    /// # Errors
    /// `BAD_PARAMETER` for a channel without or with too long a name, and for too long a
    /// payload; `NO_PRIVILEGE` for a channel of the database's own; `LIMIT_EXCEEDED` for too many.
    pub(crate) fn notify(&self, channel: &str, payload: &str) -> Result<()> {
        let wrong = |text: &str| Err(Error::new(SqlState::BAD_PARAMETER, text));
        match channel.len() {
            0 => return wrong("channel name cannot be empty"),
            length if length > CHANNEL_MAX => return wrong("channel name too long"),
            _ if payload.len() > PAYLOAD_MAX => return wrong("payload string too long"),
            _ => {}
        }
        if is_own(channel) {
            let text = format!("only the database itself notifies on channel \"{channel}\"");
            return Err(Error::new(SqlState::NO_PRIVILEGE, text));
        }
        let (channel, payload) = (channel.to_owned(), payload.to_owned());
        let process = self.process.load(Ordering::Relaxed);
        let notification = Arc::new(Notification { channel, payload, process });
        let mut asked = self.asked();
        if asked.bytes + notification.bytes() > ASKED_MAX {
            let text = "too many notifications in one transaction";
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, text));
        }
        if asked.notifications.insert(Arc::clone(&notification)) {
            self.any.store(true, Ordering::Relaxed);
            asked.bytes += notification.bytes();
            asked.wishes.push(Wish::Notify(notification));
        }
        Ok(())
    }

    /// How much was asked for.
    pub(crate) fn len(&self) -> usize {
        // Nearly every statement asks for nothing.
        match self.any.load(Ordering::Relaxed) {
            true => self.asked().wishes.len(),
            false => 0,
        }
    }

    /// Forgets what was asked for since it was so much.
    pub(crate) fn forget_since(&self, len: usize) {
        if !self.any.load(Ordering::Relaxed) {
            return;
        }
        let mut asked = self.asked();
        while asked.wishes.len() > len {
            if let Some(Wish::Notify(notification)) = asked.wishes.pop() {
                asked.bytes -= notification.bytes();
                asked.notifications.remove(&notification);
            }
        }
    }

    /// Takes all that was asked for: the transaction ends.
    pub(crate) fn take(&self) -> Asked {
        self.any.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.asked())
    }
}

impl Asked {
    /// Whether others are to be told something.
    pub(crate) fn notifies(&self) -> bool {
        !self.notifications.is_empty()
    }

    /// The transaction has committed.
    pub(crate) fn carry_out(self, channels: &Channels, inbox: &Arc<Inbox>) {
        for wish in self.wishes {
            match wish {
                Wish::Listen(channel, watched) => channels.listen(&channel, inbox, watched),
                Wish::Unlisten(channel) => channels.unlisten(channel.as_deref(), inbox),
                Wish::Notify(notification) => channels.tell(Notification::clone(&notification)),
            }
        }
    }
}
