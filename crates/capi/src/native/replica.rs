//! Replicas of a group, in C: start, the database, who leads, stop. In libraries that are built
//! with the feature `replication`.
//!
//! `docs/replication.md` says what a group promises. A replica opens its database, and opens it
//! again when it has to take back what its group does not have: each time there is a new handle,
//! and the old one has to be closed first. Threads of the replica's own talk to the others.

use std::ffi::c_char;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use remanent_replication::{Certificates, GroupOptions, MemberStatus, Node, NodeStatus, Role};

use super::database::{handle_of, rem_database, rem_options};
use super::durability::kept_text;
use super::schema::read_text;
use super::session::DATABASES;
use super::status::*;
use crate::ffi::{InPtr, OutPtr};
use crate::handles::{Called, Handles, NotClosed};

/// Nobody waits longer: a hundred days.
const WAIT_MAX: Duration = Duration::from_secs(100 * 24 * 3600);

/// A replica: a token, never a pointer to anything.
pub struct rem_replica(());

/// A member of a group that is to be founded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rem_peer {
    /// Its number, from 1 on.
    pub id: u64,
    /// Host and port at which it answers the others, UTF-8 with a final NUL.
    pub address: *const c_char,
}

/// How a replica is started. Texts are UTF-8 with a final NUL; zeros and nulls are the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rem_replica_options {
    /// Its number, from 1 on, which no other member of the group has.
    pub id: u64,
    /// Host and port at which it answers the others.
    pub address: *const c_char,
    /// Host and port at which it answers clients, as others tell them; or null.
    pub clients: *const c_char,
    /// The group's name; null for `remanent`. Members of another group are not talked to.
    pub group: *const c_char,
    /// The others of a group that is to be founded.
    pub peers: *const rem_peer,
    /// How many those are.
    pub peers_count: usize,
    /// The address of any member of a group that is there, to become one too; or null.
    pub join: *const c_char,
    /// A file with its certificate, in PEM format; with the next two, or null: then it talks on
    /// loopback addresses alone.
    pub certificate: *const c_char,
    /// A file with the key of that.
    pub key: *const c_char,
    /// A file with the certificate of the authority that has signed those of all replicas.
    pub authority: *const c_char,
    /// Milliseconds from one word of the leader to the next; 0 for 100.
    pub heartbeat_ms: u32,
    /// How its database is opened. `path` must not be null, and `memory` must be.
    pub database: rem_options,
}

/// It takes changes.
pub const REM_ROLE_LEADER: u32 = 1;
/// It follows a leader.
pub const REM_ROLE_FOLLOWER: u32 = 2;
/// It stands for election, or waits for others to be elected.
pub const REM_ROLE_CANDIDATE: u32 = 3;
/// It follows and has no vote yet.
pub const REM_ROLE_LEARNER: u32 = 4;
/// Its database is being opened.
pub const REM_ROLE_OPENING: u32 = 5;

/// How a replica does, as of a moment ago.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rem_replica_status {
    /// Changes whenever its database was opened, or has to be closed: then handles of it are
    /// closed.
    pub epoch: u64,
    /// The term that it is in.
    pub term: u64,
    /// Who leads, as far as it knows; 0 if it does not.
    pub leader: u64,
    /// The index of the last entry that it has.
    pub last: u64,
    /// The index up to which it knows that a majority has the log.
    pub replicated: u64,
    /// The index up to which its database has it.
    pub applied: u64,
    /// The timestamp up to which its database can be read.
    pub timestamp: u64,
    /// REM_ROLE_LEADER to REM_ROLE_OPENING.
    pub role: u32,
    /// 1 if it does not vote until it has caught up: its machine has stopped.
    pub is_unsure: u32,
}

/// A member of the group, as a replica knows it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct rem_member {
    /// Its number.
    pub id: u64,
    /// The index up to which the leader knows that it has the log; 0 if it does not know, and for
    /// those that do not lead.
    pub matched: u64,
    /// 1 if it has a vote.
    pub votes: u32,
    /// 1 if it leads, as far as the replica knows.
    pub leads: u32,
    /// Where it answers the others, with a final NUL; what is longer is cut.
    pub address: [c_char; 128],
    /// Where it answers clients, with a final NUL; empty if it has not said so.
    pub clients: [c_char; 128],
}

/// A replica of C.
struct Replica {
    node: Node,
    /// Handles of its database that were given out and may be open.
    given: Mutex<Vec<u64>>,
}

static REPLICAS: Handles<Replica> = Handles::new();

