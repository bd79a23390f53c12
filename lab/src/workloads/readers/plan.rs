//! Which contenders with how many readers and how large transactions a run measures.
//!
//! Three sizes of transactions are three groups; within a group contenders are interleaved at each
//! number of readers. A phase lasts until it can be measured, or until its time is up: the times
//! are such that a run of five rounds ends within twenty minutes, a quick one within half of one.

use std::collections::BTreeMap;

use lab_harness::{Contender, Setting};

use crate::choice::{Choice, Scale};
use crate::contenders;
use crate::quantity::grouped;
use crate::workloads::{Case, Group};

/// Rows of the document.
pub(super) const ROWS: u64 = 10_000;

/// How many operations a transaction of the writer has.
pub(super) const PER_TRANSACTION: [u64; 3] = [1, 10, 100];

/// How many threads read.
pub(super) const READERS: [u64; 6] = [0, 2, 4, 6, 8, 10];

const READERS_FEW: [u64; 3] = [0, 2, 10];

/// Who takes part in a quick run, unless contenders are named.
const QUICK: &[&str] = &["remanent", "berkeley-db", "lmdb", "sqlite"];

/// When a phase ends though it has not done all of its operations.
const SECONDS_MAX: f64 = 0.6;
const SECONDS_MAX_QUICK: f64 = 0.12;
const SECONDS_MAX_ALL: f64 = 10.0;

/// All groups of a run.
pub(super) fn plan(choice: &Choice) -> Vec<Group> {
    // Whole transactions of every size.
    let rows = choice.rows.unwrap_or(ROWS).next_multiple_of(PER_TRANSACTION[2]);
    let mut groups: Vec<Group> = PER_TRANSACTION
        .iter()
        .map(|&per_transaction| group(choice, rows, per_transaction))
        .collect();
    groups.retain(|group| !group.cases.is_empty());
    groups
}

fn group(choice: &Choice, rows: u64, per_transaction: u64) -> Group {
    let readers = match choice.scale {
        Scale::Quick | Scale::Ordinary => &READERS_FEW[..],
        Scale::Full | Scale::All => &READERS[..],
    };
    let seconds_max = match choice.scale {
        Scale::Quick => SECONDS_MAX_QUICK,
        Scale::Ordinary | Scale::Full => SECONDS_MAX,
        Scale::All => SECONDS_MAX_ALL,
    };
    let mut cases = Vec::new();
    for &readers in readers {
        for contender in taking_part(choice) {
            let tier = choice.scale.tier(false);
            let asked = |setting: &&Setting| choice.takes(setting, tier);
            for setting in contender.shared_settings().iter().filter(asked) {
                cases.push(Case {
                    contender,
                    setting,
                    rows,
                    readers,
                    per_transaction,
                    parameters: BTreeMap::new(),
                    seconds_max: Some(seconds_max),
                    pinned: false,
                });
            }
        }
    }
    let word = if per_transaction == 1 { "operation" } else { "operations" };
    let title = format!("{} rows, {per_transaction} {word} a transaction", grouped(rows));
    Group { title, rounds: choice.rounds, cases }
}

fn taking_part(choice: &Choice) -> impl Iterator<Item = &'static Contender> {
    let everybody = choice.contenders.len() == contenders::all().len();
    let few = everybody && choice.scale == Scale::Quick;
    let asked = choice.contenders.iter().copied();
    asked.filter(move |contender| {
        contender.missing.is_none() && (!few || QUICK.contains(&contender.name))
    })
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
