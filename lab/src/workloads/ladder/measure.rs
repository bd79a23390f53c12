//! The phases of one level, timed in the measured process, by one thread.
//!
//! Pairs are inserted one by one in the order of keys; what a phase out of time has left undone is
//! inserted off the clock, many in a transaction, so that everybody is read and overwritten at the
//! same size. Reads and overwrites are at random; reading in order is repeated until it has lasted
//! long enough. On the last level only writes are measured: reads do not wait for a disk. The first
//! hundredth of each phase warms up. Every read enters a check value; after each phase that writes,
//! every pair is compared, and a difference takes its time away.

use std::hint::black_box;

use fastrand::Rng;
use lab_harness::clock::{self, Clock, Elapsed};
use lab_harness::footprint::Footprint;
use lab_harness::pairs::{Check, PairStore, Seen, VALUE_LEN};
use lab_harness::{Location, Outcome, Promise, Setting};

use super::content::{self, PAIR_BYTES, key, value};
use crate::protocol::{CaseRequest, Held, Line, PhaseSample};
use crate::quantity::rounded;

const SEED: u64 = 0x6c61_6464_6572;

/// Reads and overwrites of a phase.
const RANDOM: u64 = 300_000;

/// Pairs of a transaction that is not measured.
const UNMEASURED: u64 = 10_000;

/// How long reading in order is repeated, and how often at most.
const IN_ORDER_NS_MIN: u64 = 200_000_000;
const PASSES_MAX: u64 = 20;

/// The clock is read once in so many operations.
const OPERATIONS_PER_LOOK: u64 = 16;

/// How the note of a phase begins that did not do everything.
const STOPPED: &str = "stopped by time";

/// A store, what it should hold, and the samples so far.
struct Phases<'s> {
    store: &'s mut dyn PairStore,
    /// The generation of each number.
    generations: Vec<u32>,
    limit_ns: u64,
    samples: Vec<PhaseSample>,
}

