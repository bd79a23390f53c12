//! What is there after a crash, after a failed call, and after a flipped bit.
//!
//! A trace of `work` is drawn from a seed and runs once, on a `disk` that writes down every call.
//! `enumerate` then stops the trace at every one of these calls, asks `survival` what a machine may
//! find on its disk that stopped there, in several ways, opens that, and has `judge` compare it
//! with what had been committed. `failures` lets calls fail, `flips` changes single bits, `damages`
//! takes whole pieces away.

mod damages;
mod disk;
mod enumerate;
mod failures;
mod flips;
mod judge;
mod survival;
mod work;

use std::time::Instant;

/// The plan of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crashes {
    pub(crate) kind: Kind,
    pub(crate) seed: Option<u64>,
    pub(crate) count: u64,
}

/// An event of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The machine stops, at every call of a trace.
    Crashes,
    /// A call fails: each call of a trace, in turn.
    Failures,
    /// One bit is another one.
    Flips,
    /// A file is gone, or another, or a piece of it.
    Damages,
}

impl Crashes {
    /// Runs so many seeds. False if something was wrong.
    pub(crate) fn run(&self) -> bool {
        let start = Instant::now();
        let first = self.seed.unwrap_or(1);
        let mut states = 0;
        let mut notes = String::new();
        for seed in first..first + self.count {
            let judged = match self.kind {
                Kind::Crashes => enumerate::run(seed),
                Kind::Failures => failures::run(seed),
                Kind::Flips => flips::run(seed),
                Kind::Damages => damages::run(seed),
            };
            match judged {
                Ok(count) => states += count,
                Err(wrong) => {
                    println!("seed {seed}: state {}: {}", states + wrong.state, wrong.what);
                    let name = self.kind.name();
                    println!("again: remanent-simulator {name} --seed {seed} --count 1");
                    return false;
                }
            }
            notes = format!("{:.1} s", start.elapsed().as_secs_f64());
        }
        println!(
            "{}: {} seeds, {states} states, all right, in {notes}",
            self.kind.name(),
            self.count
        );
        true
    }
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Crashes, Self::Failures, Self::Flips, Self::Damages];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Crashes => "crashes",
            Self::Failures => "failures",
            Self::Flips => "flips",
            Self::Damages => "damages",
        }
    }
}

/// A fault, and in which of the states of a seed.
#[derive(Debug)]
struct Wrong {
    state: u64,
    what: String,
}
