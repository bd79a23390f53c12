use std::collections::BTreeMap;

use lab_harness::Medium;

use super::*;
use crate::record::Spread;

#[test]
fn ours_is_compared_with_the_quickest_database_of_the_level() {
    let records = [
        record("remanent", Promise::Memory, 100.0),
        record("lmdb", Promise::Memory, 250.0),
        record("sqlite", Promise::Memory, 900.0),
        record("berkeley-db-32mb", Promise::Memory, 120.0),
        record("btreemap", Promise::None, 1.0),
        record("btreemap", Promise::Memory, 1.0),
        record("remanent-hash", Promise::Memory, 20.0),
        record("lmdb", Promise::Os, 700.0),
    ];
    let figures = figures(&records);
    let [berkeley, lmdb, figure] = &figures[..] else { panic!("{figures:?}") };
    assert_eq!((berkeley.measured.as_deref(), berkeley.reached), (None, None));
    assert_eq!((lmdb.measured.as_deref(), lmdb.reached), (Some("2.50x"), Some(false)));
    assert_eq!(figure.what, "memory/memory: read, ordered");
    let measured = figure.measured.as_deref().unwrap();
    assert!(measured.starts_with("2.50x: 10M against 4M a second of lmdb"), "{measured}");
    assert_eq!(figure.reached, None);
}

#[test]
fn on_the_last_level_wall_time_decides_and_threads_are_left_out() {
    let mut ours = record("remanent", Promise::Disk, 1.0);
    ours.wall_ns_per_op = Spread::of(vec![1e6]);
    let mut other = record("lmdb", Promise::Disk, 50.0);
    other.wall_ns_per_op = Spread::of(vec![4e6]);
    let mut together = record("redb", Promise::Disk, 1.0);
    together.extra = BTreeMap::from([(THREADS.to_owned(), 4.into())]);
    let figures = figures(&[ours, other, together]);
    let measured = figures[0].measured.as_deref().unwrap();
    assert!(measured.starts_with("4.00x: 1k against 250"), "{measured}");
}

fn record(contender: &str, promise: Promise, ns: f64) -> Record {
    Record {
        contender: contender.to_owned(),
        setting: Some(promise),
        medium: Some(Medium::Memory),
        phase: "read".to_owned(),
        cpu_ns_per_op: Spread::of(vec![ns]),
        verified: Some(true),
        ..Record::default()
    }
}
