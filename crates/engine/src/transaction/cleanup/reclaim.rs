//! Reclaiming what transactions left behind, by those that come after them.
//!
//! No thread runs for this: a writer that ends drains the queue of its own slot, once enough has
//! gathered, and now and then that of another; a writer whom memory fails does all. An entry is
//! drained when the horizon has passed it. If many have to wait, an old snapshot is there: then
//! all snapshots are inspected, versions between them are cut out, and rows of which some version
//! has to stay move to a second queue, of *pinned* rows, which holds each such version once. The
//! slot is held meanwhile, so what is read here stays readable.

use std::cell::Cell;
use std::sync::Arc;

use super::{compact, snapshots};
use crate::instance::Instance;
use crate::memory::atomic::{Relaxed, SeqCst};
use crate::memory::retire::Retired;
use crate::memory::{AllocationClass, Allocator, Cache, Purpose};
use crate::slot;
use crate::table::cleanup::ended::{MarkOutcome, rows_of};
use crate::table::cleanup::pins::Pins;
use crate::table::cleanup::prune::{NOTES_MAX, Pruned, prune, prune_between, prune_step_by_step};
use crate::table::columns::frozen_ends::MarkedEnds;
use crate::table::rows::version::Version;
use crate::table::table::{TableAt, TableCore};
use crate::table::write::run::LONG;
use crate::transaction::begin::clock::{self, Horizon};
use crate::transaction::commit::{commit, finalize};
use crate::transaction::write::defining::free_dropped;
use crate::transaction::write::write_set::RESERVATIONS_OF_ENDED;

/// Entries in a slot's queue from which on a writer drains them, and each so many more again if
/// they have to wait; models do it at once.
const WORTHWHILE: u64 = if cfg!(shuttle) { 1 } else { 64 };

/// Entries that are left then from which on some snapshot is taken to be an old one, rather than
/// that of a thread that has lost the processor for a moment; so many more before all snapshots are
/// inspected again, which costs a system call. Fewer where the budget is small, or rows are large.
const BACKLOG_MAX: u64 = if cfg!(shuttle) { 1 } else { 16 << 10 };
const BACKLOG_MIN: u64 = if cfg!(shuttle) { 1 } else { 256 };
const BACKLOG_BUDGET_SHIFT: u32 = 14;
const BACKLOG_BYTES_MAX: u64 = 4 << 20;
const BACKLOG_BYTES_MIN: u64 = 64 << 10;
const BACKLOG_BYTES_BUDGET_SHIFT: u32 = 7;

/// A writer drains so many entries at once and a quarter of the others, so that none has to do
/// it all; of what it has not left there itself, so many at most.
const AT_ONCE: u64 = 256;
const OF_OTHERS_MAX: u64 = 16 << 10;

/// How many entries ahead rows are asked for, their newest versions, and those behind them. All are
/// going to be written, and other processors may have them.
const ROWS_AHEAD: u64 = 12;
const VERSIONS_AHEAD: u64 = 8;
const OLDER_AHEAD: u64 = 4;

/// Rows of a run that are freed at a time, and how many count as one entry.
const ROWS_AT_A_TIME: u64 = 4096;
const ROWS_PER_ENTRY: u64 = 64;

/// How often a queue is drained until nothing is left that can be: what rows leave when they are
/// pruned or marked dead is freed in the second pass.
const PASSES: u32 = 2;

/// A slot's transactions between two visits of another slot's queue.
const ADOPTION_INTERVAL: u64 = if cfg!(shuttle) { 2 } else { 64 };

