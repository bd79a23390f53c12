//! Reclaiming what transactions left behind, by those that come after them.
//!
//! No thread runs for this: a writer that ends works off the queue of its own slot, once enough has
//! gathered, and now and then that of another; a writer whom memory fails does all. An entry is
//! worked off when the horizon has passed it. If many have to wait, an old snapshot is there: then
//! all snapshots are looked at, versions between them are cut out, and rows of which some version
//! has to stay move to a second queue, of *pinned* rows, which holds each such version once. The
//! slot is held meanwhile, so what is read here stays readable.

use std::sync::Arc;

use super::clock::{self, Horizon};
use super::defining::free_dropped;
use super::{compact, snapshots};
use crate::instance::Instance;
use crate::memory::atomic::{Relaxed, SeqCst};
use crate::memory::retire::Retired;
use crate::memory::{Cache, Entitlement, Heap, Purpose};
use crate::slot;
use crate::table::pins::Pins;
use crate::table::prune::{NOTES_MAX, RETIRED_PER_ROW, prune, prune_between};
use crate::table::run::LONG;
use crate::table::table::{TableAt, TableCore};
use crate::table::version::Version;

/// Entries in a slot's queue from which on a writer works them off, and each so many more again if
/// they have to wait; models do it at once.
const WORTHWHILE: u64 = if cfg!(shuttle) { 1 } else { 64 };

/// Entries that are left then from which on some snapshot is taken to be an old one, rather than
/// that of a thread that has lost the processor for a moment; so many more before all snapshots are
/// looked at again, which costs a system call. Fewer where the budget is small, or rows are large.
const BACKLOG_MAX: u64 = if cfg!(shuttle) { 1 } else { 16 << 10 };
const BACKLOG_MIN: u64 = if cfg!(shuttle) { 1 } else { 256 };
const BACKLOG_BUDGET_SHIFT: u32 = 14;
const BACKLOG_BYTES_MAX: u64 = 4 << 20;
const BACKLOG_BYTES_MIN: u64 = 64 << 10;
const BACKLOG_BYTES_BUDGET_SHIFT: u32 = 7;

/// A writer works off so many entries at once and a quarter of the others, so that none has to do
/// it all.
const AT_ONCE: u64 = 256;

/// How many entries ahead rows are asked for, their newest versions, and those behind them. All are
/// going to be written, and other processors may have them.
const ROWS_AHEAD: u64 = 12;
const VERSIONS_AHEAD: u64 = 8;
const OLDER_AHEAD: u64 = 4;

/// Rows of a run that are cleared away at a time, and how many count as one entry.
const ROWS_AT_A_TIME: u64 = 4096;
const ROWS_PER_ENTRY: u64 = 64;

/// How many of a slot's transactions pass between two looks at another slot's queue.
const ADOPTION_INTERVAL: u64 = if cfg!(shuttle) { 2 } else { 64 };

/// Called by each writer at its end, while it still holds its slot. `stamp` is the transaction's,
/// `undone` how many rows of runs it took back: of many, it clears away itself what can be.
#[inline]
pub(crate) fn after_transaction(
    db: &Instance,
    heap: Heap<'_>,
    own: usize,
    (stamp, undone): (u64, u64),
) {
    if undone >= u64::from(LONG) {
        return work_off(db, heap, own, Thoroughness::All);
    }
    let (count, look_at) = (heap.cache.retired.count(), heap.cache.retired_look_at.load(Relaxed));
    if count >= WORTHWHILE && count >= look_at {
        work_off(db, heap, own, Thoroughness::AsNeeded);
    }
    if stamp.is_multiple_of(ADOPTION_INTERVAL) {
        // Whoever retires nothing more may still be the one to free what had to wait.
        heap.cache.retired_look_at.store(0, Relaxed);
        adopt_one(db, own, stamp / ADOPTION_INTERVAL);
        compact::some(db, heap);
        compact::free_moved(heap, own);
        free_dropped(db, heap, own);
    }
}

/// Called by a writer whom memory failed, in the middle of its transaction: works off what can be
/// without touching anything that its own snapshot or its references need.
#[cold]
pub(crate) fn under_pressure(db: &Instance, heap: Heap<'_>) {
    work_off(db, heap, usize::MAX, Thoroughness::All);
    everything(db);
    // What its own snapshot holds back is to be freed as soon as it has ended.
    heap.cache.retired_look_at.store(0, Relaxed);
}