/// Measures every phase of a case.
pub(super) fn measure(
    request: &CaseRequest,
    open: impl Fn(&Setting, &Location<'_>) -> Outcome<Box<dyn PairStore>>,
    setting: &Setting,
) -> Outcome<Vec<Line>> {
    let data_bytes = request.rows * PAIR_BYTES;
    let directory = request.directory.as_deref();
    let location = Location { directory, rows: request.rows, data_bytes };
    let generations = vec![0; usize::try_from(request.rows)?];
    let limit_ns = request.seconds_max.map_or(u64::MAX, |seconds| (seconds * 1e9) as u64);
    let footprint = Footprint::begin(location.directory)?;
    let mut store = open(setting, &location)?;
    let empty_bytes = footprint.held_bytes()?;
    let mut phases = Phases { store: store.as_mut(), generations, limit_ns, samples: Vec::new() };
    phases.write()?;
    let held = Held {
        empty_bytes,
        held_bytes: footprint.held_bytes()?,
        data_bytes,
        accounted_bytes: phases.store.accounted_bytes(),
        ..Held::default()
    };
    phases.compare()?;
    if setting.promise != Promise::Disk {
        phases.read()?;
        phases.read_in_order()?;
    }
    phases.write_random()?;
    phases.compare()?;
    let samples = phases.samples;
    store.close()?;
    Ok([Line::Held(held)].into_iter().chain(samples.into_iter().map(Line::Phase)).collect())
}

impl Phases<'_> {
    fn rows(&self) -> u64 {
        self.generations.len() as u64
    }

    /// Inserts every pair in the order of keys.
    fn write(&mut self) -> Outcome<()> {
        let rows = self.rows();
        let warm_up = (rows / 100).max(1).min(rows);
        let store = &mut *self.store;
        let mut insert = |number| store.insert(&key(number), &value(number, 0));
        (0..warm_up).try_for_each(&mut insert)?;
        let (done, elapsed) = timed(rows - warm_up, self.limit_ns, |turn| insert(warm_up + turn))?;
        let mut next = warm_up + done;
        while next < rows {
            let end = (next + UNMEASURED).min(rows);
            self.store.insert_many(&content::pairs(next..end))?;
            next = end;
        }
        self.sample("write", done, rows - warm_up, elapsed, true);
        Ok(())
    }

    /// Reads single pairs at random.
    fn read(&mut self) -> Outcome<()> {
        let numbers = self.random(1);
        let (warm_up, rest) = numbers.split_at(numbers.len() / 100);
        let store = &mut *self.store;
        let mut found = [0; VALUE_LEN];
        for &number in warm_up {
            store.read(&key(number), &mut found)?;
        }
        let mut seen = Check::default();
        let (done, elapsed) = timed(rest.len() as u64, self.limit_ns, |turn| {
            let number = rest[turn as usize];
            if store.read(&key(number), &mut found)? {
                seen.add(number, black_box(&found));
            }
            Ok(())
        })?;
        let verified = seen == self.expected(rest[..done as usize].iter().copied());
        self.sample("read", done, rest.len() as u64, elapsed, verified);
        Ok(())
    }

    /// Reads all pairs in the order of keys, again and again.
    fn read_in_order(&mut self) -> Outcome<()> {
        if !self.store.is_ordered() {
            return Ok(());
        }
        self.store.read_in_order(&mut Seen::checking())?;
        let expected = self.expected(0..self.rows());
        let mut elapsed = Elapsed::default();
        let (mut passes, mut verified) = (0, true);
        while passes < PASSES_MAX && elapsed.wall_ns < IN_ORDER_NS_MIN.min(self.limit_ns) {
            let mut seen = Seen::checking();
            let clock = Clock::start();
            self.store.read_in_order(&mut seen)?;
            let pass = clock.elapsed();
            elapsed.wall_ns += pass.wall_ns;
            elapsed.cpu_ns += pass.cpu_ns;
            verified &= black_box(&seen).check() == expected;
            passes += 1;
        }
        let pairs = passes * self.rows();
        self.sample("bulk_read", pairs, pairs, elapsed, verified);
        Ok(())
    }

    /// Overwrites single pairs at random.
    fn write_random(&mut self) -> Outcome<()> {
        let numbers = self.random(2);
        let warm_up = numbers.len() as u64 / 100;
        let store = &mut *self.store;
        let mut overwrite = |turn: u64| {
            let number = numbers[turn as usize];
            store.overwrite(&key(number), &value(number, turn as u32 + 1))
        };
        (0..warm_up).try_for_each(&mut overwrite)?;
        let count = numbers.len() as u64 - warm_up;
        let (done, elapsed) = timed(count, self.limit_ns, |turn| overwrite(warm_up + turn))?;
        for (&number, generation) in numbers[..(warm_up + done) as usize].iter().zip(1..) {
            self.generations[number as usize] = generation;
        }
        self.sample("write_random", done, count, elapsed, true);
        Ok(())
    }

    /// Compares every pair; a difference takes the last sample's time away.
    fn compare(&mut self) -> Outcome<()> {
        let difference = content::difference(self.store, &self.generations)?;
        if let (Some(difference), Some(sample)) = (difference, self.samples.last_mut()) {
            sample.verified = false;
            sample.note = difference;
        }
        Ok(())
    }

    /// Numbers in the order in which a phase takes them.
    fn random(&self, phase: u64) -> Vec<u64> {
        let mut rng = Rng::with_seed(SEED + phase);
        let rows = self.rows();
        (0..RANDOM.min(rows * 10)).map(|_| rng.u64(0..rows)).collect()
    }

    fn expected(&self, numbers: impl Iterator<Item = u64>) -> Check {
        let mut check = Check::default();
        for number in numbers {
            check.add(number, &value(number, self.generations[number as usize]));
        }
        check
    }

    fn sample(&mut self, phase: &str, done: u64, of: u64, elapsed: Elapsed, verified: bool) {
        let note = match done < of {
            true => format!("{STOPPED} at about {} of {of} operations", rounded(done)),
            false => String::new(),
        };
        self.samples.push(PhaseSample {
            phase: phase.to_owned(),
            per_transaction: 1,
            operations: done,
            wall_ns: elapsed.wall_ns,
            cpu_ns: elapsed.cpu_ns,
            verified,
            note,
            ..PhaseSample::default()
        });
    }
}

/// Runs operations until all are done or the time is up; says how many there were.
fn timed(
    total: u64,
    limit_ns: u64,
    mut operation: impl FnMut(u64) -> Outcome<()>,
) -> Outcome<(u64, Elapsed)> {
    let started_ns = clock::wall_ns();
    let clock = Clock::start();
    let mut done = 0;
    while done < total {
        let look = (done + OPERATIONS_PER_LOOK).min(total);
        while done < look {
            operation(done)?;
            done += 1;
        }
        if clock::wall_ns() - started_ns > limit_ns {
            break;
        }
    }
    Ok((done, clock.elapsed()))
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