/// Called by each writer at its end, while it still holds its slot. `stamp` is the transaction's,
/// `undone` how many rows of runs it took back: of many, it frees itself what can be.
#[inline]
pub(crate) fn after_transaction(
    db: &Instance,
    alloc: Allocator<'_>,
    own: usize,
    stamp: u64,
    undone: u64,
) {
    if undone >= u64::from(LONG) {
        drain_queues(db, alloc, Ended::only(own), Thoroughness::All);
        return;
    }
    let (count, drain_at) =
        (alloc.cache.retired.count(), alloc.cache.retired_drain_at.load(Relaxed));
    let account = &alloc.memory.header().account;
    let is_due =
        if account.is_small() { count > 0 } else { count >= WORTHWHILE && count >= drain_at };
    let is_short = is_due && account.is_short();
    let pressed = alloc.cache.pressed.load(Relaxed) != 0;
    if pressed || is_short {
        // What its own snapshot held back is to be free for the next.
        alloc.cache.pressed.store(0, Relaxed);
        drain_repeatedly(db, alloc, Ended::only(own));
        if pressed {
            compact::move_many_rows(db, alloc, own);
        }
    } else if is_due {
        drain_queues(db, alloc, Ended::only(own), Thoroughness::AsNeeded);
    }
    if stamp.is_multiple_of(ADOPTION_INTERVAL) {
        // Whoever retires nothing more may still be the one to free what had to wait.
        alloc.cache.retired_drain_at.store(0, Relaxed);
        drain_other_slot(db, own, stamp / ADOPTION_INTERVAL);
        compact::move_some_rows(db, alloc);
        compact::free_moved(alloc, own);
        free_dropped(db, alloc, own);
    }
}

/// Called by a writer whom memory failed, in the middle of its transaction: drains what can be
/// without touching anything that its own snapshot or its references need. If it is `idle`, the
/// number of its slot: it refers to no node of an index, and looks for its places anew.
#[cold]
pub(crate) fn drain_under_pressure(db: &Instance, alloc: Allocator<'_>, idle: Option<usize>) {
    let has_idle = idle.is_some();
    let idle = idle.unwrap_or(NOBODY);
    let ended = Ended { number: NOBODY, idle };
    // What goes behind its back now stays until it has ended.
    match has_idle {
        true => drain_repeatedly(db, alloc, ended),
        false => drop(drain_queues(db, alloc, ended, Thoroughness::All)),
    }
    drain_all_beside(db, idle);
    if alloc.memory.header().account.is_small() {
        // There the stock of one slot is much of all.
        alloc.flush();
    }
    alloc.cache.pressed.store(1, Relaxed);
}

/// Drains the queues of all slots that nobody holds.
pub(crate) fn drain_all(db: &Instance) {
    drain_all_beside(db, NOBODY);
}

fn drain_all_beside(db: &Instance, idle: usize) {
    // A slot that is left unstamped is held by nobody and taken by nobody.
    finalize::drain_all(db);
    for number in 0..slots_used(db) {
        let Some(held) = clock::adopt_slot(db.memory(), number) else { continue };
        let Some(cache) = slot::cache(db.memory(), held.slot()) else { continue };
        let alloc = db.memory().allocator(cache);
        drain_repeatedly(db, alloc, Ended { number, idle });
        cache.retired_drain_at.store(0, Relaxed);
        compact::free_moved(alloc, number);
        free_dropped(db, alloc, number);
        cache.retired.free_chunks(alloc);
        cache.pinned.free_chunks(alloc);
        cache.moved.free_chunks(alloc);
        alloc.flush();
    }
}

/// Drains the queue of one of the other slots, each in its turn, if nobody holds it: its writer
/// may never come back.
#[cold]
fn drain_other_slot(db: &Instance, own: usize, turn: u64) {
    let memory = db.memory();
    let number = turn as usize % slots_used(db).max(1);
    let backlog = |cache: &Cache| {
        let moved = cache.moved.count() > 0;
        let many = cache.retired.count() >= WORTHWHILE || cache.retired.apart_count() > 0;
        moved || many || cache.pinned.count() > 0
    };
    if number == own || !slot::cache(memory, slot::slot(memory, number)).is_some_and(backlog) {
        return;
    }
    if let Some(held) = clock::adopt_slot(memory, number)
        && let Some(cache) = slot::cache(memory, held.slot())
    {
        drain_queues(db, memory.allocator(cache), Ended::only(number), Thoroughness::AsNeeded);
        compact::free_moved(memory.allocator(cache), number);
    }
}

