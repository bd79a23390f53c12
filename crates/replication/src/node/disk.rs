//! Disks: commits that wait for those of a majority, and what a follower has appended.
//!
//! Raft counts what is in memory. Where a commit asks for disks, the leader has its own disk and
//! those of the others take what there is, all at the same time, and counts who has.
//!
//! What a follower has appended its disk takes beside that, and files that are not needed any more
//! are removed beside Raft: who appends and forgets also says that this replica is there, and would
//! be taken for lost if a slow disk kept it from that for a second.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::caller::Caller;
use crate::entry::id_of;
use crate::node::Running;
use crate::process::of_process;
use crate::transport::Transport;
use crate::wire::{Answer, Request};
use remanent_engine::Replica;

/// How long a replica is waited for: one that does not answer may not keep this one open.
const SYNC_MAX: Duration = Duration::from_secs(3);
/// How often it is looked whether the disk lacks full files of the log.
const SYNC_AFTER: Duration = Duration::from_millis(100);

/// Has the disks of a majority take the log whenever a commit waits for that.
pub(crate) async fn sync_for_commits(running: Arc<Running>, transport: Arc<dyn Transport>) {
    loop {
        running.wanted_on_disk.notified().await;
        let Ok(replica) = Replica::of(&running.db) else { return };
        if replica.leads() {
            sync_majority(&running, &transport).await;
        }
    }
}

/// Has a follower's disk take full files of the log, beside what appends to it.
pub(crate) async fn sync_beside_appends(running: Arc<Running>) {
    loop {
        // Not after each append, of which there are thousands in a second.
        tokio::time::sleep(SYNC_AFTER).await;
        if let Err(error) = running.sync_if_many().await {
            // Whoever appends next meets it.
            tracing::error!(%error, "the log of a follower is not brought to the disk");
            return;
        }
    }
}

/// Removes files of the log once nobody needs them.
pub(crate) async fn remove_files(running: Arc<Running>) {
    let mut forgotten = running.events.forgotten.subscribe();
    while forgotten.changed().await.is_ok() {
        let index = *forgotten.borrow_and_update();
        if let Err(error) = running.forget(index).await {
            tracing::error!(%error, "files of the log cannot be removed");
            return;
        }
    }
}

async fn sync_majority(running: &Arc<Running>, transport: &Arc<dyn Transport>) {
    let Ok(replica) = Replica::of(&running.db) else { return };
    let id = replica.last();
    let members = running.members();
    let voters: Vec<_> = members.voter_ids().collect();
    let mut asked = JoinSet::new();
    for &voter in &voters {
        if voter == running.identity.id {
            let running = Arc::clone(running);
            asked.spawn(of_process(async move { running.sync().await.is_ok() }));
            continue;
        }
        let Some(member) = members.get_node(&voter) else { continue };
        let (transport, identity) = (Arc::clone(transport), Arc::clone(&running.identity));
        let mut caller = running
            .disk_callers
            .lock()
            .await
            .remove(&voter)
            .unwrap_or_else(|| Caller::new(transport, identity, voter, member.address.clone()));
        let running = Arc::clone(running);
        asked.spawn(of_process(async move {
            let asked = caller.call(Request::Sync(id_of(id)));
            let answer = tokio::time::timeout(SYNC_MAX, asked).await;
            running.disk_callers.lock().await.insert(voter, caller);
            matches!(answer, Ok(Ok(Answer::Synced(true))))
        }));
    }
    let mut synced = 0;
    while let Some(answer) = asked.join_next().await {
        synced += usize::from(matches!(answer, Ok(true)));
        if synced > voters.len() / 2 {
            replica.note_on_disk(id.index);
            break;
        }
    }
    // Those that are left go on by themselves.
    asked.detach_all();
}
