//! Whether a replica may stand for election.
//!
//! Raft lets whoever hears of no leader stand, in a new term. One that was cut off alone would come
//! back with that term, and depose a leader whom all others hear. So a replica asks the others
//! first, and stands when a majority hears of no leader, too: the pre-vote of Ongaro ("Consensus:
//! Bridging Theory and Practice", 2014, section 9.6), but that logs are left to the vote itself.
//! Whatever else keeps a replica from standing for a while says so here.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use openraft::{Raft, ServerState};
use tokio::time::Instant;

use crate::entry::Types;
use crate::node::{Running, leading, lock, voters};
use crate::transport::Transport;

/// Who has not heard of a leader for so many heartbeats hears of none. It is less than the time
/// after which Raft has a replica stand, so that the others have answered by then.
const SILENCE: u32 = 4;
/// So many heartbeats an answer may take: as long as a connection with TLS where a message takes
/// half a heartbeat.
const ANSWER_MAX: u32 = 4;
/// It is asked again after a heartbeat, one more after so many answers that others are led, and
/// after so many heartbeats at most.
const OFTEN: u32 = 8;
const SELDOM: u32 = 10;

/// What keeps a replica from standing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Obstacle {
    /// No majority has said that it hears of no leader.
    OthersAreLed = 1,
    /// It may have lost what it had acknowledged.
    Unsure = 2,
    /// It has no memory for what is committed.
    Full = 4,
    /// It lets others stand before it.
    Draws = 8,
}

/// Whether one replica may stand.
pub(crate) struct Standing {
    raft: Raft<Types>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The obstacles that are there.
    obstacles: u8,
    /// When a leader was heard of last.
    heard: Option<Instant>,
}

impl std::fmt::Debug for Standing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Standing").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Standing {
    /// That of a replica that was opened just now, whose Raft is told not to stand.
    pub(crate) fn new(raft: Raft<Types>, is_unsure: bool) -> Self {
        let unsure = if is_unsure { Obstacle::Unsure as u8 } else { 0 };
        let obstacles = Obstacle::OthersAreLed as u8 | unsure;
        Self { raft, state: Mutex::new(State { obstacles, heard: None }) }
    }

    /// Something keeps the replica from standing, or does so no more.
    pub(crate) fn set(&self, obstacle: Obstacle, is_there: bool) {
        self.change(&mut lock(&self.state), obstacle, is_there);
    }

    /// A leader was heard of.
    pub(crate) fn note_leader(&self) {
        let mut state = lock(&self.state);
        state.heard = Some(Instant::now());
        self.change(&mut state, Obstacle::OthersAreLed, true);
    }

    /// A majority was heard to hear of no leader, or not to.
    fn note_majority(&self, hears_none: bool, heartbeat: Duration) {
        let mut state = lock(&self.state);
        let is_led = !hears_none || state.hears_leader(heartbeat);
        self.change(&mut state, Obstacle::OthersAreLed, is_led);
    }

    fn hears_leader(&self, heartbeat: Duration) -> bool {
        lock(&self.state).hears_leader(heartbeat)
    }

    /// Whether a leader was heard of in the time that is just over.
    pub(crate) fn heard_leader_within(&self, time: Duration) -> bool {
        lock(&self.state).heard_within(time)
    }

    fn change(&self, state: &mut State, obstacle: Obstacle, is_there: bool) {
        let before = state.obstacles;
        state.obstacles &= !(obstacle as u8);
        state.obstacles |= if is_there { obstacle as u8 } else { 0 };
        if state.obstacles != before {
            self.raft.runtime_config().elect(state.obstacles == 0);
        }
    }
}

impl State {
    fn hears_leader(&self, heartbeat: Duration) -> bool {
        self.heard_within(heartbeat * SILENCE)
    }

    fn heard_within(&self, time: Duration) -> bool {
        self.heard.is_some_and(|heard| heard.elapsed() <= time)
    }
}

/// Whether a replica would help to elect another leader: it votes, and hears of none, or is one
/// that no majority hears.
pub(crate) fn wants_leader(running: &Running, heartbeat: Duration) -> bool {
    let is_led = {
        let metrics = running.raft.metrics();
        let now = metrics.borrow();
        match now.state {
            ServerState::Leader => leading::hears_majority(&now, heartbeat),
            _ => running.standing.hears_leader(heartbeat),
        }
    };
    !is_led && !running.unsure.is_unsure()
}

/// Asks the others as long as this replica hears of no leader.
pub(crate) async fn ask_first(
    running: Arc<Running>,
    transport: Arc<dyn Transport>,
    heartbeat: Duration,
) {
    let mut refused = 0;
    while !running.progress.is_ending() {
        let state = running.raft.metrics().borrow().state;
        let may_stand = matches!(state, ServerState::Follower | ServerState::Candidate);
        let pause = if !may_stand || running.standing.hears_leader(heartbeat) {
            refused = 0;
            1
        } else if majority_wants_leader(&running, &transport, heartbeat).await {
            running.standing.note_majority(true, heartbeat);
            refused = 0;
            // What was answered is good for as long as a leader may be silent.
            SILENCE
        } else {
            running.standing.note_majority(false, heartbeat);
            refused += 1;
            SELDOM.min(1 + refused / OFTEN)
        };
        tokio::time::sleep(heartbeat * pause).await;
    }
}

async fn majority_wants_leader(
    running: &Running,
    transport: &Arc<dyn Transport>,
    heartbeat: Duration,
) -> bool {
    let members = running.members();
    let mut agree = BTreeSet::from([running.identity.id]);
    let mut until = Instant::now() + heartbeat * ANSWER_MAX;
    let mut answers = pin!(voters::ask(running, transport, heartbeat * ANSWER_MAX));
    // Two sets of voters, while members come or go.
    let is_majority = |agree: &BTreeSet<_>| {
        let mut sets = members.get_joint_config().iter();
        sets.all(|voters| voters.intersection(agree).count() > voters.len() / 2)
    };
    while !is_majority(&agree) {
        match tokio::time::timeout_at(until, answers.next()).await {
            Ok(Some(status)) if status.wants_leader => _ = agree.insert(status.id),
            // It may be the last one to notice: it is not waited long for others before it is asked
            // again.
            Ok(Some(_)) => until = until.min(Instant::now() + heartbeat),
            Ok(None) | Err(_) => return false,
        }
    }
    true
}
