//! The engine of Remanent: a main-memory database that applications link in.
//!
//! A [`Database`] is one region of memory. Rows are read by reference, changed in transactions, and
//! found by ordered and hash indexes; readers take no lock and writers do not wait for them. Use
//! it through the `remanent` crate, which adds records by `#[derive(Record)]`.
//!
//! ```
//! use remanent_engine::{Database, Options, schema::*};
//! let db = Database::open(Options::new())?;
//! let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
//! db.write(|tx| tx.insert_values(&table, &[Some(42.into())]))?;
//! assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count()))?, 1);
//! # Ok::<(), remanent_engine::Error>(())
//! ```
//!
//! What always holds: there is no SQL here, no async, no socket, no thread and no global state but
//! a thread-local hint; everything in the region refers to itself by offset; every block of memory
//! is counted against one budget. `ARCHITECTURE.md` has the modules from top to bottom.

mod catalog;
mod change_feed;
mod checkpoint;
mod checksum;
mod column;
mod database;
mod definition;
mod error;
mod image;
mod index;
mod instance;
mod log;
mod maintenance;
mod memory;
mod observation;
mod options;
mod owned;
mod recovery;
mod replay;
mod replica;
mod seed;
mod segment_files;
mod slot;
mod snapshot;
mod storage;
mod table;
mod tickets;
mod transaction;
mod turn;

#[cfg(all(test, shuttle))]
mod shuttle_models;

pub use change_feed::{Change, ChangeFeed, ChangeKind, FeedTable};
pub use column::{
    ColumnSummary, DictionaryValues, DistinctSketch, Encoding, EncodingSummary, Ends, FrozenColumn,
    SymbolWriter, Symbols, Zones,
};
pub use database::Database;
pub use error::{Error, ErrorKind, Result};
pub use log::reader::Damage;
pub use log::record::Operation as LogOperation;
pub use log::writer::LogStatistics;
pub use log::{Batch, Durability, LogEntry, LogEntryKind, LogFeed, LoggedCommit, Progress};
pub use log::{DefinitionWatch, EntryId, EntryTap, ReplicaEntry};
#[doc(hidden)]
pub use memory::Blocks;
pub use memory::{CallerMemory, ColumnReads, MemoryUse, Purpose};
pub use observation::{IndexMemory, Statistics, TableMemory};
pub use options::Options;
pub use owned::{
    Keeper, OwnedCursor, OwnedFrozenRows, OwnedPieces, OwnedTransaction, RawTransaction, Reading,
    Writing,
};
pub use recovery::{ImageInfo, RecoverUntil, Salvaged};
pub use remanent_schema as schema;
pub use replica::{Applied, Applier, Replica};
pub use storage::{Compression, Folder, Storage, StorageFile};
pub use table::read::lookup::{Cursor, Find};
pub use table::read::scan::BATCH_ROWS;
pub use table::{
    ColumnHandle, Found, FrozenRows, IndexHandle, KeyBound, KeyPosition, Piece, Pieces,
    ReadTracking, Records, Row, RowDraft, RowId, RowPredicate, SEGMENT_ROWS, Scan, Set, Table,
    TypedCursor, TypedTable,
};
pub use transaction::{
    CommitTicket, FreezeReport, Isolation, Member, MemberPosition, Members, MembersOf, Owner,
    Priority, ReadTransaction, Savepoint, SnapshotInfo, TransactionOptions, WriteTransaction,
};
