//! What was asked of Remanent in the reader-writer workload, beside what a run measured.
//!
//! What readers cost the writer, and the writer the readers, are ratios of CPU time, each thread's
//! own. Who is ahead is decided by the writer's wall time, case by case, since readers who make
//! the writer wait cost it no CPU time; compared are contenders with transactions and the same
//! promise, and the maps without transactions are told apart. Medians within one run. What a run
//! did not measure has no value, and "all of them" is not reached by a part.

use lab_harness::Promise;

use super::plan::{PER_TRANSACTION, READERS};
use crate::figure::Figure;
use crate::quantity;
use crate::record::Record;

const OURS: &str = "remanent";

/// Through the d_-style.
const OURS_D: &str = "remanent-d";

/// The phases in which somebody writes.
const PHASES: [&str; 3] = ["insert", "update", "delete"];

/// The phase in which readers are alone.
const ALONE: &str = "read";

/// How much more CPU time the writer may need beside the most readers than beside none.
const WRITER_MAX: f64 = 1.25;

/// How much of their throughput per core readers keep beside a writer.
const READERS_MIN: f64 = 0.8;

/// How far behind these contenders are to be with one operation in a transaction.
const BEHIND: [&str; 2] = ["berkeley-db", "sqlite"];
const BEHIND_MIN: f64 = 5.0;

/// How many lost cases are named.
const NAMED_MAX: usize = 8;

/// Cases of the whole workload.
const CELLS: usize = PHASES.len() * PER_TRANSACTION.len() * READERS.len();

/// Every figure.
pub(super) fn figures(records: &[Record]) -> Vec<Figure> {
    let run = Run { records };
    let mut figures = Vec::new();
    for phase in PHASES {
        figures.extend(PER_TRANSACTION.map(|per| writer_cost(&run, phase, per)));
    }
    figures.extend(PHASES.map(|phase| reader_share(&run, phase)));
    let beside = |ours, promise, others| Contest { ours, promise, others };
    figures.push(ahead(&run, beside(OURS, Promise::Memory, Promise::Memory)));
    figures.push(ahead(&run, beside(OURS, Promise::Memory, Promise::None)));
    for promise in [Promise::Os, Promise::Disk] {
        figures.extend([OURS, OURS_D].map(|ours| ahead(&run, beside(ours, promise, promise))));
    }
    figures.extend(BEHIND.map(|contender| behind(&run, contender)));
    figures
}

/// The records of one run.
struct Run<'a> {
    records: &'a [Record],
}

/// A phase with so many operations in a transaction beside so many readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CaseKey {
    phase: &'static str,
    per_transaction: u64,
    readers: u64,
}

impl CaseKey {
    fn all() -> impl Iterator<Item = Self> {
        PHASES.into_iter().flat_map(|phase| {
            PER_TRANSACTION.into_iter().flat_map(move |per_transaction| {
                READERS.map(|readers| Self { phase, per_transaction, readers })
            })
        })
    }

    fn words(self) -> String {
        let Self { phase, per_transaction, readers } = self;
        format!("{phase}, {per_transaction} a transaction, {readers} readers")
    }
}

impl<'a> Run<'a> {
    fn at(&self, key: CaseKey) -> impl Iterator<Item = &'a Record> {
        self.records.iter().filter(move |record| {
            record.phase == key.phase
                && record.per_transaction == Some(key.per_transaction)
                && record.readers == Some(key.readers)
        })
    }

    fn of(&self, contender: &str, key: CaseKey) -> Option<&'a Record> {
        let in_memory = |record: &&Record| record.setting.is_none_or(|own| own <= Promise::Memory);
        self.at(key).filter(in_memory).find(|record| record.contender == contender)
    }

    fn keeping(&self, contender: &str, promise: Promise, key: CaseKey) -> Option<&'a Record> {
        let mut kept = self.at(key).filter(|record| record.setting == Some(promise));
        kept.find(|record| record.contender == contender)
    }
}

fn writer_cost(run: &Run<'_>, phase: &'static str, per_transaction: u64) -> Figure {
    let most = READERS[READERS.len() - 1];
    let beside = |readers| {
        run.of(OURS, CaseKey { phase, per_transaction, readers }).and_then(Record::cpu_ns)
    };
    let ratio = beside(most).zip(beside(0)).map(|(with, without)| with / without);
    Figure {
        what: format!(
            "writer's CPU time, {most} readers / none: {phase}, {per_transaction} a \
                       transaction"
        ),
        asked: format!("<= {WRITER_MAX}"),
        measured: ratio.map(|ratio| format!("{ratio:.2}")),
        reached: ratio.map(|ratio| ratio <= WRITER_MAX),
    }
}