fn slots_used(db: &Instance) -> usize {
    db.memory().header().slots_used.load(SeqCst) as usize
}

/// Of no slot.
const NOBODY: usize = usize::MAX;

/// Who does not count: the slot of the transaction that has ended, whose snapshot keeps nothing any
/// more; and that of a writer who is between two calls, and so refers to nothing but rows.
#[derive(Clone, Copy)]
struct Ended {
    number: usize,
    idle: usize,
}

impl Ended {
    fn only(number: usize) -> Self {
        Self { number, idle: NOBODY }
    }
}

/// How much of a queue to drain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Thoroughness {
    /// Entries behind the oldest snapshot; more only if much is left then.
    AsNeeded,
    /// All that can be.
    All,
}

/// Drains all that can be, again and again: what is left of it is freed with what follows.
fn drain_repeatedly(db: &Instance, alloc: Allocator<'_>, ended: Ended) {
    while drain_queues(db, alloc, ended, Thoroughness::All) {
        commit::advance_clock(alloc.memory);
    }
    for _ in 1..PASSES {
        drain_queues(db, alloc, ended, Thoroughness::All);
    }
}

/// Drains the queues of the slot that `alloc` is of. Whether rows in columns were marked dead, and
/// others are left that can be.
fn drain_queues(
    db: &Instance,
    alloc: Allocator<'_>,
    ended: Ended,
    thoroughness: Thoroughness,
) -> bool {
    let more = &Cell::new(false);
    let (memory, cache) = (alloc.memory, alloc.cache);
    let horizon = clock::horizon(memory, ended.number);
    let before = cache.retired.count();
    let own = before.saturating_sub(cache.retired_left.load(Relaxed));
    let limit = match thoroughness {
        Thoroughness::AsNeeded => AT_ONCE + (before / 4).min(OF_OTHERS_MAX.max(own * 2)),
        Thoroughness::All => u64::MAX,
    };
    let thorough = thoroughness == Thoroughness::All;
    drain_retired(db, alloc, horizon, Work { limit, pins: None, ended, thorough, more });
    if cache.pinned.count() > 0 && cache.pinned_until.load(Relaxed) <= horizon.rows {
        drain_pinned(db, alloc, horizon, Work { limit, pins: None, ended, thorough, more });
    }
    let left = cache.retired.count();
    cache.retired_drain_at.store(left + WORTHWHILE, Relaxed);
    cache.retired_left.store(left, Relaxed);
    let new_bytes = scale_bytes(cache, left, before);
    // Who has a limit wants it kept as closely as a small budget.
    let limited = memory.header().limited.load(Relaxed) > 0;
    let budget = if limited { 0 } else { memory.header().account.budget.load(Relaxed) };
    let backlog = (budget >> BACKLOG_BUDGET_SHIFT).clamp(BACKLOG_MIN, BACKLOG_MAX);
    let search_at = cache.retired_search_at.load(Relaxed).max(backlog);
    let bytes_max = budget >> BACKLOG_BYTES_BUDGET_SHIFT;
    let large = new_bytes >= bytes_max.clamp(BACKLOG_BYTES_MIN, BACKLOG_BYTES_MAX);
    if thoroughness == Thoroughness::All || left >= search_at || large && left >= WORTHWHILE {
        let limit = if left > OF_OTHERS_MAX { limit } else { u64::MAX };
        drain_between_snapshots(db, alloc, Work { limit, pins: None, ended, thorough, more });
        let (before, left) = (left, cache.retired.count());
        scale_bytes(cache, left, before);
        // Where there is more to be done, the next writer goes on with it.
        let backlog = if before.saturating_sub(left) < limit { backlog } else { 0 };
        cache.retired_bytes_seen.store(cache.retired_bytes.load(Relaxed), Relaxed);
        cache.retired_drain_at.store(left + WORTHWHILE, Relaxed);
        cache.retired_search_at.store(left + backlog, Relaxed);
    } else if left < backlog {
        cache.retired_search_at.store(0, Relaxed);
    }
    more.get()
}

