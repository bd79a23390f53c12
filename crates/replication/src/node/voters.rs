//! How the other voters do, as far as they answer.
//!
//! Whoever may lack what the others have asks them, and whoever is about to stand for election.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{FuturesUnordered, Stream, StreamExt};

use crate::caller::Caller;
use crate::node::Running;
use crate::transport::Transport;
use crate::wire::{Answer, Request, Status};

/// Asks all of them at once. The answers come as they arrive, those that come in time.
pub(crate) fn ask(
    running: &Running,
    transport: &Arc<dyn Transport>,
    time: Duration,
) -> impl Stream<Item = Status> + use<> {
    let (members, own) = (running.members(), running.identity.id);
    let others = members.nodes().filter(|&(id, _)| *id != own);
    let voters = others.filter(|(id, _)| members.voter_ids().any(|voter| voter == **id));
    let callers = voters.map(|(id, member)| {
        let (transport, identity) = (Arc::clone(transport), Arc::clone(&running.identity));
        Caller::new(transport, identity, *id, member.address.clone())
    });
    let answers: FuturesUnordered<_> = callers
        .map(|mut caller| async move {
            match tokio::time::timeout(time, caller.call(Request::Status)).await {
                Ok(Ok(Answer::Status(status))) => Some(status),
                _ => None,
            }
        })
        .collect();
    answers.filter_map(std::future::ready)
}
