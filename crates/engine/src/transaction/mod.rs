//! Transactions: begin, read, write, commit or roll back.
//!
//! The rooms, in the order in which a transaction meets them: [`begin`] decides who may run, and
//! gives a snapshot; [`read`] is what every transaction can do; [`write`](mod@write) changes
//! rows, sets and tables, and remembers what it changed; [`commit`] validates, publishes and
//! stamps; [`cleanup`] frees what transactions before have left behind. Rows and indexes are
//! changed in `table/`; here is who may see what, and when.

pub(crate) mod begin;
pub(crate) mod cleanup;
pub(crate) mod commit;
pub(crate) mod read;
pub(crate) mod write;

pub use begin::options::{Isolation, Priority, TransactionOptions};
pub use cleanup::freeze::FreezeReport;
pub use cleanup::snapshots::SnapshotInfo;
pub use commit::commit::CommitTicket;
pub use read::members::{Member, MemberPosition, Members, MembersOf, Owner};
pub use read::reading::ReadTransaction;
pub use write::transaction::{Savepoint, WriteTransaction};
