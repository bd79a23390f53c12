//! Entries as Raft has them: their content is frames of the engine's log.
//!
//! What the group says to itself is in an entry's last frame: who the members are; that a term has
//! begun needs no word. Everything else in an entry is the engine's business.

use std::fmt;
use std::sync::Arc;

use openraft::entry::{FromAppData, RaftEntry, RaftPayload};
use openraft::{LogId, Membership, RaftLogId, RaftTypeConfig};
use remanent_engine::{EntryId, ReplicaEntry};
use serde::{Deserialize, Serialize};

use crate::runtime::GroupRuntime;

/// A replica's number in its group.
pub type NodeId = u64;

/// A member of a group: where the others find it, and where its clients do.
///
/// # Examples
/// ```
/// use remanent_replication::Member;
/// let address = "10.0.0.1:7001".to_owned();
/// let member = Member { address, ..Member::default() };
/// assert_eq!(member.to_string(), "10.0.0.1:7001");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Member {
    /// Host and port at which it answers the other members.
    pub address: String,
    /// Host and port at which it answers clients; empty if it has none.
    pub clients: String,
    /// Drawn when its folder was made: one that has lost its folder is another one.
    pub token: u64,
}

/// What Raft is told of this database.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Types;

/// A leader's proposal: an entry that its engine has made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Made;

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an entry of the engine")
    }
}

impl RaftTypeConfig for Types {
    type D = Made;
    type R = ();
    type NodeId = NodeId;
    type Node = Member;
    type Entry = GroupEntry;
    type SnapshotData = ();
    type AsyncRuntime = GroupRuntime;
    type Responder = openraft::impls::OneshotResponder<Self>;
}

pub(crate) type Vote = openraft::Vote<NodeId>;
pub(crate) type Id = LogId<NodeId>;
pub(crate) type Members = Membership<NodeId, Member>;
pub(crate) type Stored = openraft::StoredMembership<NodeId, Member>;
pub(crate) type StorageError = openraft::StorageError<NodeId>;

/// What a group says to itself in an entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// A term has begun.
    Blank,
    /// Who the members are.
    Membership(Members),
}

/// An entry: of a leader's engine, or of the group's own, which becomes frames when it is appended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct GroupEntry {
    pub(crate) id: Id,
    pub(crate) message: Option<Message>,
    pub(crate) frames: Option<Frames>,
}

/// Frames of the engine's log.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Frames {
    pub(crate) start: u64,
    pub(crate) salt: u32,
    #[serde(with = "shared_bytes")]
    pub(crate) bytes: Arc<[u8]>,
}

impl Message {
    /// As the engine keeps it: of the members, with the name of the entry; nothing of a new term.
    pub(crate) fn to_bytes(&self, id: Id) -> Vec<u8> {
        match self {
            Self::Blank => Vec::new(),
            Self::Membership(members) => postcard::to_stdvec(&(id, members)).unwrap_or_default(),
        }
    }
}

/// The members that a message of the engine's tells of, and the entry that it belongs to.
pub(crate) fn members_in(message: &[u8]) -> Option<(Id, Members)> {
    postcard::from_bytes(message).ok()
}

impl GroupEntry {
    /// An entry as the engine has it.
    pub(crate) fn of(entry: ReplicaEntry) -> Option<Self> {
        let message = entry.message()?;
        let message = match message.is_empty() {
            true => None,
            false => Some(Message::Membership(members_in(message)?.1)),
        };
        let ReplicaEntry { id, start, salt, bytes } = entry;
        Some(Self { id: id_of(id), message, frames: Some(Frames { start, salt, bytes }) })
    }

    /// The entry for the engine, if it has frames.
    pub(crate) fn to_replica(&self) -> Option<ReplicaEntry> {
        let Frames { start, salt, bytes } = self.frames.clone()?;
        Some(ReplicaEntry { id: entry_id(&self.id), start, salt, bytes })
    }
}

/// The name of an entry, for Raft.
pub(crate) fn id_of(id: EntryId) -> Id {
    LogId::new(openraft::CommittedLeaderId::new(id.term, 0), id.index)
}

/// The name of an entry, for the engine.
pub(crate) fn entry_id(id: &Id) -> EntryId {
    EntryId { term: id.leader_id.term, index: id.index }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

impl fmt::Display for GroupEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.message {
            None => "commits",
            Some(Message::Blank) => "blank",
            Some(Message::Membership(_)) => "membership",
        };
        write!(f, "{}: {what}", self.id)
    }
}

impl RaftPayload<NodeId, Member> for GroupEntry {
    fn is_blank(&self) -> bool {
        self.message == Some(Message::Blank)
    }

    fn get_membership(&self) -> Option<&Members> {
        match &self.message {
            Some(Message::Membership(members)) => Some(members),
            _ => None,
        }
    }
}

impl RaftLogId<NodeId> for GroupEntry {
    fn get_log_id(&self) -> &Id {
        &self.id
    }

    fn set_log_id(&mut self, log_id: &Id) {
        self.id = *log_id;
    }
}

impl RaftEntry<NodeId, Member> for GroupEntry {
    fn new_blank(id: Id) -> Self {
        Self { id, message: Some(Message::Blank), frames: None }
    }

    fn new_membership(id: Id, members: Members) -> Self {
        Self { id, message: Some(Message::Membership(members)), frames: None }
    }
}

impl FromAppData<Made> for GroupEntry {
    fn from_app_data(_: Made) -> Self {
        Self { id: Id::default(), message: None, frames: None }
    }
}

/// Bytes that are shared, as one piece.
mod shared_bytes {
    use std::fmt;
    use std::sync::Arc;

    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(bytes: &Arc<[u8]>, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u8]>, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Arc<[u8]>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(bytes.into())
            }
        }
        from.deserialize_bytes(Bytes)
    }
}
