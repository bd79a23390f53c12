//! Histories one after the other, until there are enough or one is wrong.
//!
//! Each history has a seed of its own and runs in a thread of its own, so that it starts from
//! nothing whichever came before it. A wrong one is cut to its shortest beginning that is wrong,
//! where the mode can repeat it, and printed with the line that runs it again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, UNIX_EPOCH};

use crate::finding::{Finding, Phenomenon};
use crate::history::History;
use crate::plan::{Isolation, Plan, Size};
use crate::random::Random;
#[cfg(shuttle)]
use crate::schedules;
use crate::{interleaved, phenomena, replay, threads};

/// How often a long run says how far it is.
const PROGRESS: Duration = Duration::from_secs(5);
/// Findings that are printed of one history.
const FINDINGS_MAX: usize = 3;

/// How sessions of a history run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Interleaved,
    Threads,
    Schedules,
}

/// The modes by their names on the command line.
pub(crate) const MODES: &[(&str, Mode)] = &[
    ("interleaved", Mode::Interleaved),
    ("threads", Mode::Threads),
    ("schedules", Mode::Schedules),
];

/// A run as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) count: u64,
    pub(crate) seed: Option<u64>,
    /// All modes if none.
    pub(crate) mode: Option<Mode>,
    /// Drawn for each history if none.
    pub(crate) isolation: Option<Isolation>,
    pub(crate) steps_max: usize,
    pub(crate) shows_all: bool,
}

/// The findings of the histories so far.
#[derive(Debug, Default)]
struct Tally {
    histories: u64,
    transactions: u64,
    committed: u64,
    refused: u64,
    needless: u64,
    /// Phenomena that were met where they are allowed.
    allowed: BTreeMap<Phenomenon, u64>,
}

/// A history that was run and checked.
struct Checked {
    history: History,
    findings: Vec<Finding>,
    refused: u64,
    needless: u64,
    allowed: Option<Phenomenon>,
}

impl Mode {
    /// Whether this build can run it: the modelled machine knows the model checker's threads alone.
    pub(crate) fn is_available(self) -> bool {
        cfg!(shuttle) == (self == Self::Schedules)
    }

    fn history(
        self,
        seed: u64,
        isolation: Option<Isolation>,
        steps_max: usize,
    ) -> remanent_engine::Result<History> {
        let mut random = Random::new(seed);
        let size = if self == Self::Schedules { Size::Small } else { Size::Ordinary };
        let plan = Plan::draw(&mut random, size, isolation);
        match self {
            Self::Interleaved => interleaved::run(&plan, &mut random, steps_max),
            Self::Threads => threads::run(&plan, &mut random),
            #[cfg(shuttle)]
            Self::Schedules => schedules::run(&plan, &mut random),
            #[cfg(not(shuttle))]
            Self::Schedules => unreachable!("nobody asks for what is not available"),
        }
    }
}

impl Default for Run {
    fn default() -> Self {
        Self {
            count: 2000,
            seed: None,
            mode: None,
            isolation: None,
            steps_max: usize::MAX,
            shows_all: false,
        }
    }
}

