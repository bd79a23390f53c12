use lab_harness::{Medium, Promise};

use super::*;
use crate::record::Spread;

#[test]
fn a_group_shows_times_ratios_and_memory() {
    let text = printed(&[record("lmdb", 1_200.0), record("remanent", 200.0)]);
    assert!(text.contains("remanent "), "{text}");
    assert!(text.contains("6.00x"), "{text}");
    assert!(text.contains("5M"), "{text}");
    assert!(text.contains("1.13"), "{text}");
    let place = |name: &str| text.find(name).unwrap();
    assert!(place("remanent ") < place("lmdb "), "fastest first:\n{text}");
}

#[test]
fn without_ours_ratios_are_to_the_limit() {
    let text = printed(&[record("lmdb", 1_200.0), record("btreemap", 400.0)]);
    assert!(text.contains("3.00x") && text.contains("1.00x"), "{text}");
}

#[test]
fn an_unverified_phase_shows_no_time() {
    let mut wrong = record("lmdb", 1_234.0);
    wrong.verified = Some(false);
    let text = printed(&[wrong, record("btreemap", 400.0)]);
    assert!(text.contains("unverified") && !text.contains("1,234"), "{text}");
}

#[test]
fn figures_and_what_is_skipped_are_listed() {
    let figures = [Figure {
        what: "write".to_owned(),
        asked: ">= 5x".to_owned(),
        measured: Some("6.0x".to_owned()),
        reached: Some(true),
    }];
    let mut out = Vec::new();
    print_figures(&mut out, &figures).unwrap();
    let skipped = Record { skipped: Some("not there".to_owned()), ..record("lmdb", 1.0) };
    print_skipped(&mut out, &[skipped]).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains(">= 5x") && text.contains("yes"), "{text}");
    assert!(text.contains("skipped: lmdb memory/ramdisk: not there"), "{text}");
}

fn printed(records: &[Record]) -> String {
    let mut out = Vec::new();
    print_group(&mut out, "30,000 rows", records).unwrap();
    String::from_utf8(out).unwrap()
}

fn record(contender: &str, cpu_ns: f64) -> Record {
    Record {
        contender: contender.to_owned(),
        setting: Some(Promise::Memory),
        medium: Some(Medium::Ramdisk),
        phase: "write".to_owned(),
        rows: Some(30_000),
        per_transaction: Some(1),
        rounds: Some(5),
        wall_ns_per_op: Spread::of(vec![cpu_ns]),
        cpu_ns_per_op: Spread::of(vec![cpu_ns]),
        bytes_per_data_byte: Some(1.13),
        verified: Some(true),
        ..Record::default()
    }
}
