use lab_harness::{Medium, Promise};

use super::*;
use crate::record::Spread;

#[test]
fn contenders_are_rows_and_readers_are_columns() {
    let records = [
        record("lmdb", 10, 3_000.0),
        record("lmdb", 0, 1_000.0),
        record("remanent", 0, 200.0),
        record("remanent", 10, 9_000.0),
        record("redb", 2, 500.0),
    ];
    let grid = grid(&records, "insert", Measure::Wall);
    assert_eq!(grid.readers, [0, 2, 10]);
    let names: Vec<_> = grid.rows.iter().map(|row| row.first.contender.as_str()).collect();
    assert_eq!(names, ["remanent", "redb", "lmdb"], "fastest beside the fewest readers first");
    let texts = |row: &GridRow<'_>| -> Vec<String> {
        row.records.iter().map(|record| Measure::Wall.text(*record)).collect()
    };
    assert_eq!(texts(&grid.rows[0]), ["200", "", "9,000"]);
    assert_eq!(texts(&grid.rows[2]), ["1,000", "", "3,000"]);
}

#[test]
fn look_ups_are_a_rate_and_nothing_without_readers() {
    let records = [record("lmdb", 0, 1.0), record("lmdb", 2, 1.0)];
    let grid = grid(&records, "insert", Measure::Reads);
    assert_eq!(grid.readers, [2]);
    assert_eq!(Measure::Reads.text(grid.rows[0].records[0]), "20M", "50 ns a look-up");
}

#[test]
fn an_unverified_cell_says_so() {
    let mut wrong = record("lmdb", 2, 1_234.0);
    wrong.verified = Some(false);
    let mut out = Vec::new();
    print_group(&mut out, "a group", &[wrong, record("redb", 2, 77.0)]).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("unverified") && !text.contains("1,234"), "{text}");
    assert!(text.contains("77.0") && text.contains("insert: wall time"), "{text}");
}

fn record(contender: &str, readers: u64, wall_ns: f64) -> Record {
    Record {
        contender: contender.to_owned(),
        setting: Some(Promise::Memory),
        medium: Some(Medium::Memory),
        phase: "insert".to_owned(),
        readers: Some(readers),
        rounds: Some(5),
        wall_ns_per_op: Spread::of(vec![wall_ns]),
        cpu_ns_per_op: Spread::of(vec![wall_ns]),
        reader_cpu_ns_per_read: (readers > 0).then(|| Spread::of(vec![50.0])).flatten(),
        verified: Some(true),
        ..Record::default()
    }
}
