//! What Raft sends to another replica.
//!
//! Entries and votes go as they are. A replica that is too far behind is asked to fetch a copy, on
//! a connection of its own: Raft waits for that, and goes on with entries.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use openraft::error::{
    Fatal, NetworkError, RPCError, RaftError, RemoteError, ReplicationClosed, StreamingError,
    Unreachable,
};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse,
};
use openraft::{OptionalSend, Snapshot};

use crate::caller::{Caller, Identity};
use crate::entry::{Member, NodeId, Types, Vote};
use crate::transport::Transport;
use crate::wire::{Answer, Request};

/// How long a replica may take to say how far it is with a copy.
const FETCH_MAX: Duration = Duration::from_secs(10);
/// How long a replica that cannot be reached is left alone.
const BACKOFF: Duration = Duration::from_millis(50);

/// Makes ways to other replicas.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) identity: Arc<Identity>,
    pub(crate) transport: Arc<dyn Transport>,
}

/// The way to one.
#[derive(Debug)]
pub(crate) struct Way {
    caller: Caller,
    target: NodeId,
    own_address: String,
}

impl RaftNetworkFactory<Types> for Network {
    type Network = Way;

    async fn new_client(&mut self, target: NodeId, member: &Member) -> Way {
        let transport = Arc::clone(&self.transport);
        let identity = Arc::clone(&self.identity);
        let own_address = identity.address.clone();
        let caller = Caller::new(transport, identity, target, member.address.clone());
        Way { caller, target, own_address }
    }
}

type Failed<E = RaftError<NodeId>> = RPCError<NodeId, Member, E>;

impl Way {
    async fn call(&mut self, request: Request, option: &RPCOption) -> io::Result<Answer> {
        let called = tokio::time::timeout(option.hard_ttl(), self.caller.call(request)).await;
        called.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl RaftNetwork<Types> for Way {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<NodeId>, Failed> {
        match self.call(Request::Append(request), &option).await {
            Ok(Answer::Append(answer)) => answer.map_err(|error| remote(self.target, error)),
            other => Err(unreachable(other)),
        }
    }

    async fn vote(
        &mut self,
        request: VoteRequest<NodeId>,
        option: RPCOption,
    ) -> Result<VoteResponse<NodeId>, Failed> {
        match self.call(Request::Vote(request), &option).await {
            Ok(Answer::Vote(answer)) => answer.map_err(|error| remote(self.target, error)),
            other => Err(unreachable(other)),
        }
    }

    /// Has the other one fetch a copy, which may take long.
    async fn full_snapshot(
        &mut self,
        vote: Vote,
        _: Snapshot<Types>,
        cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<NodeId>, StreamingError<Types, Fatal<NodeId>>> {
        let request = Request::Fetch { vote, from: self.own_address.clone() };
        tokio::select! {
            closed = cancel => Err(closed.into()),
            answer = tokio::time::timeout(FETCH_MAX, self.caller.call(request)) => match answer
                .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            {
                Ok(Answer::Fetched(Ok(vote))) => Ok(SnapshotResponse::new(vote)),
                Ok(Answer::Fetched(Err(error))) => {
                    Err(StreamingError::RemoteError(RemoteError::new(self.target, error)))
                }
                other => Err(Unreachable::new(&failure(other)).into()),
            },
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(BACKOFF))
    }
}

fn remote(target: NodeId, error: RaftError<NodeId>) -> Failed {
    RPCError::RemoteError(RemoteError::new(target, error))
}

fn unreachable(answer: io::Result<Answer>) -> Failed {
    let error = failure(answer);
    match error.kind() {
        io::ErrorKind::TimedOut => NetworkError::new(&error).into(),
        _ => Unreachable::new(&error).into(),
    }
}

/// Why there is no answer that says anything.
fn failure(answer: io::Result<Answer>) -> io::Error {
    match answer {
        Err(error) => error,
        Ok(Answer::Refused(why)) => io::Error::other(why),
        Ok(_) => io::Error::other("an answer to another question"),
    }
}
