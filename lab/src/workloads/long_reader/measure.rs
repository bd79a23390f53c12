//! The writer of hot rows, the reader that stays open, and what is held meanwhile.
//!
//! The snapshot is taken before the first update and lives until the last one is committed. Its
//! thread reads a row every other millisecond and compares every byte with what was there when it
//! was taken. Memory is asked for after every two-hundredth of the updates, by the writer between
//! two transactions. At the end the writer compares the table with what it wrote.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use lab_harness::readers::{Ended, RowReader, RowWriter, SharedStore};
use lab_harness::{Location, Outcome, Setting, clock};
use serde_json::Value;

use super::{MINUTES, UPDATES_WORD};
use crate::protocol::{CaseRequest, Line, PhaseSample, Point};
use crate::workloads::readers::{generation_of, row};

const SEED: u64 = 0x6c6f_6e67_2072_6561;

/// Bytes of the fields of a row: 4 + 3 * 2 + 200.
const ROW_BYTES: u64 = 210;

/// Points of a time series.
const POINTS: u64 = 200;

/// Rows inserted in one transaction.
const INSERTED_AT_ONCE: usize = 100;

/// How long the reader waits between two looks.
const PAUSE: Duration = Duration::from_millis(2);

/// Updates between two looks at the wall clock.
const UPDATES_PER_LOOK: u64 = 64;

/// The generation with which rows are inserted, and which the snapshot sees.
const FIRST: u32 = 1;

/// What the reader did.
#[derive(Default)]
struct Looks {
    reads: u64,
    cpu_ns: u64,
    fault: Option<String>,
}

/// What the writer did.
struct Updates {
    done: u64,
    wall_ns: u64,
    cpu_ns: u64,
    time_series: Vec<Point>,
    generations: Vec<u32>,
}

/// Measures the one phase of a case.
pub(super) fn measure(
    request: &CaseRequest,
    open: impl Fn(&Setting, &Location<'_>) -> Outcome<Box<dyn SharedStore>>,
    setting: &Setting,
) -> Outcome<Vec<Line>> {
    let location = Location {
        directory: request.directory.as_deref(),
        rows: request.rows,
        data_bytes: request.rows * ROW_BYTES,
    };
    let store = open(setting, &location)?;
    let store = store.as_ref();
    let mut writer = store.writer()?;
    insert(writer.as_mut(), request.rows as i32)?;
    let (open, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let (updates, looks) = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let looks = look_on(store, request.rows as i32, &open, &over);
            open.store(true, Ordering::Release);
            looks
        });
        while !open.load(Ordering::Acquire) {
            thread::sleep(PAUSE);
        }
        let updates = update(store, writer.as_mut(), request);
        over.store(true, Ordering::Release);
        let looks = reader.join().map_err(|_| "the reader panicked")?;
        Ok::<_, lab_harness::Failure>((updates?, looks?))
    })?;
    let fault = match looks.fault {
        Some(fault) => Some(fault),
        None => difference(store.reader()?.as_mut(), &updates.generations)?,
    };
    let asked = parameter(request, UPDATES_WORD).unwrap_or(0);
    let note = match &fault {
        Some(fault) => fault.clone(),
        None if updates.done < asked => format!("stopped by time, {asked} updates were asked for"),
        None => String::new(),
    };
    Ok(vec![Line::Phase(PhaseSample {
        phase: "update".to_owned(),
        per_transaction: 1,
        operations: updates.done,
        wall_ns: updates.wall_ns,
        cpu_ns: updates.cpu_ns,
        reads: Some(looks.reads),
        reader_cpu_ns: Some(looks.cpu_ns),
        time_series: updates.time_series,
        verified: fault.is_none(),
        note,
        ..PhaseSample::default()
    })])
}

fn insert(writer: &mut dyn RowWriter, rows: i32) -> Outcome<()> {
    let all: Vec<_> = (0..rows).map(|id| row(id, FIRST)).collect();
    for rows in all.chunks(INSERTED_AT_ONCE) {
        while writer.insert(rows)? == Ended::Aborted {}
    }
    Ok(())
}

