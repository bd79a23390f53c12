//! The writer: cycles of insert, update and delete, timed phase by phase, beside the readers.
//!
//! A cycle of a fast engine is over in a few milliseconds, less than the system gives a thread
//! at a time; cycles are repeated until every phase has lasted long enough, or one of them is
//! out of time. What a phase out of time has left undone is done off the clock while the
//! readers rest, a hundred operations a transaction, so that the next phase finds the table it
//! expects. Between phases, off the clock, the table is compared with the model. One cycle of
//! large transactions warms up before the readers start; at the end they read alone, while the
//! table is full.

use std::thread;
use std::time::Duration;

use fastrand::Rng;
use lab_harness::readers::{Ended, Row, RowReader, RowWriter, SharedStore};
use lab_harness::{Location, Outcome, Setting, clock};

use super::check::{self, Model};
use super::content::row;
use super::reader_threads::{self, Board, Stage, Tally};
use crate::protocol::{CaseRequest, Line, PhaseSample};

const SEED: u64 = 0x7265_6164_6572_7321;

/// Bytes of the fields of a row: 4 + 3 * 2 + 200.
const ROW_BYTES: u64 = 210;

/// Operations of a transaction that is not measured.
const UNMEASURED: usize = 100;

/// Which part of its longest time a phase lasts at least.
const LEAST_PART: f64 = 0.25;

/// More cycles than this are not repeated, however short they are.
const CYCLES_MAX: u64 = 400;

const _: () = assert!(CYCLES_MAX + 2 < check::CYCLES_MAX);

/// The most rows for which every transaction of a cycle has a generation of its own.
pub(super) const ROWS_MAX: u64 = 1_000_000;

/// How the note of a phase begins that did not do everything.
pub(super) const STOPPED: &str = "stopped by time";

const ABORTED: &str = "some transactions were aborted and tried again";

/// The phases of a cycle, in order.
const PHASES: [(Stage, &str); 3] =
    [(Stage::Insert, "insert"), (Stage::Update, "update"), (Stage::Delete, "delete")];

/// Measures every phase of a case.
pub(super) fn measure(
    request: &CaseRequest,
    open: impl Fn(&Setting, &Location<'_>) -> Outcome<Box<dyn SharedStore>>,
    setting: &Setting,
) -> Outcome<Vec<Line>> {
    if request.rows > ROWS_MAX {
        return Err(format!("at most {ROWS_MAX} rows").into());
    }
    let location = Location {
        directory: request.directory.as_deref(),
        rows: request.rows,
        data_bytes: request.rows * ROW_BYTES,
    };
    let store = open(setting, &location)?;
    let board = Board::default();
    let (timings, tally) = thread::scope(|scope| {
        let mut case = Case::new(store.as_ref(), &board, request)?;
        case.warm_up()?;
        let seeds = 1..=request.readers;
        let (rows, block) = (request.rows as i32, request.per_transaction as i32);
        let reader_threads: Vec<_> = seeds
            .map(|n| {
                reader_threads::start(scope, store.as_ref(), &board, rows, block, SEED ^ n << 32)
            })
            .collect();
        board.wait_for(reader_threads.len());
        let timings = case.run();
        board.turn_to(0, Stage::Over);
        let mut tally = Tally::default();
        for reader in reader_threads {
            tally.add(reader.join().map_err(|_| "a reader panicked")??);
        }
        Ok::<_, lab_harness::Failure>((timings?, tally))
    })?;
    let samples = timings.iter().map(|timing| timing.sample(request, &tally));
    Ok(samples.map(Line::Phase).collect())
}

/// What is known of a phase, over all cycles so far.
struct Timing {
    stage: Stage,
    phase: &'static str,
    operations: u64,
    wall_ns: u64,
    cpu_ns: u64,
    stopped: bool,
    aborts: u64,
    fault: Option<String>,
}

/// A case while it is measured.
struct Case<'s> {
    writer: Box<dyn RowWriter + 's>,
    /// The writer's thread compares the table through it.
    reader: Box<dyn RowReader + 's>,
    board: &'s Board,
    model: Model,
    rows: usize,
    per_transaction: usize,
    readers: u64,
    limit_ns: u64,
    least_ns: u64,
    /// The rows of one transaction.
    batch: Vec<Row>,
    /// The ids of one update phase.
    order: Vec<i32>,
}