/// Works off everything that can be: the queues of all slots that nobody holds.
pub(crate) fn everything(db: &Instance) {
    for number in 0..slots_used(db) {
        let Some(held) = clock::adopt_slot(db.memory(), number) else { continue };
        let Some(cache) = slot::cache(db.memory(), held.slot()) else { continue };
        let heap = db.memory().heap(cache);
        // Pruning rows retires blocks, which a second pass frees.
        for _ in 0..2 {
            work_off(db, heap, number, Thoroughness::All);
        }
        cache.retired_look_at.store(0, Relaxed);
        compact::free_moved(heap, number);
        free_dropped(db, heap, number);
        cache.retired.release(heap);
        cache.pinned.release(heap);
        cache.moved.release(heap);
        heap.flush();
    }
}

/// Works off the queue of one of the other slots, each in its turn, if nobody holds it: its writer
/// may never come back.
#[cold]
fn adopt_one(db: &Instance, own: usize, turn: u64) {
    let memory = db.memory();
    let number = turn as usize % slots_used(db).max(1);
    let backlog = |cache: &Cache| {
        let moved = cache.moved.count() > 0;
        moved || cache.retired.count() >= WORTHWHILE || cache.pinned.count() > 0
    };
    if number == own || !slot::cache(memory, slot::slot(memory, number)).is_some_and(backlog) {
        return;
    }
    if let Some(held) = clock::adopt_slot(memory, number)
        && let Some(cache) = slot::cache(memory, held.slot())
    {
        work_off(db, memory.heap(cache), number, Thoroughness::AsNeeded);
        compact::free_moved(memory.heap(cache), number);
    }
}

fn slots_used(db: &Instance) -> usize {
    db.memory().header().slots_used.load(SeqCst) as usize
}

/// How much trouble to take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Thoroughness {
    /// What is behind the oldest snapshot; more only if much is left then.
    AsNeeded,
    /// All that can be.
    All,
}

/// Works off the queues of the slot that `heap` is of; `own` is the slot whose snapshot does not
/// count.
fn work_off(db: &Instance, heap: Heap<'_>, own: usize, thoroughness: Thoroughness) {
    let (memory, cache) = (heap.memory, heap.cache);
    let horizon = clock::horizon(memory, own);
    let before = cache.retired.count();
    let limit = match thoroughness {
        Thoroughness::AsNeeded => AT_ONCE + cache.retired.count() / 4,
        Thoroughness::All => u64::MAX,
    };
    work_off_retired(db, heap, horizon, Work { limit, pins: None });
    if cache.pinned.count() > 0 && cache.pinned_until.load(Relaxed) <= horizon.rows {
        work_off_pinned(db, heap, horizon, None);
    }
    let left = cache.retired.count();
    cache.retired_look_at.store(left + WORTHWHILE, Relaxed);
    let new_bytes = scale_bytes(cache, left, before);
    // Who has a limit wants it kept as closely as a small budget.
    let limited = memory.header().limited.load(Relaxed) > 0;
    let budget = if limited { 0 } else { memory.header().account.budget.load(Relaxed) };
    let backlog = (budget >> BACKLOG_BUDGET_SHIFT).clamp(BACKLOG_MIN, BACKLOG_MAX);
    let search_at = cache.retired_search_at.load(Relaxed).max(backlog);
    let bytes_max = budget >> BACKLOG_BYTES_BUDGET_SHIFT;
    let large = new_bytes >= bytes_max.clamp(BACKLOG_BYTES_MIN, BACKLOG_BYTES_MAX);
    if thoroughness == Thoroughness::All || left >= search_at || large && left >= WORTHWHILE {
        look_at_all_snapshots(db, heap, own);
        let (before, left) = (left, cache.retired.count());
        scale_bytes(cache, left, before);
        cache.retired_bytes_seen.store(cache.retired_bytes.load(Relaxed), Relaxed);
        cache.retired_look_at.store(left + WORTHWHILE, Relaxed);
        cache.retired_search_at.store(left + backlog, Relaxed);
    } else if left < backlog {
        cache.retired_search_at.store(0, Relaxed);
    }
}

