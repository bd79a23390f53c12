use std::collections::BTreeMap;

use super::*;
use crate::record::Spread;

#[test]
fn figures_compare_medians_within_the_run() {
    let records = [
        record("remanent", Promise::Memory, "write", 30_000, 200.0),
        record("btreemap", Promise::None, "write", 30_000, 400.0),
        record("berkeley-db", Promise::None, "write", 30_000, 700.0),
        record("lmdb", Promise::Memory, "write", 30_000, 1_200.0),
        record("sqlite", Promise::Memory, "write", 30_000, 2_000.0),
    ];
    let figures = figures(&records);
    let times = &figures[0];
    assert_eq!(times.what, "write, 30,000 rows");
    assert_eq!(times.measured.as_deref(), Some("6.0x lmdb"));
    assert_eq!(times.reached, Some(true));
    let limit = &figures[1];
    assert_eq!(limit.measured.as_deref(), Some("0.50"));
    assert_eq!(limit.reached, Some(true));
}

#[test]
fn what_was_not_measured_is_not_reached() {
    let mut wrong = record("remanent", Promise::Memory, "write", 30_000, 1.0);
    wrong.verified = Some(false);
    let records = [wrong, record("btreemap", Promise::None, "write", 30_000, 400.0)];
    for figure in figures(&records) {
        assert_eq!(figure.reached.is_some(), figure.measured.is_some(), "{figure:?}");
        assert!(!figure.what.starts_with("write") || figure.reached.is_none());
    }
}

#[test]
fn a_hash_index_may_be_a_variant() {
    let records = [
        record("btreemap", Promise::None, "read_random", 1_000_000, 1_000.0),
        record("remanent", Promise::Memory, "read_random", 1_000_000, 300.0),
        record("remanent-hash", Promise::Memory, "read_random_hash", 1_000_000, 150.0),
        record("remanent-hash", Promise::Memory, "write", 1_000_000, 1.0),
    ];
    let figures = figures(&records);
    let of = |what: &str| figures.iter().find(|figure| figure.what.contains(what)).unwrap();
    assert_eq!(of("ordered index").measured.as_deref(), Some("0.30"));
    assert_eq!(of("hash index").measured.as_deref(), Some("0.15 remanent-hash"));
    assert_eq!(of("hash index").reached, Some(true));
    assert_eq!(of("a batch").reached, None);
    assert_eq!(of("write").measured, None, "a variant does not stand for the plain setting");
}

#[test]
fn close_is_compared_between_the_sizes() {
    let mut half = record("remanent", Promise::Memory, "close", ROWS_4_GIB / 2, 10e6);
    let mut full = record("remanent", Promise::Memory, "close", ROWS_4_GIB, 60e6);
    for record in [&mut half, &mut full] {
        record.extra = BTreeMap::from([(PART.to_owned(), Value::from(PART_CLOSE))]);
    }
    let figures = figures(&[half, full]);
    let closes: Vec<_> = figures.iter().filter(|figure| figure.what.starts_with("close")).collect();
    assert_eq!(closes[0].reached, Some(false));
    assert_eq!(closes[1].reached, Some(false));
    assert_eq!(closes[1].measured.as_deref(), Some("60.00 ms against 10.00 ms"));
}

#[test]
fn bytes_are_asked_of_ours_alone() {
    let mut ours = record("remanent", Promise::Memory, "write", 30_000, 1.0);
    ours.bytes_per_data_byte = Some(1.19);
    ours.empty_bytes = Some(120 * 1024);
    let figures = figures(&[ours]);
    let of = |what: &str| figures.iter().find(|figure| figure.what.starts_with(what)).unwrap();
    assert_eq!(of("bytes held").reached, Some(true));
    assert_eq!(of("empty").reached, Some(false));
    assert_eq!(of("empty").measured.as_deref(), Some("120 KiB"));
}

fn record(contender: &str, setting: Promise, phase: &str, rows: u64, cpu_ns: f64) -> Record {
    Record {
        contender: contender.to_owned(),
        setting: Some(setting),
        phase: phase.to_owned(),
        rows: Some(rows),
        cpu_ns_per_op: Spread::of(vec![cpu_ns]),
        verified: Some(true),
        ..Record::default()
    }
}