impl<'s> Case<'s> {
    fn new(store: &'s dyn SharedStore, board: &'s Board, request: &CaseRequest) -> Outcome<Self> {
        let limit_ns = request.seconds_max.unwrap_or(f64::INFINITY) * 1e9;
        let rows = request.rows as usize;
        Ok(Self {
            writer: store.writer()?,
            reader: store.reader()?,
            board,
            model: Model::new(rows),
            rows,
            per_transaction: request.per_transaction as usize,
            readers: request.readers,
            limit_ns: limit_ns as u64,
            least_ns: (limit_ns * LEAST_PART) as u64,
            batch: Vec::with_capacity(UNMEASURED.max(request.per_transaction as usize)),
            order: Vec::with_capacity(rows),
        })
    }

    /// One cycle of large transactions that nobody measures.
    fn warm_up(&mut self) -> Outcome<()> {
        for (stage, _) in PHASES {
            self.draw(0);
            self.advance(0, stage, 0, self.rows, UNMEASURED)?;
        }
        Ok(())
    }

    /// Every cycle, then the readers alone.
    fn run(&mut self) -> Outcome<Vec<Timing>> {
        let mut timings: Vec<Timing> = PHASES.map(|phase| Timing::new(phase.0, phase.1)).into();
        for cycle in 1..=CYCLES_MAX {
            for timing in &mut timings {
                self.phase(cycle, timing)?;
            }
            let enough = timings.iter().all(|timing| timing.wall_ns >= self.least_ns);
            let late = timings.iter().any(|timing| timing.wall_ns >= self.limit_ns);
            if enough || late {
                break;
            }
        }
        if self.readers > 0 {
            timings.push(self.read_alone()?);
        }
        Ok(timings)
    }

    /// One phase of one cycle, and the comparison behind it.
    fn phase(&mut self, cycle: u64, timing: &mut Timing) -> Outcome<()> {
        let left_ns = self.limit_ns.saturating_sub(timing.wall_ns);
        self.draw(cycle);
        self.board.turn_to(cycle, timing.stage);
        let (wall_ns, cpu_ns) = (clock::wall_ns(), clock::thread_cpu_ns());
        let mut done = 0;
        while done < self.rows {
            let end = (done + self.per_transaction).min(self.rows);
            timing.aborts += self.advance(cycle, timing.stage, done, end, self.per_transaction)?;
            done = end;
            if clock::wall_ns() - wall_ns > left_ns {
                break;
            }
        }
        timing.cpu_ns += clock::thread_cpu_ns() - cpu_ns;
        timing.wall_ns += clock::wall_ns() - wall_ns;
        let stopped = done < self.rows;
        self.board.turn_to(cycle, if stopped { Stage::Alone } else { Stage::Between });
        timing.operations += done as u64;
        timing.stopped |= stopped;
        if timing.stage != Stage::Update {
            self.advance(cycle, timing.stage, done, self.rows, UNMEASURED)?;
        }
        let difference = self.model.difference(self.reader.as_mut())?;
        timing.fault = timing.fault.take().or(difference);
        Ok(())
    }

