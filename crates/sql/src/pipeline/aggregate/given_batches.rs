//! Batches of another operator on their way into groups, which several threads make.
//!
//! The operator gives its batches one after the other. Some of them are kept until there are enough
//! for all threads; then each thread adds its share, of batches that followed one another, to
//! groups of its own.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::execution::memory_pool::MemoryReservation;

use super::feed::Fed;
use super::query::Query;
use super::room::Room;
use crate::error::Result;
use crate::pipeline::running::are_volatile;
use crate::scan::scan_rows::TakenRows;
use crate::threads::team::{Team, Worked, Worker};

/// Rows that each thread has to get for threads to be worth it, or bytes of rows: where rows are
/// wide, what is kept is not to be missing elsewhere.
const ROWS_A_THREAD: usize = 1 << 15;
const BYTES_A_THREAD: usize = 2 << 20;

/// Groups of batches, and batches that are not in them yet.
pub(crate) struct GivenBatches {
    query: Arc<Query>,
    room: Room,
    /// Groups of each thread that has made some; one at least.
    feds: Vec<Fed>,
    /// How many threads there may be.
    threads: usize,
    kept: Kept,
}

/// Batches that were not added yet.
struct Kept {
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    counter: RecordBatchMemoryCounter,
    reservation: MemoryReservation,
}

impl GivenBatches {
    /// No rows yet, of a query that may have so many threads.
    ///
    /// # Errors
    /// A fault of whoever planned them.
    pub(crate) fn new(query: &Arc<Query>, room: &Room, threads: usize) -> Result<Self> {
        Ok(Self {
            query: Arc::clone(query),
            room: room.another(),
            feds: vec![Fed::new(query, room)?],
            threads: if are_volatile(&query.exprs)? { 1 } else { threads },
            kept: Kept::new(room.reservation()),
        })
    }

    /// Adds rows, or keeps them for a while.
    ///
    /// # Errors
    /// Whatever is met in evaluating expressions; `OUT_OF_MEMORY`; `CANCELLED`.
    pub(crate) fn add(&mut self, batch: RecordBatch) -> Result<()> {
        if self.threads == 1 {
            return self.feds[0].add(TakenRows::Batch(batch)).map(drop);
        }
        let has_room = self.kept.add(batch);
        if !has_room || self.kept.are_enough(self.threads) {
            self.add_kept()?;
        }
        Ok(())
    }

    /// All groups, when all rows have been added, and how many threads have made them.
    ///
    /// # Errors
    /// As [`GivenBatches::add`].
    pub(crate) fn finish(mut self) -> Result<(Fed, usize)> {
        self.add_kept()?;
        let threads = self.feds.len();
        let others = self.feds.split_off(1);
        let mut first = self.feds.swap_remove(0);
        first.absorb(others);
        Ok((first, threads))
    }

    /// Adds all that were kept: each thread a share of them, if they are many.
    fn add_kept(&mut self) -> Result<()> {
        let kept = std::mem::replace(&mut self.kept, Kept::new(self.room.reservation()));
        if !kept.are_enough(self.threads) {
            let mut batches = kept.batches.into_iter();
            return batches.try_for_each(|it| self.feds[0].add(TakenRows::Batch(it)).map(drop));
        }
        while self.feds.len() < self.threads {
            self.feds.push(Fed::new(&self.query, &self.room)?);
        }
        let share = kept.batches.len().div_ceil(self.threads);
        let mut batches = kept.batches.into_iter();
        let shares = self.feds.drain(..).enumerate().map(|(number, fed)| {
            let batches = batches.by_ref().take(share).collect();
            Share { number: number as u64, fed, batches }
        });
        let mut team = Team::new(shares.collect(), false);
        while team.round()? {}
        self.feds = team.into_workers().into_iter().map(|share| share.fed).collect();
        Ok(())
    }
}

impl Kept {
    fn new(reservation: &MemoryReservation) -> Self {
        let (reservation, counter) = (reservation.new_empty(), RecordBatchMemoryCounter::new());
        Self { batches: Vec::new(), rows: 0, bytes: 0, counter, reservation }
    }

    /// Whether it is worth it to share them out among so many threads.
    fn are_enough(&self, threads: usize) -> bool {
        let are_large = self.bytes >= threads * BYTES_A_THREAD && self.batches.len() >= threads;
        self.rows >= threads * ROWS_A_THREAD || are_large
    }

    /// Keeps one more; whether there was memory for it.
    fn add(&mut self, batch: RecordBatch) -> bool {
        let bytes = self.counter.count_batch(&batch);
        self.rows += batch.num_rows();
        self.bytes += bytes;
        self.batches.push(batch);
        self.reservation.try_grow(bytes).is_ok()
    }
}

/// The batches that one thread adds to its groups.
struct Share {
    number: u64,
    fed: Fed,
    batches: VecDeque<RecordBatch>,
}

impl Worker for Share {
    fn work(&mut self) -> Result<Worked> {
        let Some(batch) = self.batches.pop_front() else { return Ok(Worked::Ended) };
        self.fed.add(TakenRows::Batch(batch))?;
        Ok(Worked::Through)
    }

    fn piece(&self) -> u64 {
        self.number
    }
}
