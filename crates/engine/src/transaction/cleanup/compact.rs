//! When memory is compacted (`table/cleanup/compact.rs`): where pages of rows are fragmented.
//!
//! Rows of one size leave holes that rows of another do not fit; a page is given back when the last
//! of its rows is gone, and until then what is free in it only serves rows that are no larger. Once
//! more than an eighth of the pages of rows is free, and they are a good part of the budget,
//! writers at their end inspect some rows, one after the other through all tables, and move those
//! that lie where more than the average is free. A program can have all of it done at once.

use crate::error::Result;
use crate::instance::Instance;
use crate::memory::atomic::Relaxed;
use crate::memory::class::PAGE_SIZE;
use crate::memory::retire::Retired;
use crate::memory::row_blocks::free_and_all;
use crate::memory::{Allocator, Purpose};
use crate::table::columns::freeze::free_slots;
use crate::table::columns::refreeze::free_replaced;
use crate::table::rows::version::Version;
use crate::table::table::TableAt;
use crate::transaction::begin::clock;
use crate::transaction::commit::finalize;
use crate::transaction::write::defining::free_dropped;

/// Rows that a writer inspects for it, and bytes that it moves, at most.
const ROWS_AT_ONCE: u32 = if cfg!(shuttle) { 4 } else { 4096 };
const BYTES_AT_ONCE: u64 = 1 << 20;

/// How often in a row it is done by a writer whom memory failed, and how many bytes have to have
/// been moved for the next time.
const STEPS_MAX: u32 = if cfg!(shuttle) { 1 } else { 16 };
const WORTHWHILE_BYTES: u64 = 16 << 10;

/// It is worth while where so much of the pages of rows is free: one part in this many.
const FREE_PART: u64 = 8;
/// And where they are at least one part of the budget in this many; always, in models.
const BUDGET_PART: u64 = if cfg!(shuttle) { u64::MAX / (1 << 40) } else { 4 };

/// Called by writers now and then at their end.
#[inline]
pub(crate) fn move_some_rows(db: &Instance, alloc: Allocator<'_>) {
    if is_worthwhile(db) {
        // Where memory fails it, nothing is lost: rows stay where they are.
        let _ = step(db, alloc, ROWS_AT_ONCE, BYTES_AT_ONCE);
    }
}

/// Called by a writer whom memory failed, at its end.
#[cold]
pub(crate) fn move_many_rows(db: &Instance, alloc: Allocator<'_>, own: usize) {
    for _ in 0..STEPS_MAX {
        // Where little can be moved, as beside an old snapshot, it is no use to go on.
        let moved =
            if is_worthwhile(db) { step(db, alloc, ROWS_AT_ONCE, BYTES_AT_ONCE) } else { Ok(0) };
        if moved.unwrap_or(0) < WORTHWHILE_BYTES {
            return;
        }
        free_moved(alloc, own);
    }
}

/// Whether the pages of rows are fragmented enough.
fn is_worthwhile(db: &Instance) -> bool {
    let (free, all) = free_and_all(db.memory().region());
    let account = &db.memory().header().account;
    let budget = account.budget.load(Relaxed);
    // Where all blocks share pages, hardly any would become free.
    all > 0 && !account.is_small() && free * FREE_PART > all && all * BUDGET_PART > budget
}

/// Moves rows until all were inspected; how many bytes.
///
/// # Errors
/// `TooManyTransactions`, and memory.
pub(crate) fn move_all_rows(db: &Instance) -> Result<u64> {
    let held =
        finalize::with_free_slot(db, |memory, slots| clock::begin_write(memory, slots, None))?.0;
    let alloc = db.memory().allocator(held.cache());
    let mut total = 0;
    for core in db.catalog().all() {
        let at = TableAt { memory: db.memory(), core: &core };
        let (mut row, limit) = (0, at.directory().limit());
        while row < limit {
            let count = (limit - row).min(u64::from(ROWS_AT_ONCE)) as u32;
            total += at.move_rows(alloc, row as u32, count, threshold(db), u64::MAX, room(db))?;
            row += u64::from(count);
            free_moved(alloc, held.number());
        }
    }
    free_dropped(db, alloc, held.number());
    Ok(total)
}

/// How many bytes have to be free in a page for its rows to be moved: as many as in others, or a
/// little less, for where as much is free in all of them, one that has more raises the mean.
fn threshold(db: &Instance) -> u64 {
    let (free, all) = free_and_all(db.memory().region());
    let mean = PAGE_SIZE as u64 * free / all.max(1);
    (mean - mean / 8).max(1)
}

/// Inspects some rows, from where the last one has stopped.
fn step(db: &Instance, alloc: Allocator<'_>, rows: u32, bytes: u64) -> Result<u64> {
    let place = &db.memory().header().compacted;
    let word = place.load(Relaxed);
    let Some(core) = db.catalog().first_from((word >> 32) as u32) else {
        place.store(0, Relaxed);
        return Ok(0);
    };
    let row = if u64::from(core.id) == word >> 32 { word & 0xffff_ffff } else { 0 };
    let at = TableAt { memory: db.memory(), core: &core };
    let limit = at.directory().limit();
    let count = limit.saturating_sub(row).min(u64::from(rows));
    let table = u64::from(core.id);
    let end = row + count;
    place.store(if end >= limit { (table + 1) << 32 } else { table << 32 | end }, Relaxed);
    at.move_rows(alloc, row as u32, count as u32, threshold(db), bytes, room(db))
}

/// Bytes that moving may take: of the reserve a quarter, for deletions need the rest.
fn room(db: &Instance) -> u64 {
    let account = &db.memory().header().account;
    let reserve = account.reserve.load(Relaxed);
    // The budget may be lowered meanwhile, and with it the reserve.
    let most = account.budget.load(Relaxed).saturating_sub(reserve / 4 * 3);
    most.saturating_sub(account.in_use())
}

/// Frees the blocks that rows were moved or frozen out of, as far as everybody has ended who may
/// refer to them. `own` is the slot whose transaction does not.
pub(crate) fn free_moved(alloc: Allocator<'_>, own: usize) {
    let moved = &alloc.cache.moved;
    if moved.count() == 0 {
        return;
    }
    let horizon = clock::horizon(alloc.memory, own);
    for _ in 0..moved.count() {
        match moved.front(alloc) {
            Some((stamp, item)) if stamp <= horizon.blocks => {
                moved.pop(alloc);
                match item {
                    Retired::Block { offset, purpose: Purpose::Rows } => {
                        Version::free(alloc, offset);
                    }
                    Retired::Block { offset, purpose } => alloc.free_block(offset, purpose),
                    Retired::Slots { offset } => free_slots(alloc, offset),
                    Retired::Replaced { offset } => free_replaced(alloc, offset),
                    _ => unreachable!("only what rows were moved out of is there"),
                }
            }
            _ => return,
        }
    }
}