/// Takes what was worked off, all but `left` entries of `before`, off the bytes that wait. Returns
/// how many of the rest came since all snapshots were last looked at.
fn scale_bytes(cache: &Cache, left: u64, before: u64) -> u64 {
    let scaled = [&cache.retired_bytes, &cache.retired_bytes_seen].map(|word| {
        let bytes = word.load(Relaxed).saturating_mul(left.min(before)) / before.max(1);
        word.store(bytes, Relaxed);
        bytes
    });
    scaled[0].saturating_sub(scaled[1])
}

/// Works off what only an old snapshot holds back, as far as it does not need it.
fn look_at_all_snapshots(db: &Instance, heap: Heap<'_>, own: usize) {
    let (memory, cache) = (heap.memory, heap.cache);
    snapshots::expire(db);
    let passed = snapshots::pass_by(memory, own);
    let Some(pins) = Pins::collect(memory, own) else { return };
    // Anew: what was retired just now may be in the hands of transactions that have begun since.
    let horizon = clock::horizon(memory, own);
    let horizon = Horizon { blocks: horizon.blocks.max(passed), ..horizon };
    work_off_retired(db, heap, horizon, Work { limit: u64::MAX, pins: Some(&pins) });
    let releases = memory.header().releases.load(SeqCst);
    if cache.releases_seen.load(Relaxed) != releases {
        cache.releases_seen.store(releases, Relaxed);
        work_off_pinned(db, heap, horizon, Some(&pins));
    }
}

/// Works off what was retired, oldest first, until something has to wait. With all snapshots at
/// hand, rows need not wait for the oldest.
fn work_off_retired(db: &Instance, heap: Heap<'_>, horizon: Horizon, work: Work<'_>) {
    let queue = &heap.cache.retired;
    let rows = work.pins.map_or(horizon.rows, Pins::clock);
    let mut tables = Tables { db, newest: None };
    // What is added meanwhile waits for its own time.
    let (mut entries, mut left) = (queue.count(), work.limit);
    while entries > 0 && left > 0 {
        let Some((stamp, item)) = queue.front(heap) else { return };
        let reached = if matches!(item, Retired::Row { .. }) { rows } else { horizon.blocks };
        if stamp > reached {
            return;
        }
        if let Retired::Rows { table, row } = item {
            let most = left.saturating_mul(ROWS_PER_ENTRY).min(ROWS_AT_A_TIME) as u32;
            let rows = queue.front_rows(heap).min(most);
            if let Some(core) = tables.by_id(table) {
                TableAt { memory: heap.memory, core }.clear_rows(heap, row, rows);
            }
            entries -= queue.pop_rows(heap, rows);
            left = left.saturating_sub(u64::from(rows).div_ceil(ROWS_PER_ENTRY));
            continue;
        }
        (entries, left) = (entries - 1, left - 1);
        match item {
            Retired::Rows { .. } | Retired::Slots { .. } => {
                unreachable!("runs have been dealt with, and slots wait elsewhere")
            }
            Retired::Segment { table, row } => {
                queue.pop(heap);
                if let Some(core) = tables.by_id(table) {
                    TableAt { memory: heap.memory, core }.clear_segment(heap, row);
                }
            }
            Retired::Block { offset, purpose } => {
                queue.pop(heap);
                match purpose {
                    Purpose::Rows => Version::free(heap, offset),
                    _ => heap.free_block(offset, purpose),
                }
            }
            Retired::Deletion { offset } => {
                queue.pop(heap);
                let content = Version::at(heap.memory, offset).older.load(Relaxed);
                for version in [offset, content].into_iter().filter(|at| *at != 0) {
                    Version::free(heap, version);
                }
            }
            Retired::Row { table, row } => {
                tables.prefetch(heap);
                let pins = work.pins.filter(|_| stamp > horizon.rows);
                if !prune_row(&mut tables, heap, (table, row), horizon, pins) {
                    return;
                }
            }
        }
    }
}

/// How much to work off, and how.
#[derive(Clone, Copy)]
struct Work<'w> {
    limit: u64,
    pins: Option<&'w Pins<'w>>,
}

/// The table that was needed last: mostly it is the next one too.
struct Tables<'db> {
    db: &'db Instance,
    newest: Option<Arc<TableCore>>,
}