/// Starts a replica, which opens its database in threads of its own; what goes wrong there,
/// `rem_replica_failure` says. `REM_STORAGE_FAILED` if its folder cannot be made or a certificate
/// cannot be read.
#[unsafe(no_mangle)]
pub extern "C" fn rem_replica_start(
    options: *const rem_replica_options,
    out: *mut *const rem_replica,
) -> rem_status {
    call(|| {
        let out = OutPtr::from(out);
        out.set(std::ptr::null()).ok_or(REM_NULL_ARGUMENT)?;
        let options = InPtr::from(options).get().ok_or(REM_NULL_ARGUMENT)?;
        let node = options.start()?;
        let token = REPLICAS.add(Replica { node, given: Mutex::default() });
        out.put(token.map_err(|_| REM_TOO_MANY_HANDLES)? as *const rem_replica);
        Ok(())
    })
}

impl rem_replica_options {
    fn start(&self) -> Outcome<Node> {
        let folder = read_text(self.database.path)?;
        if self.id == 0 || !self.database.memory.is_null() {
            return Err(REM_INVALID_OPTIONS);
        }
        let numbers = self.database.numbers();
        numbers.resolve()?;
        let group = self.group()?;
        let certificates = self.certificates()?;
        // They were checked a moment ago.
        let options = move || numbers.resolve().unwrap_or_default();
        Node::start(folder, options, group, certificates).map_err(|error| {
            keep(&error.to_string());
            REM_STORAGE_FAILED
        })
    }

    fn group(&self) -> Outcome<GroupOptions> {
        let mut group = GroupOptions::new(self.id, read_text(self.address)?);
        if let Some(clients) = text_or_none(self.clients)? {
            group = group.clients(clients);
        }
        if let Some(name) = text_or_none(self.group)? {
            group = group.name(name);
        }
        let peers = InPtr::from(self.peers).slice(self.peers_count).ok_or(REM_NULL_ARGUMENT)?;
        for peer in peers {
            if peer.id == 0 || peer.id == self.id {
                return Err(REM_INVALID_OPTIONS);
            }
            group = group.peer(peer.id, read_text(peer.address)?);
        }
        if let Some(member) = text_or_none(self.join)? {
            group = group.join(member);
        }
        Ok(match self.heartbeat_ms {
            0 => group,
            time => group.heartbeat(Duration::from_millis(time.into())),
        })
    }

    fn certificates(&self) -> Outcome<Option<Certificates>> {
        let files = [self.certificate, self.key, self.authority];
        match files.map(text_or_none) {
            [Ok(None), Ok(None), Ok(None)] => Ok(None),
            [Ok(Some(certificate)), Ok(Some(key)), Ok(Some(authority))] => {
                Certificates::from_files(certificate, key, authority).map(Some).map_err(|error| {
                    keep(&error.to_string());
                    REM_STORAGE_FAILED
                })
            }
            [Err(status), ..] | [_, Err(status), _] | [.., Err(status)] => Err(status),
            _ => Err(REM_INVALID_OPTIONS),
        }
    }
}

fn text_or_none<'a>(from: *const c_char) -> Outcome<Option<&'a str>> {
    if from.is_null() { Ok(None) } else { read_text(from).map(Some) }
}

fn replica(token: *const rem_replica) -> Outcome<Called<Replica>> {
    match token as u64 {
        0 => Err(REM_NULL_ARGUMENT),
        token => REPLICAS.call(token).ok_or(REM_BAD_HANDLE),
    }
}

fn time_of(time_us: u64) -> Duration {
    Duration::from_micros(time_us).min(WAIT_MAX)
}

impl Replica {
    /// The handles of its database that are open.
    fn open_handles(&self) -> MutexGuard<'_, Vec<u64>> {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.retain(|token| DATABASES.call(*token).is_some());
        given
    }
}

/// A handle of the replica's database, which `rem_close` closes; waits for it for so many
/// microseconds, and then `REM_DEADLINE_REACHED`. There is none while it is being opened, and it
/// is not opened again before all handles of what it was are closed.
#[unsafe(no_mangle)]
pub extern "C" fn rem_replica_database(
    token: *const rem_replica,
    time_us: u64,
    out: *mut *const rem_database,
) -> rem_status {
    call(|| {
        let out = OutPtr::from(out);
        out.set(std::ptr::null()).ok_or(REM_NULL_ARGUMENT)?;
        let replica = replica(token)?;
        let database = replica.node.wait_for_database(time_of(time_us));
        let mut given = replica.open_handles();
        let opened = handle_of(database.ok_or(REM_DEADLINE_REACHED)?)?;
        given.push(opened);
        out.put(opened as *const rem_database);
        Ok(())
    })
}

/// Waits until the replica leads and takes changes, for so many microseconds at most:
/// `REM_DEADLINE_REACHED` if it does not by then.
#[unsafe(no_mangle)]
pub extern "C" fn rem_replica_wait_for_leadership(
    token: *const rem_replica,
    time_us: u64,
) -> rem_status {
    call(|| match replica(token)?.node.wait_for_leadership(time_of(time_us)) {
        true => Ok(()),
        false => Err(REM_DEADLINE_REACHED),
    })
}

