//! Commit: one function, in stages.
//!
//! A commit is published by one store of the clock, whatever the size of the transaction. Versions
//! are stamped afterwards; who meets one before that asks the transaction's slot
//! (`snapshot.rs`). What a serializable transaction has read is validated first, beside other
//! commits; under the commit latch, where timestamps are drawn, it is enough that the clock still
//! shows what was validated up to. Nothing but validation can fail: room for what follows a commit
//! was made when the changes were.

use super::reading::ReadTransaction;
use super::recent;
use super::validate::{Latched, reads_of, validate};
use super::write_set::WriteSet;
use crate::error::Result;
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
    /// Compare what was read with what others committed since this timestamp.
    Validate(u64),
    /// Draw the timestamp, note the changed rows, show the timestamp in the slot, set the clock:
    /// from here on others see the changes. If they have committed since this timestamp, up to
    /// which was validated, validate again.
    Publish(u64),
    /// Write the timestamp into every version, so that nobody needs to ask the slot.
    Stamp(u64),
    /// Leave a note of each row that now has a version too many.
    Retire(u64),
    /// All done.
    Done(u64),
}

/// Validations beside other commits before one is made under the commit latch.
const VALIDATIONS_BESIDE: u32 = 4;

/// Commits the changes in `writes`.
///
/// # Errors
/// `Conflict`, if what was read has changed; then nothing is published.
#[inline]
pub(crate) fn commit(
    transaction: &ReadTransaction<'_>,
    heap: Heap<'_>,
    writes: &WriteSet<'_>,
) -> Result<CommitTicket> {
    let snapshot = transaction.snapshot.get();
    if writes.len() == 0 {
        return Ok(CommitTicket { timestamp: snapshot.timestamp });
    }
    let mut validations = 0;
    let mut stage = CommitStage::Publish(snapshot.timestamp);
    loop {
        stage = match stage {
            CommitStage::Validate(since) => {
                validations += 1;
                let until = validate(transaction, heap, since, Latched::No)?;
                CommitStage::Publish(until)
            }
            CommitStage::Publish(validated) => {
                let beside = validations < VALIDATIONS_BESIDE;
                match publish(transaction, heap, writes, validated, beside)? {
                    Some(timestamp) => CommitStage::Stamp(timestamp),
                    None => CommitStage::Validate(validated),
                }
            }
            CommitStage::Stamp(timestamp) => {
                stamp(transaction, writes, timestamp);
                CommitStage::Retire(timestamp)
            }
            CommitStage::Retire(timestamp) => {
                retire(heap, writes, timestamp);
                CommitStage::Done(timestamp)
            }
            CommitStage::Done(timestamp) => return Ok(CommitTicket { timestamp }),
        };
    }
}

/// Publishes a timestamp that no transaction has.
pub(crate) fn advance_clock(memory: &Memory) {
    let header = memory.header();
    let _latched = header.commit.0.latch.lock();
    header.clock.0.store(header.clock.0.load(Relaxed) + 1, Release);
}

/// Publishes the changes; `None` if others have committed since `validated`, what was read matters,
/// and it may be compared beside them.
#[inline]
fn publish(
    transaction: &ReadTransaction<'_>,
    heap: Heap<'_>,
    writes: &WriteSet<'_>,
    validated: u64,
    beside: bool,
) -> Result<Option<u64>> {
    let memory = transaction.memory();
    let header = memory.header();
    let _latched = header.commit.0.latch.lock();
    let clock = header.clock.0.load(Relaxed);
    if clock != validated && reads_of(transaction).is_some() {
        if beside {
            return Ok(None);
        }
        validate(transaction, heap, validated, Latched::Commit)?;
    }
    let timestamp = clock + 1;
    recent::record(memory, writes, timestamp);
    transaction.held.slot().committed.store(timestamp, Release);
    header.clock.0.store(timestamp, Release);
    Ok(Some(timestamp))
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
    let mut bytes = 0;
    writes.each(|table, change| {
        queue.redeem();
        let older = Version::at(heap.memory, change.version).older.load(Relaxed);
        if older != 0 {
            bytes += Version::at(heap.memory, older).length() as u64;
            queue.push(heap, timestamp, Retired::Row { table, row: change.row });
        }
    });
    let waiting = &heap.cache.retired_bytes;
    waiting.store(waiting.load(Relaxed) + bytes, Relaxed);
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