/// The least of what readers keep in a phase, over all numbers of readers and sizes.
fn reader_share(run: &Run<'_>, phase: &'static str) -> Figure {
    let share = |key: CaseKey| {
        let with = run.of(OURS, key)?.reader_cpu_ns()?;
        let alone = run.of(OURS, CaseKey { phase: ALONE, ..key })?.reader_cpu_ns()?;
        Some((alone / with, key))
    };
    let keys = CaseKey::all().filter(|key| key.phase == phase);
    let least = keys.filter_map(share).min_by(|left, right| left.0.total_cmp(&right.0));
    Figure {
        what: format!("reads per CPU second of readers, with / without a writer: {phase}"),
        asked: format!(">= {READERS_MIN} everywhere"),
        measured: least.map(|(share, key)| format!("{share:.2} at {}", key.words())),
        reached: least.map(|(share, _)| share >= READERS_MIN),
    }
}

/// One of ours with a promise, beside all others with theirs.
#[derive(Clone, Copy)]
struct Contest {
    ours: &'static str,
    promise: Promise,
    others: Promise,
}

impl Contest {
    fn words(self) -> String {
        match self.others {
            Promise::None => "of both maps too, which have no transactions".to_owned(),
            Promise::Memory => "of all contenders with transactions".to_owned(),
            promise => format!("of all that promise {promise}: {}", self.ours),
        }
    }
}

/// In how many cases our writer's wall time is below everybody's.
fn ahead(run: &Run<'_>, contest: Contest) -> Figure {
    let mut measured = 0;
    let mut lost = Vec::new();
    for key in CaseKey::all() {
        let others = run
            .at(key)
            .filter(|record| !record.contender.starts_with(OURS))
            .filter(|record| record.setting == Some(contest.others));
        let fastest = others
            .filter_map(|record| Some((record.wall_ns()?, record)))
            .min_by(|left, right| left.0.total_cmp(&right.0));
        let ours = run.keeping(contest.ours, contest.promise, key).and_then(Record::wall_ns);
        let Some((ours, (theirs, record))) = ours.zip(fastest) else { continue };
        measured += 1;
        if ours >= theirs {
            let behind = quantity::factor(ours / theirs);
            lost.push(format!("{} ({} is {behind} faster)", key.words(), record.contender));
        }
    }
    // The maps promise nothing: that they are slower is nothing that was asked.
    let asked = contest.others == Promise::Memory;
    let mut text = format!("{} of {measured}", measured - lost.len());
    if contest.others != Promise::None && !lost.is_empty() {
        let more = lost.len().saturating_sub(NAMED_MAX);
        text = format!("{text}; not: {}", lost[..lost.len() - more].join("; "));
        if more > 0 {
            text = format!("{text}; and {more} more");
        }
    }
    let reached = match (lost.is_empty(), measured == CELLS) {
        (true, true) => Some(true),
        (true, false) => None,
        (false, _) => Some(false),
    };
    Figure {
        what: format!("cases in which the writer's wall time is the smallest {}", contest.words()),
        asked: if asked { format!("all {CELLS}") } else { "for comparison".to_owned() },
        measured: (measured > 0).then_some(text),
        reached: reached.filter(|_| asked && measured > 0),
    }
}

/// How far a contender is behind where it is nearest, with one operation in a transaction.
fn behind(run: &Run<'_>, contender: &str) -> Figure {
    let ratio = |key: CaseKey| {
        let theirs = run.of(contender, key)?.wall_ns()?;
        Some((theirs / run.of(OURS, key)?.wall_ns()?, key))
    };
    let keys = CaseKey::all().filter(|key| key.per_transaction == 1);
    let least = keys.filter_map(ratio).min_by(|left, right| left.0.total_cmp(&right.0));
    Figure {
        what: format!("writer's wall time, {contender} / Remanent, 1 a transaction"),
        asked: format!(">= {BEHIND_MIN}x everywhere"),
        measured: least
            .map(|(ratio, key)| format!("{} at {}", quantity::factor(ratio), key.words())),
        reached: least.map(|(ratio, _)| ratio >= BEHIND_MIN),
    }
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
