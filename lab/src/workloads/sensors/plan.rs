//! Which contenders, settings and sizes a run of the sensor workload measures.
//!
//! The full run has four parts: everything at 30,000 rows, the faster settings at a million, and
//! our close of 4 GiB, in rows of 510 bytes and as many bytes in rows of 64; the ordinary run has
//! the first two, with shorter limits. A part is named in the records when it is not the plain
//! sequence of phases. Synced commits on
//! a disk are the device's and are measured for a bounded time only.

use std::collections::BTreeMap;

use lab_harness::{Contender, Medium, Promise, Setting, Tier};
use serde_json::Value;

use crate::choice::{Choice, Scale};
use crate::contenders;
use crate::quantity::grouped;
use crate::workloads::{Case, Group};

/// The name of the parameter that says which part of the workload a case is.
pub(super) const PART: &str = "part";

/// Load, then close: nothing else is measured.
pub(super) const PART_CLOSE: &str = "close";

/// As [`PART_CLOSE`], with records of 64 bytes.
pub(super) const PART_CLOSE_64: &str = "close64";

/// Records of 64 bytes; load, then random reads only.
pub(super) const PART_RANDOM_64: &str = "random64";

/// The size of the document.
pub(super) const ROWS_SMALL: u64 = 30_000;

/// The size at which caches no longer help.
pub(super) const ROWS_MILLION: u64 = 1_000_000;

/// Rows of the records of 64 bytes.
pub(super) const ROWS_LARGE: u64 = 10_000_000;

/// Rows whose data is 4 GiB, at 510 bytes a row.
pub(super) const ROWS_4_GIB: u64 = 8_421_504;

/// Rows of 64 bytes whose database holds as many bytes as that of [`ROWS_4_GIB`].
pub(super) const ROWS_4_GIB_64: u64 = 42_000_000;

const ROWS_QUICK: u64 = 10_000;

/// A load of 4 GiB takes seconds, and its close differs little between rounds.
const ROUNDS_CLOSE_MAX: u32 = 3;

/// Up to this size even slow settings take part.
const SMALL_ROWS_MAX: u64 = 100_000;

/// Contenders without files, to which the sizes beyond a million are put.
const IN_MEMORY: &[&str] = &["remanent", "btreemap", "hashmap"];

/// Only this one is asked to close 4 GiB quickly.
const CLOSERS: &[&str] = &["remanent"];

/// All groups of a run.
pub(super) fn plan(choice: &Choice) -> Vec<Group> {
    let sizes = match (choice.rows, choice.scale) {
        (Some(rows), _) => vec![rows],
        (None, Scale::Quick) => vec![ROWS_QUICK],
        (None, _) => vec![ROWS_SMALL, ROWS_MILLION],
    };
    let mut groups: Vec<Group> = sizes.iter().map(|&rows| transactions(choice, rows)).collect();
    if choice.large {
        groups.push(random_64(choice));
    }
    let all = choice.promises.is_empty() && choice.media.is_empty();
    if all && choice.rows.is_none() && choice.scale >= Scale::Full && !compares_interfaces(choice) {
        groups.push(close(choice));
    }
    groups.retain(|group| !group.cases.is_empty());
    groups
}

/// Whether a run is about interfaces; nobody closes differently through another one.
fn compares_interfaces(choice: &Choice) -> bool {
    choice.contenders.iter().any(|contender| contenders::is_in_c(contender.name))
}

fn transactions(choice: &Choice, rows: u64) -> Group {
    let tier = choice.scale.tier(rows <= SMALL_ROWS_MAX);
    let mut cases = Vec::new();
    for contender in installed(choice) {
        for setting in contender.sensor_settings().iter().filter(|one| choice.takes(one, tier)) {
            cases.push(Case {
                contender,
                setting,
                rows,
                readers: 0,
                per_transaction: 1,
                parameters: BTreeMap::new(),
                seconds_max: seconds_max(choice.scale, setting.promise, setting.medium),
                pinned: true,
            });
        }
    }
    Group { title: format!("{} rows", grouped(rows)), rounds: choice.rounds, cases }
}

fn random_64(choice: &Choice) -> Group {
    let cases = in_memory(choice, IN_MEMORY, PART_RANDOM_64, ROWS_LARGE, |_| true);
    let title = format!("{} rows of 64 bytes, random reads", grouped(ROWS_LARGE));
    Group { title, rounds: choice.rounds, cases }
}

fn close(choice: &Choice) -> Group {
    let plain = |setting: &Setting| setting.variant.is_empty();
    let mut cases = in_memory(choice, CLOSERS, PART_CLOSE, ROWS_4_GIB, plain);
    cases.extend(in_memory(choice, CLOSERS, PART_CLOSE_64, ROWS_4_GIB_64, plain));
    let rounds = choice.rounds.min(ROUNDS_CLOSE_MAX);
    Group { title: "close of 4 GiB, in rows of 510 and of 64 bytes".to_owned(), rounds, cases }
}

/// The settings without files of these contenders, at one size.
fn in_memory(
    choice: &Choice,
    names: &[&str],
    part: &str,
    rows: u64,
    keep: impl Fn(&Setting) -> bool,
) -> Vec<Case> {
    let parameters = BTreeMap::from([(PART.to_owned(), Value::from(part))]);
    let mut cases = Vec::new();
    for contender in installed(choice).filter(|contender| names.contains(&contender.name)) {
        let settings = contender.sensor_settings().iter().filter(|setting| {
            setting.medium == Medium::Memory && setting.tier == Tier::Always && keep(setting)
        });
        for setting in settings {
            cases.push(Case {
                contender,
                setting,
                rows,
                readers: 0,
                per_transaction: 1,
                parameters: parameters.clone(),
                seconds_max: None,
                pinned: true,
            });
        }
    }
    cases
}

fn installed(choice: &Choice) -> impl Iterator<Item = &'static Contender> {
    choice.contenders.iter().copied().filter(|contender| contender.missing.is_none())
}

fn seconds_max(scale: Scale, promise: Promise, medium: Medium) -> Option<f64> {
    match (scale, promise, medium) {
        (Scale::Quick, Promise::Disk, _) => Some(0.3),
        (Scale::Ordinary, Promise::Disk, Medium::Disk) => Some(1.0),
        (_, Promise::Disk, Medium::Disk) => Some(2.0),
        (Scale::Ordinary, ..) => Some(2.0),
        (Scale::All, ..) => None,
        _ => Some(6.0),
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
