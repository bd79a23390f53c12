//! The phases of the sensor workload, timed in the measured process.
//!
//! The order is the document's: open, write, read; then reads at random, the optional reads,
//! the comparison outside the clock, close. The first hundredth of each phase warms up and is
//! not counted. Small sizes are read several times over, so that a phase lasts long enough to
//! be measured. Everything the loops need is made before the footprint's zero is taken.

use std::hint::black_box;

use lab_harness::clock::{self, Clock, Elapsed};
use lab_harness::footprint::Footprint;
use lab_harness::sensors::{BATCH_LEN, MeasureBuffer, RecordShape, SensorKey, SensorStore};
use lab_harness::{Location, Outcome, Setting};
use serde_json::Value;

use super::check::{self, CheckValue};
use super::dataset::Dataset;
use super::plan::{PART, PART_CLOSE, PART_CLOSE_64, PART_RANDOM_64};
use crate::protocol::{CaseRequest, Held, Line, PhaseSample};
use crate::quantity::rounded;

/// Reads of one phase at small sizes, over several passes.
const READS_MIN: usize = 100_000;

/// Random reads of one phase at the largest sizes, where a sample of the rows is enough.
const READS_MAX: usize = 2_000_000;

/// How many operations pass between two looks at the wall clock.
const OPERATIONS_PER_LOOK: usize = BATCH_LEN;

/// How the note of a phase begins that did not do everything.
pub(super) const STOPPED: &str = "stopped by time";

/// The optional and the ordinary ways to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Ordered,
    Hash,
    Batch,
}

/// A phase of reads: which rows, in which order, in which way.
struct ReadPlan {
    phase: &'static str,
    reading: Reading,
    rows: Vec<u32>,
    keys: Vec<SensorKey>,
}

/// Operations done and the time they took.
struct Timed {
    operations: usize,
    elapsed: Elapsed,
}

