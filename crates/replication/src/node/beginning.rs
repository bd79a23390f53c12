//! How a replica comes to be one: its group is founded, or it begins with a copy of another.
//!
//! A number is drawn for every new folder, and the group knows it. So a replica that has lost its
//! folder is not taken for the one that it was, whose promises it does not know any more.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use openraft::Membership;
use rand::RngCore;
use remanent_engine::{Replica, Storage};

use crate::caller::{Caller, Identity};
use crate::copies::{fetch, unexpected};
use crate::draws::Draws;
use crate::entry::{Id, Member, Message, NodeId, members_in};
use crate::node::members::MEMBERS_MAX;
use crate::node::{Running, Shared};
use crate::wire::{Answer, Request, Status};

/// How often others are asked.
const ASK_EVERY: Duration = Duration::from_millis(100);
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// A file with a number that was drawn when the folder was made.
const TOKEN: &str = "replica-token";

/// The number that was drawn when a folder was made, or is now.
pub(crate) fn token(storage: &dyn Storage) -> io::Result<u64> {
    let mut bytes = [0; 8];
    if storage.names()?.iter().any(|name| name == TOKEN) {
        let count = storage.open(TOKEN)?.read_at(0, &mut bytes)?;
        let token = u64::from_le_bytes(bytes);
        if count == bytes.len() && token != 0 {
            return Ok(token);
        }
        storage.remove(TOKEN)?;
    }
    let token = Draws.next_u64() | 1;
    let file = storage.create(TOKEN)?;
    file.write_at(0, &token.to_le_bytes())?;
    file.sync()?;
    storage.sync_names()?;
    Ok(token)
}

