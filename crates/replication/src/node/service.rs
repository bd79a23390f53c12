//! What a replica answers to the others.
//!
//! It answers whether or not its database is open, if only to say that it is not. Who asks for
//! another replica, or is of another group, is refused.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use openraft::ServerState;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse};

use crate::entry::{Id, Member, NodeId, Types, Vote, entry_id};
use crate::node::members;
use crate::node::newest;
use crate::node::standing;
use crate::node::{Running, Shared};
use crate::state::restart::Restart;
use crate::transport::Service;
use crate::wire::{self, Answer, Envelope, Request, Status, VERSION};
use remanent_engine::Replica;

/// How long a replica waits for an entry that is to be on the disk.
const ENTRY_WAIT_MAX: Duration = Duration::from_secs(1);
const LOOK_AFTER: Duration = Duration::from_millis(1);
/// How long whoever waits for an entry sleeps if none comes.
const APPEND_WAIT_MAX: Duration = Duration::from_millis(20);
/// How long a leader waits for a replica that fetches a copy, before it asks again.
const COPY_MAX: Duration = Duration::from_secs(5);

/// Answers for one replica, whether or not it is open.
#[derive(Debug)]
pub(crate) struct Answers(pub(crate) Arc<Shared>);

#[async_trait]
impl Service for Answers {
    async fn answer(&self, request: Bytes) -> Bytes {
        let answer = match wire::from_bytes::<Envelope>(&request) {
            Ok(envelope) => self.answer_to(envelope).await,
            Err(error) => Answer::Refused(format!("a request that cannot be read: {error}")),
        };
        wire::to_bytes(&answer).unwrap_or_default().into()
    }
}

impl Answers {
    async fn answer_to(&self, envelope: Envelope) -> Answer {
        let Envelope { version, group, name, from, to, request } = envelope;
        let shared = &self.0;
        let refused = |why: String| Answer::Refused(why);
        if version != VERSION {
            return refused(format!("version {version} of the protocol is not {VERSION}"));
        }
        if name != shared.options.name {
            return refused(format!("this is group `{}`, not `{name}`", shared.options.name));
        }
        if to != 0 && to != shared.options.id {
            return refused(format!("this is replica {}, not {to}", shared.options.id));
        }
        let running = shared.running();
        if matches!(request, Request::Status) {
            return Answer::Status(self.status(running.as_deref()));
        }
        let Some(running) = running else { return refused("it is being opened".to_owned()) };
        // Who is of no group yet fetches a copy and asks to join, and nothing else.
        let is_stranger = group == [0; 16] && request.is_for_strangers();
        if !is_stranger && group != running.identity.group {
            return refused("it is of another group of the same name".to_owned());
        }
        match request {
            // Who waits for the replica to be opened again does not keep it open.
            Request::Fetch { vote, from } => {
                let own = running.raft.metrics().borrow().vote;
                drop(running);
                self.fetch(own, vote, from).await
            }
            request => self.answer_running(&running, from, request).await,
        }
    }

    async fn answer_running(
        &self,
        running: &Arc<Running>,
        from: NodeId,
        request: Request,
    ) -> Answer {
        match request {
            Request::Append(request) => {
                if has_lost(running, &request) {
                    return self.begin_anew(running, from);
                }
                let (vote, commit) = (request.vote, request.leader_commit);
                let answer = running.raft.append_entries(request).await;
                if matches!(answer, Ok(AppendEntriesResponse::Success)) {
                    running.unsure.note_leader(running, vote, commit);
                }
                if !matches!(answer, Err(_) | Ok(AppendEntriesResponse::HigherVote(_))) {
                    running.standing.note_leader();
                }
                Answer::Append(answer)
            }
            Request::Vote(request) => {
                if running.unsure.is_unsure() {
                    // It may have lost what it would have to hold against the candidate.
                    return Answer::Refused("it has to catch up before it votes".to_owned());
                }
                Answer::Vote(running.raft.vote(request).await)
            }
            Request::Sync(id) => Answer::Synced(sync(running, id).await),
            Request::Copy => self.copy(running, from).await,
            Request::Piece { copy, file, at } => match self.0.copies.piece(copy, &file, at) {
                Ok(bytes) => Answer::Piece(bytes),
                Err(error) => Answer::Refused(error.to_string()),
            },
            Request::CopyEnd { copy } => {
                self.0.copies.end(copy);
                Answer::Done
            }
            Request::Join { id, member } => members::add(running, id, member).await,
            Request::Leave { id, token } => members::remove(running, id, token).await,
            Request::Newest => {
                newest::confirmed(running).await.map_or_else(Answer::Refused, Answer::Newest)
            }
            Request::Status | Request::Fetch { .. } => Answer::Status(self.status(Some(running))),
        }
    }

    /// Makes a copy of what a majority has; or of what one will have with the member that asks.
    /// Without that, a group would stand still of which one member is lost, and one lacks what the
    /// leader has let go, while there is no majority for what the leader has last.
    async fn copy(&self, running: &Arc<Running>, from: NodeId) -> Answer {
        let for_member = match majority_has_all(running).await {
            true => None,
            false => match last_with(running, from) {
                None => {
                    return Answer::Refused("a majority has not what a copy would have".to_owned());
                }
                last => last,
            },
        };
        let (copies, db) = (Arc::clone(&self.0.copies), Arc::clone(&running.db));
        match self.0.block_on(move || copies.make(&db, for_member)).await {
            Ok(files) => Answer::Copy(files),
            Err(why) => Answer::Refused(why),
        }
    }