/// Reads through one snapshot until the updates are over.
fn look_on(
    store: &dyn SharedStore,
    rows: i32,
    open: &AtomicBool,
    over: &AtomicBool,
) -> Outcome<Looks> {
    let mut snapshot = store.snapshot()?;
    open.store(true, Ordering::Release);
    let mut rng = Rng::with_seed(SEED);
    let mut looks = Looks::default();
    while !over.load(Ordering::Acquire) {
        let id = rng.i32(0..rows);
        let mut seen = None;
        snapshot.look(id, &mut |view| seen = view.and_then(|view| generation_of(id, &view)))?;
        looks.reads += 1;
        if seen != Some(FIRST) {
            let text = format!("the open reader saw generation {seen:?} of row {id}");
            looks.fault.get_or_insert(text);
        }
        thread::sleep(PAUSE);
    }
    looks.cpu_ns = clock::thread_cpu_ns();
    Ok(looks)
}

fn update(
    store: &dyn SharedStore,
    writer: &mut dyn RowWriter,
    request: &CaseRequest,
) -> Outcome<Updates> {
    let asked = parameter(request, UPDATES_WORD).ok_or("no number of updates")?;
    let pace_ns = parameter(request, MINUTES).map(|minutes| minutes as f64 * 60e9 / asked as f64);
    let limit_ns = (request.seconds_max.unwrap_or(f64::INFINITY) * 1e9) as u64;
    let mut rng = Rng::with_seed(SEED ^ 1);
    let mut generations = vec![FIRST; request.rows as usize];
    let mut time_series = Vec::with_capacity(POINTS as usize + 2);
    let (wall_ns, cpu_ns) = (clock::wall_ns(), clock::thread_cpu_ns());
    let since = || clock::wall_ns() - wall_ns;
    let every = (asked / POINTS).max(1);
    time_series.push(point(store, 0, since())?);
    let mut done = 0;
    while done < asked {
        let id = rng.i32(0..request.rows as i32);
        let generation = FIRST + 1 + done as u32;
        let change = [row(id, generation)];
        while writer.update(&change)? == Ended::Aborted {}
        generations[id as usize] = generation;
        done += 1;
        if done.is_multiple_of(every) {
            time_series.push(point(store, done, since())?);
        }
        if done.is_multiple_of(UPDATES_PER_LOOK) {
            if since() > limit_ns {
                break;
            }
            let due_ns = pace_ns.map_or(0, |pace_ns| (done as f64 * pace_ns) as u64);
            thread::sleep(Duration::from_nanos(due_ns.saturating_sub(since())));
        }
    }
    let (wall_ns, cpu_ns) = (since(), clock::thread_cpu_ns() - cpu_ns);
    if time_series.last().is_some_and(|last| last.operations < done) {
        time_series.push(point(store, done, wall_ns)?);
    }
    Ok(Updates { done, wall_ns, cpu_ns, time_series, generations })
}

fn point(store: &dyn SharedStore, operations: u64, since_ns: u64) -> Outcome<Point> {
    let memory = store.memory().ok_or("the engine does not say what it holds")?;
    let wall_ms = since_ns / 1_000_000;
    let (held_bytes, rows_bytes) = (memory.held_bytes, memory.rows_bytes);
    Ok(Point { operations, wall_ms, held_bytes, rows_bytes })
}

/// The first difference between the table and what was written last.
fn difference(reader: &mut dyn RowReader, generations: &[u32]) -> Outcome<Option<String>> {
    let mut fault = None;
    let mut count = 0;
    reader.scan(&mut |view| {
        count += 1;
        let Some(view) = view else { return };
        let written = generations.get(view.id as usize).copied();
        if generation_of(view.id, &view) != written {
            fault.get_or_insert(format!("row {} differs from what was written", view.id));
        }
    })?;
    let wrong = count != generations.len();
    Ok(fault.or(wrong.then(|| format!("{count} rows in place of {}", generations.len()))))
}

fn parameter(request: &CaseRequest, name: &str) -> Option<u64> {
    request.parameters.get(name).and_then(Value::as_u64)
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
