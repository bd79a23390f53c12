//! Commit: one function, in stages.
//!
//! A commit is published by one store of the clock, whatever the size of the transaction. Versions
//! are stamped afterwards, many of them by others (`finalize.rs`); who meets one before that asks
//! the transaction's slot (`snapshot.rs`). What a serializable transaction has read is validated
//! first, beside other commits; under the commit latch, where timestamps are drawn, it is enough
//! that the clock still shows what was validated up to. Room for what follows a commit in memory
//! was made when the changes were. In a database that has a log, the changes are encoded
//! before the latch is taken, appended under it, before the clock shows them, and made as
//! durable as was asked for when all else is done: so the log has commits in the order of their
//! timestamps.

use std::cell::Cell;

use super::changes::{self, RowChange};
use super::finalize;
use super::recent;
use super::validate::{Latched, Validated, reads_of, validate};
use crate::error::Result;
use crate::instance::Instance;
use crate::log::Durability;
use crate::log::record::Redo;
use crate::log::writer::{Appended, Log, Prepared, no_group};
use crate::memory::atomic::{Relaxed, Release, SeqCst};
use crate::memory::region::CommitState;
use crate::memory::retire::Retired;
use crate::memory::{Allocator, Memory};
use crate::snapshot::FinalStamp;
use crate::table::cleanup::ended::rows_of;
use crate::table::rows::version::{Version, bytes_at};
use crate::table::table::TableAt;
use crate::transaction::read::reading::ReadTransaction;
use crate::transaction::write::defining::Definitions;
use crate::transaction::write::write_set::{WriteSet, Written};

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
    /// The end of its frame in the log; 0 if nothing was logged.
    position: u64,
}

/// The stages of a commit, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CommitStage {
    /// Encode the changes for the log, if there is one.
    Prepare,
    /// Compare what was read with what others committed since this timestamp.
    Validate(u64),
    /// The log has no room for so many bytes: hand over what it has, and validate from this
    /// timestamp on.
    MakeRoom(usize, u64),
    /// Draw the timestamp, note the changed rows, append to the log, show the timestamp in the
    /// slot, make the definitions, set the clock: from here on others see the changes. If they have
    /// committed since this
    /// timestamp, up to which was validated, validate again.
    Publish(u64),
    /// Write the timestamp into every version, so that nobody needs to ask the slot; or leave that
    /// to others, if there are many.
    Stamp(Published),
    /// Leave a note of each row that now has a version too many.
    Retire(Published),
    /// Say to the caller that others see the commit, and let others write again, if they were kept
    /// out.
    Announce(Published),
    /// Make the log as durable as was asked for.
    MakeDurable(Published),
    /// All done.
    Done(CommitTicket),
}

/// A commit that others see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Published {
    timestamp: u64,
    /// Its end in the log.
    position: u64,
    /// Whether what has not been synced is to be.
    sync_is_due: bool,
}

/// Validations beside other commits before one is made under the commit latch, if little is left to
/// look at; and before one is made there whatever is left, so that it ends.
const VALIDATIONS_BESIDE: u32 = 4;
const VALIDATIONS_MAX: u32 = 32;

/// The work of a commit.
#[derive(Clone, Copy)]
pub(crate) struct Work<'w> {
    pub(crate) transaction: &'w ReadTransaction<'w>,
    pub(crate) alloc: Allocator<'w>,
    pub(crate) writes: &'w WriteSet<'w>,
    /// Tables and indexes.
    pub(crate) definitions: Option<&'w Definitions>,
    /// Whether it repeats what another replica has logged, and this one too by now.
    pub(crate) is_replay: bool,
}

