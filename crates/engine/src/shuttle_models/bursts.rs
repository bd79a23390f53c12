//! A scheduler that lets threads run for a while: random, but with bursts.
//!
//! Many bugs need one thread to be held up in the middle while others get whole operations done.
//! Choosing anew at each of thousands of steps hardly ever does that, so each execution draws how
//! long a thread keeps running on average, from one step to 64.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

/// A thread goes on unless the bits of a random word under the mask are all 0.
const PERSISTENCE: [u64; 4] = [0, 3, 15, 63];

/// The scheduler. Each execution has a seed of its own, by which it can be repeated.
pub(super) struct Bursts {
    seeds: u64,
    left: usize,
    state: u64,
    persistence: u64,
}

impl Bursts {
    /// A scheduler of so many executions; the first has this very seed.
    pub(super) fn new(seed: u64, executions: usize) -> Self {
        Self { seeds: seed, left: executions, state: 0, persistence: 0 }
    }

    /// The seed of the execution that is so many from the first.
    pub(super) fn seed_of(seed: u64, execution: usize) -> u64 {
        seed.wrapping_add(execution as u64)
    }

    /// A random word (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

impl Scheduler for Bursts {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.left = self.left.checked_sub(1)?;
        let seed = self.seeds;
        self.seeds = Self::seed_of(seed, 1);
        self.state = seed;
        self.persistence = PERSISTENCE[self.random() as usize % PERSISTENCE.len()];
        Some(Schedule::new(seed))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let random = self.random();
        let goes_on = !is_yielding && random & self.persistence != 0;
        let same = runnable.iter().map(|task| task.id()).find(|&id| Some(id) == current);
        let chosen = runnable[(random >> 32) as usize % runnable.len()].id();
        Some(same.filter(|_| goes_on).unwrap_or(chosen))
    }

    fn next_u64(&mut self) -> u64 {
        self.random()
    }
}
