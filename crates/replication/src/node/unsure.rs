//! A replica that may have lost what it had acknowledged.
//!
//! What a majority has in memory is safe as long as no majority loses its memory. A replica whose
//! machine has stopped may have lost entries that it had acknowledged: if it voted at once, it
//! could help to elect a leader that lacks them too. So it does not vote, nor stand, until a leader
//! has brought it back to where that leader's term is committed: such a leader has all that a
//! majority ever acknowledged (recovery in Viewstamped Replication Revisited: Liskov and Cowling,
//! 2012). Where a majority has lost its memory, what was in memory alone is lost; those go on with
//! what their disks have, among which is all that a majority had on its disks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::caller::Caller;
use crate::entry::{Id, Vote, entry_id};
use crate::node::Running;
use crate::transport::Transport;
use crate::wire::{Answer, Request};
use remanent_engine::Replica;

/// How often others are asked whether they are in the same position.
const ASK_EVERY: Duration = Duration::from_millis(300);

/// What a replica has to catch up with.
#[derive(Debug)]
pub(crate) struct Unsure {
    /// It may not vote yet.
    is_unsure: AtomicBool,
    /// It began so, and no leader has brought it back.
    was_unsure: AtomicBool,
}

impl Unsure {
    pub(crate) fn new(is_unsure: bool) -> Self {
        Self { is_unsure: AtomicBool::new(is_unsure), was_unsure: AtomicBool::new(is_unsure) }
    }

    pub(crate) fn is_unsure(&self) -> bool {
        self.is_unsure.load(Ordering::Acquire)
    }

    pub(crate) fn was_unsure(&self) -> bool {
        self.was_unsure.load(Ordering::Acquire)
    }

    /// A leader's entries were appended, and it says what is committed.
    pub(crate) fn note_leader(&self, running: &Running, vote: Vote, commit: Option<Id>) {
        if !self.was_unsure() {
            return;
        }
        let Some(commit) = commit.filter(|id| id.leader_id.term == vote.leader_id.term) else {
            return;
        };
        let held = Replica::of(&running.db).ok().and_then(|replica| replica.id_of(commit.index));
        if held == Some(entry_id(&commit)) {
            self.was_unsure.store(false, Ordering::Release);
            self.make_sure(running);
        }
    }

    fn make_sure(&self, running: &Running) {
        if self.is_unsure.swap(false, Ordering::AcqRel) {
            tracing::info!(id = running.identity.id, "it has caught up, and votes again");
            if let Err(error) = running.promise.set_boot(&running.boot) {
                tracing::warn!(%error, "that a replica has caught up could not be written");
            }
            running.raft.runtime_config().elect(true);
        }
    }
}

/// Asks the others until the replica is sure: if a majority is not, nobody can be asked for more.
pub(crate) async fn ask_others(running: Arc<Running>, transport: Arc<dyn Transport>) {
    while running.unsure.is_unsure() && !running.progress.is_ending() {
        let members = running.members();
        let voters: Vec<_> = members.voter_ids().collect();
        let mut unsure = 1;
        for voter in voters.iter().filter(|&&voter| voter != running.identity.id) {
            let Some(member) = members.get_node(voter) else { continue };
            let (transport, identity) = (Arc::clone(&transport), Arc::clone(&running.identity));
            let mut caller = Caller::new(transport, identity, *voter, member.address.clone());
            let asked = tokio::time::timeout(ASK_EVERY, caller.call(Request::Status)).await;
            if let Ok(Ok(Answer::Status(status))) = asked {
                unsure += usize::from(status.is_unsure);
            }
        }
        if unsure > voters.len() / 2 {
            tracing::warn!("a majority has lost its memory: it goes on with what the disks have");
            running.unsure.make_sure(&running);
            return;
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}