/// Makes the folder that of a replica.
///
/// # Errors
/// Why it cannot be one, in words.
pub(crate) async fn begin(shared: &Arc<Shared>) -> Result<(), String> {
    let options = &shared.options;
    if let Some(address) = &options.join {
        return fetch_from(shared, address, 0).await;
    }
    if options.peers.len() >= MEMBERS_MAX {
        return Err(format!("a group has {MEMBERS_MAX} members at most"));
    }
    loop {
        let mut fresh = BTreeMap::new();
        for (id, address) in &options.peers {
            let status = ask(shared, *id, address).await;
            match status {
                Some(Status { group: Some(_), .. }) => {
                    return fetch_from(shared, address, *id).await;
                }
                Some(Status { member, .. }) => {
                    fresh.insert(*id, Member { address: address.clone(), ..member });
                }
                None => {}
            }
        }
        let is_lowest = options.peers.iter().all(|&(id, _)| id > options.id);
        if is_lowest && fresh.len() == options.peers.len() {
            return found(shared, fresh).await;
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

async fn ask(shared: &Shared, id: NodeId, address: &str) -> Option<Status> {
    let mut caller = caller(shared, id, address);
    match tokio::time::timeout(ANSWER_MAX, caller.call(Request::Status)).await {
        Ok(Ok(Answer::Status(status))) => Some(status),
        _ => None,
    }
}

/// Asks the leader to let a member go.
///
/// # Errors
/// The system's.
pub(crate) async fn ask_to_leave(
    shared: &Shared,
    leader: &str,
    id: NodeId,
    token: Option<u64>,
) -> io::Result<Answer> {
    let mut caller = caller(shared, 0, leader);
    let request = Request::Leave { id, token };
    let asked = tokio::time::timeout(10 * ANSWER_MAX, caller.call(request)).await;
    asked.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// A caller of a replica that is of no group yet.
fn caller(shared: &Shared, id: NodeId, address: &str) -> Caller {
    let identity = Arc::new(Identity {
        id: shared.options.id,
        name: shared.options.name.clone(),
        address: shared.options.member.address.clone(),
        group: [0; 16],
    });
    Caller::new(Arc::clone(&shared.around.transport), identity, id, address.to_owned())
}

/// Founds a group of this replica and those others.
async fn found(shared: &Arc<Shared>, mut members: BTreeMap<NodeId, Member>) -> Result<(), String> {
    members.insert(shared.options.id, own(shared));
    let voters: BTreeSet<NodeId> = members.keys().copied().collect();
    let message =
        Message::Membership(Membership::new(vec![voters], members)).to_bytes(Id::default());
    let (storage, options) = (Arc::clone(&shared.around.storage), (shared.around.options)());
    let founded = shared.block_on(move || Replica::found(storage, options, &message)).await;
    founded.map_err(|error| error.to_string())
}

fn own(shared: &Shared) -> Member {
    Member { token: shared.token(), ..shared.options.member.clone() }
}

/// Begins with a copy of the replica at an address, in the place of what is in the folder.
///
/// # Errors
/// Why it cannot, in words.
pub(crate) async fn fetch_from(
    shared: &Arc<Shared>,
    address: &str,
    id: NodeId,
) -> Result<(), String> {
    let around = &shared.around;
    let storage = Arc::clone(&around.storage);
    let words = |error: remanent_engine::Error| error.to_string();
    let was_replica = Replica::is_in(&*storage).map_err(words)?;
    let names = storage.names().map_err(|error| error.to_string())?;
    if !was_replica
        && names.iter().any(|name| name.starts_with("log-") || name.starts_with("image-"))
    {
        return Err("there is a database in the folder, which the copy of another replica would \
                    take the place of: use an empty folder"
            .to_owned());
    }
    let copy = around.scratch.make().map_err(|error| error.to_string())?;
    let fetched = async {
        let mut caller = caller(shared, id, address);
        fetch(&mut caller, &*copy).await.map_err(|error| format!("{address}: {error}"))?;
        check(shared, &*copy, was_replica.then_some(&*storage))?;
        let copy = Arc::clone(&copy);
        shared.block_on(move || Replica::replace(&*storage, &*copy)).await.map_err(words)
    }
    .await;
    around.scratch.remove(copy);
    fetched
}

/// Refuses a copy of another group than that of the replica that is there, and one whose group
/// knows another replica under this one's number: what that one has promised, nobody knows here.
fn check(shared: &Shared, copy: &dyn Storage, own: Option<&dyn Storage>) -> Result<(), String> {
    let words = |error: remanent_engine::Error| error.to_string();
    let (message, group) = Replica::message_of(copy).map_err(words)?;
    let was_replica = own.is_some();
    if let Some(own) = own
        && Replica::message_of(own).map_err(words)?.1 != group
    {
        return Err("the copy is one of another group".to_owned());
    }
    let Some((_, members)) = members_in(&message) else {
        return Err("the copy does not say who the members are".to_owned());
    };
    let id = shared.options.id;
    match members.get_node(&id) {
        Some(member) if !was_replica && member.token != shared.token() => Err(format!(
            "the group has a member {id} already, whose folder was another one: remove it from \
             the group, or give this replica another number"
        )),
        None if !was_replica && shared.options.join.is_none() => {
            Err(format!("the group has no member {id}: it has to join"))
        }
        _ => Ok(()),
    }
}

/// Asks the leader to be a member, as long as this replica is none and is to be one. Where nobody
/// answers at the address that it was told, somebody else whom it knows by its copy may. Whatever
/// a leader says: what it has made it a member by may go with that leader, until a majority has it.
pub(crate) async fn join(shared: Arc<Shared>, running: Arc<Running>) {
    let Some(first) = shared.options.join.clone() else { return };
    let id = shared.options.id;
    let (mut address, mut asked) = (first.clone(), 0);
    while !running.progress.is_ending() {
        if has_joined(&running, id) {
            return;
        }
        let members = running.members();
        let mut caller = caller(&shared, 0, &address);
        let request = Request::Join { id, member: own(&shared) };
        let answer = tokio::time::timeout(10 * ANSWER_MAX, caller.call(request)).await;
        let others = members.nodes().filter(|&(&other, _)| other != id);
        let all: Vec<&String> =
            std::iter::once(&first).chain(others.map(|(_, member)| &member.address)).collect();
        asked += 1;
        let other = all[asked % all.len()].clone();
        address = match answer {
            Ok(Ok(Answer::Done)) => address,
            Ok(Ok(Answer::Elsewhere(Some(leader)))) => leader,
            Ok(Ok(answer)) => {
                tracing::warn!(error = %unexpected(answer), "a replica cannot join yet");
                other
            }
            _ => other,
        };
        tokio::time::sleep(ASK_EVERY).await;
    }
}

/// Whether a majority has made it one that votes.
fn has_joined(running: &Running, id: NodeId) -> bool {
    let now = running.raft.metrics();
    let now = now.borrow();
    let members = &now.membership_config;
    members.voter_ids().any(|voter| voter == id) && *members.log_id() <= now.last_applied
}
