//! Leading: when Raft says so, and all that was before is applied, the engine takes changes.
//!
//! The engine names its entries as Raft will: from the first entry of its term on nobody else makes
//! any. Where that went wrong, the log finds out, and the replica is opened again.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use openraft::{Raft, RaftMetrics, ServerState};
use rand::Rng;
use remanent_engine::{EntryId, EntryTap, Replica};
use tokio::sync::Notify;

use crate::draws::Draws;
use crate::entry::{Made, Member, NodeId, Types, entry_id};
use crate::node::Running;
use crate::node::standing::Obstacle;
use crate::state::restart::Restart;

/// A leader that hears of no majority for so many heartbeats takes no changes, and a leader that is
/// not heard of for so many is not known any more.
pub(crate) const SILENCE_MAX: u32 = 10;
/// So many heartbeats without a leader are long.
const LONG_WITHOUT_LEADER: u32 = 12;

/// So many heartbeats are enough for others to be elected, or for a leader to bring them what they
/// lack.
const ASIDE: u32 = 30;

/// Gives a leader's entries to Raft.
struct Proposer {
    raft: Raft<Types>,
    wanted_on_disk: Arc<Notify>,
}

impl std::fmt::Debug for Proposer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proposer")
    }
}

impl EntryTap for Proposer {
    fn offer(&self, _: EntryId) {
        // It is handed over at once. What becomes of it, the log is told; if another one leads by
        // now, others decide about it.
        let _ = self.raft.client_write_ff(Made).now_or_never();
    }

    fn want_on_disk(&self) {
        self.wanted_on_disk.notify_one();
    }
}

/// Whether a leader has heard of a majority lately.
pub(crate) fn hears_majority(now: &RaftMetrics<NodeId, Member>, heartbeat: Duration) -> bool {
    let silence_max = (heartbeat * SILENCE_MAX).as_millis() as u64;
    now.millis_since_quorum_ack.is_some_and(|ms| ms <= silence_max)
}

/// Has the engine lead while Raft does and a majority answers: openraft's leader goes on alone, and
/// who commits there would wait without end.
pub(crate) async fn watch(running: Arc<Running>, heartbeat: Duration) {
    let Ok(replica) = Replica::of(&running.db) else { return };
    let (raft, wanted_on_disk) = (running.raft.clone(), Arc::clone(&running.wanted_on_disk));
    replica.set_tap(Arc::new(Proposer { raft, wanted_on_disk }));
    let (mut metrics, mut servers) = (running.raft.metrics(), running.raft.server_metrics());
    let mut leads_in = None;
    loop {
        let (is_leader, term, applied) = {
            let now = metrics.borrow_and_update();
            let is_leader = now.state == ServerState::Leader && hears_majority(&now, heartbeat);
            (is_leader, now.current_term, now.last_applied)
        };
        servers.borrow_and_update();
        let failed = match leads_in {
            Some(led) if !is_leader || led != term => {
                tracing::info!(id = running.identity.id, term = led, "it does not lead any more");
                leads_in = None;
                replica.follow().err()
            }
            None if is_leader => {
                let applied = applied.as_ref().map(entry_id);
                // The first entry of its term is applied, and nothing is behind it.
                let is_ready = applied.is_some_and(|id| id.term == term && id == replica.last());
                if is_ready {
                    tracing::info!(id = running.identity.id, term, "it leads");
                    leads_in = Some(term);
                }
                if is_ready { replica.lead(term).err() } else { None }
            }
            _ => None,
        };
        if let Some(error) = failed {
            tracing::error!(%error, "a replica could not begin or end to lead");
            return running.restarter.restart(Restart::Again);
        }
        // It does not wake up beside every commit, but while it matters; and to look for silence.
        let changed = match leads_in {
            Some(_) => tokio::time::timeout(heartbeat, servers.changed()).await.unwrap_or(Ok(())),
            None => metrics.changed().await,
        };
        if changed.is_err() {
            return;
        }
    }
}

/// Lets a replica stand for election at other times, where nobody is elected for long: openraft
/// draws a replica's time once, and two that have drawn the same would always stand together.
pub(crate) async fn stand_at_other_times(running: Arc<Running>, heartbeat: Duration) {
    let long = heartbeat * LONG_WITHOUT_LEADER;
    let mut metrics = running.raft.metrics();
    while !running.progress.is_ending() {
        let led = metrics.wait_for(|now| now.current_leader.is_some());
        let is_led = tokio::time::timeout(long, led).await.is_ok();
        if !is_led {
            running.standing.set(Obstacle::Draws, true);
            tokio::time::sleep(heartbeat * Draws.gen_range(1..LONG_WITHOUT_LEADER)).await;
            running.standing.set(Obstacle::Draws, false);
        }
        tokio::time::sleep(long).await;
    }
}

/// Lets others lead while there is no memory for what the group has committed: who cannot apply it
/// cannot take changes, and as long as Raft has it for its leader nobody else does. It does not
/// stand then, and says nothing if it was elected. But others may lack what it has, and cannot be
/// elected before they have it: so where nobody leads it stands again for a while, and brings them
/// that.
pub(crate) async fn stand_aside(running: Arc<Running>, heartbeat: Duration) {
    let (id, mut metrics) = (running.identity.id, running.raft.metrics());
    while !running.progress.is_ending() {
        tokio::time::sleep(heartbeat).await;
        if !running.progress.is_full() {
            continue;
        }
        running.raft.runtime_config().heartbeat(false);
        running.standing.set(Obstacle::Full, true);
        tokio::time::sleep(heartbeat * ASIDE).await;
        running.raft.runtime_config().heartbeat(true);
        running.standing.set(Obstacle::Full, false);
        let led = metrics.wait_for(|now| now.current_leader.is_some_and(|leader| leader != id));
        let _ = tokio::time::timeout(heartbeat * ASIDE, led).await;
    }
}

/// Sends commits that nobody waits for, and lets go of the log before images.
pub(crate) async fn write_now_and_then(running: Arc<Running>, every: Duration) {
    let mut image = EntryId::default();
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Ok(replica) = Replica::of(&running.db) else { return };
        // A log that has failed says so to whoever commits.
        if replica.leads() && replica.write().is_err() {
            return running.restarter.restart(Restart::Again);
        }
        let newest = replica.newest_image();
        if newest > image {
            image = newest;
            let _ = running.raft.trigger().snapshot().await;
        }
    }
}
