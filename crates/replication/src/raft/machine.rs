//! Raft's state machine, which is the database: what a majority has is applied to it.
//!
//! A leader has applied what it proposes before anybody else has it; here it is told that the
//! group has it. A follower applies, and waits for those who read what has to go.

use std::sync::Arc;
use std::time::Duration;

use openraft::storage::RaftStateMachine;
use openraft::{OptionalSend, RaftSnapshotBuilder, Snapshot, SnapshotMeta};
use remanent_engine::{Applier, Database, ErrorKind, Replica};

use crate::entry::{
    GroupEntry, Id, Member, NodeId, StorageError, Stored, Types, id_of, members_in,
};
use crate::raft::store::{Restarting, read_error, write_any, write_error};
use crate::state::progress::Progress;
use crate::state::restart::{Restart, Restarter};

/// How long an applier waits for readers before it tries again; and for memory, which seldom comes
/// soon, while trying takes time that readers miss.
const AGAIN_AFTER: Duration = Duration::from_millis(2);
const ROOM_AFTER: Duration = Duration::from_millis(100);

/// So many bytes take a while to be applied.
const MUCH: usize = 64 << 10;

/// The state machine of one replica.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) db: Arc<Database>,
    pub(crate) applier: Applier,
    pub(crate) progress: Arc<Progress>,
    pub(crate) restarter: Restarter,
    pub(crate) is_simulated: bool,
}

impl Machine {
    async fn apply_to(&mut self, index: u64, bytes: usize) -> Result<(), StorageError> {
        let replica = Replica::of(&self.db).map_err(write_error)?;
        replica.note_replicated(index);
        loop {
            let applied = match bytes >= MUCH && !self.is_simulated {
                // Others, who say that this replica is there, go on meanwhile.
                true => tokio::task::block_in_place(|| self.applier.apply(&self.db, index)),
                false => self.applier.apply(&self.db, index),
            };
            let error = match applied {
                Ok(applied) => {
                    self.progress.note(applied);
                    return Ok(());
                }
                Err(error) => error,
            };
            let waits = matches!(error.kind(), ErrorKind::TableBusy | ErrorKind::Conflict);
            if !waits && !error.is_out_of_memory() {
                tracing::error!(%error, "a follower cannot apply what its group has committed");
                return Err(write_error(error));
            }
            if self.progress.note_stalled(&error) {
                tracing::warn!(%error, "a follower waits before it can apply more");
            }
            if self.progress.is_ending() {
                return Err(write_any(Restarting));
            }
            let pause = if waits { AGAIN_AFTER } else { ROOM_AFTER };
            tokio::time::sleep(pause).await;
        }
    }
}

impl RaftStateMachine<Types> for Machine {
    type SnapshotBuilder = Images;

    async fn applied_state(&mut self) -> Result<(Option<Id>, Stored), StorageError> {
        let replica = Replica::of(&self.db).map_err(read_error)?;
        let applied = replica.applied();
        Ok((Some(id_of(applied)), membership_at(&self.db, applied.index)?))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<()>, StorageError>
    where
        I: IntoIterator<Item = GroupEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let (mut count, mut last, mut bytes) = (0, 0, 0);
        for entry in entries {
            count += 1;
            last = entry.id.index;
            bytes += entry.frames.as_ref().map_or(0, |frames| frames.bytes.len());
        }
        if count > 0 {
            self.apply_to(last, bytes).await?;
        }
        Ok(vec![(); count])
    }

    async fn get_snapshot_builder(&mut self) -> Images {
        Images(Arc::clone(&self.db))
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<()>, StorageError> {
        Ok(Box::new(()))
    }

    /// A replica that gets a copy of another is opened with it; Raft does not bring it.
    async fn install_snapshot(
        &mut self,
        _: &SnapshotMeta<NodeId, Member>,
        _: Box<()>,
    ) -> Result<(), StorageError> {
        self.restarter.restart(Restart::Again);
        Err(write_any(Restarting))
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Types>>, StorageError> {
        newest_image(&self.db).map(Some)
    }
}

/// The images of a database, which it makes itself when they are due.
#[derive(Debug)]
pub(crate) struct Images(Arc<Database>);

impl RaftSnapshotBuilder<Types> for Images {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Types>, StorageError> {
        newest_image(&self.0)
    }
}

/// Where the newest image goes on. Whoever needs one fetches a copy, which is as new or newer.
fn newest_image(db: &Database) -> Result<Snapshot<Types>, StorageError> {
    let replica = Replica::of(db).map_err(read_error)?;
    let id = replica.newest_image();
    let meta = SnapshotMeta {
        last_log_id: Some(id_of(id)),
        last_membership: membership_at(db, id.index)?,
        snapshot_id: format!("{}-{}", id.term, id.index),
    };
    Ok(Snapshot { meta, snapshot: Box::new(()) })
}

/// Who the members are behind an entry.
pub(crate) fn membership_at(db: &Database, index: u64) -> Result<Stored, StorageError> {
    let (_, message) = Replica::of(db).map_err(read_error)?.message_at(index);
    let found = members_in(&message).map(|(id, members)| Stored::new(Some(id), members));
    Ok(found.unwrap_or_default())
}
