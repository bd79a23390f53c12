//! Applying what a majority has to the database of a follower, beside whoever reads it.
//!
//! Commits are read from the replica's own log, and repeated by the same functions as in recovery.
//! Several are repeated in one transaction, which has the timestamp of the last of them: readers
//! see states that the leader had, though not all of them.

use super::Replica;
use crate::database::Database;
use crate::error::Result;
use crate::log::feed::FeedPlace;
use crate::replay::Replay;

/// Applies what a majority has to the database of a follower.
///
/// # Examples
/// See [`Replica`].
#[derive(Debug)]
pub struct Applier {
    /// Where it reads the log, unless something went wrong there.
    place: Option<FeedPlace>,
    /// The position up to which all is applied.
    applied: u64,
}

/// What an applier has done.
///
/// # Examples
/// See [`Replica`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Applied {
    /// Commits.
    pub commits: u64,
    /// Row changes in them.
    pub changes: u64,
}

impl Applier {
    /// An applier, of which a database has one.
    ///
    /// # Errors
    /// `InvalidOptions` if the database is no replica.
    ///
    /// # Examples
    /// See [`Replica`].
    pub fn new(db: &Database) -> Result<Self> {
        let replica = Replica::of(db)?;
        Ok(Self { place: None, applied: replica.group.applied() })
    }

    /// Applies all up to an entry that a majority has. Whoever reads meanwhile sees whole commits.
    ///
    /// # Errors
    /// `TableBusy` if rows, tables or indexes are still read that have to go: then it is tried
    /// again later. Memory; `DamagedLog`, `StorageFailed`.
    ///
    /// # Examples
    /// See [`Replica`].
    pub fn apply(&mut self, db: &Database, index: u64) -> Result<Applied> {
        let replica = Replica::of(db)?;
        // What this replica led, it has.
        self.applied = self.applied.max(replica.group.applied());
        let Some(entry) = replica.group.lock().end_of(index) else {
            return Ok(Applied::default());
        };
        if entry.end <= self.applied {
            return Ok(Applied::default());
        }
        let applied = self.apply_to(&replica, entry.end);
        match &applied {
            Ok(_) => {
                self.applied = entry.end;
                replica.group.note_applied(entry.end);
            }
            // What was read ahead of what was applied is read again.
            Err(_) => self.place = None,
        }
        applied
    }

    fn apply_to(&mut self, replica: &Replica<'_>, end: u64) -> Result<Applied> {
        let Replica { db, log, .. } = *replica;
        let place = match self.place.take() {
            Some(place) if place.position() >= self.applied => self.place.insert(place),
            _ => self.place.insert(FeedPlace::open(log, self.applied, end)?),
        };
        let mut applied = Applied::default();
        let mut replay = Replay::new(db).watched().freezing(log.repeats_columns());
        while let Some(commit) = place.next_commit(log, end)? {
            // An image, or an attempt before this one, may have had it.
            if commit.timestamp <= db.newest_timestamp() {
                continue;
            }
            applied.changes += replay.commit_at(commit.operation_bytes(), commit.timestamp)?;
            applied.commits += 1;
        }
        replay.end_transaction()?;
        Ok(applied)
    }
}
