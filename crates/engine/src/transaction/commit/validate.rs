//! Validation: whether what a transaction has read is still so at its commit.
//!
//! The rows that others changed since the snapshot are compared with what was read (backward
//! validation: Haerder, Information Systems 1984; against predicates rather than against what was
//! found: Neumann, Muehlbauer, Kemper, SIGMOD 2015), so rows that have newly come under what was
//! asked for count as well. Of each changed row two states matter, the one that the snapshot sees
//! and the newest: if what was asked for meets neither, the answer is the same at the commit as it
//! was, and the transaction might as well have read it then. So every transaction can be placed at
//! its commit timestamp, and the order of timestamps is a serial order.
//!
//! Nothing is done if nothing committed meanwhile. Which rows changed, the recent commits know; if
//! they do not reach back, all rows of the tables that were read are inspected.

use std::sync::Arc;

use super::recent::{self, Reach};
use crate::error::Result;
use crate::memory::Allocator;
use crate::memory::atomic::{Acquire, SeqCst};
use crate::snapshot::{Begin, Snapshot, resolve};
use crate::table::describe;
use crate::table::read::read_set::ReadSet;
use crate::table::rows::segment::{is_frozen, newest_of};
use crate::table::rows::version::{bytes_at, chain, visible};
use crate::table::table::{TableAt, TableCore};
use crate::transaction::read::reading::ReadTransaction;

/// Whether the commit latch is held during a validation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Latched {
    /// Nobody: others commit meanwhile.
    No,
    /// The commit latch is held: only a little may be inspected.
    Commit,
    /// The commit latch is held, and it has to end.
    Whatever,
}

/// The result of a validation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Validated {
    /// All reads are valid up to this timestamp.
    UpTo(u64),
    /// There is too much to look at for those who wait.
    NotUnderLatch,
}

impl Validated {
    /// The timestamp up to which it was done; it began with `since`.
    #[inline]
    pub(crate) fn up_to(self, since: u64) -> u64 {
        match self {
            Self::UpTo(until) => until,
            Self::NotUnderLatch => since,
        }
    }
}

/// Recent changes that are inspected under the commit latch; few for models.
const LATCHED_MAX: u64 = if cfg!(shuttle) { 4 } else { 1024 };

/// The state of one validation.
struct Validation<'t> {
    transaction: &'t ReadTransaction<'t>,
    reads: &'t ReadSet<'t>,
    /// Commits up to here need not be inspected.
    since: u64,
    /// The table that was inspected last.
    table: Option<Arc<TableCore>>,
}

/// The read set of a transaction, if its commit depends on it.
#[inline]
pub(crate) fn reads_of<'t>(transaction: &'t ReadTransaction<'_>) -> Option<&'t ReadSet<'t>> {
    let reads = transaction.reads.as_ref()?;
    (reads.is_validated() && reads.is_touched()).then_some(reads)
}

/// Compares what was read with the commits later than `since`, and says up to which timestamp that
/// was done.
///
/// # Errors
/// `Conflict`, naming a table and a key.
pub(crate) fn validate(
    transaction: &ReadTransaction<'_>,
    alloc: Allocator<'_>,
    since: u64,
    latched: Latched,
) -> Result<Validated> {
    let memory = transaction.memory();
    let until = memory.header().clock.0.load(SeqCst);
    let Some(reads) = reads_of(transaction) else { return Ok(Validated::UpTo(until)) };
    if until == since {
        return Ok(Validated::UpTo(until));
    }
    let mut validation = Validation { transaction, reads, since, table: None };
    let most = if latched == Latched::Commit { LATCHED_MAX } else { u64::MAX };
    let check = |table, row| validation.check(table, row);
    match recent::each_since(memory, since, most, check)? {
        Reach::Whole => return Ok(Validated::UpTo(until)),
        Reach::Short | Reach::Long if latched == Latched::Commit => {
            return Ok(Validated::NotUnderLatch);
        }
        Reach::Short | Reach::Long => {}
    }
    if latched == Latched::No {
        recent::grow(alloc);
    }
    validation.check_all_rows()?;
    Ok(Validated::UpTo(until))
}

