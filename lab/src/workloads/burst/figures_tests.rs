use serde_json::Value;

use super::super::{ABORT, SNAPSHOTS};
use super::*;

#[test]
fn inserts_are_compared_as_wholes_with_those_of_the_same_order() {
    let records = [
        record("remanent", Promise::Memory, ASCENDING, COMMIT, "insert", 1.2),
        record("remanent-bulk", Promise::Memory, ASCENDING, COMMIT, "insert", 0.8),
        record("lmdb", Promise::Memory, ASCENDING, COMMIT, "insert", 2.0),
        record("lmdb-append", Promise::Memory, ASCENDING, COMMIT, "insert", 1.0),
        record("btreemap", Promise::None, ASCENDING, COMMIT, "insert", 1.0),
        record("lmdb", Promise::Memory, RANDOM, COMMIT, "insert", 0.001),
    ];
    let figures = figures(&records);
    let found = |what: &str| find(&figures, what);
    assert_eq!(found("insert, keys ascending, beside lmdb").1, Some(true));
    assert_eq!(found("insert, keys ascending, beside lmdb-append").0.as_deref(), Some("1.20x"));
    assert_eq!(found("insert, keys ascending, beside lmdb-append").1, None);
    let many = found("insert of many at a time, keys ascending, beside lmdb");
    assert_eq!(many, (Some("0.40x".to_owned()), Some(true)));
    assert_eq!(found("insert, keys ascending, beside btreemap").1, Some(false));
    assert!(!figures.iter().any(|figure| figure.what.contains("random")), "{figures:?}");
}

#[test]
fn whoever_was_stopped_is_not_compared() {
    let mut other = record("btreemap", Promise::None, RANDOM, COMMIT, "insert", 20.0);
    other.note = "stopped by time at about 5000000 of 10000000 records".to_owned();
    let ours = record("remanent", Promise::Memory, RANDOM, COMMIT, "insert", 4.0);
    let figures = figures(&[ours, other]);
    assert_eq!(find(&figures, "insert, keys random, beside btreemap"), (None, None));
}

#[test]
fn a_database_on_a_disk_does_not_stand_for_one_in_memory() {
    let mut ours = record("remanent", Promise::Memory, ASCENDING, COMMIT, "commit", 0.04);
    let figures_of = |ours: &Record| figures(std::slice::from_ref(ours));
    assert_eq!(find(&figures_of(&ours), "commit, keys ascending").1, Some(true));
    ours.wall_s = Some(0.051);
    assert_eq!(find(&figures_of(&ours), "commit, keys ascending").1, Some(false));
    ours.medium = Some(Medium::Disk);
    assert!(figures_of(&ours).is_empty());
}

#[test]
fn taking_back_and_memory_are_put_beside_the_inserts_of_the_same_cell() {
    let mut insert = record("remanent", Promise::Memory, RANDOM, ABORT, "insert", 2.0);
    insert.bytes_per_data_byte = Some(2.5);
    let mut kept = record("remanent", Promise::Memory, RANDOM, COMMIT, "insert", 2.0);
    kept.bytes_per_data_byte = Some(2.1);
    let rollback = record("remanent", Promise::Memory, RANDOM, ABORT, "rollback", 0.9);
    let figures = figures(&[kept, insert, rollback]);
    let (measured, reached) = find(&figures, "rollback beside insert, keys random");
    assert_eq!((measured.as_deref(), reached), (Some("0.45x: 900 ms"), Some(true)));
    let (measured, reached) = find(&figures, "peak memory for each byte of data, keys random");
    assert_eq!((measured.as_deref(), reached), (Some("2.50"), Some(false)), "the most of both");
}

#[test]
fn snapshots_and_memory_ahead_are_told_beside_the_plain_one() {
    let mut beside = record("remanent", Promise::Memory, ASCENDING, COMMIT, "insert", 1.5);
    beside.extra.insert(SNAPSHOTS.to_owned(), Value::from(100));
    let records = [
        record("remanent", Promise::Memory, ASCENDING, COMMIT, "insert", 1.0),
        beside,
        record("remanent-ahead", Promise::Memory, ASCENDING, COMMIT, "insert", 0.8),
        record("remanent-ahead", Promise::Memory, ASCENDING, COMMIT, "open", 0.25),
    ];
    let figures = figures(&records);
    let told = |part: &str| {
        let figure = figures.iter().find(|figure| figure.what.contains(part));
        figure.and_then(|figure| figure.measured.clone()).unwrap_or_default()
    };
    assert_eq!(told("100 snapshots"), "1.50x");
    assert_eq!(told("committed ahead"), "0.80x, and 250 ms to open");
}

fn find(figures: &[Figure], what: &str) -> (Option<String>, Option<bool>) {
    let figure = figures.iter().find(|figure| figure.what == what);
    let figure = figure.unwrap_or_else(|| panic!("no {what} in {figures:?}"));
    (figure.measured.clone(), figure.reached)
}

fn record(
    contender: &str,
    promise: Promise,
    order: &str,
    ending: &str,
    phase: &str,
    seconds: f64,
) -> Record {
    Record {
        contender: contender.to_owned(),
        setting: Some(promise),
        medium: Some(Medium::Memory),
        phase: phase.to_owned(),
        cpu_s: Some(seconds),
        wall_s: Some(seconds),
        verified: Some(true),
        extra: [(ORDER, order), (ENDING, ending)]
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .into(),
        ..Record::default()
    }
}
