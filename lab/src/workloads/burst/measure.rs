//! One transaction, timed in the measured process: opened, filled, ended, closed.
//!
//! The whole of a phase is timed, its first records too, since there is but one transaction. The
//! order of keys is made beforehand; pairs are made within the clock, a slice at a time, for
//! everybody alike. Inserts that have used up their CPU time stop, and what is there is ended and
//! closed; the note says how far they came. Memory is read before the transaction ends, after it,
//! and off the clock; the most counts. Afterwards every pair is compared, each snapshot asked
//! again, and one difference anywhere takes all times away.

use fastrand::Rng;
use lab_harness::burst::{Burst, BurstSnapshot, BurstStore};
use lab_harness::clock::{self, Clock, Elapsed};
use lab_harness::footprint::{self, Footprint};
use lab_harness::pairs::{Check, Seen};
use lab_harness::{Location, Outcome, Promise, Setting, prefault};
use serde_json::Value;

use super::{ABORT, ENDING, ORDER, RANDOM, SNAPSHOTS};
use crate::protocol::{CaseRequest, Held, Line, PhaseSample};
use crate::quantity::rounded;
use crate::workloads::ladder::content::{PAIR_BYTES, key, value};

const SEED: u64 = 0x0062_7572_7374;

/// How the note of a phase begins that did not do everything.
pub(super) const STOPPED: &str = "stopped by time";

/// How many times the data's bytes are touched beforehand.
const PREFAULT: u64 = 4;

/// How many keys a snapshot is asked for.
const LOOKS: u64 = 1000;

/// The order of keys, and how many of them were inserted.
struct Keys {
    /// Empty when they ascend.
    shuffled: Vec<u32>,
    rows: u64,
}

/// What a case does, as its request says.
struct Phases<'s> {
    store: &'s dyn BurstStore,
    keys: Keys,
    snapshots: u64,
    limit_ns: u64,
}

