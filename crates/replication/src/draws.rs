//! Random numbers that a simulator can seed.
//!
//! In a simulation, where all happens in one thread, they come from the seed of the schedule;
//! everywhere else nobody can foresee them.

use std::cell::RefCell;

use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};

thread_local! {
    static SEEDED: RefCell<Option<StdRng>> = const { RefCell::new(None) };
}

/// Draws the timeouts of elections in this thread from a seed. For simulations.
pub fn seed_this_thread(seed: u64) {
    SEEDED.set(Some(StdRng::seed_from_u64(seed)));
}

/// Draws from the thread's seed, if it has one.
#[derive(Debug)]
pub(crate) struct Draws;

impl RngCore for Draws {
    fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }

    fn next_u64(&mut self) -> u64 {
        SEEDED.with_borrow_mut(|seeded| match seeded {
            Some(seeded) => seeded.next_u64(),
            None => rand::thread_rng().next_u64(),
        })
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        bytes.fill_with(|| self.next_u32() as u8);
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}
