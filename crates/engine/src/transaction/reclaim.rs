//! Reclaiming what transactions left behind, by those that come after them.
//!
//! No thread runs for this: a writer that ends works off the queue of its own slot, once enough has
//! gathered, and now and then that of another; a writer whom memory fails does all. An entry is
//! worked off when the horizon has passed it; the rest waits. The slot is held meanwhile, so what
//! is read here stays readable.

use super::clock::{self, Horizon};
use crate::instance::Instance;
use crate::memory::atomic::{Relaxed, SeqCst};
use crate::memory::retire::Retired;
use crate::memory::{Cache, Entitlement, Heap, Purpose};
use crate::snapshot;
use crate::table::prune::{RETIRED_PER_ROW, prune};
use crate::table::table::TableAt;
use crate::table::version::Version;

/// Entries in a slot's queue from which on a writer works them off; models do it at once.
const WORTHWHILE: u64 = if cfg!(shuttle) { 1 } else { 32 };

/// How many of a slot's transactions pass between two looks at another slot's queue.
const ADOPTION_INTERVAL: u64 = if cfg!(shuttle) { 2 } else { 64 };

/// Called by each writer at its end, while it still holds its slot. `stamp` is the transaction's.
#[inline]
pub(crate) fn after_transaction(db: &Instance, heap: Heap<'_>, own: usize, stamp: u64) {
    if heap.cache.retired.count() >= WORTHWHILE {
        let horizon = clock::horizon(db.memory(), own);
        work_off(db, heap, horizon);
    }
    if stamp.is_multiple_of(ADOPTION_INTERVAL) {
        adopt_one(db, own, stamp / ADOPTION_INTERVAL);
    }
}

/// Called by a writer whom memory failed, in the middle of its transaction: works off what can be
/// without touching anything that its own snapshot or its references need.
#[cold]
pub(crate) fn under_pressure(db: &Instance, heap: Heap<'_>) {
    work_off(db, heap, clock::horizon(db.memory(), usize::MAX));
    everything(db);
}

/// Works off everything that can be: the queues of all slots that nobody holds.
pub(crate) fn everything(db: &Instance) {
    for number in 0..slots_used(db) {
        let Some(held) = clock::adopt_slot(db.memory(), number) else { continue };
        let Some(cache) = snapshot::cache(db.memory(), held.slot()) else { continue };
        let heap = db.memory().heap(cache);
        // Pruning rows retires blocks, which a second pass frees.
        for _ in 0..2 {
            work_off(db, heap, clock::horizon(db.memory(), number));
        }
        cache.retired.release(heap);
        heap.flush();
    }
}

/// Works off the queue of one of the other slots, each in its turn, if nobody holds it: its writer
/// may never come back.
#[cold]
fn adopt_one(db: &Instance, own: usize, turn: u64) {
    let memory = db.memory();
    let number = turn as usize % slots_used(db).max(1);
    let backlog = |cache: &Cache| cache.retired.count() >= WORTHWHILE;
    if number == own
        || !snapshot::cache(memory, snapshot::slot(memory, number)).is_some_and(backlog)
    {
        return;
    }
    if let Some(held) = clock::adopt_slot(memory, number)
        && let Some(cache) = snapshot::cache(memory, held.slot())
    {
        work_off(db, memory.heap(cache), clock::horizon(memory, number));
    }
}

fn slots_used(db: &Instance) -> usize {
    db.memory().header().slots_used.load(SeqCst) as usize
}

fn work_off(db: &Instance, heap: Heap<'_>, horizon: Horizon) {
    let queue = &heap.cache.retired;
    // What is added meanwhile waits for its own time.
    for _ in 0..queue.count() {
        let Some((stamp, item)) = queue.front(heap) else { return };
        match item {
            Retired::Block { offset, purpose } => {
                if stamp > horizon.blocks {
                    return;
                }
                queue.pop(heap);
                match purpose {
                    Purpose::Rows => Version::free(heap, offset),
                    _ => heap.free_block(offset, purpose),
                }
            }
            Retired::Deletion { offset } => {
                if stamp > horizon.blocks {
                    return;
                }
                queue.pop(heap);
                let content = Version::at(heap.memory, offset).older.load(Relaxed);
                for version in [offset, content].into_iter().filter(|at| *at != 0) {
                    Version::free(heap, version);
                }
            }
            Retired::Row { table, row } => {
                if stamp > horizon.rows
                    || queue.promise_many(heap, RETIRED_PER_ROW, Entitlement::Reserve).is_err()
                {
                    return;
                }
                queue.pop(heap);
                if let Some(core) = db.catalog().by_id(table) {
                    let table = TableAt { memory: heap.memory, core: &core };
                    prune(table, heap, row, horizon.rows);
                }
                queue.redeem_many(RETIRED_PER_ROW);
            }
        }
    }
}
