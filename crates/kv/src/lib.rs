//! Key/value databases in the Berkeley DB manner, over the engine of Remanent.
//!
//! An [`Environment`] is an engine database together with the key/value databases in it, found by
//! name. A [`KvDatabase`] has byte keys and byte values, in key order or hashed, with one value
//! for a key or several; it is a table of two columns, so that it and other tables change in one
//! transaction. What is read are references into the database, valid as long as the transaction.
//!
//! ```
//! use remanent_engine::Options;
//! use remanent_kv::{Environment, KvOptions};
//! let environment = Environment::open(Options::new())?;
//! let fruit = environment.create("fruit", KvOptions::ordered())?;
//! environment.write(|tx| fruit.put(tx, b"apple", b"red"))?;
//! environment.read(|tx| {
//!     assert_eq!(fruit.get(tx, b"apple")?, Some(&b"red"[..]));
//!     Ok(())
//! })?;
//! # Ok::<(), remanent_engine::Error>(())
//! ```
//!
//! Nothing here knows how rows, versions or indexes lie in memory; the engine does.

mod layout;

mod database;
mod environment;

mod auto_commit;
mod cursor;
mod partial;

mod bulk;
mod secondary;
mod sequence;
mod statistics;

pub use auto_commit::AutoCommit;
pub use bulk::{Bulk, BulkRecords};
pub use cursor::Cursor;
pub use database::KvDatabase;
pub use database::association::SecondaryKeys;
pub use environment::Environment;
pub use layout::{KeyValue, Kind, KvOptions, MAX_PLAIN_KEY_LEN};
pub use secondary::{Secondary, SecondaryCursor, SecondaryRecord};
pub use sequence::{Sequence, SequenceOptions};
pub use statistics::KvStatistics;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/key-value.md")]
struct KeyValueDatabases;
