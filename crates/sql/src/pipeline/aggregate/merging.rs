//! Very many groups of several threads, put together by as many threads.
//!
//! All groups are moved to partitions, by their hashes, if they are not there. Each thread takes
//! the next partition that nobody has taken; what it makes of that is a part of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::execution::memory_pool::MemoryReservation;
use remanent_exec::{Merged, Partitioned};

use super::parts::{Held, Part};
use crate::error::{Error, Result};
use crate::pipeline::values::with_memory;
use crate::threads::team::{Team, Worked, Worker};

/// What one thread does of it.
pub(crate) struct Merging {
    all: Arc<All>,
    /// The partition that it has taken last.
    partition: usize,
    /// What it has made, with the partition of each.
    parts: Vec<(usize, Part)>,
}

struct All {
    partitioned: Partitioned,
    /// What memory for one partition is taken out of, and what was taken for all of them.
    reservation: MemoryReservation,
    held: Arc<Held>,
    /// The next partition that nobody has taken.
    next: AtomicUsize,
}

/// So many threads, at most, that put parts together partition by partition.
///
/// # Errors
/// `OUT_OF_MEMORY`.
pub(crate) fn merging(parts: Vec<Part>, threads: usize) -> Result<Team<Merging>> {
    let parts = partitioned(parts)?;
    let first = parts.first().ok_or_else(|| Error::internal("an aggregate of no part"))?;
    let (mut own, reservation) = (first.reservation.new_empty(), first.reservation.new_empty());
    let (aggregations, mut held): (Vec<_>, Vec<_>) =
        parts.into_iter().map(|part| (part.aggregation, part.reservation)).unzip();
    let partitioned = with_memory(&mut own, |memory| Partitioned::new(aggregations, memory))?;
    held.push(own);
    let (held, next) = (Arc::new(Held(held)), AtomicUsize::new(0));
    let all = Arc::new(All { partitioned, reservation, held, next });
    let worker = |_| Merging { all: Arc::clone(&all), partition: 0, parts: Vec::new() };
    Ok(Team::new((0..threads.max(1)).map(worker).collect(), false))
}

/// The same parts, all of whose groups are in partitions; each is moved by a thread.
fn partitioned(parts: Vec<Part>) -> Result<Vec<Part>> {
    let workers = parts.into_iter().map(|part| Moving { part, has_ended: false });
    let mut team = Team::new(workers.collect(), false);
    while team.round()? {}
    Ok(team.into_workers().into_iter().map(|worker| worker.part).collect())
}

/// A part whose groups are moved to partitions.
struct Moving {
    part: Part,
    has_ended: bool,
}

impl Worker for Moving {
    fn work(&mut self) -> Result<Worked> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(Worked::Ended);
        }
        self.part.partition()?;
        Ok(Worked::Through)
    }

    fn piece(&self) -> u64 {
        0
    }
}

/// All that they have made, in the order of the partitions.
pub(crate) fn merged(team: Team<Merging>) -> Vec<Part> {
    let workers = team.into_workers().into_iter();
    let mut parts: Vec<_> = workers.flat_map(|worker| worker.parts).collect();
    parts.sort_by_key(|(partition, _)| *partition);
    parts.into_iter().map(|(_, part)| part).collect()
}

impl Worker for Merging {
    fn work(&mut self) -> Result<Worked> {
        // The number orders nothing: what others have added was there before.
        self.partition = self.all.next.fetch_add(1, Ordering::Relaxed);
        if self.partition >= Partitioned::COUNT {
            return Ok(Worked::Ended);
        }
        let All { partitioned, reservation, held, .. } = self.all.as_ref();
        let mut reservation = reservation.new_empty();
        let Merged { mut aggregation, freed } =
            with_memory(&mut reservation, |memory| partitioned.merge(self.partition, memory))?;
        held.give_back(freed);
        let groups = with_memory(&mut reservation, |memory| aggregation.finish(memory))?;
        if groups > 0 {
            let part = Part::merged(aggregation, reservation, groups, held);
            self.parts.push((self.partition, part));
        }
        Ok(Worked::Through)
    }

    fn piece(&self) -> u64 {
        self.partition as u64
    }
}