impl Tables<'_> {
    fn by_id(&mut self, id: u32) -> Option<&TableCore> {
        if self.newest.as_ref().is_none_or(|core| core.id != id) {
            self.newest = self.db.catalog().by_id(id);
        }
        self.newest.as_deref()
    }

    /// Asks the processor for what entries a little further on in the queue are about.
    fn prefetch(&mut self, heap: Heap<'_>) {
        let (Some(core), memory) = (self.newest.as_deref(), heap.memory) else { return };
        let row_ahead = |ahead| match heap.cache.retired.peek(heap, ahead) {
            Some(Retired::Row { table, row }) if table == core.id => Some(row),
            _ => None,
        };
        let directory = TableAt { memory, core }.directory();
        if let Some(row) = row_ahead(ROWS_AHEAD) {
            directory.prefetch_to_latch(memory, row);
        }
        if let Some(row) = row_ahead(VERSIONS_AHEAD) {
            memory.region().prefetch_to_write(directory.newest(memory, row), size_of::<Version>());
        }
        if let Some(row) = row_ahead(OLDER_AHEAD) {
            let newest = directory.newest(memory, row);
            if newest != 0 {
                let older = Version::at(memory, newest).older.load(Relaxed);
                memory.region().prefetch_to_write(older, core.prefetch_len);
            }
        }
    }
}

/// Prunes the row that the queue's front is about; `false` if there is no room for that.
fn prune_row(
    tables: &mut Tables<'_>,
    heap: Heap<'_>,
    (table, row): (u32, u32),
    horizon: Horizon,
    pins: Option<&Pins<'_>>,
) -> bool {
    let Cache { retired, pinned, .. } = heap.cache;
    let room = pins.map_or(Ok(()), |_| pinned.make_room(heap, NOTES_MAX, Entitlement::Reserve));
    if room.is_err() || retired.promise_many(heap, RETIRED_PER_ROW, Entitlement::Reserve).is_err() {
        return false;
    }
    retired.pop(heap);
    if let Some(core) = tables.by_id(table) {
        let at = TableAt { memory: heap.memory, core };
        match pins {
            Some(pins) => prune_between(at, heap, row, pins, |stamp| {
                push_pinned(heap, stamp, Retired::Row { table, row });
            }),
            None => prune(at, heap, row, horizon.rows),
        }
    }
    retired.redeem_many(RETIRED_PER_ROW);
    true
}

/// Looks again at the rows that an old snapshot held on to.
fn work_off_pinned(db: &Instance, heap: Heap<'_>, horizon: Horizon, pins: Option<&Pins<'_>>) {
    let Cache { retired, pinned, pinned_until, .. } = heap.cache;
    pinned_until.store(u64::MAX, Relaxed);
    for _ in 0..pinned.count() {
        let Some((stamp, item)) = pinned.front(heap) else { return };
        let Retired::Row { table, row } = item else { unreachable!("only rows are pinned") };
        // For the notes, and for the entry itself if it goes to the end.
        let room = pinned.make_room(heap, NOTES_MAX + 1, Entitlement::Reserve);
        let promised = retired.promise_many(heap, RETIRED_PER_ROW, Entitlement::Reserve);
        if room.is_err() || promised.is_err() {
            pinned_until.store(0, Relaxed);
            if promised.is_ok() {
                retired.redeem_many(RETIRED_PER_ROW);
            }
            return;
        }
        pinned.pop(heap);
        if stamp > horizon.rows {
            push_pinned(heap, stamp, item);
        }
        if let Some(core) = db.catalog().by_id(table) {
            let at = TableAt { memory: heap.memory, core: &core };
            match pins.filter(|_| stamp > horizon.rows) {
                Some(pins) => prune_between(at, heap, row, pins, |stamp| {
                    push_pinned(heap, stamp, Retired::Row { table, row });
                }),
                None if stamp <= horizon.rows => prune(at, heap, row, horizon.rows),
                None => {}
            }
        }
        retired.redeem_many(RETIRED_PER_ROW);
    }
}

/// Adds a row to the pinned ones; room was made.
fn push_pinned(heap: Heap<'_>, stamp: u64, item: Retired) {
    let until = &heap.cache.pinned_until;
    if heap.cache.pinned.count() == 0 || stamp < until.load(Relaxed) {
        until.store(stamp, Relaxed);
    }
    heap.cache.pinned.push(heap, stamp, item);
}