/// Measures every phase of a case.
pub(super) fn measure(
    request: &CaseRequest,
    open: impl Fn(&Setting, &Location<'_>, RecordShape) -> Outcome<Box<dyn SensorStore>>,
    setting: &Setting,
) -> Outcome<Vec<Line>> {
    let part = request.parameters.get(PART).and_then(Value::as_str).unwrap_or_default();
    let shape = match part {
        PART_RANDOM_64 | PART_CLOSE_64 => RecordShape::Fixed,
        _ => RecordShape::Variable,
    };
    let data = Dataset::new(request.rows, shape);
    let mut reads = read_plans(&data, part);
    let location = Location {
        directory: request.directory.as_deref(),
        rows: request.rows,
        data_bytes: data.data_bytes(data.rows()),
    };
    let limit_ns = request.seconds_max.map(|seconds| (seconds * 1e9) as u64);
    let footprint = Footprint::begin(location.directory)?;
    let mut store = open(setting, &location, shape)?;
    let empty_bytes = footprint.held_bytes()?;

    let (written, mut phases) = write(store.as_mut(), &data, limit_ns)?;
    let held = Held {
        empty_bytes,
        held_bytes: footprint.held_bytes()?,
        data_bytes: data.data_bytes(written),
        accounted_bytes: store.accounted_bytes(),
        ..Held::default()
    };
    for plan in &mut reads {
        plan.keep_written(written);
        phases.extend(read(store.as_mut(), &data, plan, limit_ns)?);
    }
    let difference = check::first_difference(store.as_mut(), &data, written)?;
    phases.push(close(store)?);
    for phase in &mut phases {
        if let Some(difference) = &difference {
            phase.verified = false;
            phase.note = difference.clone();
        }
    }
    match part {
        PART_CLOSE | PART_CLOSE_64 => phases.retain(|phase| phase.phase == "close"),
        PART_RANDOM_64 => phases.retain(|phase| phase.phase.starts_with("read_random")),
        _ => {}
    }
    Ok([Line::Held(held)].into_iter().chain(phases.into_iter().map(Line::Phase)).collect())
}

/// The phases of reads of a part, with their rows in order.
fn read_plans(data: &Dataset, part: &str) -> Vec<ReadPlan> {
    let in_order =
        ReadPlan::new("read", Reading::Ordered, data, |rows, _| (0..rows as u32).collect());
    let at_random = |phase, reading, turn: u64| {
        ReadPlan::new(phase, reading, data, |rows, pass| {
            Dataset::shuffled(rows, turn * 1000 + pass)
        })
    };
    let random = [
        at_random("read_random", Reading::Ordered, 1),
        at_random("read_random_hash", Reading::Hash, 2),
        at_random("read_random_batch", Reading::Batch, 3),
    ];
    match part {
        PART_CLOSE | PART_CLOSE_64 => Vec::new(),
        PART_RANDOM_64 => random.into(),
        _ => [in_order].into_iter().chain(random).collect(),
    }
}

impl ReadPlan {
    fn new(
        phase: &'static str,
        reading: Reading,
        data: &Dataset,
        order: impl Fn(usize, u64) -> Vec<u32>,
    ) -> Self {
        let passes = (READS_MIN / data.rows().max(1)).clamp(1, 10) as u64;
        let mut rows: Vec<u32> = (0..passes).flat_map(|pass| order(data.rows(), pass)).collect();
        rows.truncate(READS_MAX);
        let mut plan = Self { phase, reading, rows, keys: Vec::new() };
        plan.keys = plan.rows.iter().map(|&row| data.measure(row as usize).key()).collect();
        plan
    }

    /// Leaves out rows that a stopped write phase did not reach.
    fn keep_written(&mut self, written: usize) {
        let kept = |row: u32| (row as usize) < written;
        let pairs: Vec<_> = self.rows.iter().copied().zip(self.keys.iter().copied()).collect();
        if pairs.iter().all(|&(row, _)| kept(row)) {
            return;
        }
        (self.rows, self.keys) = pairs.into_iter().filter(|&(row, _)| kept(row)).unzip();
    }
}

/// Writes all rows, each in a transaction of its own; says how many were written.
fn write(
    store: &mut dyn SensorStore,
    data: &Dataset,
    limit_ns: Option<u64>,
) -> Outcome<(usize, Vec<PhaseSample>)> {
    let warm_up = (data.rows() / 100).max(1);
    for row in 0..warm_up {
        store.insert(&data.measure(row))?;
    }
    let total = data.rows() - warm_up;
    let timed = timed(total, limit_ns, 1, |first, _| store.insert(&data.measure(warm_up + first)))?;
    let written = warm_up + timed.operations;
    let sample = timed.sample("write", 1, total, true);
    Ok((written, vec![sample]))
}

/// Reads the rows of a plan; nothing when the store does not offer that way to read.
fn read(
    store: &mut dyn SensorStore,
    data: &Dataset,
    plan: &ReadPlan,
    limit_ns: Option<u64>,
) -> Outcome<Option<PhaseSample>> {
    let offers = store.offers();
    let keys = &plan.keys[..];
    let (timed, seen) = match plan.reading {
        Reading::Hash if !offers.hash => return Ok(None),
        Reading::Batch if !offers.batch => return Ok(None),
        Reading::Ordered => one_by_one(keys, limit_ns, |key, out| store.read(key, out))?,
        Reading::Hash => one_by_one(keys, limit_ns, |key, out| store.read_hash(key, out))?,
        Reading::Batch => in_batches(keys, limit_ns, store)?,
    };
    let visited = plan.rows[..timed.operations].iter().map(|&row| row as usize);
    let verified = CheckValue::expected(data, visited) == seen;
    let per_transaction = if plan.reading == Reading::Batch { BATCH_LEN } else { 1 };
    Ok(Some(timed.sample(plan.phase, per_transaction, keys.len(), verified)))
}

/// Reads keys one transaction each.
fn one_by_one(
    keys: &[SensorKey],
    limit_ns: Option<u64>,
    mut read: impl FnMut(SensorKey, &mut MeasureBuffer) -> Outcome<bool>,
) -> Outcome<(Timed, CheckValue)> {
    let mut buffer = MeasureBuffer::new();
    for &key in &keys[..warm_up(keys)] {
        read(key, &mut buffer)?;
    }
    let mut seen = CheckValue::default();
    let timed = timed(keys.len(), limit_ns, 1, |location, _| {
        if read(keys[location], &mut buffer)? {
            seen.add(keys[location], black_box(&buffer));
        }
        Ok(())
    })?;
    Ok((timed, seen))
}

/// Reads keys many in a transaction.
fn in_batches(
    keys: &[SensorKey],
    limit_ns: Option<u64>,
    store: &mut dyn SensorStore,
) -> Outcome<(Timed, CheckValue)> {
    let mut buffer = MeasureBuffer::new();
    for batch in keys[..warm_up(keys)].chunks(BATCH_LEN) {
        store.read_batch(batch, &mut buffer, &mut |_, _| ())?;
    }
    let mut seen = CheckValue::default();
    let mut found = 0;
    let timed = timed(keys.len(), limit_ns, BATCH_LEN, |first, end| {
        let batch = &keys[first..end];
        let mut visit = |i: usize, answer: &MeasureBuffer| seen.add(batch[i], black_box(answer));
        found += store.read_batch(batch, &mut buffer, &mut visit)?;
        Ok(())
    })?;
    if found != timed.operations {
        seen = CheckValue::default();
    }
    Ok((timed, seen))
}

/// The first hundredth is read once before the clock starts.
fn warm_up(keys: &[SensorKey]) -> usize {
    keys.len() / 100
}

fn close(store: Box<dyn SensorStore>) -> Outcome<PhaseSample> {
    let clock = Clock::start();
    store.close()?;
    let timed = Timed { operations: 1, elapsed: clock.elapsed() };
    Ok(timed.sample("close", 1, 1, true))
}

/// Runs operations `step` at a time until all are done or the time is up.
fn timed(
    total: usize,
    limit_ns: Option<u64>,
    step: usize,
    mut operation: impl FnMut(usize, usize) -> Outcome<()>,
) -> Outcome<Timed> {
    let started_ns = clock::wall_ns();
    let clock = Clock::start();
    let mut done = 0;
    while done < total {
        let look = (done + OPERATIONS_PER_LOOK.next_multiple_of(step)).min(total);
        while done < look {
            let end = (done + step).min(total);
            operation(done, end)?;
            done = end;
        }
        if limit_ns.is_some_and(|limit| clock::wall_ns() - started_ns > limit) {
            break;
        }
    }
    Ok(Timed { operations: done, elapsed: clock.elapsed() })
}

impl Timed {
    fn sample(self, phase: &str, per_transaction: usize, of: usize, verified: bool) -> PhaseSample {
        let note = if self.operations < of {
            format!("{STOPPED} at about {} of {of} operations", rounded(self.operations as u64))
        } else {
            String::new()
        };
        PhaseSample {
            phase: phase.to_owned(),
            per_transaction: per_transaction as u64,
            operations: self.operations as u64,
            wall_ns: self.elapsed.wall_ns,
            cpu_ns: self.elapsed.cpu_ns,
            verified,
            note,
            ..PhaseSample::default()
        }
    }
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
