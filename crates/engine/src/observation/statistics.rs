//! Counts and states of an open database, added up from what each slot shows.
//!
//! The words of different slots are read one after the other while transactions go on: each is
//! right, their sum is of no single moment. Nobody waits for anybody.

use std::time::Duration;

use crate::database::Database;
use crate::instance::Instance;
use crate::log::writer::{Log, LogStatistics};
use crate::memory::atomic::{Acquire, Relaxed, SeqCst};
use crate::memory::counts::Counted;
use crate::memory::pages::buffer_cache::ColumnReads;
use crate::slot::{SLOT_FREE, SLOT_WRITES, slot};
use crate::transaction::cleanup::snapshots;

/// What has happened in a database since it was opened, and how it stands.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// db.write(|tx| {
///     tx.insert_values(&table, &[Some(1.into())])?;
///     tx.insert_values(&table, &[Some(2.into())])
/// })?;
/// let statistics = db.statistics();
/// assert_eq!((statistics.commits, statistics.changes), (1, 2));
/// assert_eq!((statistics.conflicts, statistics.writers), (0, 0));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// For how long the database has been open. The counts below are since then.
    pub uptime: Duration,
    /// Transactions whose changes were committed. One that changed nothing does not count.
    pub commits: u64,
    /// Changes of rows in them, each statement's for itself: rows inserted, updated and deleted,
    /// members connected and disconnected.
    pub changes: u64,
    /// Transactions that write which ended without a commit, whatever they had changed: because
    /// the program said so, or dropped them, or they were refused. Attempts that
    /// [`Database::write`] repeats are among them.
    pub rollbacks: u64,
    /// Statements and commits refused with `Conflict`.
    pub conflicts: u64,
    /// Attempts after the first one, in [`Database::write`] and its like.
    pub retries: u64,
    /// Segments whose rows were made columns: by freezing, once or again, not those inserted so.
    pub frozen_segments: u64,
    /// Transactions that are active and only read.
    pub readers: u64,
    /// Transactions that are active and write.
    pub writers: u64,
    /// The age of the oldest snapshot that is held, as [`Database::snapshots`] has it.
    pub oldest_snapshot: Option<Duration>,
    /// Things that wait to be freed or inspected: blocks, and rows with a version too many.
    pub backlog: u64,
    /// Rows of which an old snapshot needs a version that nobody else does.
    pub pinned_rows: u64,
    /// Checkpoints that were made.
    pub checkpoints: u64,
    /// What it took to read columns of paged tables again.
    pub column_reads: ColumnReads,
    /// Figures of the log; `None` if the database is in memory alone.
    pub log: Option<LogStatistics>,
}

impl Database {
    /// The timestamp of the newest commit that a transaction sees that begins now.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let before = db.newest_timestamp();
    /// db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// assert!(db.newest_timestamp() > before);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn newest_timestamp(&self) -> u64 {
        self.instance.memory().header().clock.0.load(Acquire)
    }

    /// What has happened since the database was opened, and how it stands.
    ///
    /// Costs a look at each transaction slot that was ever used; transactions are not disturbed.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let a = table.column("a")?;
    /// let row = db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// let (first, second) = (db.begin_write()?, db.begin_write()?);
    /// first.update_values(&table, row, &[(a, 2.into())])?;
    /// assert!(second.update_values(&table, row, &[(a, 3.into())]).is_err());
    /// assert_eq!(db.statistics().writers, 2);
    /// first.commit()?;
    /// drop(second);
    /// let statistics = db.statistics();
    /// assert_eq!((statistics.commits, statistics.conflicts), (2, 1));
    /// assert_eq!(statistics.rollbacks, 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn statistics(&self) -> Statistics {
        let db = &self.instance;
        let counted = |what| db.caches().map(|cache| cache.counts.get(what)).sum();
        let (readers, writers) = active(db);
        Statistics {
            uptime: Duration::from_nanos(db.now_ns()),
            commits: counted(Counted::Commits),
            changes: counted(Counted::Changes),
            rollbacks: counted(Counted::Rollbacks),
            conflicts: counted(Counted::Conflicts),
            retries: counted(Counted::Retries),
            frozen_segments: counted(Counted::FrozenSegments),
            readers,
            writers,
            oldest_snapshot: snapshots::list(db).iter().map(|held| held.age).max(),
            backlog: db.caches().map(|cache| cache.retired.count()).sum(),
            pinned_rows: db.caches().map(|cache| cache.pinned.count()).sum(),
            checkpoints: db.checkpoints.made.load(Relaxed),
            column_reads: db.memory().buffer_cache.column_reads(),
            log: db.log().map(Log::statistics),
        }
    }

    /// How many segments of 65,536 row ids were begun, of all tables, since the database was
    /// opened: for a program that calls [`Database::freeze_segments`] and asks, each time that this
    /// has grown, which tables have [more row ids](crate::ReadTransaction::rows_max) now. When a
    /// segment of a table is begun, all row ids of the one before have been given out.
    ///
    /// Costs a load for each transaction slot that was ever used.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
    /// let begun = db.segments_begun();
    /// let rows = (0..65_537_i64).map(|i| [Some(Value::I64(i))]);
    /// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
    /// assert_eq!(db.segments_begun(), begun + 2);
    /// assert_eq!(db.freeze_segments(&table, &[0], || true)?.segments, 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn segments_begun(&self) -> u64 {
        let counts = self.instance.caches().map(|cache| &cache.counts);
        counts.map(|counts| counts.get(Counted::BegunSegments)).sum()
    }
}

/// How many transactions are active: that only read, and that write.
fn active(db: &Instance) -> (u64, u64) {
    let memory = db.memory();
    let (mut readers, mut writers) = (0, 0);
    for number in 0..memory.header().slots_used.load(SeqCst) as usize {
        match slot(memory, number).state.load(SeqCst) {
            SLOT_FREE => {}
            state if state & SLOT_WRITES != 0 => writers += 1,
            _ => readers += 1,
        }
    }
    (readers, writers)
}