/// Commits the changes of `work`, and waits for the durability level. `ended` is set when they
/// cannot be taken back any more, then `announce` is called.
///
/// # Errors
/// `Conflict`, if what was read has changed, and `TableBusy`, if readers of an index that is
/// dropped do not end; then nothing is published. `LogFailed`: then either
/// nothing is published, or the changes are in memory and nobody can say whether in the log.
#[inline]
pub(crate) fn commit(
    work: Work<'_>,
    durability: Option<Durability>,
    ended: &Cell<bool>,
    announce: impl FnOnce(u64),
) -> Result<CommitTicket> {
    let Work { transaction, alloc, writes, definitions, is_replay } = work;
    let snapshot = transaction.snapshot.get();
    if writes.len() == 0 && definitions.is_none() {
        ended.set(true);
        announce(snapshot.timestamp);
        return Ok(CommitTicket { timestamp: snapshot.timestamp, position: 0 });
    }
    let log = if is_replay { None } else { transaction.db.log() };
    let mut prepared = log.map(|log| log.prepare(transaction.held.number()));
    let mut validations = 0;
    let mut announce = Some(announce);
    let mut stage = CommitStage::Prepare;
    loop {
        stage = match stage {
            CommitStage::Prepare => {
                if let Some(definitions) = definitions {
                    definitions.wait_for_readers(transaction.db, transaction.held.number())?;
                }
                check_log(log, durability)?;
                prepared.as_mut().map_or(Ok(()), |prepared| prepare(work, prepared))?;
                CommitStage::Publish(snapshot.timestamp)
            }
            CommitStage::Validate(since) => {
                validations += 1;
                let validated = validate(transaction, alloc, since, Latched::No)?;
                CommitStage::Publish(validated.up_to(since))
            }
            CommitStage::MakeRoom(bytes, validated) => {
                log.map_or(Ok(()), |log| log.make_room(bytes))?;
                CommitStage::Publish(validated)
            }
            CommitStage::Publish(validated) => {
                let latched = latched_after(validations);
                publish(work, prepared.as_mut(), validated, latched)?
            }
            CommitStage::Stamp(published) => {
                let stamp = FinalStamp { own: snapshot.own, timestamp: published.timestamp };
                finalize::stamp_or_defer(transaction.db, &transaction.held, writes, stamp);
                CommitStage::Retire(published)
            }
            CommitStage::Retire(published) => {
                retire(transaction.db, alloc, writes, published.timestamp);
                // Whatever becomes of the log now, others may have read it.
                ended.set(true);
                CommitStage::Announce(published)
            }
            CommitStage::Announce(published) => {
                if let Some(announce) = announce.take() {
                    announce(published.timestamp);
                }
                CommitStage::MakeDurable(published)
            }
            CommitStage::MakeDurable(published) => {
                drop(prepared.take());
                make_durable(log, published, durability)?;
                let Published { timestamp, position, .. } = published;
                CommitStage::Done(CommitTicket { timestamp, position })
            }
            CommitStage::Done(ticket) => return Ok(ticket),
        };
    }
}

/// Fails if the log has, or if there is nobody who could promise what is asked for.
#[inline]
fn check_log(log: Option<&Log>, durability: Option<Durability>) -> Result<()> {
    match log {
        Some(log) => log.check().and_then(|()| log.check_promise(durability)),
        None if durability.is_some_and(Durability::is_of_group) => Err(no_group()),
        None => Ok(()),
    }
}

/// How much may be validated under the commit latch after so many validations without it.
#[inline]
fn latched_after(validations: u32) -> Latched {
    match validations {
        0..VALIDATIONS_BESIDE => Latched::No,
        VALIDATIONS_BESIDE..VALIDATIONS_MAX => Latched::Commit,
        _ => Latched::Whatever,
    }
}

/// Encodes the changes for the log; what is much is appended at once, in parts.
///
/// # Errors
/// `LogFailed`.
#[inline]
fn prepare(work: Work<'_>, prepared: &mut Prepared<'_>) -> Result<()> {
    let Work { transaction, writes, definitions, .. } = work;
    let memory = transaction.memory();
    let mut streamed = Ok(());
    if let Some(definitions) = definitions {
        definitions.each_logged(true, |bytes| prepared.redo().define(bytes));
    }
    let wants_old = prepared.wants_old_rows();
    let _reading = wants_old.then(|| transaction.reader().enter(memory));
    changes::each_row_change(transaction.db, writes, |table, change| {
        if definitions.is_some_and(|definitions| definitions.drops(table)) {
            return;
        }
        let redo = prepared.redo();
        if wants_old && streamed.is_ok() {
            streamed = put_old_row(transaction.db, redo, table, change);
        }
        match change {
            RowChange::BulkInserted { row, bytes } => redo.insert(table, row, bytes),
            RowChange::Ended { row } => redo.delete(table, row),
            RowChange::Version(change) => {
                let version = Version::at(memory, change.version);
                let older = version.older();
                if version.is_tombstone() {
                    redo.delete(table, change.row);
                } else if older == 0 {
                    redo.insert(table, change.row, bytes_at(memory, change.version));
                } else {
                    let (old, new) = (bytes_at(memory, older), bytes_at(memory, change.version));
                    redo.update(table, change.row, old, new);
                }
            }
        }
        if prepared.is_long() && streamed.is_ok() {
            streamed = prepared.stream();
        }
    });
    if let Some(definitions) = definitions {
        definitions.each_logged(false, |bytes| prepared.redo().define(bytes));
    }
    if prepared.is_long() && streamed.is_ok() {
        streamed = prepared.stream();
    }
    prepared.finish();
    streamed
}

/// Puts a row as it was before a change, if it was there.
///
/// # Errors
/// Where the columns of a paged table cannot be read: `StorageFailed`, `DamagedImage`, or there is
/// no memory for them.
#[cold]
fn put_old_row(db: &Instance, redo: &mut Redo, table: u32, change: RowChange<'_>) -> Result<()> {
    let memory = db.memory();
    match change {
        RowChange::BulkInserted { .. } => Ok(()),
        RowChange::Version(change) => {
            let older = Version::at(memory, change.version).older();
            if older != 0 {
                redo.old(table, change.row, bytes_at(memory, older));
            }
            Ok(())
        }
        RowChange::Ended { row } => {
            let Some(core) = db.catalog().by_id(table) else { return Ok(()) };
            let at = TableAt { memory, core: &core };
            at.with_newest(row, |bytes| redo.old(table, row, bytes)).map(|_| ())
        }
    }
}

