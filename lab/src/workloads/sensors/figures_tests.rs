use std::collections::BTreeMap;

use lab_harness::Medium;

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
fn memory_committed_ahead_is_a_row_of_its_own() {
    let records = [
        record("remanent", Promise::Memory, "write", 30_000, 200.0),
        record("remanent-ahead", Promise::Memory, "write", 30_000, 100.0),
        record("btreemap", Promise::None, "write", 30_000, 250.0),
        record("lmdb", Promise::Memory, "write", 30_000, 800.0),
    ];
    let figures = figures(&records);
    let of = |what: &str| {
        let of_what = figures.iter().filter(|figure| figure.what == what);
        of_what.map(|figure| (figure.measured.as_deref(), figure.reached)).collect::<Vec<_>>()
    };
    let plain = [(Some("4.0x lmdb"), Some(false)), (Some("0.80"), Some(false))];
    assert_eq!(of("write, 30,000 rows"), plain);
    let ahead = [(Some("8.0x lmdb"), Some(true)), (Some("0.40"), Some(true))];
    assert_eq!(of("write, 30,000 rows, memory committed ahead"), ahead);
}

/// Synced commits on a disk are stopped after two seconds; what was written by then is a small
/// database, and reading it won.
#[test]
fn who_was_stopped_while_writing_is_not_the_fastest() {
    let on_disk = |phase, cpu_ns| {
        let mut record = record("lmdb", Promise::Disk, phase, 30_000, cpu_ns);
        record.medium = Some(Medium::Disk);
        record
    };
    let mut stopped = on_disk("write", 300.0);
    stopped.note = format!("synced; {STOPPED} at about 400 of 29700 operations");
    let mut records = vec![
        record("remanent", Promise::Memory, "write", 30_000, 100.0),
        record("remanent", Promise::Memory, "read", 30_000, 100.0),
        record("lmdb", Promise::Memory, "write", 30_000, 900.0),
        record("lmdb", Promise::Memory, "read", 30_000, 600.0),
        stopped,
        on_disk("read", 200.0),
    ];
    let measured = |records: &[Record], what: &str| {
        let of_what = figures(records).into_iter().find(|figure| figure.what.starts_with(what));
        of_what.unwrap().measured
    };
    assert_eq!(measured(&records, "write").as_deref(), Some("9.0x lmdb"));
    assert_eq!(measured(&records, "read in order").as_deref(), Some("6.0x lmdb"));
    records[4].note = "synced".to_owned();
    assert_eq!(measured(&records, "write").as_deref(), Some("3.0x lmdb"));
    assert_eq!(measured(&records, "read in order").as_deref(), Some("2.0x lmdb"));
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
fn close_is_compared_between_few_rows_and_many() {
    let few = closed(PART_CLOSE, ROWS_4_GIB, 10e6);
    let [at_4_gib, compared] = closes(&[few.clone(), closed(PART_CLOSE_64, ROWS_4_GIB_64, 13e6)]);
    assert_eq!(at_4_gib.reached, Some(true));
    assert_eq!(compared.reached, Some(false));
    assert_eq!(compared.measured.as_deref(), Some("13.00 ms against 10.00 ms"));

    let [_, compared] = closes(&[few.clone(), closed(PART_CLOSE_64, ROWS_4_GIB_64, 12e6)]);
    assert_eq!(compared.reached, Some(true), "a tenth and a millisecond are noise");
    let [at_4_gib, compared] = closes(&[closed(PART_CLOSE, ROWS_4_GIB, 60e6)]);
    assert_eq!((at_4_gib.reached, compared.reached), (Some(false), None));

    let mut larger = closed(PART_CLOSE_64, ROWS_4_GIB_64, 10e6);
    larger.held_bytes = Some(5_600_000_000);
    let [_, compared] = closes(&[few, larger]);
    assert_eq!(compared.reached, None, "not the same bytes");
    let text = "not comparable: 5.60 against 4.80 GB held";
    assert_eq!(compared.measured.as_deref(), Some(text));
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

fn closed(of_part: &str, rows: u64, cpu_ns: f64) -> Record {
    Record {
        extra: BTreeMap::from([(PART.to_owned(), Value::from(of_part))]),
        held_bytes: Some(4_800_000_000),
        ..record("remanent", Promise::Memory, "close", rows, cpu_ns)
    }
}

fn closes(records: &[Record]) -> [Figure; 2] {
    let figures = figures(records).into_iter().filter(|figure| figure.what.starts_with("close"));
    figures.collect::<Vec<_>>().try_into().unwrap()
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
