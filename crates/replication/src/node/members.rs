//! Changes of who the members are, one at a time.
//!
//! Raft makes the entries of a change itself, so the engine makes none meanwhile: commits that ask
//! for a majority wait for as long as that takes.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use openraft::error::{ChangeMembershipError, ClientWriteError, RaftError};
use openraft::{ChangeMembers, RaftMetrics};
use remanent_engine::{Database, Replica};

use crate::entry::{Member, NodeId};
use crate::node::Running;
use crate::wire::Answer;

/// Members of a group at most.
pub(crate) const MEMBERS_MAX: usize = 7;
/// How long proposals may be on their way before a change, and the change itself.
const QUIET_MAX: Duration = Duration::from_secs(5);
const LOOK_AFTER: Duration = Duration::from_millis(1);

/// Makes a replica a member: first one that has no vote, then one that has.
pub(crate) async fn add(running: &Arc<Running>, id: NodeId, member: Member) -> Answer {
    let _one_at_a_time = running.changing.lock().await;
    let members = running.members();
    let known = members.get_node(&id).cloned();
    if known.as_ref().is_some_and(|known| known.token != member.token) {
        return Answer::Refused(format!(
            "the group has a member {id}, which is not this one: it has to be removed first, or \
             this one needs another number"
        ));
    }
    if known.is_none() && members.voter_ids().count() >= MEMBERS_MAX {
        return Answer::Refused(format!("a group has {MEMBERS_MAX} members at most"));
    }
    if known.is_none() {
        let change = ChangeMembers::AddNodes(BTreeMap::from([(id, member)]));
        if let Err(answer) = make(running, change).await {
            return answer;
        }
    }
    if members.voter_ids().any(|voter| voter == id) {
        return Answer::Done;
    }
    // One that cannot be reached would count among those of whom a majority is needed.
    if !has_caught_up(running, id).await {
        return Answer::Refused("it has not caught up so far".to_owned());
    }
    let change = ChangeMembers::AddVoterIds(BTreeSet::from([id]));
    make(running, change).await.err().unwrap_or(Answer::Done)
}

/// Waits, for a while, until a member has what there is now.
async fn has_caught_up(running: &Arc<Running>, id: NodeId) -> bool {
    let mut metrics = running.raft.metrics();
    let target = metrics.borrow().last_log_index;
    let caught_up = metrics.wait_for(|now| matched(now, id) >= target);
    matches!(tokio::time::timeout(QUIET_MAX, caught_up).await, Ok(Ok(_)))
}

/// Waits, for a while, until a majority of the others has what there is now. Who does not lead
/// cannot know, and is told so by whatever comes next.
async fn others_have_caught_up(running: &Arc<Running>, id: NodeId) -> bool {
    let others: Vec<_> = running.members().voter_ids().filter(|voter| *voter != id).collect();
    let mut metrics = running.raft.metrics();
    let target = metrics.borrow().last_log_index;
    let own = running.identity.id;
    let caught_up = metrics.wait_for(|now| {
        let has = |other: &&NodeId| **other == own || matched(now, **other) >= target;
        now.replication.is_none() || others.iter().filter(has).count() > others.len() / 2
    });
    matches!(tokio::time::timeout(QUIET_MAX, caught_up).await, Ok(Ok(_)))
}

/// The last entry that a member is known to have.
pub(crate) fn matched(now: &RaftMetrics<NodeId, Member>, id: NodeId) -> Option<u64> {
    let all = now.replication.as_ref()?;
    (*all.get(&id)?).map(|id| id.index)
}

/// Has a member leave; where its token is known, that one and no other.
pub(crate) async fn remove(running: &Arc<Running>, id: NodeId, token: Option<u64>) -> Answer {
    let _one_at_a_time = running.changing.lock().await;
    let members = running.members();
    let Some(member) = members.get_node(&id) else {
        return Answer::Refused(format!("the group has no member {id}"));
    };
    if !is_meant(member, token) {
        // That one has left, and another one has come since.
        return Answer::Done;
    }
    if members.voter_ids().all(|voter| voter == id) {
        return Answer::Refused("the last member cannot leave".to_owned());
    }
    if members.voter_ids().any(|voter| voter == id) {
        // Who needs a copy gets it once a majority has all: one that counts it could not agree.
        if !others_have_caught_up(running, id).await {
            let text = "of those that stay no majority has caught up so far";
            return Answer::Refused(text.to_owned());
        }
        let change = ChangeMembers::RemoveVoters(BTreeSet::from([id]));
        if let Err(answer) = make(running, change).await {
            return answer;
        }
    }
    let known = running.members().get_node(&id).is_some();
    if !known {
        return Answer::Done;
    }
    let change = ChangeMembers::RemoveNodes(BTreeSet::from([id]));
    make(running, change).await.err().unwrap_or(Answer::Done)
}

/// Whether this member is the one that has this token; any is, if nothing is known of it.
fn is_meant(member: &Member, token: Option<u64>) -> bool {
    token.is_none_or(|token| token == member.token)
}

/// Makes a change; no entry of the engine's is made meanwhile, so that each gets the name that the
/// engine gave it.
async fn make(running: &Arc<Running>, change: ChangeMembers<NodeId, Member>) -> Result<(), Answer> {
    let _paused = Paused::new(&running.db);
    quiet(running).await?;
    let Ok(changed) = tokio::time::timeout(QUIET_MAX, changed(running, change)).await else {
        return Err(Answer::Refused("no majority has agreed so far".to_owned()));
    };
    match changed {
        Ok(()) => Ok(()),
        Err(RaftError::APIError(ClientWriteError::ForwardToLeader(forward))) => {
            Err(Answer::Elsewhere(forward.leader_node.map(|member| member.address)))
        }
        Err(error) => Err(Answer::Refused(error.to_string())),
    }
}

/// Makes a change, once the one before has ended: its caller may have waited for it for so long
/// that it gave up, and a majority agrees a moment later.
async fn changed(
    running: &Running,
    change: ChangeMembers<NodeId, Member>,
) -> Result<(), RaftError<NodeId, ClientWriteError<NodeId, Member>>> {
    loop {
        match running.raft.change_membership(change.clone(), true).await {
            Err(RaftError::APIError(ClientWriteError::ChangeMembershipError(
                ChangeMembershipError::InProgress(_),
            ))) => tokio::time::sleep(LOOK_AFTER).await,
            changed => return changed.map(drop),
        }
    }
}

/// Waits until Raft knows all entries that the engine has made.
async fn quiet(running: &Arc<Running>) -> Result<(), Answer> {
    let until = tokio::time::Instant::now() + QUIET_MAX;
    loop {
        let last = Replica::of(&running.db).map(|replica| replica.last().index).ok();
        if running.raft.metrics().borrow().last_log_index == last {
            return Ok(());
        }
        if tokio::time::Instant::now() >= until {
            return Err(Answer::Refused("commits are on their way for too long".to_owned()));
        }
        tokio::time::sleep(LOOK_AFTER).await;
    }
}

/// While it is there, the engine makes no entries.
struct Paused<'d>(&'d Database);

impl<'d> Paused<'d> {
    fn new(db: &'d Database) -> Self {
        if let Ok(replica) = Replica::of(db) {
            replica.pause(true);
        }
        Self(db)
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        if let Ok(replica) = Replica::of(self.0) {
            replica.pause(false);
        }
    }
}