impl Run {
    /// Runs the histories of every mode that was asked for. False if one is wrong.
    pub(crate) fn run(&self) -> bool {
        let drawn = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_micros() as u64);
        let seed = self.seed.unwrap_or(drawn);
        let wanted = |mode| self.mode.map_or(Mode::is_available(mode), |own| own == mode);
        let mut modes = MODES.iter().filter(|(_, mode)| wanted(*mode));
        modes.all(|(name, mode)| self.run_mode(name, *mode, seed))
    }

    fn run_mode(&self, name: &str, mode: Mode, first: u64) -> bool {
        println!("{name}: {} histories, seeds from {first}", self.count);
        let start = Instant::now();
        let mut reported = start;
        let mut tally = Tally::default();
        for seed in first..first.saturating_add(self.count) {
            let checked = match self.check(mode, seed, self.steps_max) {
                Ok(checked) => checked,
                Err(text) => {
                    tally.histories += 1;
                    println!("{name}: history {} of seed {seed} failed: {text}", tally.histories);
                    println!("run it again with: {}", self.command(name, seed, self.steps_max));
                    return false;
                }
            };
            tally.add(&checked);
            if !checked.findings.is_empty() {
                let steps = self.shortest(mode, seed);
                let again = self.check(mode, seed, steps).ok().filter(|_| steps < usize::MAX);
                let shortest = again.filter(|again| !again.findings.is_empty());
                println!("{name}: history {} of seed {seed} is wrong", tally.histories);
                print!("{}", shortest.as_ref().unwrap_or(&checked).shown());
                println!("run it again with: {}", self.command(name, seed, steps));
                return false;
            }
            if self.shows_all {
                print!("{}", checked.shown());
            }
            if reported.elapsed() > PROGRESS {
                reported = Instant::now();
                println!("{name}: {}", tally.shown());
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{name}: {}, in {seconds:.1} s; none is wrong", tally.shown());
        true
    }

    /// Runs and checks one history, in a thread of its own.
    fn check(&self, mode: Mode, seed: u64, steps_max: usize) -> Result<Checked, String> {
        let thread = std::thread::Builder::new().name(format!("history {seed}"));
        let isolation = self.isolation;
        std::thread::scope(|scope| {
            let history =
                thread.spawn_scoped(scope, move || mode.history(seed, isolation, steps_max));
            let history = history.map_err(|error| format!("no thread: {error}"))?;
            match history.join() {
                Ok(Ok(history)) => Ok(Checked::new(history)),
                Ok(Err(error)) => Err(format!("the engine refused to begin: {error}")),
                Err(_) => Err("it panicked".to_owned()),
            }
        })
    }

    /// The smallest number of steps with which an interleaved history is wrong.
    fn shortest(&self, mode: Mode, seed: u64) -> usize {
        if mode != Mode::Interleaved || self.steps_max < usize::MAX {
            return self.steps_max;
        }
        let is_wrong = |steps| {
            self.check(mode, seed, steps).map_or(true, |checked| !checked.findings.is_empty())
        };
        // What is wrong stays wrong when the history goes on.
        let (mut good, mut wrong) = (0, 1 << 14);
        while wrong - good > 1 {
            let middle = (good + wrong) / 2;
            if is_wrong(middle) { wrong = middle } else { good = middle }
        }
        wrong
    }

    fn command(&self, name: &str, seed: u64, steps: usize) -> String {
        let mut line = format!(
            "cargo run --release --package remanent-simulator -- histories --count 1 \
             --seed {seed} --mode {name}"
        );
        if let Some(isolation) = self.isolation {
            line.push_str(&format!(" --isolation {}", isolation.name()));
        }
        if steps < usize::MAX {
            line.push_str(&format!(" --steps {steps}"));
        }
        line
    }
}

impl Checked {
    fn new(history: History) -> Self {
        let replay = replay::check(&history);
        let phenomena = phenomena::check(&history);
        let mut findings = phenomena.findings;
        findings.extend(replay.findings);
        let (refused, needless) = (replay.refused, replay.needless);
        Self { history, findings, refused, needless, allowed: phenomena.allowed }
    }

    /// What is wrong, and the transactions that take part; all of them if nothing is.
    fn shown(&self) -> String {
        let mut text = String::new();
        for finding in self.findings.iter().take(FINDINGS_MAX) {
            let lines = finding.text.replace('\n', "\n    ");
            text.push_str(&format!("{}\n    {lines}\n", finding.phenomenon));
        }
        if self.findings.len() > FINDINGS_MAX {
            text.push_str(&format!("and {} more\n", self.findings.len() - FINDINGS_MAX));
        }
        let part = self.findings.iter().take(FINDINGS_MAX);
        let part: Vec<usize> = part.flat_map(|finding| finding.transactions.clone()).collect();
        for number in 0..self.history.transactions.len() {
            if part.is_empty() || part.contains(&number) {
                text.push_str(&self.history.shown(number));
            }
        }
        text
    }
}

impl Tally {
    fn add(&mut self, checked: &Checked) {
        let transactions = &checked.history.transactions;
        self.histories += 1;
        self.transactions += transactions.len() as u64;
        self.committed += transactions.iter().filter(|one| one.is_committed()).count() as u64;
        self.refused += checked.refused;
        self.needless += checked.needless;
        if let Some(phenomenon) = checked.allowed {
            *self.allowed.entry(phenomenon).or_default() += 1;
        }
    }

    fn shown(&self) -> String {
        let Self { histories, transactions, committed, refused, needless, .. } = self;
        let mut text = format!(
            "{histories} histories, {transactions} transactions, {committed} committed, \
             {refused} commits refused ({needless} needlessly)"
        );
        for (phenomenon, count) in &self.allowed {
            text.push_str(&format!("; {phenomenon} where it is allowed in {count}"));
        }
        text
    }
}

#[cfg(test)]
mod tests;
