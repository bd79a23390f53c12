//! Raft's log, which is the engine's.
//!
//! Nothing is written twice: what a leader proposes is in its log already when Raft is told of it,
//! under the very name that Raft then gives it; a follower hands frames through. Where the two
//! disagree, because this replica has led and others have gone on without it, the replica is
//! opened again without what the group does not have.

use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{AnyError, LogState, OptionalSend, RaftLogReader, StorageIOError};
use remanent_engine::{Database, EntryId, Error, Replica};
use tokio::sync::{Notify, watch};

use crate::entry::{GroupEntry, Id, Message, NodeId, StorageError, Types, Vote, entry_id, id_of};
use crate::state::promise::Promise;
use crate::state::restart::{Restart, Restarter};

/// Bytes of entries that are read at once, at least one entry.
const READ_BYTES: usize = 4 << 20;

/// The log of one replica.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) db: Arc<Database>,
    pub(crate) restarter: Restarter,
    pub(crate) promise: Arc<Promise>,
    pub(crate) events: Arc<LogEvents>,
}

/// What becomes of the log, for those who work beside Raft.
#[derive(Debug, Default)]
pub(crate) struct LogEvents {
    /// Wakes those that wait for an entry.
    pub(crate) appended: Notify,
    /// Entries up to this one are not needed any more.
    pub(crate) forgotten: watch::Sender<u64>,
}

impl RaftLogReader<Types> for Store {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: R,
    ) -> Result<Vec<GroupEntry>, StorageError> {
        let replica = Replica::of(&self.db).map_err(read_error)?;
        let first = match range.start_bound() {
            Bound::Included(&first) => first,
            Bound::Excluded(&before) => before + 1,
            Bound::Unbounded => replica.before().index + 1,
        };
        let last = replica.last().index;
        let end = match range.end_bound() {
            Bound::Included(&end) => end.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => u64::MAX,
        };
        (first..end.min(last + 1)).map(|index| self.entry(&replica, index)).collect()
    }

    async fn limited_get_log_entries(
        &mut self,
        start: u64,
        end: u64,
    ) -> Result<Vec<GroupEntry>, StorageError> {
        let replica = Replica::of(&self.db).map_err(read_error)?;
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for index in start..end {
            let entry = self.entry(&replica, index)?;
            bytes += entry.frames.as_ref().map_or(0, |frames| frames.bytes.len());
            entries.push(entry);
            if bytes >= READ_BYTES {
                break;
            }
        }
        Ok(entries)
    }
}

impl RaftLogStorage<Types> for Store {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageError> {
        let replica = Replica::of(&self.db).map_err(read_error)?;
        let (before, last) = (id_of(replica.before()), id_of(replica.last()));
        Ok(LogState { last_purged_log_id: Some(before), last_log_id: Some(last) })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), StorageError> {
        self.promise.set_vote(*vote).map_err(write_error)
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, StorageError> {
        Ok(self.promise.vote())
    }

    async fn save_committed(&mut self, committed: Option<Id>) -> Result<(), StorageError> {
        // A leader's commits need not wait for more than this.
        if let Some(id) = committed {
            Replica::of(&self.db).map_err(write_error)?.note_replicated(id.index);
        }
        Ok(())
    }

    async fn read_committed(&mut self) -> Result<Option<Id>, StorageError> {
        let replica = Replica::of(&self.db).map_err(read_error)?;
        Ok(replica.id_of(replica.replicated()).map(id_of))
    }

    async fn append<I>(&mut self, entries: I, done: LogFlushed<Types>) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = GroupEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        self.append_all(entries.into_iter())?;
        self.events.appended.notify_waiters();
        // In memory is enough for Raft here; what a restart means, `unsure` knows.
        done.log_io_completed(Ok(()));
        Ok(())
    }

    async fn truncate(&mut self, since: Id) -> Result<(), StorageError> {
        Err(self.cut(since.index))
    }

    async fn purge(&mut self, upto: Id) -> Result<(), StorageError> {
        // Files are removed beside this: that may take seconds, and who waits answers nobody.
        self.events.forgotten.send_replace(upto.index);
        Ok(())
    }
}

impl Store {
    fn entry(&self, replica: &Replica<'_>, index: u64) -> Result<GroupEntry, StorageError> {
        let entry = replica.entry(index).map_err(read_error)?.and_then(GroupEntry::of);
        entry.ok_or_else(|| read_any(std::io::Error::other(format!("entry {index} is not held"))))
    }

    fn append_all(&self, entries: impl Iterator<Item = GroupEntry>) -> Result<(), StorageError> {
        let replica = Replica::of(&self.db).map_err(write_error)?;
        let mut coming = Vec::new();
        for entry in entries {
            let id = entry_id(&entry.id);
            let held = replica.id_of(id.index);
            match (held, entry.to_replica(), &entry.message) {
                // What this replica made as the leader.
                (Some(held), ..) if held == id => {}
                // It has led, and the group has something else there.
                (Some(_), ..) => return Err(self.cut(id.index)),
                (None, Some(frames), _) => coming.push(frames),
                (None, None, Some(message)) => self.append_message(entry.id, message)?,
                (None, None, None) => return Err(self.disagree(id)),
            }
        }
        replica.append(&coming).map_err(write_error)
    }

    fn append_message(&self, id: Id, message: &Message) -> Result<(), StorageError> {
        let replica = Replica::of(&self.db).map_err(write_error)?;
        replica.append_message(entry_id(&id), &message.to_bytes(id)).map_err(write_error)
    }

    /// Has the replica opened again without the entries from this one on.
    fn cut(&self, index: u64) -> StorageError {
        self.restarter.restart(Restart::Cut(index.saturating_sub(1)));
        write_any(Restarting)
    }

    /// A proposal got another name than the engine gave it: nothing is sure but the folder.
    fn disagree(&self, id: EntryId) -> StorageError {
        tracing::warn!(?id, "a proposal has another name than its entry: the replica opens again");
        self.restarter.restart(Restart::Again);
        write_any(Restarting)
    }
}

/// The replica is about to be opened again.
#[derive(Debug)]
pub(crate) struct Restarting;

impl std::fmt::Display for Restarting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the replica is opened again")
    }
}

impl std::error::Error for Restarting {}

pub(crate) fn read_error(error: Error) -> StorageError {
    read_any(error)
}

fn read_any(error: impl std::error::Error + 'static) -> StorageError {
    StorageIOError::<NodeId>::read(AnyError::new(&error)).into()
}

pub(crate) fn write_error(error: Error) -> StorageError {
    write_any(error)
}

pub(crate) fn write_any(error: impl std::error::Error + 'static) -> StorageError {
    StorageIOError::<NodeId>::write(AnyError::new(&error)).into()
}
