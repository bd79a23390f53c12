//! The log: what every commit has changed, in files, so that it can be repeated.
//!
//! [`record`] is what stands in it, [`file`](mod@file) a file of it, [`head`] what is known about
//! it besides; [`settings`] says how it is kept, [`writer`] takes commits in and makes them as
//! durable as they ask, [`reader`] reads them back and distinguishes an end from damage, [`dump`]
//! shows them to whoever looks, [`feed`] gives them to whoever follows an open log. [`group`] is
//! what a log knows that replicas share, [`waiters`] are threads that wait for a majority of them,
//! and [`group_file`] is what such a replica keeps beside it. `FORMAT.md` has the bytes. Nothing
//! here knows what a row or a table is.

pub(crate) mod dump;
pub(crate) mod durability;
pub(crate) mod feed;
pub(crate) mod file;
pub(crate) mod group;
pub(crate) mod group_file;
pub(crate) mod head;
pub(crate) mod progress;
pub(crate) mod reader;
pub(crate) mod record;
pub(crate) mod settings;
pub(crate) mod waiters;
pub(crate) mod writer;

pub use dump::{LogEntry, LogEntryKind};
pub use durability::{Batch, Durability};
pub use feed::{LogFeed, LoggedCommit};
pub use group::{DefinitionWatch, EntryId, EntryTap, ReplicaEntry};
pub use progress::Progress;
