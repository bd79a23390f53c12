//! Transactions: begin, read, write, commit or roll back.
//!
//! In reading order: [`options`] are what a program may ask for, [`transaction`], [`reading`] and
//! [`scanning`] what it holds, [`bulk`] is many rows with one statement, [`drafts`] rows that it is
//! given whole, [`blob_keys`] keys that are one blob; [`sets`] links owners and members,
//! [`members`] follows the links, [`defining`] makes and drops tables, [`define`] one at a time.
//! [`clock`] is how a snapshot begins and ends, [`gate`] how writers are kept out, [`write_set`]
//! remembers changes, [`changes`] goes through them, [`precedence`] is who yields, [`validate`]
//! compares what was read with the [`recent`] commits, [`commit`] publishes, [`finalize`] is what
//! large commits leave to do, [`retry`] tries again, [`counting`] counts what became of it,
//! [`reclaim`] cleans up, [`compact`] moves rows together, [`freeze`] makes columns of them,
//! [`snapshots`] are those that are held. Rows and indexes are changed in `table/`; here is who may
//! see what, and when.

pub(crate) mod blob_keys;
pub(crate) mod bulk;
pub(crate) mod changes;
pub(crate) mod clock;
pub(crate) mod commit;
pub(crate) mod compact;
pub(crate) mod counting;
pub(crate) mod define;
pub(crate) mod defining;
pub(crate) mod drafts;
pub(crate) mod finalize;
pub(crate) mod freeze;
pub(crate) mod gate;
pub(crate) mod members;
pub(crate) mod options;
pub(crate) mod precedence;
pub(crate) mod reading;
pub(crate) mod recent;
pub(crate) mod reclaim;
pub(crate) mod retry;
pub(crate) mod scanning;
pub(crate) mod sets;
pub(crate) mod snapshots;
#[expect(clippy::module_inception, reason = "the folder is named after its main file")]
pub(crate) mod transaction;
pub(crate) mod validate;
pub(crate) mod write_set;

pub use commit::CommitTicket;
pub use freeze::FreezeReport;
pub use members::{Member, MemberPosition, Members, MembersOf, Owner};
pub use options::{Isolation, Priority, TransactionOptions};
pub use reading::ReadTransaction;
pub use snapshots::SnapshotInfo;
pub use transaction::{Savepoint, WriteTransaction};
