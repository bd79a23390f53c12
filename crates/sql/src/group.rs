//! What a server says of the group of replicas that its database belongs to.
//!
//! Here is no more than words and numbers: the group is somebody else's, above.

use std::fmt::Debug;

/// The setting by which a session waits for a position: what follows reads the commit there, and
/// all before it.
pub const READ_AFTER: &str = "remanent.read_after";

/// The setting that says how old what statements read may be: a time, or `off`.
pub const MAX_STALENESS: &str = "remanent.max_staleness";

/// What a server knows of the group whose replica its database is.
pub trait Group: Debug + Send + Sync {
    /// The group as of now.
    fn view(&self) -> GroupView;

    /// The position up to which everything was committed that anybody was told is, asked of the
    /// leader now.
    ///
    /// # Errors
    /// Why nobody knows, in words.
    fn newest(&self) -> Result<u64, String> {
        Err("nobody says how to ask the leader".to_owned())
    }
}

/// A group, as one of its replicas sees it.
#[derive(Clone, Debug, Default)]
pub struct GroupView {
    /// The number of this replica.
    pub id: u64,
    /// The number of the replica that leads, if one is known.
    pub leader: Option<u64>,
    /// The term that it is in.
    pub term: u64,
    /// Bytes of log that this replica has.
    pub last: u64,
    /// Those that are on its disk.
    pub synced: u64,
    /// Those that it knows a majority to have.
    pub replicated: u64,
    /// The members, this one among them.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Clone, Debug, Default)]
pub struct GroupMember {
    /// Its number.
    pub id: u64,
    /// Where it answers other replicas.
    pub address: String,
    /// Where it answers clients; empty if it does not say.
    pub clients: String,
    /// Whether it has a vote.
    pub votes: bool,
    /// Up to where it has the log, in bytes, as far as this replica knows.
    pub position: Option<u64>,
}

impl GroupView {
    pub(crate) fn member(&self, id: u64) -> Option<&GroupMember> {
        self.members.iter().find(|member| member.id == id)
    }

    /// Who leads, in words.
    pub(crate) fn leader_in_words(&self) -> String {
        let Some(leader) = self.leader.and_then(|id| self.member(id)) else {
            return format!("No leader is known: replica {} hears of no majority.", self.id);
        };
        let clients = match leader.clients.as_str() {
            "" => String::new(),
            address => format!(", and answers clients at {address}"),
        };
        format!("Replica {} leads{clients}.", leader.id)
    }
}
