//! What has been committed by now, asked of the leader.
//!
//! Clocks of machines are not compared: whoever asked at a moment, and has applied by now what the
//! leader answered, reads nothing older than that moment. The leader answers when a majority has
//! confirmed that it is one, after it has looked up what it has committed (Ongaro, "Consensus:
//! Bridging Theory and Practice", 2014, section 6.4).

use std::sync::Arc;
use std::time::Duration;

use remanent_engine::Replica;

use crate::caller::Caller;
use crate::copies::unexpected;
use crate::entry::NodeId;
use crate::node::{Node, Running, Shared};
use crate::wire::{Answer, Request};

/// How long the leader may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// The replica that was asked last, and the connection to it.
pub(crate) type LeaderCaller = tokio::sync::Mutex<Option<(NodeId, Caller)>>;

impl Node {
    /// The timestamp of a commit: whoever reads a state that has it reads everything that anybody
    /// was told was committed before this was called, on whatever replica.
    ///
    /// # Errors
    /// Why nobody knows, in words: no leader is known, or no majority has confirmed it.
    pub async fn newest_commit(&self) -> Result<u64, String> {
        newest(&self.shared).await
    }

    /// As [`Node::newest_commit`], and waits for the answer, for two seconds and a little.
    ///
    /// # Errors
    /// As there.
    pub fn ask_newest_commit(&self) -> Result<u64, String> {
        let runtime = self.runtime.as_ref().ok_or("the replica runs in another runtime")?;
        let (sender, receiver) = std::sync::mpsc::channel();
        let shared = Arc::clone(&self.shared);
        runtime.spawn(async move {
            let _ = sender.send(newest(&shared).await);
        });
        receiver.recv_timeout(2 * ANSWER_MAX).map_err(|_| "no answer has come".to_owned())?
    }
}

async fn newest(shared: &Arc<Shared>) -> Result<u64, String> {
    let running = shared.running().ok_or("the replica's database is being opened")?;
    if Replica::of(&running.db).is_ok_and(|replica| replica.leads()) {
        return confirmed(&running).await;
    }
    let (id, address) = {
        let metrics = running.raft.metrics();
        let now = metrics.borrow();
        let id = now.current_leader.ok_or("no leader is known")?;
        let member = now.membership_config.membership().get_node(&id).cloned();
        (id, member.ok_or("the leader is no member by now")?.address)
    };
    let mut known = running.leader_caller.lock().await;
    let before = known.take().filter(|(known, _)| *known == id);
    let mut caller = before.map_or_else(
        || {
            let transport = Arc::clone(&shared.around.transport);
            Caller::new(transport, Arc::clone(&running.identity), id, address.clone())
        },
        |(_, caller)| caller,
    );
    match tokio::time::timeout(ANSWER_MAX, caller.call(Request::Newest)).await {
        Ok(Ok(Answer::Newest(timestamp))) => {
            *known = Some((id, caller));
            // Its own commits may have that timestamp, and others its place.
            match Replica::of(&running.db).is_ok_and(|replica| !replica.is_ahead()) {
                true => Ok(timestamp),
                false => Err("the replica has led, and is about to be opened again".to_owned()),
            }
        }
        Ok(Ok(answer)) => Err(format!("{address}: {}", unexpected(answer))),
        Ok(Err(error)) => Err(format!("{address}: {error}")),
        Err(_) => Err(format!("{address}: no answer has come")),
    }
}

/// The newest commit of a leader, which a majority has confirmed to be one since it was asked.
///
/// # Errors
/// Why it cannot say so.
pub(crate) async fn confirmed(running: &Arc<Running>) -> Result<u64, String> {
    let leads = || Replica::of(&running.db).is_ok_and(|replica| replica.leads());
    if !leads() {
        return Err("it does not lead".to_owned());
    }
    let newest = Replica::of(&running.db).map(|replica| replica.newest_commit());
    let newest = newest.map_err(|error| error.to_string())?;
    let confirmed = tokio::time::timeout(ANSWER_MAX, running.raft.ensure_linearizable()).await;
    match confirmed {
        Ok(Ok(_)) if leads() => Ok(newest),
        _ => Err("no majority has confirmed that it leads".to_owned()),
    }
}
