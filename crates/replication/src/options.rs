//! How a replica takes part in its group.
//!
//! Who it is and where it is found has to be said; everything else has a default that suits a few
//! machines in one place.

use std::time::Duration;

use crate::entry::{Member, NodeId};

/// The settings of a replica.
///
/// # Examples
/// ```
/// use remanent_replication::GroupOptions;
/// let options = GroupOptions::new(1, "127.0.0.1:7001")
///     .clients("127.0.0.1:5432")
///     .peer(2, "127.0.0.1:7002")
///     .peer(3, "127.0.0.1:7003");
/// ```
#[derive(Clone, Debug)]
pub struct GroupOptions {
    pub(crate) id: NodeId,
    pub(crate) member: Member,
    pub(crate) name: String,
    pub(crate) peers: Vec<(NodeId, String)>,
    pub(crate) join: Option<String>,
    pub(crate) heartbeat: Duration,
    pub(crate) write_after: Duration,
    pub(crate) entries_kept: u64,
    pub(crate) threads: usize,
}

impl GroupOptions {
    /// Those of a replica with this number, from 1 on, which no other member of the group has; and
    /// the address at which it answers the others.
    pub fn new(id: NodeId, address: impl Into<String>) -> Self {
        Self {
            id,
            member: Member { address: address.into(), ..Member::default() },
            name: "remanent".to_owned(),
            peers: Vec::new(),
            join: None,
            heartbeat: Duration::from_millis(100),
            write_after: Duration::from_millis(5),
            entries_kept: 1000,
            threads: 2,
        }
    }

    /// The address at which it answers clients, who are told it where another replica leads.
    pub fn clients(mut self, address: impl Into<String>) -> Self {
        self.member.clients = address.into();
        self
    }

    /// The group's name, which all members have to say. `remanent` if nothing else is said.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Another member of a group that is to be founded: when all of them are there and none is of
    /// a group, the one with the lowest number founds it. Of no interest once there is a group.
    pub fn peer(mut self, id: NodeId, address: impl Into<String>) -> Self {
        self.peers.push((id, address.into()));
        self
    }

    /// An address of some member of a group that is there: this replica becomes one too.
    pub fn join(mut self, address: impl Into<String>) -> Self {
        self.join = Some(address.into());
        self
    }

    /// How often the leader says that it is there: 100 ms if nothing else is said. Others elect
    /// another leader when they have not heard of it for 7.5 to 10 times as long, and it takes no
    /// changes when it has not heard of a majority for ten times as long.
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.heartbeat = every;
        self
    }

    /// After which time commits are sent that nobody waits for: 5 ms if nothing else is said.
    pub fn write_after(mut self, time: Duration) -> Self {
        self.write_after = time;
        self
    }

    /// How many entries before the newest image are kept for members that are behind: 1000 if
    /// nothing else is said. One that lacks older ones fetches a copy.
    pub fn entries_kept(mut self, count: u64) -> Self {
        self.entries_kept = count;
        self
    }
}
