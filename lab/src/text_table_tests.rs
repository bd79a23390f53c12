use std::collections::BTreeMap;

use lab_harness::Medium;

use super::*;
use crate::record::Spread;

#[test]
fn a_phase_has_a_column_for_each_level_that_somebody_stands_on() {
    let records = [
        record("remanent", Promise::Memory, "read", 100.0),
        record("lmdb", Promise::Disk, "read", 1000.0),
        record("lmdb", Promise::Memory, "read", 500.0),
        record("lmdb", Promise::Os, "write", 900.0),
    ];
    let text_tables = of_levels(&records);
    let titles: Vec<_> = text_tables.iter().map(|text_table| text_table.title.as_str()).collect();
    assert_eq!(titles.len(), 4, "{titles:?}");
    let read = &text_tables[0];
    assert_eq!(read.title, "read: pairs a second of CPU time");
    assert_eq!(read.columns, ["memory", "disk"]);
    assert_eq!(read.lines[0], ("remanent".to_owned(), vec!["10M".to_owned(), "-".to_owned()]));
    assert_eq!(read.lines[1], ("lmdb".to_owned(), vec!["2M".to_owned(), "1M".to_owned()]));
}

#[test]
fn commits_have_a_column_for_each_number_of_threads() {
    let commits = |threads: u64, ns| Record {
        wall_ns_per_op: Spread::of(vec![ns]),
        commits_per_sync: Some(threads as f64),
        extra: BTreeMap::from([(THREADS.to_owned(), threads.into())]),
        ..record("lmdb", Promise::Disk, "commit", ns)
    };
    let records = [commits(16, 2000.0), commits(1, 4000.0)];
    assert!(of_levels(&records).is_empty());
    let text_tables = of_threads(&records);
    assert_eq!(text_tables[0].columns, ["1", "16"]);
    assert_eq!(text_tables[0].lines[0].1, ["4 µs", "2 µs"]);
    assert_eq!(text_tables[2].lines[0].1, ["1.00", "16.00"]);
}

#[test]
fn what_is_not_verified_shows_the_word() {
    let mut record = record("lmdb", Promise::Os, "replay", 10.0);
    record.verified = Some(false);
    let mut out = Vec::new();
    print_group_of_returns(&mut out, "replay", &[record]).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("unverified") && !text.contains("100M"), "{text}");
}

fn record(contender: &str, promise: Promise, phase: &str, ns: f64) -> Record {
    Record {
        contender: contender.to_owned(),
        setting: Some(promise),
        medium: Some(Medium::Disk),
        phase: phase.to_owned(),
        cpu_ns_per_op: Spread::of(vec![ns]),
        verified: Some(true),
        ..Record::default()
    }
}
