//! What a replica says of itself and its group.
//!
//! All of it is as of a moment ago: who leads may have changed since, and only the leader knows how
//! far the others are.

use crate::entry::{Member, NodeId};

/// What a replica does in its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It takes changes.
    Leader,
    /// It follows a leader.
    Follower,
    /// It stands for election, or waits for others to be elected.
    Candidate,
    /// It follows and has no vote yet.
    Learner,
    /// Its database is being opened.
    Opening,
}

impl Role {
    /// The role's name.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(remanent_replication::Role::Leader.name(), "leader");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Follower => "follower",
            Self::Candidate => "candidate",
            Self::Learner => "learner",
            Self::Opening => "opening",
        }
    }
}

/// How a replica does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodeStatus {
    /// Its number.
    pub id: NodeId,
    /// What it does.
    pub role: Role,
    /// The term that it is in.
    pub term: u64,
    /// Who leads, as far as it knows.
    pub leader: Option<(NodeId, Member)>,
    /// The index of the last entry that it has.
    pub last: u64,
    /// The index up to which it knows that a majority has the log.
    pub replicated: u64,
    /// The index up to which its database has it.
    pub applied: u64,
    /// Bytes of log that it has; those that are on its disk; and those that it knows a majority to
    /// have.
    pub log_bytes: u64,
    /// See there.
    pub log_bytes_synced: u64,
    /// See there.
    pub log_bytes_replicated: u64,
    /// The timestamp up to which its database can be read.
    pub timestamp: u64,
    /// Commits and row changes that it has applied since it was opened.
    pub applied_commits: u64,
    /// See there.
    pub applied_changes: u64,
    /// What keeps it from applying more, if something does.
    pub stalled: Option<String>,
    /// Whether it does not vote until it has caught up.
    pub is_unsure: bool,
    /// Its group.
    pub members: Vec<MemberStatus>,
}

/// How a member does, as the leader sees it; others know who it is and no more.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemberStatus {
    /// Its number.
    pub id: NodeId,
    /// Where it is found.
    pub member: Member,
    /// Whether it has a vote.
    pub votes: bool,
    /// The index up to which the leader knows that it has the log.
    pub matched: Option<u64>,
    /// The same in bytes of log.
    pub position: Option<u64>,
}
