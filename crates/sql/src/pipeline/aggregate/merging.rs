//! Very many groups, put together and given out partition by partition.
//!
//! All groups are moved to partitions, by their hashes, if they are not there; if some have gone to
//! a file, all go there. Each thread takes the next partition that nobody has taken, makes its
//! groups of what all parts have in it, and gives them out before it takes another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::execution::memory_pool::MemoryReservation;
use remanent_exec::{Merged, Partitioned};

use super::giving::Out;
use super::parts::Part;
use super::result::{GivenPart, KeyTexts};
use super::room::Room;
use crate::error::{Error, Result};
use crate::scan::BATCH_ROWS;
use crate::threads::team::{Team, Worked, Worker};

/// What one thread does of it.
pub(crate) struct Merging {
    all: Arc<All>,
    /// What memory for one partition after the other is taken out of.
    room: Room,
    /// The partition that it has taken last.
    partition: usize,
    /// Its groups, and how many of them were given out.
    given: Option<(GivenPart, usize)>,
}

struct All {
    partitioned: Partitioned,
    texts: KeyTexts,
    out: Out,
    /// What was taken for all partitions.
    held: Held,
    /// The next partition that nobody has taken.
    next: AtomicUsize,
}

/// Memory that was taken for several parts.
struct Held(Vec<MemoryReservation>);

impl Held {
    /// So many bytes are free again.
    fn give_back(&self, bytes: usize) {
        let mut left = bytes;
        for held in &self.0 {
            // Another thread may have given some back in between.
            let given = left.min(held.size());
            if held.try_shrink(given).is_ok() {
                left -= given;
            }
        }
    }
}

/// So many threads, at most, that put parts together partition by partition.
///
/// # Errors
/// `OUT_OF_MEMORY`; what a file refused.
pub(crate) fn merging(parts: Vec<Part>, out: Out, threads: usize) -> Result<Team<Merging>> {
    let have_spilled = |parts: &[Part]| parts.iter().any(|part| part.aggregation.has_spilled());
    let mut spills = have_spilled(&parts);
    let mut parts = partitioned(parts, spills)?;
    if !spills && have_spilled(&parts) {
        // What is left in memory of others would be missing for each partition.
        spills = true;
        parts = partitioned(parts, spills)?;
    }
    let first = parts.first().ok_or_else(|| Error::internal("an aggregate of no part"))?;
    let (mut own, room) = (first.room.another(), first.room.another());
    let (aggregations, mut held): (Vec<_>, Vec<_>) =
        parts.into_iter().map(|part| (part.aggregation, part.room.into_reservation())).unzip();
    let partitioned = own.within(|memory| Partitioned::new(aggregations, memory))?;
    let texts = KeyTexts::of(&out.query, partitioned.texts(), own.reservation())?;
    held.push(own.into_reservation());
    let (held, next) = (Held(held), AtomicUsize::new(0));
    let kept = if spills { partitioned.merging_bytes() } else { 0 };
    let all = Arc::new(All { partitioned, texts, out, held, next });
    let worker = |_| {
        let mut room = room.another();
        room.keep(kept);
        Merging { all: Arc::clone(&all), room, partition: 0, given: None }
    };
    Ok(Team::new((0..threads.max(1)).map(worker).collect(), true))
}

/// The same parts, all of whose groups are in partitions, or in a file; each is moved by a thread.
fn partitioned(parts: Vec<Part>, spills: bool) -> Result<Vec<Part>> {
    let workers = parts.into_iter().map(|part| Moving { part, spills, has_ended: false });
    let mut team = Team::new(workers.collect(), false);
    while team.round()? {}
    Ok(team.into_workers().into_iter().map(|worker| worker.part).collect())
}

/// A part whose groups are moved to partitions.
struct Moving {
    part: Part,
    spills: bool,
    has_ended: bool,
}

impl Worker for Moving {
    fn work(&mut self) -> Result<Worked> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(Worked::Ended);
        }
        match self.spills {
            true => self.part.spill()?,
            false => self.part.partition()?,
        }
        Ok(Worked::Through)
    }

    fn piece(&self) -> u64 {
        0
    }
}

impl Merging {
    /// Puts the next partition together that nobody has taken; false if there is none.
    fn take_next(&mut self) -> Result<bool> {
        // The number orders nothing: what others have added was there before.
        self.partition = self.all.next.fetch_add(1, Ordering::Relaxed);
        if self.partition >= Partitioned::COUNT {
            return Ok(false);
        }
        let All { partitioned, texts, held, .. } = self.all.as_ref();
        let room = &mut self.room;
        let Merged { mut aggregation, freed } =
            room.within(|memory| partitioned.merge(self.partition, memory))?;
        held.give_back(freed);
        let groups = room.within(|memory| aggregation.finish(memory))?;
        let part = Part::merged(aggregation, room.another(), groups);
        self.given = Some((GivenPart { part, texts: texts.clone() }, 0));
        Ok(true)
    }
}

impl Worker for Merging {
    fn work(&mut self) -> Result<Worked> {
        let Some((part, given)) = &mut self.given else {
            return Ok(if self.take_next()? { Worked::GoesOn } else { Worked::Ended });
        };
        let groups = *given..part.part.groups.min(*given + BATCH_ROWS);
        if groups.is_empty() {
            self.given = None;
            return Ok(Worked::Through);
        }
        *given = groups.end;
        let groups = self.all.out.batch(part, groups)?;
        Ok(match groups.num_rows() {
            0 => Worked::GoesOn,
            _ => Worked::Made(groups),
        })
    }

    fn piece(&self) -> u64 {
        self.partition as u64
    }
}
