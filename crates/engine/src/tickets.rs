//! How durable commits are, and how to make them more so: what a database that has a log offers
//! besides.
//!
//! A commit has reached the durability level that it asked for when it returns; its ticket shows
//! later whether it has come further meanwhile, and a feed gives what has come as far as the disk.
//! Nothing here writes: the log does, in the thread that asks.

use std::time::Duration;

use crate::change_feed::ChangeFeed;
use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::log::writer::{Log, LogStatistics};
use crate::log::{Durability, LogFeed};
use crate::transaction::CommitTicket;

impl Database {
    /// The durability level of commits that do not ask for one.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Durability, Options};
    /// assert_eq!(Database::open(Options::new())?.durability(), Durability::Memory);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn durability(&self) -> Durability {
        self.instance.log().map_or(Durability::Memory, Log::durability)
    }

    /// The durability level that a commit has reached by now.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Durability, Options, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-ticket-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new().durability(Durability::Buffered))?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let (_, ticket) = db.write_with_ticket(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// if db.durability_of(&ticket) < Durability::Disk {
    ///     db.wait_for(&ticket, Durability::Disk)?;
    /// }
    /// assert_eq!(db.durability_of(&ticket), Durability::Disk);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn durability_of(&self, ticket: &CommitTicket) -> Durability {
        match self.instance.log() {
            None => Durability::Memory,
            Some(log) => log.durability_at(ticket.position()),
        }
    }

    /// What a majority of the group has of a commit: `Replicated`, `ReplicatedDisk`, or nothing
    /// that is known.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let (_, ticket) = db.write_with_ticket(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// assert_eq!(db.replication_of(&ticket), None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn replication_of(&self, ticket: &CommitTicket) -> Option<Durability> {
        let group = self.instance.log()?.group()?;
        if group.replicated_on_disk() >= ticket.position() {
            return Some(Durability::ReplicatedDisk);
        }
        (group.replicated() >= ticket.position()).then_some(Durability::Replicated)
    }

    /// Waits until whoever begins to read sees the commit with this timestamp, for a while. Whether
    /// it is so. A follower of a group has it when it has applied it, so whoever wrote to the
    /// leader reads there what they wrote.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let (_, ticket) = db.write_with_ticket(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// assert!(db.wait_for_timestamp(ticket.timestamp(), Duration::ZERO));
    /// assert!(!db.wait_for_timestamp(u64::MAX, Duration::ZERO));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn wait_for_timestamp(&self, timestamp: u64, time: Duration) -> bool {
        let is_seen = || self.newest_timestamp() >= timestamp;
        match self.instance.log().and_then(Log::group) {
            Some(group) if !is_seen() => group.wait_until(time, |_| is_seen()),
            _ => is_seen(),
        }
    }

    /// Waits until a commit has reached a durability level; this call sees to it.
    ///
    /// # Errors
    /// `LogFailed`. Without a log only `Memory` can be reached; `InvalidOptions` for any other.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Durability, ErrorKind, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let (_, ticket) = db.write_with_ticket(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// db.wait_for(&ticket, Durability::Memory)?;
    /// let error = db.wait_for(&ticket, Durability::Os).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidOptions);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn wait_for(&self, ticket: &CommitTicket, durability: Durability) -> Result<()> {
        match self.instance.log() {
            Some(log) => log.make_durable(ticket.position(), durability),
            None if durability == Durability::Memory => Ok(()),
            None => Err(Error::new(ErrorKind::InvalidOptions)
                .because("the database is in memory alone, it has no log")),
        }
    }

    /// Makes everything committed so far durable, at this level.
    ///
    /// # Errors
    /// As [`Database::wait_for`].
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Durability, Options, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-flush-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new().durability(Durability::Buffered))?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// db.flush(Durability::Disk)?;
    /// let log = db.log_statistics().expect("it has a log");
    /// assert_eq!(log.bytes_synced, log.bytes);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn flush(&self, durability: Durability) -> Result<()> {
        match self.instance.log() {
            Some(log) => log.make_durable(log.end(), durability),
            None if durability == Durability::Memory => Ok(()),
            None => Err(Error::new(ErrorKind::InvalidOptions)
                .because("the database is in memory alone, it has no log")),
        }
    }

    /// Follows the log: the transactions that were committed from a position on, in the order of
    /// their commits, up to what is on the disk. The feed ends there, and goes on when it is asked
    /// again later. A checkpoint removes files that a feed has yet to read, unless
    /// [`Options::keep_history`](crate::Options::keep_history) says otherwise. 0 is where the log
    /// of a database begins, [`LogStatistics::bytes_synced`] is up to where it is on the disk.
    ///
    /// # Errors
    /// `LogPositionGone` if the log does not reach back so far, `InvalidOptions` if no commit, nor
    /// anything else, begins or ends there, or the database is in memory alone; `StorageFailed`,
    /// `DamagedLog`.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Durability, LogOperation, Options, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-feed-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new().durability(Durability::Disk))?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let start = db.log_statistics().expect("it has a log").bytes_synced;
    /// let mut feed = db.log_feed(start)?;
    /// assert!(feed.next().is_none());
    /// db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
    /// let commit = feed.next().expect("it is on the disk")?;
    /// for operation in commit.operations() {
    ///     assert!(matches!(operation?, LogOperation::Insert { row: 0, bytes: [7, ..], .. }));
    /// }
    /// assert_eq!(feed.position(), commit.end);
    /// assert!(db.log_feed(commit.end)?.next().is_none());
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn log_feed(&self, position: u64) -> Result<LogFeed<'_>> {
        LogFeed::open(self.log_or_error()?, position)
    }

    /// The changes of rows that were committed from a position of the log on, in the order of
    /// their commits: whole rows, as they were and as they are. The feed ends where nothing else
    /// was committed, and goes on when it is asked again; what is not on the disk by then is
    /// brought there first, so that it is never taken back. In a group of replicas it ends where a
    /// majority has the log.
    ///
    /// A checkpoint removes files that a feed has yet to read, but for those that
    /// [`Options::keep_log`](crate::Options::keep_log) or
    /// [`Options::keep_history`](crate::Options::keep_history) keeps. Rows before a change are
    /// there if the database was open with
    /// [`Options::log_old_rows`](crate::Options::log_old_rows) then.
    ///
    /// # Errors
    /// `LogPositionGone` if the log does not reach back so far, `InvalidOptions` if no commit, nor
    /// anything else, begins or ends there, or the database is in memory alone; `StorageFailed`,
    /// `DamagedLog`, `LogFailed`.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{ChangeKind, Database, Options, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-changes-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new().log_old_rows(true))?;
    /// let schema = TableSchema::new("T").column("a", ColumnType::I32);
    /// let table = db.create_table(schema.primary_key(["a"]))?;
    /// let row = db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
    /// db.write(|tx| tx.update_values(&table, row, &[(table.column("a")?, 8.into())]))?;
    ///
    /// let (mut feed, mut seen) = (db.change_feed(0)?, Vec::new());
    /// while let Some(change) = feed.next_change()? {
    ///     if let ChangeKind::Row { table, old, new, .. } = change.kind {
    ///         let a = |row: Option<&[u8]>| row.and_then(|row| table.layout.get::<i32>(row, 0));
    ///         seen.push((a(old), a(new)));
    ///     }
    /// }
    /// assert_eq!(seen, [(None, Some(7)), (Some(7), Some(8))]);
    /// // Later, or in another process, from where it was.
    /// let mut feed = db.change_feed(feed.position())?;
    /// assert!(feed.next_change()?.is_none());
    /// # drop(feed);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn change_feed(&self, position: u64) -> Result<ChangeFeed<&Database>> {
        ChangeFeed::open(self, position)
    }

    /// The position behind everything that was committed by now: a feed from there on gives what
    /// comes next.
    ///
    /// # Errors
    /// As [`Database::change_feed`].
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, ErrorKind, Options};
    /// let in_memory = Database::open(Options::new())?;
    /// let error = in_memory.change_position().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidOptions);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn change_position(&self) -> Result<u64> {
        self.log_or_error()?.make_lasting()
    }

    /// Figures of the log, if there is one.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-figures-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// let log = db.log_statistics().expect("it has a log");
    /// assert_eq!((log.commits, log.bytes_synced), (2, log.bytes));
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn log_statistics(&self) -> Option<LogStatistics> {
        self.instance.log().map(Log::statistics)
    }

    /// The log.
    ///
    /// # Errors
    /// `InvalidOptions` if the database is in memory alone.
    pub(crate) fn log_or_error(&self) -> Result<&Log> {
        self.instance.log().ok_or_else(|| {
            Error::new(ErrorKind::InvalidOptions)
                .because("the database is in memory alone, it has no log")
        })
    }
}
