//! What Remanent costs on each level beside the quickest database of that level.
//!
//! Limits are databases of nobody and are left out; so is a variant of another contender that was
//! given less. Wall time decides on the last level, where CPU time says least. First what is asked
//! of Remanent beside one other, then everything for comparison, phase by phase.

use lab_harness::Promise;

use crate::figure::Figure;
use crate::parameters::THREADS;
use crate::quantity;
use crate::record::Record;
use crate::table;

/// Contenders that promise nothing on any level.
const LIMITS: [&str; 3] = ["btreemap", "hashmap", "array"];

/// How the name of a variant ends that was given less memory than others.
const GIVEN_LESS: &str = "-32mb";

/// What is asked: on a level, in a phase, of which of ours, so many times the speed of whom.
const ASKED: &[(Promise, &str, &str, f64, &str)] = &[
    (Promise::None, "read", "remanent-hash", 1.0 / 1.5, "hashmap"),
    (Promise::None, "read", "remanent", 2.5, "btreemap"),
    (Promise::None, "read", "remanent", 5.0, "berkeley-db"),
    (Promise::Memory, "read", "remanent", 6.0, "berkeley-db"),
    (Promise::Memory, "write", "remanent", 5.0, "berkeley-db"),
    (Promise::Memory, "read", "remanent", 3.0, "lmdb"),
    (Promise::Memory, "write", "remanent", 3.0, "lmdb"),
    (Promise::Buffered, "write", "remanent", 5.0, "berkeley-db"),
    (Promise::Os, "write", "remanent", 2.0, "berkeley-db"),
];

/// Pairs that a bulk read is to give a second of CPU time.
const BULK_ASKED: f64 = 300e6;

/// Every figure: what is asked, then level by level.
pub(super) fn figures(records: &[Record]) -> Vec<Figure> {
    let alone: Vec<Record> =
        records.iter().filter(|record| !record.extra.contains_key(THREADS)).cloned().collect();
    let mut figures: Vec<Figure> =
        ASKED.iter().filter_map(|asked| asked_of(&alone, asked)).collect();
    figures.extend(bulk(&alone));
    for level in Promise::ALL {
        for phase in table::phases(&alone) {
            figures.extend(figure(&alone, level, &phase));
        }
    }
    figures
}

fn cpu_ns(records: &[Record], level: Promise, phase: &str, contender: &str) -> Option<f64> {
    let wanted = |record: &&Record| {
        record.setting == Some(level) && record.phase == phase && record.contender == contender
    };
    records.iter().find(wanted).and_then(Record::cpu_ns)
}

fn asked_of(
    records: &[Record],
    &(level, phase, ours, times, other): &(Promise, &str, &str, f64, &str),
) -> Option<Figure> {
    let ns = cpu_ns(records, level, phase, ours)?;
    let other_ns = cpu_ns(records, level, phase, other);
    Some(Figure {
        what: format!("{level}: {phase}, {ours} against {other}"),
        asked: format!(">= {}", quantity::factor(times)),
        measured: other_ns.map(|other_ns| quantity::factor(other_ns / ns)),
        reached: other_ns.map(|other_ns| other_ns / ns >= times),
    })
}

fn bulk(records: &[Record]) -> Option<Figure> {
    let ns = cpu_ns(records, Promise::None, "bulk_read", "remanent")?;
    Some(Figure {
        what: "none: bulk read, remanent".to_owned(),
        asked: format!(">= {} a second", quantity::rate(1e9 / BULK_ASKED)),
        measured: Some(quantity::rate(ns)),
        reached: Some(1e9 / ns >= BULK_ASKED),
    })
}

fn figure(records: &[Record], level: Promise, phase: &str) -> Option<Figure> {
    let of_level =
        || records.iter().filter(|record| record.setting == Some(level) && record.phase == phase);
    let time = |record: &Record| match level {
        Promise::Disk => record.wall_ns(),
        _ => record.cpu_ns(),
    };
    let (ours, ns) = of_level()
        .filter(|record| record.contender == table::BASES[0])
        .find_map(|record| Some((record, time(record)?)))?;
    let others = of_level().filter(|record| {
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
        what: format!("{level}/{medium}: {}, ordered", phase.replace('_', " ")),
        asked: "for comparison".to_owned(),
        measured,
        reached: None,
    })
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