/// Takes what was drained, all but `left` entries of `before`, off the bytes that wait. Returns
/// how many of the rest came since all snapshots were last inspected.
fn scale_bytes(cache: &Cache, left: u64, before: u64) -> u64 {
    let scaled = [&cache.retired_bytes, &cache.retired_bytes_seen].map(|word| {
        let bytes = word.load(Relaxed).saturating_mul(left.min(before)) / before.max(1);
        word.store(bytes, Relaxed);
        bytes
    });
    scaled[0].saturating_sub(scaled[1])
}

/// Drains what only an old snapshot holds back, as far as it does not need it.
fn drain_between_snapshots(db: &Instance, alloc: Allocator<'_>, work: Work<'_>) {
    let (memory, cache, ended) = (alloc.memory, alloc.cache, work.ended);
    snapshots::expire(db);
    let quiescent = snapshots::quiescent_horizon(memory, [ended.number, ended.idle]);
    let pins = Pins::collect(memory, ended.number);
    // Anew: what was retired just now may be in the hands of transactions that have begun since.
    let horizon = clock::horizon(memory, ended.number);
    let horizon = Horizon { blocks: horizon.blocks.max(quiescent), ..horizon };
    let work = Work { pins: Some(&pins), ..work };
    drain_retired(db, alloc, horizon, work);
    let releases = memory.header().releases.load(SeqCst);
    if cache.releases_seen.load(Relaxed) != releases {
        cache.releases_seen.store(releases, Relaxed);
        drain_pinned(db, alloc, horizon, Work { limit: u64::MAX, ..work });
    }
}

/// Drains what was retired, oldest first, until something has to wait. Where all snapshots are
/// known, rows need not wait for the oldest.
fn drain_retired(db: &Instance, alloc: Allocator<'_>, horizon: Horizon, work: Work<'_>) {
    let queue = &alloc.cache.retired;
    let rows = work.pins.map_or(horizon.rows, Pins::clock);
    let mut tables = Tables { db, newest: None };
    free_apart(alloc, work);
    // What is added meanwhile waits for its own time.
    let (mut entries, mut left) = (queue.count(), work.limit);
    while entries > 0 && left > 0 {
        let Some((stamp, item)) = queue.front(alloc) else { return };
        let reached = if item.is_seen() { rows } else { horizon.blocks };
        if stamp > reached {
            return;
        }
        match item {
            Retired::Rows { table, row } => {
                let most = left.saturating_mul(ROWS_PER_ENTRY).min(ROWS_AT_A_TIME) as u32;
                let rows = queue.front_rows(alloc).min(most);
                if let Some(core) = tables.by_id(table) {
                    TableAt { memory: alloc.memory, core }.free_rows(alloc, row, rows);
                }
                entries -= queue.pop_rows(alloc, rows);
                left = left.saturating_sub(u64::from(rows).div_ceil(ROWS_PER_ENTRY));
                continue;
            }
            Retired::Ended { table, row } => {
                if !mark_ended_dead(&mut tables, alloc, stamp, table, row, horizon, work) {
                    return free_behind(&mut tables, alloc, horizon, work);
                }
            }
            Retired::InColumns { .. } => {
                let Some(left) =
                    mark_dead_in_columns(&mut tables, alloc, stamp, item, horizon, work)
                else {
                    return free_behind(&mut tables, alloc, horizon, work);
                };
                queue.pop(alloc);
                if left {
                    queue.push(alloc, stamp, item);
                }
            }
            Retired::Dead { table, row } => {
                if let Some(core) = tables.by_id(table) {
                    let at = TableAt { memory: alloc.memory, core };
                    rows_of(row, queue.front_bits(alloc)).for_each(|row| at.free_dead(alloc, row));
                }
                pop_bits(alloc);
            }
            Retired::Row { table, row } => {
                tables.prefetch(alloc);
                if !prune_row(&mut tables, alloc, stamp, table, row, horizon, work) {
                    return free_behind(&mut tables, alloc, horizon, work);
                }
                queue.pop(alloc);
            }
            Retired::Segment { table, row } => {
                queue.pop(alloc);
                if let Some(core) = tables.by_id(table) {
                    TableAt { memory: alloc.memory, core }.free_segment(alloc, row);
                }
            }
            _ => {
                queue.pop(alloc);
                free(alloc, item);
            }
        }
        let both = matches!(item, Retired::Ended { .. } | Retired::Dead { .. });
        entries = entries.saturating_sub(1 + u64::from(both));
        left -= 1;
    }
}

