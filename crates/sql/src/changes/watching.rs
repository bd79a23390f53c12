//! Changes watched for sessions that listen: `LISTEN remanent_changes`, and a table's.
//!
//! One thread reads the change feed as long as somebody listens, and tells how far it goes and
//! which tables have changed. On a replica those are the changes that it has applied.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::feed::{ChangeFeed, ChangeKind};
use crate::database::SqlDatabase;
use crate::error::Result;
use crate::notifications::{CHANGES_CHANNEL, Channels, Watched, channel_of_table};

/// How often it is looked whether something was committed.
const LOOK_AFTER: Duration = Duration::from_millis(10);

/// Sees to it that changes are watched, as long as what this gives is there.
///
/// # Errors
/// As [`SqlDatabase::lsn`]: a database in memory alone has no feed; the system's, if it has no more
/// threads.
pub(crate) fn begin(database: &Arc<SqlDatabase>) -> Result<Watched> {
    let from = database.lsn()?;
    let (watched, begins) = database.channels.watch();
    if begins {
        let (channels, known) = (Arc::clone(&database.channels), Arc::downgrade(database));
        let watcher = std::thread::Builder::new().name("changes".to_owned());
        if let Err(error) = watcher.spawn(move || watch(&channels, &known, from)) {
            database.channels.watch_failed();
            return Err(error.into());
        }
    }
    Ok(watched)
}

/// Looks again and again, with the database open no longer than that takes.
fn watch(channels: &Channels, database: &Weak<SqlDatabase>, from: u64) {
    let mut from = from;
    loop {
        std::thread::sleep(LOOK_AFTER);
        let Some(_looking) = channels.look() else { return };
        let Some(database) = database.upgrade() else { return };
        from = look(&database, from);
    }
}

/// Tells what was committed from a position on; how far that goes.
fn look(database: &Arc<SqlDatabase>, from: u64) -> u64 {
    match changed_since(database, from) {
        Ok((_, lsn)) if lsn == from => from,
        Ok((channels, lsn)) => {
            for channel in channels {
                database.channels.tell_newest(channel, lsn.to_string());
            }
            lsn
        }
        // Its log is gone already, or cannot be read: something has changed.
        Err(_) => {
            let lsn = database.lsn().unwrap_or(from);
            for channel in database.channels.own() {
                database.channels.tell_newest(channel, lsn.to_string());
            }
            lsn
        }
    }
}

/// The channels of what was committed from a position on, and how far that goes.
fn changed_since(database: &Arc<SqlDatabase>, from: u64) -> Result<(HashSet<String>, u64)> {
    let mut channels = HashSet::new();
    if database.has_no_change_since(from)? {
        return Ok((channels, from));
    }
    let mut feed: ChangeFeed = database.change_feed(from)?;
    while let Some(change) = feed.next_change()? {
        let channel = match &change.kind {
            ChangeKind::Commit => CHANGES_CHANNEL.to_owned(),
            ChangeKind::Definition { schema, table, .. } => channel_of_table(schema, table),
            kind => match kind.table() {
                Some(table) => channel_of_table(&table.schema, &table.name),
                None => continue,
            },
        };
        channels.insert(channel);
    }
    Ok((channels, feed.lsn()))
}
