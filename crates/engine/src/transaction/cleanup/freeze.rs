//! Freezing a table: segment by segment, each in a slot of its own.
//!
//! So no snapshot is held for longer than one segment takes, and what a segment has left behind is
//! freed before the next one is begun, if nobody reads. The definition lock is held: nobody else
//! freezes, and no index is made of rows that are on their way. Frozen segments of which many rows
//! were changed or deleted are frozen again in the same way.

use std::sync::{PoisonError, TryLockError};

use super::{compact, reclaim};
use crate::error::Result;
use crate::index::pack::Packing;
use crate::instance::Instance;
use crate::memory::Allocator;
use crate::memory::counts::Counted;
use crate::table::columns::freeze::{Gaps, Inspected, Outcome};
use crate::table::rows::segment::SEGMENT_SHIFT;
use crate::table::table::{TableAt, TableCore};
use crate::transaction::begin::clock;
use crate::transaction::commit::finalize;
use crate::transaction::write::defining::{WAIT_MAX, busy};

/// Which segments to freeze.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// Those whose row ids have all been given out.
    Full,
    /// Of these, the one with this number.
    One(u32),
    /// All; no more row ids are given out in the last one.
    All,
}

/// The result of freezing a table.
///
/// # Examples
/// See [`Database::freeze`](crate::Database::freeze).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FreezeReport {
    /// Segments that are frozen now and were not before, or have new columns.
    pub segments: u64,
    /// How many of them were frozen before, and had many rows that were changed or deleted since.
    pub refrozen: u64,
    /// Rows in those segments.
    pub rows: u64,
    /// Segments that were skipped, since a row in them has old versions, is being changed, or
    /// is not seen by every snapshot that is held.
    pub skipped: u64,
    /// Bytes that the rows of the segments took: versions and slots, columns that were replaced.
    pub bytes_before: u64,
    /// Bytes that they take now: columns, and what leads there.
    pub bytes_after: u64,
}

/// Freezes the segments of a table that can be, and in which nothing was inserted or changed after
/// the timestamp `unchanged_since`.
///
/// # Errors
/// `UnknownTable`, `TableBusy` if tables are changed for 5 seconds, `TooManyTransactions`, and
/// memory; then some segments are frozen and others not.
pub(crate) fn freeze(
    db: &Instance,
    core: &TableCore,
    extent: Extent,
    unchanged_since: u64,
) -> Result<FreezeReport> {
    let turn = db.definition_turn().take_within(WAIT_MAX);
    let _turn = turn.ok_or_else(|| busy("a change of tables"))?;
    let _maintenance = db.maintenance.lock().unwrap_or_else(PoisonError::into_inner);
    core.check_live()?;
    db.check_owner(core)?;
    finalize::drain_all(db);
    reclaim::drain_all(db);
    let at = TableAt { memory: db.memory(), core };
    let (numbers, skipped) = candidates(db, at, extent, unchanged_since)?;
    let mut report = FreezeReport { skipped, ..FreezeReport::default() };
    if numbers.is_empty() && extent != Extent::All {
        return Ok(report);
    }
    at.directory().withdraw_gaps(db.memory(), &numbers);
    let frozen: Result<()> = numbers.iter().try_for_each(|&number| {
        let outcome = in_slot(db, |alloc, horizon| {
            freeze_one(at, alloc, number, horizon.min(unchanged_since), Gaps::Withdrawn)
        })?;
        report.count(outcome);
        reclaim::drain_all(db);
        Ok(())
    });
    at.directory().return_gaps(db.memory(), &numbers);
    frozen?;
    if extent == Extent::All {
        pack_indexes(db, at)?;
    }
    Ok(report)
}

/// How many segments of a table are full; `None` while tables are changed, by this thread perhaps,
/// and of a table that is gone.
pub(crate) fn full_segments(db: &Instance, core: &TableCore) -> Option<u32> {
    let _turn = db.definition_turn().try_take()?;
    core.check_live().ok()?;
    Some((TableAt { memory: db.memory(), core }.directory().limit() >> SEGMENT_SHIFT) as u32)
}