/// Makes the log as durable as was asked for.
#[inline]
fn make_durable(
    log: Option<&Log>,
    published: Published,
    durability: Option<Durability>,
) -> Result<()> {
    let Some(log) = log else { return Ok(()) };
    let level = durability.unwrap_or(log.durability());
    let level = if published.sync_is_due { Durability::Disk } else { level };
    log.make_durable(published.position, level)
}

/// Publishes a timestamp that no transaction has.
pub(crate) fn advance_clock(memory: &Memory) {
    let header = memory.header();
    let _latched = header.commit.0.latch.lock();
    let (clock, gap) = (header.clock.0.load(Relaxed), u64::from(header.commit.0.gap.load(Relaxed)));
    // The next one may be that of a commit of another replica.
    if gap == 0 || clock & gap != gap {
        header.clock.0.store(clock + 1, Release);
    }
}

/// The timestamp of the commit that follows, where a group of replicas shares the log.
#[cold]
fn timestamp_in_group(commit: &CommitState, clock: u64, gap: u64) -> u64 {
    ((clock | gap) + 1).max(commit.next.load(Relaxed))
}

/// Publishes the changes, and gives the stage that follows: `Validate` if others have committed
/// since what was `validated`, what was read matters, and it is not to be compared under the latch.
#[inline]
fn publish(
    work: Work<'_>,
    prepared: Option<&mut Prepared<'_>>,
    validated: u64,
    latched: Latched,
) -> Result<CommitStage> {
    let Work { transaction, alloc, writes, definitions, .. } = work;
    let memory = transaction.memory();
    let header = memory.header();
    let _latched = header.commit.0.latch.lock();
    let clock = header.clock.0.load(Relaxed);
    if clock != validated && reads_of(transaction).is_some() {
        let is_done = latched != Latched::No
            && validate(transaction, alloc, validated, latched)? != Validated::NotUnderLatch;
        if !is_done {
            return Ok(CommitStage::Validate(validated));
        }
    }
    let gap = u64::from(header.commit.0.gap.load(Relaxed));
    let timestamp = match gap {
        0 => clock + 1,
        gap => timestamp_in_group(&header.commit.0, clock, gap),
    };
    let (mut position, mut sync_is_due) = (0, false);
    if let Some(prepared) = prepared {
        match prepared.append(timestamp) {
            Appended::At(end, due) => (position, sync_is_due) = (end, due),
            Appended::Full(bytes) => return Ok(CommitStage::MakeRoom(bytes, clock)),
        }
    }
    recent::record(memory, writes, timestamp);
    transaction.held.slot().committed.store(timestamp, Release);
    match definitions {
        None => header.clock.0.store(timestamp, Release),
        Some(definitions) => show(transaction.db, definitions, timestamp),
    }
    Ok(CommitStage::Stamp(Published { timestamp, position, sync_is_due }))
}

/// Makes definitions and sets the clock, so that nobody sees one without the other.
#[cold]
fn show(db: &Instance, definitions: &Definitions, timestamp: u64) {
    db.catalog().begin_change();
    definitions.show(db, timestamp);
    db.memory().header().clock.0.store(timestamp, SeqCst);
    db.catalog().end_change();
}

#[inline]
fn retire(db: &Instance, alloc: Allocator<'_>, writes: &WriteSet<'_>, timestamp: u64) {
    let queue = &alloc.cache.retired;
    let mut bytes = 0;
    writes.each(|table, written| {
        queue.release_many(written.reservations());
        // An inserted row has no older version.
        let change = match written {
            Written::One(change) => change,
            Written::Ended { first: row, bits } => {
                if let Some(core) = db.catalog().by_id(table) {
                    let at = TableAt { memory: alloc.memory, core: &core };
                    bytes += rows_of(row, bits).map(|row| at.ended_bytes(row)).sum::<u64>();
                }
                return queue.push_bits(alloc, timestamp, Retired::Ended { table, row }, bits);
            }
            Written::InColumns { first: row, .. } => {
                return queue.push(alloc, timestamp, Retired::InColumns { table, row });
            }
            Written::Run { .. } | Written::Segment { .. } | Written::Later { .. } => return,
        };
        let older = Version::at(alloc.memory, change.version).older();
        if older != 0 {
            bytes += Version::at(alloc.memory, older).length() as u64;
            queue.push(alloc, timestamp, Retired::Row { table, row: change.row });
        }
    });
    let waiting = &alloc.cache.retired_bytes;
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

    /// The ticket as two numbers, the second one of the log's: for interfaces to other languages.
    #[doc(hidden)]
    pub fn to_parts(&self) -> (u64, u64) {
        (self.timestamp, self.position)
    }

    /// The ticket that was these two numbers.
    #[doc(hidden)]
    pub fn from_parts(timestamp: u64, position: u64) -> Self {
        Self { timestamp, position }
    }

    /// The end of the commit in the log; 0 if nothing was logged.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }
}
