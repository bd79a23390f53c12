//! The readers: threads that look rows up from the beginning of a case to its end.
//!
//! The writer tells everybody which phase of which cycle it is in through one word, written at
//! the bounds of phases only, so that readers cost it nothing else. A reader looks at the word
//! before and after each transaction and books the look-ups, and the CPU time of its own thread,
//! under the phase in which the transaction ended: a late word does no harm but to book a
//! transaction one phase too early. A stale word at both ends cannot hide a fault: what was
//! committed before the word was written is seen by whoever has read the word.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use fastrand::Rng;
use lab_harness::readers::{Ended, SharedStore};
use lab_harness::{Outcome, clock};

use super::check::{LOOK_UPS, REPEATS, Sight};

/// What the writer is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing that is measured.
    Between,
    /// What it would not get done beside the readers, who rest.
    Alone,
    Insert,
    Update,
    Delete,
    /// Nothing at all, while the table is full.
    Read,
    /// The readers are to end.
    Over,
}

/// How many stages there are.
const STAGES: usize = 7;

/// How long a reader rests before it looks again.
const REST: Duration = Duration::from_micros(500);

/// A phase of a cycle, as the one word that all threads know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) cycle: u64,
    pub(super) stage: Stage,
}

/// The word, and what ends a wait for the readers.
#[derive(Default)]
pub(super) struct Board {
    word: AtomicU64,
    /// Readers that have finished a transaction, or failed.
    started: AtomicU64,
}

/// What readers did, stage by stage.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    stages: [Booked; STAGES],
}

/// What readers did in one stage.
#[derive(Clone, Debug, Default)]
pub(super) struct Booked {
    pub(super) reads: u64,
    pub(super) cpu_ns: u64,
    pub(super) aborts: u64,
    /// What one of them saw that it should not have seen.
    pub(super) fault: Option<String>,
}

impl Stage {
    const ALL: [Self; STAGES] = [
        Self::Between,
        Self::Alone,
        Self::Insert,
        Self::Update,
        Self::Delete,
        Self::Read,
        Self::Over,
    ];

    /// Whether every row is there, whatever the writer does.
    pub(super) fn has_all_rows(self) -> bool {
        matches!(self, Self::Update | Self::Read)
    }
}

impl Moment {
    fn word(self) -> u64 {
        self.cycle << 8 | self.stage as u64
    }

    fn of(word: u64) -> Self {
        Self { cycle: word >> 8, stage: Stage::ALL[(word & 0xff) as usize] }
    }
}

impl Board {
    /// Begins a stage.
    pub(super) fn turn_to(&self, cycle: u64, stage: Stage) {
        self.word.store(Moment { cycle, stage }.word(), Ordering::Release);
    }

    fn now(&self) -> Moment {
        Moment::of(self.word.load(Ordering::Acquire))
    }

    /// Waits until that many readers have read once.
    pub(super) fn wait_for(&self, readers: usize) {
        while self.started.load(Ordering::Relaxed) < readers as u64 {
            thread::sleep(REST);
        }
    }
}

/// A running reader.
pub(super) type ReaderThread<'scope> = ScopedJoinHandle<'scope, Outcome<Tally>>;

/// Starts a reader of `rows` rows that reads until the stage is over.
pub(super) fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    store: &'scope dyn SharedStore,
    board: &'scope Board,
    rows: i32,
    block: i32,
    seed: u64,
) -> ReaderThread<'scope> {
    scope.spawn(move || {
        let rng = Rng::with_seed(seed);
        let done = read_on(store, board, rows, block, rng);
        // A reader that failed at once must not be waited for.
        board.started.fetch_add(1, Ordering::Relaxed);
        done
    })
}

fn read_on(
    store: &dyn SharedStore,
    board: &Board,
    rows: i32,
    block: i32,
    mut rng: Rng,
) -> Outcome<Tally> {
    let mut reader = store.reader()?;
    let mut tally = Tally::default();
    let mut sight = Sight::new();
    let mut first = true;
    let mut cpu_ns = clock::thread_cpu_ns();
    loop {
        let begun = board.now();
        match begun.stage {
            Stage::Over => return Ok(tally),
            Stage::Alone => {
                thread::sleep(REST);
                continue;
            }
            _ => {}
        }
        for id in &mut sight.ids {
            *id = rng.i32(0..rows);
        }
        sight.ids.copy_within(..REPEATS, LOOK_UPS - REPEATS);
        sight.clear();
        let done = reader.read(&sight.ids.clone(), &mut |answer| sight.see(answer))?;
        let ended = board.now();
        let now_ns = clock::thread_cpu_ns();
        let booked = &mut tally.stages[ended.stage as usize];
        booked.cpu_ns += now_ns - cpu_ns;
        cpu_ns = now_ns;
        if done == Ended::Aborted {
            booked.aborts += 1;
            continue;
        }
        booked.reads += LOOK_UPS as u64;
        if booked.fault.is_none() {
            booked.fault = sight.fault(begun, ended, block);
        }
        if std::mem::take(&mut first) {
            board.started.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Tally {
    /// What was done in a stage.
    pub(super) fn of(&self, stage: Stage) -> &Booked {
        &self.stages[stage as usize]
    }

    /// Adds what another reader did.
    pub(super) fn add(&mut self, other: Self) {
        for (ours, theirs) in self.stages.iter_mut().zip(other.stages) {
            ours.reads += theirs.reads;
            ours.cpu_ns += theirs.cpu_ns;
            ours.aborts += theirs.aborts;
            ours.fault = ours.fault.take().or(theirs.fault);
        }
    }
}

#[cfg(test)]
#[path = "reader_threads_tests.rs"]
mod tests;
