//! Groups of replicas of a Remanent database.
//!
//! Up to seven processes have the same database. One leads and takes changes; the others follow,
//! and can be read. A commit can wait until a majority has it, in memory or on disks; when the
//! leader is lost, another one that has all of those is elected.
//!
//! ```no_run
//! use remanent_engine::{Durability, Options, TransactionOptions};
//! use remanent_replication::{GroupOptions, Node};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = GroupOptions::new(1, "127.0.0.1:7001").peer(2, "127.0.0.1:7002");
//! let node = Node::start("data/1", Options::new, options, None)?;
//! let database = node.wait_for_database(std::time::Duration::from_secs(10)).ok_or("not yet")?;
//! if node.leads() {
//!     let options = TransactionOptions::new().durability(Durability::Replicated);
//!     let transaction = database.begin_write_with(&options)?;
//!     // ..
//!     transaction.commit()?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Raft is openraft's; its log is the engine's log, and nothing is written twice.
//! `docs/replication.md` says what is promised, and what happens on bad days.

mod caller;
mod copies;
mod draws;
mod entry;
mod node;
mod options;
mod process;
mod raft;
mod runtime;
mod state;
mod status;
mod transport;
mod wire;

pub use copies::Scratch;
pub use draws::seed_this_thread;
pub use entry::{Member, NodeId};
pub use node::{Node, Surroundings};
pub use options::GroupOptions;
pub use process::Process;
pub use status::{MemberStatus, NodeStatus, Role};
pub use transport::{ByteStream, Certificates, Connection, Service, Tcp, Transport};
