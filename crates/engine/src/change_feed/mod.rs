//! Following the changes of rows: what was committed from a position of the log on, as rows.
//!
//! The log has rows by numbers, and of an updated row what differs. Here are whole rows, before and
//! after, with the tables that they are of: for who keeps something else up to date with a database
//! (change data capture). The rows before are in the log of databases that are opened with
//! `Options::log_old_rows`. A transaction is read part by part, so what is in memory is a part and
//! two rows, however long it is.
//!
//! Tables are those that there are, and those that come by in the log. What a table had that was
//! dropped since, and is known from neither, nobody can read: it is left out.

mod feed;

use std::sync::Arc;

use remanent_schema::{RowLayout, TableSchema};

pub use feed::ChangeFeed;

/// A table, as it was when its row was changed.
///
/// # Examples
/// See [`Database::change_feed`](crate::Database::change_feed).
#[derive(Debug)]
pub struct FeedTable {
    /// Its number, which no other table gets.
    pub number: u32,
    /// Its columns and the indexes that it was created with.
    pub schema: TableSchema,
    /// How a row lies in bytes.
    pub layout: RowLayout,
}

/// A change that was committed.
///
/// # Examples
/// See [`Database::change_feed`](crate::Database::change_feed).
#[derive(Clone, Debug)]
pub struct Change<'f> {
    /// The position behind its commit: a feed from there on begins with the next one.
    pub position: u64,
    /// The timestamp of its commit.
    pub timestamp: u64,
    /// Its place within the commit, from 0 on.
    pub number: u64,
    /// What it is.
    pub kind: ChangeKind<'f>,
}

/// What a change is.
///
/// # Examples
/// See [`Database::change_feed`](crate::Database::change_feed).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ChangeKind<'f> {
    /// A row of a table.
    Row {
        /// The table.
        table: Arc<FeedTable>,
        /// The row's number, which it keeps until it is deleted.
        row: u32,
        /// The row before; none if it was inserted.
        old: Option<&'f [u8]>,
        /// The row after; none if it was deleted.
        new: Option<&'f [u8]>,
    },
    /// A table or an index was created or dropped.
    Definition {
        /// The name of the table.
        table: String,
        /// What became of it, in words.
        words: String,
    },
    /// All changes of the commit were given. Who goes on later goes on from its position.
    Commit,
}

impl FeedTable {
    fn new(number: u32, schema: TableSchema) -> Arc<Self> {
        let layout = RowLayout::new(&schema);
        Arc::new(Self { number, schema, layout })
    }
}