/// Measures one case.
pub(super) fn measure(
    request: &CaseRequest,
    open: impl Fn(&Setting, &Location<'_>, u64) -> Outcome<Box<dyn BurstStore>>,
    setting: &Setting,
) -> Outcome<Vec<Line>> {
    let data_bytes = request.rows * PAIR_BYTES;
    let directory = request.directory.as_deref();
    let location = Location { directory, rows: request.rows, data_bytes };
    let parameter = |name| request.parameters.get(name);
    let snapshots = parameter(SNAPSHOTS).and_then(Value::as_u64).unwrap_or(0);
    let keys = Keys::new(request.rows, parameter(ORDER).is_some_and(|order| order == RANDOM))?;
    prefault::touch(usize::try_from(data_bytes * PREFAULT)?)?;
    footprint::forget_resident_peak();
    let footprint = Footprint::begin(location.directory)?;
    let clock = Clock::start();
    let store = open(setting, &location, snapshots)?;
    let mut samples = vec![sample("open", 1, clock.elapsed())];
    let empty_bytes = footprint.held_bytes()?;
    let limit_ns = request.seconds_max.map_or(u64::MAX, |seconds| (seconds * 1e9) as u64);
    let phases = Phases { store: store.as_ref(), keys, snapshots, limit_ns };
    let (burst, open, inserted, elapsed) = phases.insert()?;
    let mut insert = sample("insert", inserted, elapsed);
    if inserted < request.rows {
        let about = rounded(inserted);
        insert.note = format!("{STOPPED} at about {about} of {} records", request.rows);
    }
    samples.push(insert);
    let mut held_bytes = footprint.held_bytes()?;
    let aborts = parameter(ENDING).is_some_and(|ending| ending == ABORT);
    samples.extend(end(burst, aborts, setting.promise, inserted)?);
    held_bytes = held_bytes.max(footprint.held_bytes()?);
    let accounted_bytes = store.accounted_bytes();
    let kept = if aborts { 0 } else { inserted };
    let mut difference = phases.moved(open)?;
    difference = difference.or(phases.difference(kept)?);
    let clock = Clock::start();
    store.close()?;
    samples.push(sample("close", 1, clock.elapsed()));
    if let Some(difference) = difference {
        for sample in &mut samples {
            sample.verified = false;
            sample.note.clone_from(&difference);
        }
    }
    let held = Held {
        empty_bytes,
        held_bytes,
        data_bytes: inserted * PAIR_BYTES,
        accounted_bytes,
        resident_peak_bytes: Some(footprint::resident_peak_bytes()?),
    };
    Ok([Line::Held(held)].into_iter().chain(samples.into_iter().map(Line::Phase)).collect())
}

/// Ends the transaction; without transactions there is nothing to end.
fn end(
    burst: Box<dyn Burst + '_>,
    aborts: bool,
    promise: Promise,
    inserted: u64,
) -> Outcome<Option<PhaseSample>> {
    let clock = Clock::start();
    if aborts {
        burst.roll_back()?;
        return Ok(Some(sample("rollback", inserted, clock.elapsed())));
    }
    burst.commit()?;
    let committed = sample("commit", 1, clock.elapsed());
    Ok((promise > Promise::None).then_some(committed))
}

/// The transaction, the snapshots beside it, how many records it inserted, and the time for them.
type Inserted<'s> = (Box<dyn Burst + 's>, Vec<Box<dyn BurstSnapshot + 's>>, u64, Elapsed);

impl<'s> Phases<'s> {
    /// Begins, and inserts until all is done or time is up.
    fn insert(&self) -> Outcome<Inserted<'s>> {
        let rows = self.keys.rows;
        let step = self.store.at_a_time().max(1);
        let mut pairs = Vec::with_capacity(step);
        let mut snapshots: Vec<Box<dyn BurstSnapshot + 's>> = Vec::new();
        let started_ns = clock::process_cpu_ns();
        let clock = Clock::start();
        let mut burst = self.store.begin()?;
        let mut next = 0;
        while next < rows {
            let end = (next + step as u64).min(rows);
            pairs.clear();
            pairs.extend(self.keys.range(next, end).map(|number| (key(number), value(number, 0))));
            burst.insert(&pairs)?;
            next = end;
            while (snapshots.len() as u64) < self.snapshots * next / rows {
                snapshots.push(self.store.snapshot()?);
            }
            if clock::process_cpu_ns() - started_ns > self.limit_ns {
                break;
            }
        }
        Ok((burst, snapshots, next, clock.elapsed()))
    }

    /// Says whether a snapshot sees what was not there when it was opened. All of them are asked
    /// for some keys; the first and the last count all that they see.
    fn moved(&self, mut open: Vec<Box<dyn BurstSnapshot + 's>>) -> Outcome<Option<String>> {
        let last = open.len().wrapping_sub(1);
        let step = (self.keys.rows / LOOKS).max(1) as usize;
        for (number, snapshot) in open.iter_mut().enumerate() {
            let mut seen = 0;
            if number == 0 || number == last {
                seen = snapshot.count()?;
            }
            for at in (0..self.keys.rows).step_by(step) {
                seen += u64::from(snapshot.sees(&key(at))?);
            }
            if seen > 0 {
                return Ok(Some(format!("snapshot {number} sees what came after it")));
            }
        }
        Ok(None)
    }

    /// Compares everything that is there with the first `kept` keys.
    fn difference(&self, kept: u64) -> Outcome<Option<String>> {
        let mut expected = Check::default();
        for number in self.keys.range(0, kept) {
            expected.add(number, &value(number, 0));
        }
        let mut seen = Seen::checking();
        self.store.read_in_order(&mut seen)?;
        let found = seen.check();
        Ok((found != expected).then(|| {
            let pairs = found.pairs;
            match pairs == kept {
                true => format!("the {pairs} records are not those that were inserted"),
                false => format!("{pairs} records in place of {kept}"),
            }
        }))
    }
}

impl Keys {
    fn new(rows: u64, shuffle: bool) -> Outcome<Self> {
        let mut shuffled: Vec<u32> = Vec::new();
        if shuffle {
            shuffled.extend(0..u32::try_from(rows)?);
            Rng::with_seed(SEED).shuffle(&mut shuffled);
        }
        Ok(Self { shuffled, rows })
    }

    /// The numbers from one place in the order to another.
    fn range(&self, from: u64, to: u64) -> impl Iterator<Item = u64> {
        let ascending = if self.shuffled.is_empty() { from..to } else { 0..0 };
        let places = if self.shuffled.is_empty() { 0..0 } else { from as usize..to as usize };
        ascending.chain(self.shuffled[places].iter().map(|&number| u64::from(number)))
    }
}

fn sample(phase: &str, operations: u64, elapsed: Elapsed) -> PhaseSample {
    PhaseSample {
        phase: phase.to_owned(),
        per_transaction: operations,
        operations,
        wall_ns: elapsed.wall_ns,
        cpu_ns: elapsed.cpu_ns,
        verified: true,
        ..PhaseSample::default()
    }
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
