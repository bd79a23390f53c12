//! The recent commits: which rows changed, in the order of their timestamps, in a ring of words.
//!
//! A commit notes each row that it changed and behind them its timestamp, under the commit latch
//! and before the clock shows it. Whoever validates walks back from the end to its own snapshot,
//! without a latch; a ring that has gone round meanwhile is noticed afterwards, for `claimed` is
//! moved before any word is overwritten. What the ring cannot answer, because it has gone round or
//! the commit was too large for it, is found by looking at all rows (`validate.rs`), which then
//! asks for a larger ring: so memory is bounded, and grows where transactions are long.
//!
//! The ring's word in the header holds its offset and, in the low bits, how large it is.

use crate::error::Result;
use crate::memory::atomic::{Acquire, AtomicU64, Relaxed, Release, acquire_fence, release_fence};
use crate::memory::region::FIRST_RING_SIZE;
use crate::memory::{AllocationClass, Allocator, Memory, Purpose};
use crate::table::cleanup::ended::rows_of;
use crate::table::columns::frozen_ends::Layer;
use crate::transaction::write::write_set::{WriteSet, Written};

/// Words of the first ring.
const FIRST_POWER: u32 = FIRST_RING_SIZE.ilog2() - 3;
/// Words of the largest ring: 8 MiB.
const LAST_POWER: u32 = if cfg!(shuttle) { FIRST_POWER + 1 } else { 20 };
/// A ring takes at most this part of the budget.
const BUDGET_PART: u64 = 64;
/// Marks a word that is a timestamp, behind the rows of its commit.
const COMMIT: u64 = 1 << 63;

/// The reach of the recent commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// All that was asked for was there.
    Whole,
    /// Some of it was not.
    Short,
    /// There is more than was to be inspected.
    Long,
}

/// Notes a commit. The commit latch is held, and the clock does not show `timestamp` yet.
#[inline]
pub(crate) fn record(memory: &Memory, writes: &WriteSet<'_>, timestamp: u64) {
    let recent = &memory.header().commit.0.recent;
    let words = words_of(memory, recent.ring.load(Relaxed));
    let (count, mask) = (writes.len() + 1, words.len() as u64 - 1);
    if count > words.len() as u64 / 2 || writes.has_segments() {
        recent.floor.store(timestamp, Release);
        return;
    }
    let end = recent.end.load(Relaxed);
    recent.claimed.store(end + count, Relaxed);
    release_fence();
    let mut position = end;
    let mut note = |table, row| {
        let word = u64::from(table) << 32 | u64::from(row);
        words[(position & mask) as usize].store(word, Relaxed);
        position += 1;
    };
    writes.each(|table, written| match written {
        Written::One(change) => note(table, change.row),
        Written::Run { first, count } | Written::Segment { first, count } => {
            (first..first + count).for_each(|row| note(table, row));
        }
        Written::Ended { first, bits } => {
            rows_of(first, bits).for_each(|row| note(table, row));
        }
        Written::InColumns { first, layer, .. } => {
            Layer::at(memory, layer).each(memory, first, |row| note(table, row));
        }
        // They are in the layer of an older entry.
        Written::Later { .. } => {}
    });
    words[(position & mask) as usize].store(COMMIT | timestamp, Relaxed);
    recent.end.store(position + 1, Release);
}

/// Calls `visit` with each row that was changed by a commit later than `since`, newest first,
/// perhaps some of them twice; with at most so many.
///
/// # Errors
/// The error of `visit`.
pub(crate) fn each_since(
    memory: &Memory,
    since: u64,
    most: u64,
    mut visit: impl FnMut(u32, u32) -> Result<()>,
) -> Result<Reach> {
    let recent = &memory.header().commit.0.recent;
    loop {
        let ring = recent.ring.load(Acquire);
        if recent.floor.load(Relaxed) > since {
            return Ok(Reach::Short);
        }
        let words = words_of(memory, ring);
        let (len, end) = (words.len() as u64, recent.end.load(Acquire));
        let mut position = end;
        let mut reach = Reach::Whole;
        while position > 0 {
            if end - position == len {
                reach = Reach::Short;
                break;
            }
            if end - position > most {
                return Ok(Reach::Long);
            }
            position -= 1;
            let word = words[(position & (len - 1)) as usize].load(Relaxed);
            if word & COMMIT == 0 {
                visit((word >> 32) as u32, word as u32)?;
            } else if word & !COMMIT <= since {
                break;
            }
        }
        acquire_fence();
        if recent.ring.load(Relaxed) != ring {
            continue;
        }
        let overtaken = recent.claimed.load(Relaxed) > position + len;
        if overtaken || recent.floor.load(Relaxed) > since {
            reach = Reach::Short;
        }
        return Ok(reach);
    }
}

/// Doubles the ring, if there is memory for it and it is not large already.
#[cold]
pub(crate) fn grow(alloc: Allocator<'_>) {
    let header = alloc.memory.header();
    let recent = &header.commit.0.recent;
    let old = recent.ring.load(Acquire);
    let power = power_of(old) + 1;
    let size = 8_u64 << power;
    let allowed = header.account.budget.load(Relaxed) / BUDGET_PART;
    if power > LAST_POWER || size > allowed {
        return;
    }
    let queue = &alloc.cache.retired;
    if queue.make_room(alloc, 1, AllocationClass::Normal).is_err() {
        return;
    }
    let Ok(at) = alloc.allocate(size as usize, Purpose::Internal, AllocationClass::Normal) else {
        return;
    };
    alloc.region().fresh_bytes(at, size as usize).fill(0);
    let latched = header.commit.0.latch.lock();
    if recent.ring.load(Relaxed) != old {
        drop(latched);
        return alloc.free_block(at, Purpose::Internal);
    }
    let (from, to) = (words_of(alloc.memory, old), words_of(alloc.memory, ring_word(at, power)));
    let end = recent.end.load(Relaxed);
    for position in end.saturating_sub(from.len() as u64)..end {
        let word = from[position as usize & (from.len() - 1)].load(Relaxed);
        to[position as usize & (to.len() - 1)].store(word, Relaxed);
    }
    if end > from.len() as u64 {
        // What the old ring had lost reads as empty in the new one: no commit before the oldest
        // word that was kept can be known.
        let oldest = (end - from.len() as u64..end)
            .map(|position| to[position as usize & (to.len() - 1)].load(Relaxed))
            .find(|word| word & COMMIT != 0);
        let lost = oldest.map_or(header.clock.0.load(Relaxed), |word| word & !COMMIT);
        recent.floor.store(recent.floor.load(Relaxed).max(lost), Relaxed);
    }
    recent.ring.store(ring_word(at, power), Release);
    drop(latched);
    // The first one was made with the slots and stays with them.
    if power_of(old) > FIRST_POWER {
        alloc.retire(old & !0xf, Purpose::Internal);
    }
}

fn ring_word(at: u64, power: u32) -> u64 {
    debug_assert!(at.is_multiple_of(16));
    at | u64::from(power - FIRST_POWER)
}

fn power_of(ring: u64) -> u32 {
    FIRST_POWER + (ring & 0xf) as u32
}

fn words_of(memory: &Memory, ring: u64) -> &[AtomicU64] {
    memory.region().words(ring & !0xf, 1 << power_of(ring))
}

const _: () = assert!(LAST_POWER - FIRST_POWER < 16);
