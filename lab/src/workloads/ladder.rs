//! The ladder: small pairs by promise, from no transactions to commits that are on the disk.
//!
//! Keys of 8 bytes and values of 32, as in the paper of Berkeley DB's makers whose tables this
//! measures again. A level is a promise; on each, contenders read and overwrite single pairs at
//! random, write them in the order of keys, and read all of them in order by their quickest way.
//! On the last level threads commit together as well. In reading order: the plan here, `content`
//! says what a pair holds, `measure` times one thread, `commits` many, `figures` compares.

pub(crate) mod content;

mod measure;

mod commits;

mod figures;

use std::collections::BTreeMap;

use lab_harness::{Contender, Medium, Outcome, Promise, Setting};
use serde_json::Value;

use crate::choice::{Choice, Scale};
use crate::contenders;
use crate::figure::Figure;
use crate::parameters::THREADS;
use crate::protocol::{CaseRequest, Line};
use crate::record::Record;
use crate::workloads::{Case, Group, View, Workload, opening};

/// The `ladder` workload.
pub(crate) struct Ladder;

/// Pairs, as in the paper.
const ROWS: u64 = 1_000_000;

/// Pairs where every commit waits for a disk, and few are committed in the time there is.
const ROWS_SYNCED: u64 = 100_000;

const ROWS_ORDINARY: u64 = 200_000;

const ROWS_QUICK: u64 = 20_000;

const ROWS_SYNCED_ORDINARY: u64 = 20_000;

const ROWS_SYNCED_QUICK: u64 = 5_000;

/// Threads that commit.
const CREWS: [u64; 5] = [1, 2, 4, 16, 64];

const CREWS_QUICK: [u64; 2] = [1, 16];

impl Workload for Ladder {
    fn name(&self) -> &'static str {
        "ladder"
    }

    fn summary(&self) -> &'static str {
        "1,000,000 small pairs by promise: read, written, read in order; threads that commit"
    }

    fn settings(&self, contender: &Contender) -> &'static [Setting] {
        contender.pair_settings()
    }

    fn contenders(&self) -> Vec<&'static Contender> {
        contenders::with_pairs()
    }

    fn view(&self) -> View {
        View::Levels
    }

    fn plan(&self, choice: &Choice) -> Vec<Group> {
        let mut groups = vec![group_of_levels(choice), group_of_threads(choice)];
        groups.retain(|group| !group.cases.is_empty());
        groups
    }

    fn measure(
        &self,
        request: &CaseRequest,
        contender: &Contender,
        setting: &'static Setting,
    ) -> Outcome<Vec<Line>> {
        match request.parameters.get(THREADS).and_then(Value::as_u64) {
            Some(threads) => {
                let open = contender.commits.ok_or("threads cannot commit in it")?;
                commits::measure(request, open, setting, threads)
            }
            None => measure::measure(request, opening(contender.pairs)?, setting),
        }
    }

    fn figures(&self, records: &[Record]) -> Vec<Figure> {
        figures::figures(records)
    }
}

/// All levels, interleaved, since they are compared with each other as contenders are.
fn group_of_levels(choice: &Choice) -> Group {
    let mut cases = Vec::new();
    for level in Promise::ALL {
        for contender in installed(choice) {
            let settings = contender.pair_settings().iter();
            for setting in settings.filter(|setting| setting.promise == level) {
                cases.push(Case {
                    contender,
                    setting,
                    rows: rows(choice, level),
                    readers: 0,
                    per_transaction: 1,
                    parameters: BTreeMap::new(),
                    seconds_max: seconds_max(choice.scale, 2.0, 0.15),
                    pinned: true,
                });
            }
        }
    }
    Group { title: "pairs by promise".to_owned(), rounds: choice.rounds, cases }
}

/// Every number of threads, interleaved.
fn group_of_threads(choice: &Choice) -> Group {
    let crews: &[u64] = match choice.scale {
        Scale::Quick => &CREWS_QUICK,
        _ => &CREWS,
    };
    let mut cases = Vec::new();
    for &threads in crews {
        for contender in installed(choice).filter(|contender| contender.commits.is_some()) {
            let synced = |setting: &&Setting| {
                (setting.promise, setting.medium) == (Promise::Disk, Medium::Disk)
            };
            for setting in contender.pair_settings().iter().filter(synced) {
                cases.push(Case {
                    contender,
                    setting,
                    rows: rows(choice, Promise::Disk),
                    readers: 0,
                    per_transaction: 1,
                    parameters: BTreeMap::from([(THREADS.to_owned(), Value::from(threads))]),
                    seconds_max: seconds_max(choice.scale, 1.0, 0.25),
                    pinned: false,
                });
            }
        }
    }
    Group { title: "threads that commit to the disk".to_owned(), rounds: choice.rounds, cases }
}

fn rows(choice: &Choice, level: Promise) -> u64 {
    choice.rows.unwrap_or(match (choice.scale, level) {
        (Scale::Quick, Promise::Disk) => ROWS_SYNCED_QUICK,
        (Scale::Quick, _) => ROWS_QUICK,
        (Scale::Ordinary, Promise::Disk) => ROWS_SYNCED_ORDINARY,
        (Scale::Ordinary, _) => ROWS_ORDINARY,
        (_, Promise::Disk) => ROWS_SYNCED,
        _ => ROWS,
    })
}

fn seconds_max(scale: Scale, full: f64, quick: f64) -> Option<f64> {
    match scale {
        Scale::Quick => Some(quick),
        Scale::Ordinary => Some(full / 2.0),
        Scale::Full => Some(full),
        Scale::All => Some(full * 5.0),
    }
}

fn installed(choice: &Choice) -> impl Iterator<Item = &'static Contender> {
    choice.contenders.iter().copied().filter(|contender| contender.missing.is_none())
}

#[cfg(test)]
#[path = "ladder_tests.rs"]
mod tests;
