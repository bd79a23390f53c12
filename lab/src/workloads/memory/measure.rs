//! The phases of one total in blocks of one size, timed in the measured process.
//!
//! Blocks are allocated and then touched, which together is `allocate`; `allocate_calls` is the
//! allocator's own part of it. They are freed in the order in which they came; allocated and
//! touched again, off the clock, and freed the other way round. A region is filled again to be
//! reset, and again to be dropped, with all blocks in it. Before any of that every block is
//! checked: what is wrong takes the times of all phases up to there away.

use lab_harness::blocks::{BlockStore, FreeOrder};
use lab_harness::clock::{Clock, Elapsed};
use lab_harness::{Outcome, Setting};

use crate::parameters::block_bytes;
use crate::protocol::{CaseRequest, Line, PhaseSample};

/// A store, how many blocks it is for, and the samples so far.
struct Phases {
    store: Box<dyn BlockStore>,
    count: u64,
    samples: Vec<PhaseSample>,
    /// What was found to be wrong.
    difference: Option<String>,
}

/// Measures every phase of a case but its end.
pub(super) fn measure(
    request: &CaseRequest,
    open: impl Fn(&Setting, u64, usize) -> Outcome<Box<dyn BlockStore>>,
    setting: &Setting,
) -> Outcome<Vec<Line>> {
    let bytes = block_bytes(&request.parameters).ok_or("a case without a size of blocks")?;
    let clock = Clock::start();
    let store = open(setting, request.rows, usize::try_from(bytes)?)?;
    let opened = clock.elapsed();
    let mut phases = Phases { store, count: request.rows, samples: Vec::new(), difference: None };
    phases.sample("open", 1, opened);
    phases.store.prepare();
    phases.fill()?;
    phases.time("free", |store| store.free(FreeOrder::Same))?;
    phases.refill()?;
    phases.time("free_reverse", |store| store.free(FreeOrder::Reverse))?;
    phases.leave()?;
    let lines = phases.samples.into_iter().map(Line::Phase);
    Ok(lines.collect())
}

impl Phases {
    /// Allocates and touches every block, and checks it.
    fn fill(&mut self) -> Outcome<()> {
        let clock = Clock::start();
        self.store.allocate()?;
        let allocated = clock.elapsed();
        self.store.touch();
        let both = clock.elapsed();
        self.sample("allocate_calls", self.count, allocated);
        self.sample("allocate", self.count, both);
        self.check();
        Ok(())
    }

    /// The same off the clock.
    fn refill(&mut self) -> Outcome<()> {
        self.store.allocate()?;
        self.store.touch();
        self.check();
        Ok(())
    }

    fn check(&mut self) {
        match self.store.wrong() {
            0 => {}
            wrong => self.found(format!("{wrong} of {} blocks are not as written", self.count)),
        }
    }

    /// Takes all times away.
    fn found(&mut self, difference: String) {
        for sample in &mut self.samples {
            sample.verified = false;
            sample.note.clone_from(&difference);
        }
        self.difference = Some(difference);
    }

    fn time(
        &mut self,
        phase: &str,
        work: impl FnOnce(&mut dyn BlockStore) -> Outcome<()>,
    ) -> Outcome<()> {
        let clock = Clock::start();
        work(self.store.as_mut())?;
        self.sample(phase, self.count, clock.elapsed());
        Ok(())
    }

    /// Resets a region with all blocks in it, and drops it with all blocks in it.
    fn leave(&mut self) -> Outcome<()> {
        if !self.store.reset()? {
            return Ok(());
        }
        self.refill()?;
        self.store.forget();
        let clock = Clock::start();
        self.store.reset()?;
        self.sample("reset", 1, clock.elapsed());
        self.refill()?;
        self.store.forget();
        let store = std::mem::replace(&mut self.store, Box::new(Nothing));
        let clock = Clock::start();
        store.close();
        self.sample("drop", 1, clock.elapsed());
        Ok(())
    }

    fn sample(&mut self, phase: &str, operations: u64, elapsed: Elapsed) {
        self.samples.push(PhaseSample {
            phase: phase.to_owned(),
            per_transaction: 1,
            operations,
            wall_ns: elapsed.wall_ns,
            cpu_ns: elapsed.cpu_ns,
            verified: self.difference.is_none(),
            note: self.difference.clone().unwrap_or_default(),
            ..PhaseSample::default()
        });
    }
}

/// What is left when a region was dropped.
struct Nothing;

impl BlockStore for Nothing {
    fn prepare(&mut self) {}

    fn allocate(&mut self) -> Outcome<()> {
        Err("the region was dropped".into())
    }

    fn touch(&mut self) {}

    fn wrong(&mut self) -> u64 {
        0
    }

    fn free(&mut self, _: FreeOrder) -> Outcome<()> {
        Ok(())
    }

    fn forget(&mut self) {}

    fn reset(&mut self) -> Outcome<bool> {
        Ok(false)
    }

    fn close(self: Box<Self>) {}
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
