use lab_harness::{Medium, Promise};
use serde_json::Value;

use super::*;
use crate::record::Spread;

#[test]
fn the_quickest_is_on_top_and_whoever_was_stopped_comes_last() {
    let mut stopped = record("redb", "insert", 1.0);
    stopped.note = "stopped by time at about 7 of 10 records".to_owned();
    let records = [
        stopped,
        record("lmdb", "insert", 2.0),
        record("remanent", "insert", 1.5),
        record("remanent", "rollback", 0.25),
        record("remanent", "close", 0.001),
    ];
    let variants = variants(&records);
    let [variant] = &variants[..] else { panic!("{}", variants.len()) };
    assert_eq!(variant.title, "keys random, abort: 10 records");
    let text_tables = text_tables(variant);
    assert!(
        text_tables[0].title.ends_with("CPU time") && text_tables[1].title.ends_with("wall time")
    );
    assert_eq!(text_tables[0].columns[3], "rollback");
    let names: Vec<_> = text_tables[0].lines.iter().map(|line| line.0.as_str()).collect();
    assert_eq!(names, ["remanent memory/memory", "lmdb memory/memory", "redb memory/memory"]);
    let cases = |line: usize| text_tables[0].lines[line].1.join("|");
    assert_eq!(cases(0), "1.5 s|1.00x|150|250 ms|1 ms|-|2.50");
    assert!(cases(1).starts_with("2 s|1.33x|"), "{}", cases(1));
    assert!(cases(2).starts_with("stopped|-|150|-"), "{}", cases(2));
}

#[test]
fn what_was_not_verified_has_no_time() {
    let mut wrong = record("lmdb", "insert", 2.0);
    wrong.verified = Some(false);
    let records = [wrong, record("remanent", "insert", 1.5)];
    let text_tables = text_tables(&variants(&records)[0]);
    assert_eq!(text_tables[0].lines[1].1[..2], ["unverified", "-"]);
}

#[test]
fn snapshots_are_a_variant_of_their_own() {
    let mut beside = record("remanent", "insert", 2.0);
    beside.extra.insert("snapshots".to_owned(), Value::from(100));
    let records = [record("remanent", "insert", 1.5), beside];
    let titles: Vec<_> = variants(&records).into_iter().map(|variant| variant.title).collect();
    assert_eq!(titles[1], "keys random, abort, 100 snapshots beside it: 10 records");
}

fn record(contender: &str, phase: &str, seconds: f64) -> Record {
    Record {
        contender: contender.to_owned(),
        setting: Some(Promise::Memory),
        medium: Some(Medium::Memory),
        phase: phase.to_owned(),
        rows: Some(10),
        cpu_ns_per_op: Spread::of(vec![150.0]),
        wall_ns_per_op: Spread::of(vec![150.0]),
        cpu_s: Some(seconds),
        wall_s: Some(seconds),
        bytes_per_data_byte: Some(2.5),
        verified: Some(true),
        extra: [("order", "random"), ("ending", "abort")]
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .into(),
        ..Record::default()
    }
}