/// Frees what an entry is about that is no row.
fn free(alloc: Allocator<'_>, item: Retired) {
    match item {
        Retired::Block { offset, purpose: Purpose::Rows } => Version::free(alloc, offset),
        Retired::Block { offset, purpose } => alloc.free_block(offset, purpose),
        Retired::Deletion { offset } => {
            let content = Version::at(alloc.memory, offset).older();
            for version in [offset, content].into_iter().filter(|at| *at != 0) {
                Version::free(alloc, version);
            }
        }
        Retired::Freed => {}
        _ => unreachable!("rows have been dealt with, and slots wait elsewhere"),
    }
}

/// Frees what can be of the entries apart.
fn free_apart(alloc: Allocator<'_>, work: Work<'_>) {
    let queue = &alloc.cache.retired;
    if queue.apart_count() == 0 {
        return;
    }
    let free_due = |due| {
        while let Some(item) = queue.pop_apart(alloc, due) {
            free(alloc, item);
        }
    };
    free_due(clock::horizon(alloc.memory, work.ended.number).blocks);
    if queue.apart_count() > 0 && work.thorough {
        // Readers between two calls are quiescent as soon as the clock has moved.
        commit::advance_clock(alloc.memory);
        let Ended { number, idle } = work.ended;
        free_due(snapshots::quiescent_horizon(alloc.memory, [number, idle]));
    }
}

/// Where a row cannot be pruned because there is no room in the queue: frees behind it what
/// needs none, which may be the memory for more.
#[cold]
fn free_behind(tables: &mut Tables<'_>, alloc: Allocator<'_>, horizon: Horizon, work: Work<'_>) {
    if !work.thorough {
        return;
    }
    let rows = work.pins.map_or(horizon.rows, Pins::clock);
    alloc.cache.retired.each_behind(alloc, |stamp, item| match item {
        Retired::Block { .. } | Retired::Deletion { .. } if stamp <= horizon.blocks => {
            free(alloc, item);
            true
        }
        Retired::Row { table, row } if stamp <= rows => {
            prune_row(tables, alloc, stamp, table, row, horizon, work)
        }
        _ => false,
    });
}

/// The limits of draining a queue.
#[derive(Clone, Copy)]
struct Work<'w> {
    limit: u64,
    pins: Option<&'w Pins<'w>>,
    ended: Ended,
    /// Whether to take all trouble.
    thorough: bool,
    /// Whether rows in columns are left that can be marked dead when what others of them have left
    /// in the queue is freed.
    more: &'w Cell<bool>,
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
    fn prefetch(&mut self, alloc: Allocator<'_>) {
        let (Some(core), memory) = (self.newest.as_deref(), alloc.memory) else { return };
        let row_ahead = |ahead| match alloc.cache.retired.peek(alloc, ahead) {
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
                let older = Version::at(memory, newest).older();
                memory.region().prefetch_to_write(older, core.prefetch_len);
            }
        }
    }
}

