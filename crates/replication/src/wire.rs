//! What replicas say to each other: requests and answers, as bytes.
//!
//! The encoding is postcard's. Both sides are of one version of this file, which every request
//! says; a replica of another version is refused before anything else is done.

use openraft::error::{Fatal, RaftError};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, VoteRequest, VoteResponse};
use serde::{Deserialize, Serialize};

use crate::entry::{Id, Member, NodeId, Types, Vote};

/// Bytes of a message at most: some entries, and a piece of a copy.
pub(crate) const MESSAGE_MAX: usize = 64 << 20;
/// Bytes of a file that are sent at once.
pub(crate) const PIECE: u64 = 1 << 20;
/// The version of what follows; replicas of another one do not talk.
pub(crate) const VERSION: u16 = 3;

/// A request, and who sends it to whom.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Envelope {
    pub(crate) version: u16,
    /// The group, which is another one than any other of the same name; zeros from who has none.
    pub(crate) group: [u8; 16],
    pub(crate) name: String,
    pub(crate) from: NodeId,
    /// For whom it is; 0 for whoever answers there.
    pub(crate) to: NodeId,
    pub(crate) request: Request,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Entries, or none to say that the leader is there.
    Append(AppendEntriesRequest<Types>),
    /// A vote is asked for.
    Vote(VoteRequest<NodeId>),
    /// The leader has let go what the other one needs next: it is to fetch a copy.
    Fetch { vote: Vote, from: String },
    /// The log is to be on the disk up to this entry.
    Sync(Id),
    /// How are things?
    Status,
    /// A copy is to be made, and its files are listed.
    Copy,
    /// A piece of a file of a copy.
    Piece { copy: u64, file: String, at: u64 },
    /// The copy is not needed any more.
    CopyEnd { copy: u64 },
    /// A new replica wants to be a member.
    Join { id: NodeId, member: Member },
    /// A member is to leave: the one with this token, if the asker knows it. One that has taken its
    /// number since is not meant, however late the request comes.
    Leave { id: NodeId, token: Option<u64> },
    /// What has been committed by now?
    Newest,
}

impl Request {
    /// Whether it may come from who is of no group.
    pub(crate) fn is_for_strangers(&self) -> bool {
        match self {
            Self::Append(_) | Self::Vote(_) | Self::Fetch { .. } => false,
            Self::Sync(_) | Self::Newest => false,
            Self::Status | Self::Copy | Self::Piece { .. } | Self::CopyEnd { .. } => true,
            Self::Join { .. } | Self::Leave { .. } => true,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Append(Result<AppendEntriesResponse<NodeId>, RaftError<NodeId>>),
    Vote(Result<VoteResponse<NodeId>, RaftError<NodeId>>),
    Fetched(Result<Vote, Fatal<NodeId>>),
    /// Whether it is, which it is not if the entry has not come.
    Synced(bool),
    Status(Status),
    Copy(CopyFiles),
    Piece(Vec<u8>),
    Done,
    /// Another one leads, whose address is this, if it is known.
    Elsewhere(Option<String>),
    /// It cannot be, and why.
    Refused(String),
    /// The timestamp of the leader's newest commit.
    Newest(u64),
}

/// The files of a copy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CopyFiles {
    pub(crate) copy: u64,
    pub(crate) group: [u8; 16],
    pub(crate) files: Vec<(String, u64)>,
}

/// How a replica does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Status {
    pub(crate) id: NodeId,
    pub(crate) group: Option<[u8; 16]>,
    /// Whether it may have lost what it had acknowledged.
    pub(crate) is_unsure: bool,
    /// Names the start of its machine; and with which others, at which starts, it went on although
    /// all of them had lost their memory.
    pub(crate) boot: String,
    pub(crate) went_on: Vec<(NodeId, String)>,
    pub(crate) leader: Option<NodeId>,
    /// Whether it would help to elect another leader.
    pub(crate) wants_leader: bool,
    pub(crate) last: Option<Id>,
    /// Itself, as a member.
    pub(crate) member: Member,
}

pub(crate) fn to_bytes<T: Serialize>(message: &T) -> std::io::Result<Vec<u8>> {
    postcard::to_stdvec(message).map_err(std::io::Error::other)
}

pub(crate) fn from_bytes<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> std::io::Result<T> {
    let failed = |error| std::io::Error::new(std::io::ErrorKind::InvalidData, error);
    postcard::from_bytes(bytes).map_err(failed)
}
