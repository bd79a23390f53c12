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
use super::write_set::PROMISES_OF_ENDED;
use super::{commit, compact, snapshots, stamping};
use crate::instance::Instance;
use crate::memory::atomic::{Relaxed, SeqCst};
use crate::memory::retire::Retired;
use crate::memory::{Cache, Entitlement, Heap, Purpose};
use crate::slot;
use crate::table::ended::{Burial, rows_of};
use crate::table::pins::Pins;
use crate::table::prune::{NOTES_MAX, Pruned, prune, prune_between, prune_step_by_step};
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

/// How often a queue is worked off until nothing is left that can be: what rows leave when they are
/// pruned or buried is freed in the second pass.
const PASSES: u32 = 2;

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
        return work_off(db, heap, Ended::only(own), Thoroughness::All);
    }
    let (count, look_at) = (heap.cache.retired.count(), heap.cache.retired_look_at.load(Relaxed));
    let is_due = count >= WORTHWHILE && count >= look_at;
    let is_short = is_due && heap.memory.header().account.is_short();
    let pressed = heap.cache.pressed.load(Relaxed) != 0;
    if pressed || is_short {
        // What its own snapshot held back is to be free for the next.
        heap.cache.pressed.store(0, Relaxed);
        for _ in 0..PASSES {
            work_off(db, heap, Ended::only(own), Thoroughness::All);
        }
        if pressed {
            compact::much(db, heap, own);
        }
    } else if is_due {
        work_off(db, heap, Ended::only(own), Thoroughness::AsNeeded);
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
/// without touching anything that its own snapshot or its references need. If it is `idle`, the
/// number of its slot: it refers to no node of an index, and looks for its places anew.
#[cold]
pub(crate) fn under_pressure(db: &Instance, heap: Heap<'_>, idle: Option<usize>) {
    let idle = idle.unwrap_or(NOBODY);
    work_off(db, heap, Ended { number: NOBODY, idle }, Thoroughness::All);
    everything_beside(db, idle);
    heap.cache.pressed.store(1, Relaxed);
}

/// Works off everything that can be: the queues of all slots that nobody holds.
pub(crate) fn everything(db: &Instance) {
    everything_beside(db, NOBODY);
}

fn everything_beside(db: &Instance, idle: usize) {
    // A slot that is left unstamped is held by nobody and taken by nobody.
    stamping::all(db);
    for number in 0..slots_used(db) {
        let Some(held) = clock::adopt_slot(db.memory(), number) else { continue };
        let Some(cache) = slot::cache(db.memory(), held.slot()) else { continue };
        let heap = db.memory().heap(cache);
        for _ in 0..PASSES {
            work_off(db, heap, Ended { number, idle }, Thoroughness::All);
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
        let many = cache.retired.count() >= WORTHWHILE || cache.retired.apart_count() > 0;
        moved || many || cache.pinned.count() > 0
    };
    if number == own || !slot::cache(memory, slot::slot(memory, number)).is_some_and(backlog) {
        return;
    }
    if let Some(held) = clock::adopt_slot(memory, number)
        && let Some(cache) = slot::cache(memory, held.slot())
    {
        work_off(db, memory.heap(cache), Ended::only(number), Thoroughness::AsNeeded);
        compact::free_moved(memory.heap(cache), number);
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

/// How much trouble to take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Thoroughness {
    /// What is behind the oldest snapshot; more only if much is left then.
    AsNeeded,
    /// All that can be.
    All,
}

/// Works off the queues of the slot that `heap` is of.
fn work_off(db: &Instance, heap: Heap<'_>, ended: Ended, thoroughness: Thoroughness) {
    let (memory, cache) = (heap.memory, heap.cache);
    let horizon = clock::horizon(memory, ended.number);
    let before = cache.retired.count();
    let limit = match thoroughness {
        Thoroughness::AsNeeded => AT_ONCE + cache.retired.count() / 4,
        Thoroughness::All => u64::MAX,
    };
    let thorough = thoroughness == Thoroughness::All;
    work_off_retired(db, heap, horizon, Work { limit, pins: None, ended, thorough });
    if cache.pinned.count() > 0 && cache.pinned_until.load(Relaxed) <= horizon.rows {
        work_off_pinned(db, heap, horizon, Work { limit, pins: None, ended, thorough });
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
        look_at_all_snapshots(db, heap, ended, thorough);
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
fn look_at_all_snapshots(db: &Instance, heap: Heap<'_>, ended: Ended, thorough: bool) {
    let (memory, cache) = (heap.memory, heap.cache);
    snapshots::expire(db);
    let passed = snapshots::pass_by(memory, [ended.number, ended.idle]);
    let pins = Pins::collect(memory, ended.number);
    // Anew: what was retired just now may be in the hands of transactions that have begun since.
    let horizon = clock::horizon(memory, ended.number);
    let horizon = Horizon { blocks: horizon.blocks.max(passed), ..horizon };
    let work = Work { limit: u64::MAX, pins: Some(&pins), ended, thorough };
    work_off_retired(db, heap, horizon, work);
    let releases = memory.header().releases.load(SeqCst);
    if cache.releases_seen.load(Relaxed) != releases {
        cache.releases_seen.store(releases, Relaxed);
        work_off_pinned(db, heap, horizon, work);
    }
}

/// Works off what was retired, oldest first, until something has to wait. With all snapshots at
/// hand, rows need not wait for the oldest.
fn work_off_retired(db: &Instance, heap: Heap<'_>, horizon: Horizon, work: Work<'_>) {
    let queue = &heap.cache.retired;
    let rows = work.pins.map_or(horizon.rows, Pins::clock);
    let mut tables = Tables { db, newest: None };
    free_apart(heap, work);
    // What is added meanwhile waits for its own time.
    let (mut entries, mut left) = (queue.count(), work.limit);
    while entries > 0 && left > 0 {
        let Some((stamp, item)) = queue.front(heap) else { return };
        let of_rows = matches!(item, Retired::Row { .. } | Retired::Ended { .. });
        let reached = if of_rows { rows } else { horizon.blocks };
        if stamp > reached {
            return;
        }
        match item {
            Retired::Rows { table, row } => {
                let most = left.saturating_mul(ROWS_PER_ENTRY).min(ROWS_AT_A_TIME) as u32;
                let rows = queue.front_rows(heap).min(most);
                if let Some(core) = tables.by_id(table) {
                    TableAt { memory: heap.memory, core }.clear_rows(heap, row, rows);
                }
                entries -= queue.pop_rows(heap, rows);
                left = left.saturating_sub(u64::from(rows).div_ceil(ROWS_PER_ENTRY));
                continue;
            }
            Retired::Ended { table, row } => {
                if !bury(&mut tables, heap, (stamp, table, row), horizon, work) {
                    return free_behind(&mut tables, heap, horizon, work);
                }
            }
            Retired::Buried { table, row } => {
                if let Some(core) = tables.by_id(table) {
                    let at = TableAt { memory: heap.memory, core };
                    rows_of(row, queue.front_bits(heap)).for_each(|row| at.clear_buried(heap, row));
                }
                pop_bits(heap);
            }
            Retired::Row { table, row } => {
                tables.prefetch(heap);
                if !prune_row(&mut tables, heap, (stamp, table, row), horizon, work) {
                    return free_behind(&mut tables, heap, horizon, work);
                }
                queue.pop(heap);
            }
            Retired::Segment { table, row } => {
                queue.pop(heap);
                if let Some(core) = tables.by_id(table) {
                    TableAt { memory: heap.memory, core }.clear_segment(heap, row);
                }
            }
            _ => {
                queue.pop(heap);
                free(heap, item);
            }
        }
        let both = matches!(item, Retired::Ended { .. } | Retired::Buried { .. });
        entries = entries.saturating_sub(1 + u64::from(both));
        left -= 1;
    }
}

/// Frees what an entry is about that is no row.
fn free(heap: Heap<'_>, item: Retired) {
    match item {
        Retired::Block { offset, purpose: Purpose::Rows } => Version::free(heap, offset),
        Retired::Block { offset, purpose } => heap.free_block(offset, purpose),
        Retired::Deletion { offset } => {
            let content = Version::at(heap.memory, offset).older();
            for version in [offset, content].into_iter().filter(|at| *at != 0) {
                Version::free(heap, version);
            }
        }
        Retired::Void => {}
        _ => unreachable!("rows have been dealt with, and slots wait elsewhere"),
    }
}

/// Frees what can be of the entries apart.
fn free_apart(heap: Heap<'_>, work: Work<'_>) {
    let queue = &heap.cache.retired;
    if queue.apart_count() == 0 {
        return;
    }
    let free_due = |due| {
        while let Some(item) = queue.pop_apart(heap, due) {
            free(heap, item);
        }
    };
    free_due(clock::horizon(heap.memory, work.ended.number).blocks);
    if queue.apart_count() > 0 && work.thorough {
        // Readers between two calls may be passed by as soon as the clock has moved.
        commit::advance_clock(heap.memory);
        let Ended { number, idle } = work.ended;
        free_due(snapshots::pass_by(heap.memory, [number, idle]));
    }
}

/// Where a row cannot be worked off because there is no room in the queue: frees behind it what
/// needs none, which may be the memory for more.
#[cold]
fn free_behind(tables: &mut Tables<'_>, heap: Heap<'_>, horizon: Horizon, work: Work<'_>) {
    if !work.thorough {
        return;
    }
    let rows = work.pins.map_or(horizon.rows, Pins::clock);
    heap.cache.retired.each_behind(heap, |stamp, item| match item {
        Retired::Block { .. } | Retired::Deletion { .. } if stamp <= horizon.blocks => {
            free(heap, item);
            true
        }
        Retired::Row { table, row } if stamp <= rows => {
            prune_row(tables, heap, (stamp, table, row), horizon, work)
        }
        _ => false,
    });
}

/// How much to work off, and how.
#[derive(Clone, Copy)]
struct Work<'w> {
    limit: u64,
    pins: Option<&'w Pins<'w>>,
    ended: Ended,
    /// Whether to take all trouble.
    thorough: bool,
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
                let older = Version::at(memory, newest).older();
                memory.region().prefetch_to_write(older, core.prefetch_len);
            }
        }
    }
}

/// Prunes a row that the queue has an entry about; `false` if there is no room for that.
fn prune_row(
    tables: &mut Tables<'_>,
    heap: Heap<'_>,
    (stamp, table, row): (u64, u32, u32),
    horizon: Horizon,
    work: Work<'_>,
) -> bool {
    let Some(core) = tables.by_id(table) else { return true };
    let at = TableAt { memory: heap.memory, core };
    let Some(pins) = work.pins.filter(|_| stamp > horizon.rows) else {
        return match prune(at, heap, row, horizon.rows) {
            Pruned::Done => true,
            Pruned::NoRoom => {
                let pressed = heap.cache.retired.press();
                let make_room = || free_apart(heap, work);
                let pruned = prune_step_by_step(at, heap, row, horizon.rows, make_room);
                heap.cache.retired.relax(pressed);
                free_apart(heap, work);
                pruned == Pruned::Done
            }
        };
    };
    let Cache { retired, pinned, .. } = heap.cache;
    let room = pinned.make_room(heap, NOTES_MAX, Entitlement::Reserve).is_ok();
    let mut unnoted = false;
    let mut note = |stamp| {
        unnoted |= !room;
        if room {
            push_pinned(heap, stamp, Retired::Row { table, row });
        }
        room
    };
    let mut pruned = prune_between(at, heap, row, pins, &mut note);
    while pruned == Pruned::NoRoom && retired.apart_count() == 0 {
        let pressed = retired.press();
        pruned = prune_between(at, heap, row, pins, &mut note);
        retired.relax(pressed);
        if retired.apart_count() == 0 {
            break;
        }
        free_apart(heap, work);
    }
    pruned == Pruned::Done && !unnoted
}

/// Buries rows at the queue's front that have ended; `false` if something is left to be done.
fn bury(
    tables: &mut Tables<'_>,
    heap: Heap<'_>,
    (stamp, table, row): (u64, u32, u32),
    horizon: Horizon,
    work: Work<'_>,
) -> bool {
    let retired = &heap.cache.retired;
    let Some(core) = tables.by_id(table) else {
        pop_bits(heap);
        return true;
    };
    let at = TableAt { memory: heap.memory, core };
    let pins = work.pins.filter(|_| stamp > horizon.rows);
    let has_room = retired.promise_many(heap, PROMISES_OF_ENDED, Entitlement::Reserve).is_ok();
    let (buried, needed, left) = bury_some((row, retired.front_bits(heap)), |row| {
        let burial = at.bury_ended(heap, row, horizon.rows, pins);
        if burial != Burial::NoRoom {
            return burial;
        }
        free_apart(heap, work);
        let pressed = retired.press();
        let burial = at.bury_ended(heap, row, horizon.rows, pins);
        retired.relax(pressed);
        burial
    });
    if !has_room {
        // Those that are buried already are met as such again.
        let rest = needed | left;
        let (stamp, item) = match rest {
            0 => (heap.stamp_of_now(), Retired::Buried { table, row }),
            _ => (stamp, Retired::Ended { table, row }),
        };
        retired.set_front_bits(heap, stamp, (item, buried | rest));
        return false;
    }
    retired.redeem_many(PROMISES_OF_ENDED);
    if buried != 0 {
        retired.push_bits(heap, heap.stamp_of_now(), (Retired::Buried { table, row }, buried));
    }
    let item = Retired::Ended { table, row };
    if left == 0 && (needed == 0 || pin(heap, stamp, (item, needed))) {
        pop_bits(heap);
        return true;
    }
    retired.set_front_bits(heap, stamp, (item, needed | left));
    false
}

/// Buries rows by their bits: those that are buried, that a snapshot sees, and the others that are
/// left.
fn bury_some((first, bits): (u32, u64), bury: impl Fn(u32) -> Burial) -> (u64, u64, u64) {
    let (mut buried, mut needed, mut left) = (0, 0, 0);
    for row in rows_of(first, bits) {
        let bit = 1 << (row - first);
        match bury(row) {
            Burial::Buried => buried |= bit,
            Burial::Needed => needed |= bit,
            Burial::NoRoom => left |= bit,
            Burial::Nothing => {}
        }
    }
    (buried, needed, left)
}

/// Takes rows that have ended, or are buried, off the queue's front.
fn pop_bits(heap: Heap<'_>) {
    heap.cache.retired.pop(heap);
    heap.cache.retired.pop(heap);
}

/// Looks again at the rows that an old snapshot held on to.
fn work_off_pinned(db: &Instance, heap: Heap<'_>, horizon: Horizon, work: Work<'_>) {
    let Cache { retired, pinned, pinned_until, .. } = heap.cache;
    let mut tables = Tables { db, newest: None };
    pinned_until.store(u64::MAX, Relaxed);
    let mut entries = pinned.count();
    while entries > 0 {
        let Some((stamp, item)) = pinned.front(heap) else { return };
        // What has to stay goes to the end, and may leave notes there; what is due needs no room.
        let is_due = stamp <= horizon.rows;
        let room = is_due
            || pinned.make_room(heap, NOTES_MAX + 2, Entitlement::Reserve).is_ok()
                && retired.make_room(heap, PROMISES_OF_ENDED, Entitlement::Reserve).is_ok();
        let worked_off = room
            && match item {
                Retired::Row { .. } | Retired::Void => {
                    entries -= 1;
                    is_due && prune_due(&mut tables, heap, (stamp, item), horizon, work)
                        || !is_due && look_again(&mut tables, heap, (stamp, item), work.pins)
                }
                Retired::Ended { .. } | Retired::Buried { .. } => {
                    entries = entries.saturating_sub(2);
                    bury_pinned(&mut tables, heap, (stamp, item), horizon, work)
                }
                _ => unreachable!("only rows are pinned"),
            };
        if !worked_off {
            pinned_until.store(0, Relaxed);
            return pinned.each_behind(heap, |stamp, item| {
                stamp <= horizon.rows && prune_due(&mut tables, heap, (stamp, item), horizon, work)
            });
        }
        if matches!(item, Retired::Row { .. } | Retired::Void) {
            pinned.pop(heap);
        }
    }
}

/// Prunes a pinned row that no snapshot holds on to any more; `false` if there is no room.
fn prune_due(
    tables: &mut Tables<'_>,
    heap: Heap<'_>,
    (stamp, item): (u64, Retired),
    horizon: Horizon,
    work: Work<'_>,
) -> bool {
    match item {
        Retired::Row { table, row } => prune_row(tables, heap, (stamp, table, row), horizon, work),
        item => item == Retired::Void,
    }
}

/// Prunes a pinned row as far as can be; it stays pinned. Room was made.
fn look_again(
    tables: &mut Tables<'_>,
    heap: Heap<'_>,
    (stamp, item): (u64, Retired),
    pins: Option<&Pins<'_>>,
) -> bool {
    let Retired::Row { table, row } = item else { return true };
    push_pinned(heap, stamp, item);
    if let (Some(core), Some(pins)) = (tables.by_id(table), pins) {
        let at = TableAt { memory: heap.memory, core };
        let _ = prune_between(at, heap, row, pins, |stamp| {
            push_pinned(heap, stamp, item);
            true
        });
    }
    true
}

/// Buries rows at the front of the pinned ones that have ended, as far as can be, and frees those
/// that are buried; `false` if they have to stay where they are.
fn bury_pinned(
    tables: &mut Tables<'_>,
    heap: Heap<'_>,
    (stamp, item): (u64, Retired),
    horizon: Horizon,
    work: Work<'_>,
) -> bool {
    let Cache { retired, pinned, .. } = heap.cache;
    let (Retired::Ended { table, row } | Retired::Buried { table, row }) = item else {
        return false;
    };
    let bits = pinned.front_bits(heap);
    let pop = || {
        pinned.pop(heap);
        pinned.pop(heap);
    };
    let Some(core) = tables.by_id(table) else {
        pop();
        return true;
    };
    let at = TableAt { memory: heap.memory, core };
    if matches!(item, Retired::Buried { .. }) {
        if stamp <= horizon.blocks {
            rows_of(row, bits).for_each(|row| at.clear_buried(heap, row));
            pop();
        }
        return stamp <= horizon.blocks;
    }
    let has_room = retired.promise_many(heap, PROMISES_OF_ENDED, Entitlement::Reserve).is_ok();
    let pins = work.pins.filter(|_| stamp > horizon.rows);
    let bury = |row| match stamp > horizon.rows && pins.is_none() {
        true => Burial::Needed,
        false => at.bury_ended(heap, row, horizon.rows, pins),
    };
    let (buried, needed, left) = bury_some((row, bits), bury);
    let rest = needed | left;
    if !has_room {
        let (stamp, item) = match rest {
            0 => (heap.stamp_of_now(), Retired::Buried { table, row }),
            _ => (stamp, item),
        };
        pinned.set_front_bits(heap, stamp, (item, buried | rest));
        return false;
    }
    retired.redeem_many(PROMISES_OF_ENDED);
    if buried != 0 {
        retired.push_bits(heap, heap.stamp_of_now(), (Retired::Buried { table, row }, buried));
    }
    if rest != 0 && !pin(heap, stamp, (item, rest)) {
        pinned.set_front_bits(heap, stamp, (item, rest));
        return false;
    }
    pop();
    true
}

/// Adds a row to the pinned ones; room was made.
fn push_pinned(heap: Heap<'_>, stamp: u64, item: Retired) {
    pinned_until(heap, stamp);
    heap.cache.pinned.push(heap, stamp, item);
}

/// Adds rows that have ended to the pinned ones; `false` if there is no room.
fn pin(heap: Heap<'_>, stamp: u64, rows: (Retired, u64)) -> bool {
    let room = heap.cache.pinned.make_room(heap, 2, Entitlement::Reserve).is_ok();
    if room {
        pinned_until(heap, stamp);
        heap.cache.pinned.push_bits(heap, stamp, rows);
    }
    room
}

fn pinned_until(heap: Heap<'_>, stamp: u64) {
    let until = &heap.cache.pinned_until;
    if heap.cache.pinned.count() == 0 || stamp < until.load(Relaxed) {
        until.store(stamp, Relaxed);
    }
}