impl Validation<'_> {
    /// Fails if a row that others changed is one of what was read.
    fn check(&mut self, table: u32, row: u32) -> Result<()> {
        if self.reads.knows_not(table) {
            return Ok(());
        }
        if self.table.as_ref().is_none_or(|core| core.id != table) {
            self.table = self.transaction.db.catalog().by_id(table);
        }
        match &self.table {
            Some(core) => self.check_row(core, row),
            None => Ok(()),
        }
    }

    fn check_row(&self, core: &TableCore, row: u32) -> Result<()> {
        let memory = self.transaction.memory();
        let table = TableAt { memory, core };
        if u64::from(row) >= table.directory().limit() {
            return Ok(());
        }
        let word = table.directory().word(memory, row);
        if is_frozen(word) {
            return self.check_frozen_row(table, row);
        }
        let newest = newest_of(word);
        // As it was for others: this transaction's own changes do not count.
        let snapshot = Snapshot { own: 0, ..self.transaction.snapshot.get() };
        let before = visible(memory, newest, snapshot);
        let after = newest_committed(table, newest).and_then(|(at, _)| at);
        let known = before.or(after);
        if self.reads.has_row(core.id, row) {
            return Err(describe::read_conflict(table, row, known));
        }
        let is_read = |at: u64| self.reads.has_content(table, row, bytes_at(memory, at));
        if before != after && (before.is_some_and(is_read) || after.is_some_and(is_read)) {
            return Err(describe::read_conflict(table, row, known));
        }
        Ok(())
    }

    /// As [`Validation::check_row`], for a row that is as it was frozen: it lies in a segment that
    /// was bulk inserted by a commit that the snapshot does not see, or one has deleted it. All
    /// others were committed before every snapshot that is held.
    #[cold]
    fn check_frozen_row(&self, table: TableAt<'_>, row: u32) -> Result<()> {
        let Some(frozen) = table.frozen_row(row) else { return Ok(()) };
        let since = self.transaction.snapshot.get().timestamp;
        let is_late = |begin| matches!(begin, Begin::Committed(begin) if begin > since);
        let is_new = is_late(resolve(table.memory, &frozen.segment.begin));
        let has_ended = frozen.end(table.memory).is_some_and(is_late);
        if !is_new && !has_ended {
            return Ok(());
        }
        let mut bytes = vec![0; frozen.len(&table)];
        frozen.write(&table, &mut bytes);
        // What has come and gone since was never seen.
        let is_read = || is_new != has_ended && self.reads.has_content(table, row, &bytes);
        if self.reads.has_row(table.core.id, row) || is_read() {
            return Err(describe::read_conflict(table, row, None));
        }
        Ok(())
    }

    /// As [`Validation::check`], for every row of the tables that were read that has changed.
    #[cold]
    fn check_all_rows(&self) -> Result<()> {
        let memory = self.transaction.memory();
        let tables = self.transaction.db.catalog().all();
        let snapshot = self.transaction.snapshot.get();
        for core in tables.iter().filter(|core| !self.reads.knows_not(core.id)) {
            let table = TableAt { memory, core };
            let (mut next, limit) = (0, table.directory().limit());
            while next < limit {
                let slots = table.directory().stretch(memory, &mut next, limit, u64::MAX);
                let first = (!slots.is_empty()).then_some(next as u32);
                let frozen = first.and_then(|row| table.directory().frozen(memory, row));
                let is_new = frozen.is_some_and(|it| !snapshot.sees(memory, &it.begin));
                for (row, slot) in (next as u32..).zip(slots) {
                    let word = slot.load(Acquire);
                    if is_frozen(word) && (is_new || self.has_ended_late(table, row)) {
                        self.check_row(core, row)?;
                    }
                    let committed = newest_committed(table, newest_of(word));
                    let begin = committed.map(|(_, begin)| begin);
                    if begin.is_some_and(|begin| begin > self.since) {
                        self.check_row(core, row)?;
                    }
                    next = u64::from(row) + 1;
                }
            }
        }
        Ok(())
    }

    /// Whether a row that is as it was frozen was deleted by a commit that is to be inspected.
    #[cold]
    fn has_ended_late(&self, table: TableAt<'_>, row: u32) -> bool {
        let end = table.frozen_row(row).and_then(|frozen| frozen.end(table.memory));
        matches!(end, Some(Begin::Committed(end)) if end > self.since)
    }
}

/// The newest state that is committed, and since when: a version, or none of a row that is deleted.
fn newest_committed(table: TableAt<'_>, newest: u64) -> Option<(Option<u64>, u64)> {
    chain(table.memory, newest).find_map(|(at, version)| {
        let Begin::Committed(begin) = resolve(table.memory, &version.begin) else { return None };
        if let Some(Begin::Committed(end)) = version.end(table.memory) {
            return Some((None, end));
        }
        Some(((!version.is_tombstone()).then_some(at), begin))
    })
}

#[cfg(test)]
mod tests;
