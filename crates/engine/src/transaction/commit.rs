//! Commit: one function, in stages.
//!
//! A commit is published by one store of the clock, whatever the size of the transaction. Versions
//! are stamped afterwards; who meets one before that asks the transaction's slot
//! (`snapshot.rs`). Nothing here can fail: room for what follows a commit was made when the
//! changes were.

use super::reading::ReadTransaction;
use super::write_set::WriteSet;
use crate::memory::atomic::{Relaxed, Release};
use crate::memory::retire::Retired;
use crate::memory::{Heap, Memory};
use crate::table::version::Version;

/// Proof of a commit.
///
/// # Examples
/// ```
/// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
/// # let db = Database::open(Options::new())?;
/// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// # let a = table.column("a")?;
/// let insert = || db.write_with_ticket(|tx| tx.insert_values(&table, &[Some(1.into())]));
/// let ((_, first), (_, second)) = (insert()?, insert()?);
/// assert_ne!(first, second);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommitTicket {
    timestamp: u64,
}

/// The stages of a commit, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CommitStage {
    /// Draw the timestamp, show it in the slot, set the clock: from here on others see the changes.
    Publish,
    /// Write the timestamp into every version, so that nobody needs to ask the slot.
    Stamp,
    /// Leave a note of each row that now has a version too many.
    Retire,
    /// All done.
    Done,
}

/// Commits the changes in `writes`.
#[inline]
pub(crate) fn commit(
    transaction: &ReadTransaction<'_>,
    heap: Heap<'_>,
    writes: &WriteSet<'_>,
) -> CommitTicket {
    if writes.len() == 0 {
        return CommitTicket { timestamp: transaction.timestamp() };
    }
    let mut timestamp = 0;
    let mut stage = CommitStage::Publish;
    loop {
        stage = match stage {
            CommitStage::Publish => {
                timestamp = publish(transaction);
                CommitStage::Stamp
            }
            CommitStage::Stamp => {
                stamp(transaction, writes, timestamp);
                CommitStage::Retire
            }
            CommitStage::Retire => {
                retire(heap, writes, timestamp);
                CommitStage::Done
            }
            CommitStage::Done => return CommitTicket { timestamp },
        };
    }
}

/// Publishes a timestamp that no transaction has.
pub(crate) fn advance_clock(memory: &Memory) {
    let header = memory.header();
    let _latched = header.commit.0.lock();
    header.clock.0.store(header.clock.0.load(Relaxed) + 1, Release);
}

#[inline]
fn publish(transaction: &ReadTransaction<'_>) -> u64 {
    let header = transaction.memory().header();
    let _latched = header.commit.0.lock();
    let timestamp = header.clock.0.load(Relaxed) + 1;
    transaction.held.slot().committed.store(timestamp, Release);
    header.clock.0.store(timestamp, Release);
    timestamp
}

#[inline]
fn stamp(transaction: &ReadTransaction<'_>, writes: &WriteSet<'_>, timestamp: u64) {
    let memory = transaction.memory();
    writes.each(|_, change| {
        Version::at(memory, change.version).begin.store(timestamp, Release);
    });
    transaction.held.slot().committed.store(0, Release);
}

#[inline]
fn retire(heap: Heap<'_>, writes: &WriteSet<'_>, timestamp: u64) {
    let queue = &heap.cache.retired;
    writes.each(|table, change| {
        queue.redeem();
        if Version::at(heap.memory, change.version).older.load(Relaxed) != 0 {
            queue.push(heap, timestamp, Retired::Row { table, row: change.row });
        }
    });
}

impl CommitTicket {
    /// The timestamp of the commit: snapshots from this one on see it.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let insert = || db.write_with_ticket(|tx| tx.insert_values(&table, &[Some(1.into())]));
    /// let ((_, first), (_, second)) = (insert()?, insert()?);
    /// assert!(first.timestamp() < second.timestamp());
    /// assert!(db.begin_read()?.timestamp() >= second.timestamp());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }
}