    /// What this replica knows to be committed, the group has lost: it begins with a copy.
    fn begin_anew(&self, running: &Running, leader: NodeId) -> Answer {
        tracing::error!(
            id = running.identity.id,
            "the group has lost commits that this replica has: it goes on without them"
        );
        if let Some(member) = running.members().get_node(&leader) {
            running.restarter.restart(Restart::Copy(member.address.clone()));
        }
        Answer::Refused("it begins with a copy".to_owned())
    }

    fn status(&self, running: Option<&Running>) -> Status {
        let shared = &self.0;
        let (id, boot) = (shared.options.id, shared.around.boot.clone());
        let member = Member { token: shared.token(), ..shared.options.member.clone() };
        let Some(running) = running else {
            // Who is being opened is of a group, if not yet able to say of which: nobody founds one
            // with it.
            let is_replica = Replica::is_in(&*shared.around.storage).unwrap_or(true);
            let (group, leader, last) = (is_replica.then_some([0; 16]), None, None);
            let (is_unsure, went_on) = (false, Vec::new());
            let wants_leader = false;
            return Status {
                id,
                group,
                is_unsure,
                boot,
                went_on,
                leader,
                wants_leader,
                last,
                member,
            };
        };
        let metrics = running.raft.metrics();
        let leader = shared.known_leader(running, &metrics.borrow());
        let last = Replica::of(&running.db).map(|replica| crate::entry::id_of(replica.last())).ok();
        let (group, is_unsure) = (Some(running.identity.group), running.unsure.is_unsure());
        let went_on = running.unsure.went_on();
        let wants_leader = standing::wants_leader(running, shared.options.heartbeat);
        Status { id, group, is_unsure, boot, went_on, leader, wants_leader, last, member }
    }

    /// The leader has let go what comes next: a copy of it takes the place of what is here.
    async fn fetch(&self, own: Vote, vote: Vote, from: String) -> Answer {
        if vote < own {
            return Answer::Fetched(Ok(own));
        }
        let mut epoch = self.0.epoch.subscribe();
        let before = *epoch.borrow_and_update();
        self.0.restarter.restart(Restart::Copy(from));
        let opened = epoch.wait_for(|&now| now > before + 1);
        match tokio::time::timeout(COPY_MAX, opened).await {
            Ok(Ok(_)) => Answer::Fetched(Ok(vote)),
            _ => Answer::Refused("the copy has not come".to_owned()),
        }
    }
}

/// Whether a leader has other entries where this replica knows what was committed. That is so where
/// a majority has lost its memory, and this replica had on its disk what none of them had.
fn has_lost(running: &Running, request: &AppendEntriesRequest<Types>) -> bool {
    let Ok(replica) = Replica::of(&running.db) else { return false };
    let (safe, before) = (replica.replicated(), replica.before());
    let ids = request.prev_log_id.iter().chain(request.entries.iter().map(|entry| &entry.id));
    let differs = |id: &Id| {
        let (held, other) = (replica.id_of(id.index), entry_id(id));
        // Of what was let go, the last is known, and terms only grow.
        let is_later = id.index <= before.index && other.term > before.term;
        is_later || id.index <= safe && held.is_some_and(|held| held != other)
    };
    request.vote >= running.raft.metrics().borrow().vote && ids.into_iter().any(differs)
}

/// Waits until a majority has what this replica has, and no member comes or goes, for then a copy
/// need not wait.
async fn majority_has_all(running: &Arc<Running>) -> bool {
    let until = tokio::time::Instant::now() + ENTRY_WAIT_MAX;
    loop {
        let Ok(replica) = Replica::of(&running.db) else { return false };
        let has = match replica.leads() {
            true if replica.write().is_err() => return false,
            true => replica.last(),
            false => replica.applied(),
        };
        if replica.replicated() >= has.index && !replica.is_paused() {
            return true;
        }
        if tokio::time::Instant::now() >= until || running.progress.is_ending() {
            return false;
        }
        tokio::time::sleep(LOOK_AFTER).await;
    }
}

/// The last entry of a leader, if it makes a majority together with a member that is about to get a
/// copy, and those that have that entry.
///
/// No leader can be elected then that lacks it: they vote for none, as it is of the newest term,
/// and the member for nobody. It does not while it fetches the copy, nor afterwards, until a
/// leader's term is committed where the copy is behind it ([`Replica::lacks_majority`]).
fn last_with(running: &Running, member: NodeId) -> Option<u64> {
    let replica = Replica::of(&running.db).ok()?;
    let (now, last) = (running.raft.metrics().borrow().clone(), replica.last());
    let is_newest = last.term == now.current_term && now.last_log_index == Some(last.index);
    if now.state != ServerState::Leader || !is_newest || replica.is_paused() {
        return None;
    }
    let has = |id: &&NodeId| {
        [now.id, member].contains(id) || members::matched(&now, **id) >= Some(last.index)
    };
    let mut sets = now.membership_config.membership().get_joint_config().iter();
    let is_majority = sets.all(|voters| voters.iter().filter(has).count() > voters.len() / 2);
    is_majority.then_some(last.index)
}

/// Has the disk take the log up to an entry, when that has come. Whether it has.
async fn sync(running: &Arc<Running>, id: Id) -> bool {
    let until = tokio::time::Instant::now() + ENTRY_WAIT_MAX;
    loop {
        // From here on what comes is not missed.
        let appended = running.events.appended.notified();
        let Ok(replica) = Replica::of(&running.db) else { return false };
        if replica.id_of(id.index) == Some(entry_id(&id)) {
            break;
        }
        if tokio::time::Instant::now() >= until || running.progress.is_ending() {
            return false;
        }
        let _ = tokio::time::timeout(APPEND_WAIT_MAX, appended).await;
    }
    running.sync().await.is_ok()
}