/// How the replica does.
#[unsafe(no_mangle)]
pub extern "C" fn rem_replica_status_of(
    token: *const rem_replica,
    out: *mut rem_replica_status,
) -> rem_status {
    call(|| {
        let replica = replica(token)?;
        let epoch = *replica.node.epoch().borrow();
        let status = rem_replica_status::of(epoch, &replica.node.status());
        OutPtr::from(out).set(status).ok_or(REM_NULL_ARGUMENT)
    })
}

impl rem_replica_status {
    fn of(epoch: u64, status: &NodeStatus) -> Self {
        Self {
            epoch,
            term: status.term,
            leader: status.leader.as_ref().map_or(0, |(id, _)| *id),
            last: status.last,
            replicated: status.replicated,
            applied: status.applied,
            timestamp: status.timestamp,
            role: match status.role {
                Role::Leader => REM_ROLE_LEADER,
                Role::Follower => REM_ROLE_FOLLOWER,
                Role::Candidate => REM_ROLE_CANDIDATE,
                Role::Learner => REM_ROLE_LEARNER,
                Role::Opening => REM_ROLE_OPENING,
            },
            is_unsure: status.is_unsure.into(),
        }
    }
}

/// Lists the members of the group, as many as `capacity`; `count` receives how many there are.
#[unsafe(no_mangle)]
pub extern "C" fn rem_replica_members(
    token: *const rem_replica,
    members: *mut rem_member,
    capacity: usize,
    count: *mut usize,
) -> rem_status {
    call(|| {
        let status = replica(token)?.node.status();
        let leader = status.leader.as_ref().map(|(id, _)| *id);
        let places = OutPtr::from(members).uninit_slice(capacity).ok_or(REM_NULL_ARGUMENT)?;
        for (place, member) in places.iter_mut().zip(&status.members) {
            place.write(rem_member::of(member, leader));
        }
        OutPtr::from(count).set(status.members.len()).ok_or(REM_NULL_ARGUMENT)
    })
}

impl rem_member {
    fn of(status: &MemberStatus, leader: Option<u64>) -> Self {
        Self {
            id: status.id,
            matched: status.matched.unwrap_or(0),
            votes: status.votes.into(),
            leads: (leader == Some(status.id)).into(),
            address: fixed(&status.member.address),
            clients: fixed(&status.member.clients),
        }
    }
}

fn fixed<const SIZE: usize>(text: &str) -> [c_char; SIZE] {
    let mut to = [0; SIZE];
    for (to, from) in to.iter_mut().take(SIZE - 1).zip(text.bytes()) {
        *to = from as c_char;
    }
    to
}

/// The timestamp of a commit: who reads a state that has it, which `rem_wait_for_timestamp` waits
/// for, reads all commits that anybody received before this call, on whatever replica.
/// `REM_NOT_LEADER` if no leader is known, or no majority has confirmed it within some seconds.
#[unsafe(no_mangle)]
pub extern "C" fn rem_replica_newest_commit(
    token: *const rem_replica,
    timestamp: *mut u64,
) -> rem_status {
    call(|| {
        let newest = replica(token)?.node.ask_newest_commit().map_err(|error| {
            keep(&error);
            REM_NOT_LEADER
        })?;
        OutPtr::from(timestamp).set(newest).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Has a member leave the group, whether or not it runs: one that is gone for good, or has lost its
/// folder. `REM_NOT_LEADER` if no leader is known, or it cannot do so now.
#[unsafe(no_mangle)]
pub extern "C" fn rem_replica_remove_member(token: *const rem_replica, id: u64) -> rem_status {
    call(|| {
        replica(token)?.node.remove_member(id).map_err(|error| {
            keep(&error);
            REM_NOT_LEADER
        })
    })
}

/// Why the replica's database could not be opened or its address not be used, as a text that stays
/// until the thread asks again; null if nothing went wrong.
#[unsafe(no_mangle)]
pub extern "C" fn rem_replica_failure(
    token: *const rem_replica,
    out: *mut *const c_char,
) -> rem_status {
    call(|| {
        let failure = replica(token)?.node.failure();
        OutPtr::from(out).set(kept_text(failure)).ok_or(REM_NULL_ARGUMENT)
    })
}

/// Ends the replica in order: what it has is on its disk. `REM_OPEN_HANDLES` while a handle of its
/// database is open, or another call with the replica is under way.
#[unsafe(no_mangle)]
pub extern "C" fn rem_replica_stop(token: *const rem_replica) -> rem_status {
    call(|| {
        if token.is_null() {
            return Err(REM_NULL_ARGUMENT);
        }
        let stopped = REPLICAS.close(token as u64, |it| !it.open_handles().is_empty());
        match stopped {
            Ok(replica) => {
                replica.node.stop();
                Ok(())
            }
            Err(NotClosed::InUse) => Err(REM_OPEN_HANDLES),
            Err(NotClosed::Unknown) => Err(REM_BAD_HANDLE),
        }
    })
}