/// Prunes a row that the queue has an entry about; `false` if there is no room for that.
fn prune_row(
    tables: &mut Tables<'_>,
    alloc: Allocator<'_>,
    stamp: u64,
    table: u32,
    row: u32,
    horizon: Horizon,
    work: Work<'_>,
) -> bool {
    let Some(core) = tables.by_id(table) else { return true };
    let at = TableAt { memory: alloc.memory, core };
    let Some(pins) = work.pins.filter(|_| stamp > horizon.rows) else {
        return match prune(at, alloc, row, horizon.rows) {
            Pruned::Done => true,
            Pruned::NoRoom => {
                let pressed = alloc.cache.retired.press();
                let make_room = || free_apart(alloc, work);
                let pruned = prune_step_by_step(at, alloc, row, horizon.rows, make_room);
                alloc.cache.retired.relax(pressed);
                free_apart(alloc, work);
                pruned == Pruned::Done
            }
        };
    };
    let Cache { retired, pinned, .. } = alloc.cache;
    let room = pinned.make_room(alloc, NOTES_MAX, AllocationClass::Emergency).is_ok();
    let mut unnoted = false;
    let mut note = |stamp| {
        unnoted |= !room;
        if room {
            push_pinned(alloc, stamp, Retired::Row { table, row });
        }
        room
    };
    let mut pruned = prune_between(at, alloc, row, pins, &mut note);
    while pruned == Pruned::NoRoom && retired.apart_count() == 0 {
        let pressed = retired.press();
        pruned = prune_between(at, alloc, row, pins, &mut note);
        retired.relax(pressed);
        if retired.apart_count() == 0 {
            break;
        }
        free_apart(alloc, work);
    }
    pruned == Pruned::Done && !unnoted
}

/// Marks rows dead at the queue's front that have ended; `false` if something is left to be done.
fn mark_ended_dead(
    tables: &mut Tables<'_>,
    alloc: Allocator<'_>,
    stamp: u64,
    table: u32,
    row: u32,
    horizon: Horizon,
    work: Work<'_>,
) -> bool {
    let retired = &alloc.cache.retired;
    let Some(core) = tables.by_id(table) else {
        pop_bits(alloc);
        return true;
    };
    let at = TableAt { memory: alloc.memory, core };
    let pins = work.pins.filter(|_| stamp > horizon.rows);
    let has_room =
        retired.reserve_many(alloc, RESERVATIONS_OF_ENDED, AllocationClass::Emergency).is_ok();
    let (dead, needed, left) = mark_some_dead(row, retired.front_bits(alloc), |row| {
        let outcome = at.mark_ended_dead(alloc, row, horizon.rows, pins);
        if outcome != MarkOutcome::NoRoom {
            return outcome;
        }
        free_apart(alloc, work);
        let pressed = retired.press();
        let outcome = at.mark_ended_dead(alloc, row, horizon.rows, pins);
        retired.relax(pressed);
        outcome
    });
    if !has_room {
        // Those that are dead already are met as such again.
        let rest = needed | left;
        let (stamp, item) = match rest {
            0 => (alloc.stamp_of_now(), Retired::Dead { table, row }),
            _ => (stamp, Retired::Ended { table, row }),
        };
        retired.set_front_bits(alloc, stamp, item, dead | rest);
        return false;
    }
    retired.release_many(RESERVATIONS_OF_ENDED);
    if dead != 0 {
        retired.push_bits(alloc, alloc.stamp_of_now(), Retired::Dead { table, row }, dead);
    }
    let item = Retired::Ended { table, row };
    if left == 0 && (needed == 0 || pin(alloc, stamp, item, needed)) {
        pop_bits(alloc);
        return true;
    }
    retired.set_front_bits(alloc, stamp, item, needed | left);
    false
}

/// Marks rows dead by their bits: those that are dead, that a snapshot sees, and the others that
/// are left.
fn mark_some_dead(first: u32, bits: u64, mark: impl Fn(u32) -> MarkOutcome) -> (u64, u64, u64) {
    let (mut dead, mut needed, mut left) = (0, 0, 0);
    for row in rows_of(first, bits) {
        let bit = 1 << (row - first);
        match mark(row) {
            MarkOutcome::Dead => dead |= bit,
            MarkOutcome::Needed => needed |= bit,
            MarkOutcome::NoRoom => left |= bit,
            MarkOutcome::Nothing => {}
        }
    }
    (dead, needed, left)
}

