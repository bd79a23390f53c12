//! Reclaiming what transactions left behind, by those that come after them.
//!
//! No thread runs for this: a writer that ends works off the queue of its own slot, once enough has
//! gathered, and now and then that of a slot nobody uses. An entry is worked off when the horizon
//! has passed it; the rest waits. The slot is held meanwhile, so what is read here stays readable.

use super::clock::{self, Horizon};
use crate::instance::Instance;
use crate::memory::retire::Retired;
use crate::memory::{Entitlement, Heap, Purpose};
use crate::snapshot;
use crate::table::prune::{RETIRED_PER_ROW, prune};
use crate::table::table::TableAt;
use crate::table::version::Version;

/// Entries in a slot's queue from which on a writer works them off; models do it at once.
const WORTHWHILE: u64 = if cfg!(shuttle) { 1 } else { 32 };

/// Called by each writer at its end, while it still holds its slot.
#[inline]
pub(crate) fn after_transaction(db: &Instance, heap: Heap<'_>, own: usize) {
    if heap.cache.retired.count() >= WORTHWHILE {
        let horizon = clock::horizon(db.memory(), own);
        work_off(db, heap, horizon);
    }
}

/// Works off everything that can be: the queues of all slots that nobody holds.
pub(crate) fn everything(db: &Instance) {
    let memory = db.memory();
    let slots = memory.header().slots_used.load(crate::memory::atomic::SeqCst) as usize;
    for number in 0..slots {
        let Some(held) = clock::adopt_slot(memory, number) else { continue };
        let Some(cache) = snapshot::cache(memory, held.slot()) else { continue };
        let heap = memory.heap(cache);
        // Pruning rows retires blocks, which a second pass frees.
        for _ in 0..2 {
            work_off(db, heap, clock::horizon(memory, number));
        }
        cache.retired.release(heap);
        heap.flush();
    }
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