    /// Does the operations of a stage from one number to another, and says how many transactions
    /// were aborted on the way.
    fn advance(
        &mut self,
        cycle: u64,
        stage: Stage,
        from: usize,
        to: usize,
        per_transaction: usize,
    ) -> Outcome<u64> {
        let mut aborts = 0;
        for start in (from..to).step_by(per_transaction) {
            let end = (start + per_transaction).min(to);
            let first = check::generation_at(cycle);
            match stage {
                Stage::Insert => {
                    self.batch.clear();
                    self.batch.extend((start..end).map(|id| row(id as i32, first)));
                    aborts += retried(|| self.writer.insert(&self.batch))?;
                    self.model.generations[start..end].fill(first);
                }
                Stage::Update => {
                    let generation = first + 1 + start as u32;
                    let ids = &self.order[start..end];
                    self.batch.clear();
                    self.batch.extend(ids.iter().map(|&id| row(id, generation)));
                    aborts += retried(|| self.writer.update(&self.batch))?;
                    for &id in ids {
                        self.model.generations[id as usize] = generation;
                    }
                }
                _ => aborts += self.delete(start, end)?,
            }
        }
        Ok(aborts)
    }

    fn delete(&mut self, start: usize, end: usize) -> Outcome<u64> {
        let mut aborts = 0;
        loop {
            match self.writer.delete(start as i32, end - start)? {
                Some(deleted) if deleted.rows == end - start && deleted.last == end as i32 - 1 => {
                    self.model.generations[start..end].fill(0);
                    return Ok(aborts);
                }
                Some(deleted) => {
                    return Err(format!("asked for rows {start}..{end}, got {deleted:?}").into());
                }
                None => aborts += 1,
            }
        }
    }

    /// Draws the ids of an update phase.
    fn draw(&mut self, cycle: u64) {
        let mut rng = Rng::with_seed(SEED ^ cycle);
        let rows = self.rows as i32;
        self.order.clear();
        self.order.extend((0..self.rows).map(|_| rng.i32(0..rows)));
    }

    /// The readers without a writer, on a full table.
    fn read_alone(&mut self) -> Outcome<Timing> {
        let cycle = CYCLES_MAX + 1;
        let mut timing = Timing::new(Stage::Read, "read");
        self.board.turn_to(cycle, Stage::Alone);
        self.advance(cycle, Stage::Insert, 0, self.rows, UNMEASURED)?;
        self.board.turn_to(cycle, Stage::Read);
        let wall_ns = clock::wall_ns();
        thread::sleep(Duration::from_nanos(self.least_ns));
        timing.wall_ns = clock::wall_ns() - wall_ns;
        self.board.turn_to(cycle, Stage::Between);
        timing.fault = self.model.difference(self.reader.as_mut())?;
        Ok(timing)
    }
}

/// Runs a transaction until it is not aborted; says how often it was.
fn retried(mut run: impl FnMut() -> Outcome<Ended>) -> Outcome<u64> {
    let mut aborts = 0;
    while run()? == Ended::Aborted {
        aborts += 1;
    }
    Ok(aborts)
}

impl Timing {
    fn new(stage: Stage, phase: &'static str) -> Self {
        Self {
            stage,
            phase,
            operations: 0,
            wall_ns: 0,
            cpu_ns: 0,
            stopped: false,
            aborts: 0,
            fault: None,
        }
    }

    fn sample(&self, request: &CaseRequest, tally: &Tally) -> PhaseSample {
        let booked = tally.of(self.stage);
        let others = [Stage::Between, Stage::Alone].map(|stage| &tally.of(stage).fault);
        let fault = [&self.fault, &booked.fault, others[0], others[1]];
        let fault = fault.into_iter().flatten().next();
        let alone = self.stage == Stage::Read;
        let note = match fault {
            Some(fault) => fault.clone(),
            None if self.stopped => STOPPED.to_owned(),
            None if self.aborts + booked.aborts > 0 => ABORTED.to_owned(),
            None => String::new(),
        };
        PhaseSample {
            phase: self.phase.to_owned(),
            per_transaction: request.per_transaction,
            operations: if alone { booked.reads } else { self.operations },
            wall_ns: self.wall_ns,
            cpu_ns: if alone { booked.cpu_ns } else { self.cpu_ns },
            reads: (request.readers > 0).then_some(booked.reads),
            reader_cpu_ns: (request.readers > 0).then_some(booked.cpu_ns),
            verified: fault.is_none(),
            note,
            ..PhaseSample::default()
        }
    }
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
