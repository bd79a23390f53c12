//! What Remanent costs on each rung beside the quickest database of that rung.
//!
//! Limits are databases of nobody and are left out; so is a variant of another contender that was
//! given less. Wall time decides on the last rung, where CPU time says least. Nothing is asked for
//! here: the lines are for comparison, phase by phase.

use lab_harness::Promise;

use super::{RUNGS, THREADS};
use crate::quantity;
use crate::record::Record;
use crate::table;
use crate::workloads::Figure;

/// Contenders that promise nothing on any rung.
const LIMITS: [&str; 3] = ["btreemap", "hashmap", "array"];

/// How the name of a variant ends that was given less memory than others.
const GIVEN_LESS: &str = "-32mb";

/// Every figure, rung by rung.
pub(super) fn figures(records: &[Record]) -> Vec<Figure> {
    let alone: Vec<Record> =
        records.iter().filter(|record| !record.extra.contains_key(THREADS)).cloned().collect();
    let mut figures = Vec::new();
    for rung in RUNGS {
        for phase in table::phases(&alone) {
            figures.extend(figure(&alone, rung, &phase));
        }
    }
    figures
}

fn figure(records: &[Record], rung: Promise, phase: &str) -> Option<Figure> {
    let of_rung =
        || records.iter().filter(|record| record.setting == Some(rung) && record.phase == phase);
    let time = |record: &Record| match rung {
        Promise::Disk => record.wall_ns(),
        _ => record.cpu_ns(),
    };
    let (ours, ns) = of_rung()
        .filter(|record| record.contender == table::BASES[0])
        .find_map(|record| Some((record, time(record)?)))?;
    let others = of_rung().filter(|record| {
        let name = record.contender.as_str();
        let ours = name.starts_with(table::BASES[0]);
        !ours && !LIMITS.contains(&name) && !name.ends_with(GIVEN_LESS)
    });
    let quickest = others
        .filter_map(|record| Some((record, time(record)?)))
        .min_by(|left, right| left.1.total_cmp(&right.1));
    let measured = quickest.map(|(record, other_ns)| {
        let ratio = quantity::factor(other_ns / ns);
        let (own, other) = (quantity::rate(ns), quantity::rate(other_ns));
        format!("{ratio}: {own} against {other} a second of {}", table::place(record))
    });
    let medium = ours.medium?;
    Some(Figure {
        what: format!("{rung}/{medium}: {}, ordered", phase.replace('_', " ")),
        asked: "for comparison".to_owned(),
        measured,
        reached: None,
    })
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
