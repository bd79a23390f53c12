//! Threads that commit: each inserts pairs of its own, one in a transaction, until time is up.
//!
//! All threads have their committers and have committed once before the clock starts; it stops
//! when the last commit has returned. Keys of different threads lie far apart, so that engines with
//! locks on pages are not measured by their conflicts; an aborted transaction is tried again, and
//! its time counts. Afterwards every pair of every thread is read and compared, and the one behind
//! the last must not be there. What an engine counts of its syncs is read before and after.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use lab_harness::clock::{self, Clock, Elapsed};
use lab_harness::pairs::{CommitStore, Committer, VALUE_LEN};
use lab_harness::readers::Ended;
use lab_harness::{Location, Outcome, Setting};

use super::content::{PAIR_BYTES, key, value};
use crate::protocol::{CaseRequest, Line, PhaseSample};

/// Numbers of one thread begin so many after those of the thread before.
const APART: u64 = 1 << 32;

const SECONDS_MAX: f64 = 1.0;

/// What a thread did.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    commits: u64,
    aborts: u64,
}

/// When threads are to begin and to end.
struct Signal {
    barrier: Barrier,
    deadline_ns: AtomicU64,
}

/// Measures one number of threads.
pub(super) fn measure(
    request: &CaseRequest,
    open: impl Fn(&Setting, &Location<'_>) -> Outcome<Box<dyn CommitStore>>,
    setting: &Setting,
    threads: u64,
) -> Outcome<Vec<Line>> {
    let location = Location {
        directory: request.directory.as_deref(),
        rows: request.rows,
        data_bytes: request.rows * PAIR_BYTES,
    };
    let store = open(setting, &location)?;
    let limit_ns = (request.seconds_max.unwrap_or(SECONDS_MAX) * 1e9) as u64;
    let (done, elapsed, syncs) = run(store.as_ref(), threads, limit_ns)?;
    let difference = difference(store.as_ref(), &done)?;
    let commits: u64 = done.iter().map(|done| done.commits - 1).sum();
    let aborted = done.iter().any(|done| done.aborts > 0);
    let note = if aborted { "some transactions were aborted and tried again" } else { "" };
    Ok(vec![Line::Phase(PhaseSample {
        phase: "commit".to_owned(),
        per_transaction: 1,
        operations: commits,
        wall_ns: elapsed.wall_ns,
        cpu_ns: elapsed.cpu_ns,
        syncs,
        verified: difference.is_none(),
        note: difference.unwrap_or_else(|| note.to_owned()),
        ..PhaseSample::default()
    })])
}

/// Starts the threads and waits for them: what each did, how long all took, and the syncs of it.
fn run(
    store: &dyn CommitStore,
    threads: u64,
    limit_ns: u64,
) -> Outcome<(Vec<Done>, Elapsed, Option<u64>)> {
    let signal =
        Signal { barrier: Barrier::new(threads as usize + 1), deadline_ns: AtomicU64::new(0) };
    thread::scope(|scope| {
        let signal = &signal;
        let reader_threads: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || commit_on(store, signal, thread * APART)))
            .collect();
        signal.barrier.wait();
        let before = store.syncs();
        let clock = Clock::start();
        signal.deadline_ns.store(clock::wall_ns() + limit_ns, Ordering::Relaxed);
        signal.barrier.wait();
        let mut done = Vec::new();
        for thread in reader_threads {
            done.push(thread.join().map_err(|_| "a thread panicked")??);
        }
        let elapsed = clock.elapsed();
        let syncs = store.syncs()?.zip(before?).map(|(after, before)| after - before);
        Ok((done, elapsed, syncs))
    })
}

/// One thread. It comes to both barriers even when it fails, since others wait there.
fn commit_on(store: &dyn CommitStore, signal: &Signal, first: u64) -> Outcome<Done> {
    let mut done = Done::default();
    let prepared = store.committer().and_then(|mut committer| {
        commit_next(committer.as_mut(), first, &mut done)?;
        Ok(committer)
    });
    signal.barrier.wait();
    signal.barrier.wait();
    let mut committer = prepared?;
    let deadline_ns = signal.deadline_ns.load(Ordering::Relaxed);
    loop {
        commit_next(committer.as_mut(), first, &mut done)?;
        if clock::wall_ns() >= deadline_ns {
            return Ok(done);
        }
    }
}

fn commit_next(committer: &mut dyn Committer, first: u64, done: &mut Done) -> Outcome<()> {
    let number = first + done.commits;
    while committer.commit(&key(number), &value(number, 0))? == Ended::Aborted {
        done.aborts += 1;
    }
    done.commits += 1;
    Ok(())
}

/// Compares what is there with what the threads were told is there.
fn difference(store: &dyn CommitStore, done: &[Done]) -> Outcome<Option<String>> {
    let mut committer = store.committer()?;
    let mut found = [0; VALUE_LEN];
    for (thread, done) in (0..).zip(done) {
        let first = thread * APART;
        for number in first..first + done.commits {
            let there = committer.read(&key(number), &mut found)?;
            if !there || found != value(number, 0) {
                return Ok(Some(format!("pair {number} is not what was committed")));
            }
        }
        if committer.read(&key(first + done.commits), &mut found)? {
            return Ok(Some("a pair is there that nobody committed".to_owned()));
        }
    }
    Ok(None)
}

#[cfg(test)]
#[path = "commits_tests.rs"]
mod tests;