/// Freezes those of some segments that can be, have no free row id and are not the last one, as
/// long as it `goes_on`, which is asked before each. Waits for nobody: while somebody else freezes,
/// or changes tables, there is nothing to be done.
///
/// # Errors
/// `UnknownTable`, `TooManyTransactions`, and memory; then some segments are frozen and others not.
pub(crate) fn freeze_some(
    db: &Instance,
    core: &TableCore,
    numbers: &[u32],
    mut goes_on: impl FnMut() -> bool,
) -> Result<FreezeReport> {
    let mut report = FreezeReport::default();
    let Some(_turn) = db.definition_turn().try_take() else { return Ok(report) };
    let _maintenance = match db.maintenance.try_lock() {
        Ok(alone) => alone,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return Ok(report),
    };
    core.check_live()?;
    db.check_owner(core)?;
    let at = TableAt { memory: db.memory(), core };
    for &number in numbers {
        if !goes_on() {
            break;
        }
        let (held, _) = finalize::with_free_slot(db, clock::begin_past_gate)?;
        let (alloc, own) = (db.memory().allocator(held.cache()), held.number());
        if u64::from(number) < at.directory().limit() >> SEGMENT_SHIFT {
            let horizon = clock::horizon(db.memory(), own).rows;
            report.count(freeze_one(at, alloc, number, horizon, Gaps::Refused)?);
        }
        // What everybody has left behind who was active before.
        compact::free_moved(alloc, own);
    }
    Ok(report)
}

fn freeze_one<'d>(
    at: TableAt<'d>,
    alloc: Allocator<'d>,
    number: u32,
    horizon: u64,
    gaps: Gaps,
) -> Result<Outcome> {
    let outcome = at.freeze_segment(alloc, number, horizon, gaps)?;
    if matches!(outcome, Outcome::Frozen { .. } | Outcome::Refrozen { .. }) {
        alloc.cache.counts.add(Counted::FrozenSegments, 1);
    }
    Ok(outcome)
}

/// Makes the ordered indexes of a table smaller that was loaded and is frozen now.
fn pack_indexes(db: &Instance, at: TableAt<'_>) -> Result<()> {
    for index in at.core.indexes().filter(|index| index.is_ordered()) {
        let mut packing = Packing::default();
        while in_slot(db, |alloc, _| Ok(at.pack(alloc, index, &mut packing)))? {
            reclaim::drain_all(db);
        }
    }
    reclaim::drain_all(db);
    Ok(())
}

/// The segments that can be frozen as it seems, and how many others there are that are not.
fn candidates(
    db: &Instance,
    at: TableAt<'_>,
    extent: Extent,
    unchanged_since: u64,
) -> Result<(Vec<u32>, u64)> {
    let limit = at.directory().limit();
    let full = (limit >> SEGMENT_SHIFT) as u32;
    let range = match extent {
        Extent::Full => 0..full,
        Extent::One(number) => number..full.min(number + 1),
        Extent::All => 0..limit.div_ceil(1 << SEGMENT_SHIFT) as u32,
    };
    let (mut numbers, mut skipped) = (Vec::new(), 0);
    for number in range {
        let inspected =
            in_slot(db, |_, horizon| Ok(at.inspect_segment(number, horizon.min(unchanged_since))));
        match inspected? {
            Inspected::Freezable => numbers.push(number),
            Inspected::Busy => skipped += 1,
            Inspected::Nothing => {}
        }
    }
    Ok((numbers, skipped))
}

/// Does something as a writer that has taken a slot, with what every snapshot has reached.
fn in_slot<'d, T>(
    db: &'d Instance,
    work: impl FnOnce(Allocator<'d>, u64) -> Result<T>,
) -> Result<T> {
    let (held, _) = finalize::with_free_slot(db, clock::begin_past_gate)?;
    let horizon = clock::horizon(db.memory(), held.number()).rows;
    work(db.memory().allocator(held.cache()), horizon)
}

impl FreezeReport {
    fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Frozen { rows, bytes_before, bytes_after }
            | Outcome::Refrozen { rows, bytes_before, bytes_after } => {
                self.segments += 1;
                self.refrozen += u64::from(matches!(outcome, Outcome::Refrozen { .. }));
                self.rows += rows;
                self.bytes_before += bytes_before;
                self.bytes_after += bytes_after;
            }
            Outcome::Nothing => {}
            Outcome::Busy => self.skipped += 1,
        }
    }
}
