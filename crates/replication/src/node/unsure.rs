//! A replica that may have lost what it had acknowledged.
//!
//! What a majority has in memory is safe as long as no majority loses its memory. A replica whose
//! machine has stopped may have lost entries that it had acknowledged: if it voted at once, it
//! could help to elect a leader that lacks them too. So it does not vote, nor stand, until a leader
//! has brought it back to where that leader's term is committed: such a leader has all that a
//! majority ever acknowledged (recovery in Viewstamped Replication Revisited: Liskov and Cowling,
//! 2012). Where a majority is in this position at one time, what was in memory alone is lost; those
//! go on together with what their disks have, among which is all that a majority had on its disks.
//! Whoever finds that out says with whom, so that the others of them go on as well.
//!
//! One that began with a copy of which no majority had all does not vote either: what it was given
//! last may be of an older term than a candidate's last entry, and it would help to elect a leader
//! that lacks it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;

use crate::entry::{Id, NodeId, Vote, entry_id};
use crate::node::standing::Obstacle;
use crate::node::{Running, lock, voters};
use crate::transport::Transport;
use crate::wire::Status;
use remanent_engine::Replica;

/// How often others are asked whether they are in the same position.
const ASK_EVERY: Duration = Duration::from_millis(300);

/// One start of a machine.
pub(crate) type Start = (NodeId, String);

/// What a replica has to catch up with.
#[derive(Debug)]
pub(crate) struct Unsure {
    /// It may not vote yet.
    is_unsure: AtomicBool,
    /// Those, and which start of their machines, that went on together with what they had.
    went_on: Mutex<Vec<Start>>,
}

impl Unsure {
    pub(crate) fn new(is_unsure: bool) -> Self {
        Self { is_unsure: AtomicBool::new(is_unsure), went_on: Mutex::default() }
    }

    pub(crate) fn is_unsure(&self) -> bool {
        self.is_unsure.load(Ordering::Acquire)
    }

    /// With whom it went on, if it did.
    pub(crate) fn went_on(&self) -> Vec<Start> {
        lock(&self.went_on).clone()
    }

    /// A leader's entries were appended, and it says what is committed.
    pub(crate) fn note_leader(&self, running: &Running, vote: Vote, commit: Option<Id>) {
        if !self.is_unsure() {
            return;
        }
        let Some(commit) = commit.filter(|id| id.leader_id.term == vote.leader_id.term) else {
            return;
        };
        let held = Replica::of(&running.db).ok().and_then(|replica| replica.id_of(commit.index));
        if held == Some(entry_id(&commit)) {
            self.make_sure(running);
        }
    }

    /// It goes on together with others with what they have.
    fn go_on(&self, running: &Running, with: Vec<Start>) {
        tracing::warn!(?with, "a majority has lost its memory: it goes on with what disks have");
        *lock(&self.went_on) = with;
        self.make_sure(running);
    }

    fn make_sure(&self, running: &Running) {
        if self.is_unsure.swap(false, Ordering::AcqRel) {
            tracing::info!(id = running.identity.id, "it votes again");
            if let Err(error) = running.promise.set_boot(&running.boot) {
                tracing::warn!(%error, "that a replica is sure again could not be written");
            }
            running.standing.set(Obstacle::Unsure, false);
        }
    }
}

/// Asks the others until the replica is sure: if a majority is not, nobody can be asked for more.
pub(crate) async fn ask_others(running: Arc<Running>, transport: Arc<dyn Transport>) {
    let own = (running.identity.id, running.boot.clone());
    while running.unsure.is_unsure() && !running.progress.is_ending() {
        let first = ask_all(&running, &transport).await;
        let went_on = first.iter().map(|status| &status.went_on).find(|with| with.contains(&own));
        if let Some(with) = went_on {
            return running.unsure.go_on(&running, with.clone());
        }
        let voters = running.members().voter_ids().count();
        let unsure = |all: &[Status]| -> Vec<Start> {
            let others = all.iter().filter(|status| status.is_unsure);
            let others = others.map(|status| (status.id, status.boot.clone()));
            std::iter::once(own.clone()).chain(others).collect()
        };
        if voters > 0 && unsure(&first).len() > voters / 2 {
            // All of them at one time: those that were before are so still.
            let (before, now) = (unsure(&first), unsure(&ask_all(&running, &transport).await));
            let with: Vec<Start> = before.into_iter().filter(|one| now.contains(one)).collect();
            if with.len() > voters / 2 && running.unsure.is_unsure() {
                return running.unsure.go_on(&running, with);
            }
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

/// How the other voters do, as far as they answer.
async fn ask_all(running: &Running, transport: &Arc<dyn Transport>) -> Vec<Status> {
    voters::ask(running, transport, ASK_EVERY).collect().await
}