/// Marks rows dead that have ended in columns, or puts off what a snapshot sees. Whether the entry
/// is to go to the end of its queue, where there is room for it; `None` if there is no room, and it
/// has to stay.
fn mark_dead_in_columns(
    tables: &mut Tables<'_>,
    alloc: Allocator<'_>,
    stamp: u64,
    item: Retired,
    horizon: Horizon,
    work: Work<'_>,
) -> Option<bool> {
    let Retired::InColumns { table, row } = item else { return None };
    let Some(core) = tables.by_id(table) else { return Some(false) };
    let at = TableAt { memory: alloc.memory, core };
    let Cache { retired, pinned, .. } = alloc.cache;
    pinned.make_room(alloc, 1, AllocationClass::Emergency).ok()?;
    if stamp > horizon.rows {
        push_pinned(alloc, stamp, item);
        return Some(false);
    }
    retired.make_room(alloc, 1, AllocationClass::Emergency).ok()?;
    if work.more.get() {
        return Some(true);
    }
    let mark = || at.mark_ends_dead(alloc, row, horizon.rows, work.limit);
    let mut dead = mark();
    if dead == MarkedEnds::NoRoom {
        free_apart(alloc, work);
        let pressed = retired.press();
        dead = mark();
        retired.relax(pressed);
    }
    work.more.set(dead == MarkedEnds::Some);
    retired.make_room(alloc, 1, AllocationClass::Emergency).ok()?;
    (dead != MarkedEnds::NoRoom).then_some(dead == MarkedEnds::Some)
}

/// Takes rows that have ended, or are dead, off the queue's front.
fn pop_bits(alloc: Allocator<'_>) {
    alloc.cache.retired.pop(alloc);
    alloc.cache.retired.pop(alloc);
}

/// Looks again at the rows that an old snapshot held on to.
fn drain_pinned(db: &Instance, alloc: Allocator<'_>, horizon: Horizon, work: Work<'_>) {
    let Cache { retired, pinned, pinned_until, .. } = alloc.cache;
    let mut tables = Tables { db, newest: None };
    pinned_until.store(u64::MAX, Relaxed);
    let mut entries = pinned.count();
    while entries > 0 {
        let Some((stamp, item)) = pinned.front(alloc) else { return };
        // What has to stay goes to the end, and may leave notes there; what is due needs no room.
        let is_due = stamp <= horizon.rows;
        let room = is_due
            || pinned.make_room(alloc, NOTES_MAX + 2, AllocationClass::Emergency).is_ok()
                && retired
                    .make_room(alloc, RESERVATIONS_OF_ENDED, AllocationClass::Emergency)
                    .is_ok();
        let drained = room
            && match item {
                Retired::Row { .. } | Retired::Freed => {
                    entries -= 1;
                    is_due && prune_due(&mut tables, alloc, stamp, item, horizon, work)
                        || !is_due && look_again(&mut tables, alloc, stamp, item, work.pins)
                }
                Retired::InColumns { .. } => {
                    entries -= 1;
                    let left = mark_dead_in_columns(&mut tables, alloc, stamp, item, horizon, work);
                    if left == Some(true) {
                        push_pinned(alloc, stamp, item);
                    }
                    left.is_some()
                }
                Retired::Ended { .. } | Retired::Dead { .. } => {
                    entries = entries.saturating_sub(2);
                    mark_pinned_dead(&mut tables, alloc, stamp, item, horizon, work)
                }
                _ => unreachable!("only rows are pinned"),
            };
        if !drained {
            pinned_until.store(0, Relaxed);
            return pinned.each_behind(alloc, |stamp, item| {
                stamp <= horizon.rows && prune_due(&mut tables, alloc, stamp, item, horizon, work)
            });
        }
        if matches!(item, Retired::Row { .. } | Retired::InColumns { .. } | Retired::Freed) {
            pinned.pop(alloc);
        }
    }
}

/// Prunes a pinned row that no snapshot holds on to any more; `false` if there is no room.
fn prune_due(
    tables: &mut Tables<'_>,
    alloc: Allocator<'_>,
    stamp: u64,
    item: Retired,
    horizon: Horizon,
    work: Work<'_>,
) -> bool {
    match item {
        Retired::Row { table, row } => prune_row(tables, alloc, stamp, table, row, horizon, work),
        item => item == Retired::Freed,
    }
}

