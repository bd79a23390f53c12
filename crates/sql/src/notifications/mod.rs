//! LISTEN and NOTIFY: sessions that are told when others have committed something.
//!
//! A transaction keeps what it asks for ([`asked`]) until it has committed: then its notifications
//! are put into the inboxes of the sessions that listen ([`channels`]), each in the order of
//! commits, and a session takes them when it is in no transaction ([`inbox`]). Nothing of it
//! is logged: who was not listening is not told.
//!
//! Two kinds of channels are the database's own: `remanent_changes`, where each notification says
//! how far the change feed goes by now, and `remanent_changes.SCHEMA.TABLE`, the same of the
//! changes of one table. Of these only the newest is kept for a session that does not take them.

mod asked;
mod channels;
mod inbox;

#[cfg(test)]
mod tests;

pub(crate) use asked::{Asked, Notifying, Wish};
pub(crate) use channels::{Channels, Watched};
pub(crate) use inbox::Inbox;

/// The channel of all changes; that of a table's has its name behind.
pub(crate) const CHANGES_CHANNEL: &str = "remanent_changes";

/// What a session was told.
///
/// # Examples
/// See [`Session::take_notifications`](crate::Session::take_notifications).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Notification {
    /// On which channel.
    pub channel: String,
    /// What is said; empty if nothing is.
    pub payload: String,
    /// What `pg_backend_pid()` says in the session that has said it; 0 for the database.
    pub process: i32,
}

impl Notification {
    /// Bytes that it takes while it waits.
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.channel.len() + self.payload.len()
    }
}

/// The channel of a table's changes.
pub(crate) fn channel_of_table(schema: &str, table: &str) -> String {
    format!("{CHANGES_CHANNEL}.{schema}.{table}")
}

/// Whether a channel is the database's own.
pub(crate) fn is_own(channel: &str) -> bool {
    channel
        .strip_prefix(CHANGES_CHANNEL)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