/// Prunes a pinned row as far as can be; it stays pinned. Room was made.
fn look_again(
    tables: &mut Tables<'_>,
    alloc: Allocator<'_>,
    stamp: u64,
    item: Retired,
    pins: Option<&Pins<'_>>,
) -> bool {
    let Retired::Row { table, row } = item else { return true };
    push_pinned(alloc, stamp, item);
    if let (Some(core), Some(pins)) = (tables.by_id(table), pins) {
        let at = TableAt { memory: alloc.memory, core };
        let _ = prune_between(at, alloc, row, pins, |stamp| {
            push_pinned(alloc, stamp, item);
            true
        });
    }
    true
}

/// Marks rows dead at the front of the pinned ones that have ended, as far as can be, and frees
/// those that are dead; `false` if they have to stay where they are.
fn mark_pinned_dead(
    tables: &mut Tables<'_>,
    alloc: Allocator<'_>,
    stamp: u64,
    item: Retired,
    horizon: Horizon,
    work: Work<'_>,
) -> bool {
    let Cache { retired, pinned, .. } = alloc.cache;
    let (Retired::Ended { table, row } | Retired::Dead { table, row }) = item else {
        return false;
    };
    let bits = pinned.front_bits(alloc);
    let pop = || {
        pinned.pop(alloc);
        pinned.pop(alloc);
    };
    let Some(core) = tables.by_id(table) else {
        pop();
        return true;
    };
    let at = TableAt { memory: alloc.memory, core };
    if matches!(item, Retired::Dead { .. }) {
        if stamp <= horizon.blocks {
            rows_of(row, bits).for_each(|row| at.free_dead(alloc, row));
            pop();
        }
        return stamp <= horizon.blocks;
    }
    let has_room =
        retired.reserve_many(alloc, RESERVATIONS_OF_ENDED, AllocationClass::Emergency).is_ok();
    let pins = work.pins.filter(|_| stamp > horizon.rows);
    let mark = |row| match stamp > horizon.rows && pins.is_none() {
        true => MarkOutcome::Needed,
        false => at.mark_ended_dead(alloc, row, horizon.rows, pins),
    };
    let (dead, needed, left) = mark_some_dead(row, bits, mark);
    let rest = needed | left;
    if !has_room {
        let (stamp, item) = match rest {
            0 => (alloc.stamp_of_now(), Retired::Dead { table, row }),
            _ => (stamp, item),
        };
        pinned.set_front_bits(alloc, stamp, item, dead | rest);
        return false;
    }
    retired.release_many(RESERVATIONS_OF_ENDED);
    if dead != 0 {
        retired.push_bits(alloc, alloc.stamp_of_now(), Retired::Dead { table, row }, dead);
    }
    if rest != 0 && !pin(alloc, stamp, item, rest) {
        pinned.set_front_bits(alloc, stamp, item, rest);
        return false;
    }
    pop();
    true
}

/// Adds a row to the pinned ones; room was made.
fn push_pinned(alloc: Allocator<'_>, stamp: u64, item: Retired) {
    pinned_until(alloc, stamp);
    alloc.cache.pinned.push(alloc, stamp, item);
}

/// Adds rows that have ended to the pinned ones; `false` if there is no room.
fn pin(alloc: Allocator<'_>, stamp: u64, rows: Retired, bits: u64) -> bool {
    let room = alloc.cache.pinned.make_room(alloc, 2, AllocationClass::Emergency).is_ok();
    if room {
        pinned_until(alloc, stamp);
        alloc.cache.pinned.push_bits(alloc, stamp, rows, bits);
    }
    room
}

fn pinned_until(alloc: Allocator<'_>, stamp: u64) {
    let until = &alloc.cache.pinned_until;
    if alloc.cache.pinned.count() == 0 || stamp < until.load(Relaxed) {
        until.store(stamp, Relaxed);
    }
}
