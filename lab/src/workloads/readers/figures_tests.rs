use super::*;
use crate::record::Spread;

/// All 54 cases of a contender, every one with the same times; and its readers alone.
fn cases(contender: &str, setting: Promise, wall_ns: f64) -> Vec<Record> {
    let mut all = Vec::new();
    for key in CaseKey::all() {
        all.push(record(contender, setting, key, wall_ns));
        if key.phase == PHASES[0] && key.readers > 0 {
            all.push(record(contender, setting, CaseKey { phase: ALONE, ..key }, 50.0));
        }
    }
    all
}

fn record(contender: &str, setting: Promise, key: CaseKey, wall_ns: f64) -> Record {
    let look_up_ns = if key.phase == ALONE { 50.0 } else { 100.0 };
    let reading = Spread::of(vec![look_up_ns]).filter(|_| key.readers > 0);
    Record {
        contender: contender.to_owned(),
        setting: Some(setting),
        phase: key.phase.to_owned(),
        readers: Some(key.readers),
        per_transaction: Some(key.per_transaction),
        wall_ns_per_op: Spread::of(vec![wall_ns]),
        cpu_ns_per_op: Spread::of(vec![wall_ns / 2.0]),
        reader_cpu_ns_per_read: reading,
        verified: Some(true),
        ..Record::default()
    }
}

fn at<'r>(records: &'r mut [Record], contender: &str, key: CaseKey) -> &'r mut Record {
    let of_place = |record: &&mut Record| {
        record.contender == contender
            && record.phase == key.phase
            && record.readers == Some(key.readers)
            && record.per_transaction == Some(key.per_transaction)
    };
    records.iter_mut().find(of_place).unwrap()
}

fn figure(records: &[Record], what: &str) -> Figure {
    let all = figures(records);
    let found = all.iter().find(|figure| figure.what.contains(what));
    found.unwrap_or_else(|| panic!("no {what} in {all:?}")).clone()
}

const PLACE: CaseKey = CaseKey { phase: "update", per_transaction: 10, readers: 10 };

#[test]
fn readers_cost_the_writer_cpu_time() {
    let mut records = cases("remanent", Promise::Memory, 100.0);
    at(&mut records, "remanent", PLACE).cpu_ns_per_op = Spread::of(vec![70.0]);
    let lines = figures(&records);
    let lines: Vec<_> = lines.iter().filter(|line| line.what.starts_with("writer's CPU")).collect();
    assert_eq!(lines.len(), 9);
    let missed: Vec<_> = lines.iter().filter(|line| line.reached != Some(true)).collect();
    assert_eq!(missed.len(), 1, "{missed:?}");
    assert!(missed[0].what.ends_with("update, 10 a transaction"), "{}", missed[0].what);
    assert_eq!(missed[0].measured.as_deref(), Some("1.40"));
}

#[test]
fn the_worst_share_of_the_readers_is_named() {
    let mut records = cases("remanent", Promise::Memory, 100.0);
    let share = figure(&records, "with / without a writer: update");
    assert_eq!(share.reached, Some(false), "{share:?}");
    for record in records.iter_mut().filter(|record| record.phase == ALONE) {
        record.reader_cpu_ns_per_read = Spread::of(vec![90.0]);
    }
    at(&mut records, "remanent", PLACE).reader_cpu_ns_per_read = Spread::of(vec![110.0]);
    let share = figure(&records, "with / without a writer: update");
    assert_eq!(share.reached, Some(true));
    assert_eq!(share.measured.as_deref(), Some("0.82 at update, 10 a transaction, 10 readers"));
}

#[test]
fn cells_are_counted_and_the_lost_ones_named() {
    let mut records = cases("remanent", Promise::Memory, 100.0);
    records.extend(cases("lmdb", Promise::Memory, 600.0));
    records.extend(cases("hashmap", Promise::None, 10.0));
    let ahead = figure(&records, "smallest of all");
    assert_eq!((ahead.measured.as_deref(), ahead.reached), (Some("54 of 54"), Some(true)));
    let maps = figure(&records, "smallest of both maps");
    assert_eq!((maps.measured.as_deref(), maps.reached), (Some("0 of 54"), None));

    at(&mut records, "lmdb", PLACE).wall_ns_per_op = Spread::of(vec![50.0]);
    let ahead = figure(&records, "smallest of all");
    assert_eq!(ahead.reached, Some(false));
    let text = "53 of 54; not: update, 10 a transaction, 10 readers (lmdb is 2.00x faster)";
    assert_eq!(ahead.measured.as_deref(), Some(text));
}

#[test]
fn a_part_of_the_cells_is_not_all_of_them() {
    let mut records = cases("remanent", Promise::Memory, 100.0);
    records.extend(cases("lmdb", Promise::Memory, 600.0));
    records.retain(|record| record.readers != Some(4));
    let ahead = figure(&records, "smallest of all");
    assert_eq!((ahead.measured.as_deref(), ahead.reached), (Some("45 of 45"), None));
    at(&mut records, "lmdb", PLACE).verified = Some(false);
    let ahead = figure(&records, "smallest of all");
    assert_eq!(ahead.measured.as_deref(), Some("44 of 44"), "unverified times do not count");
}

#[test]
fn a_stronger_promise_is_not_compared() {
    let mut records = cases("remanent", Promise::Memory, 100.0);
    records.extend(cases("lmdb", Promise::Disk, 6.0));
    assert_eq!(figure(&records, "smallest of all").measured, None);
}

#[test]
fn what_is_logged_is_compared_with_the_same_promise() {
    let mut records = cases("remanent", Promise::Memory, 100.0);
    records.extend(cases("remanent", Promise::Os, 300.0));
    records.extend(cases("remanent-d", Promise::Os, 700.0));
    records.extend(cases("lmdb", Promise::Os, 600.0));
    records.extend(cases("sqlite", Promise::Disk, 1.0));
    let measured = |what| figure(&records, what).measured.unwrap_or_default();
    assert_eq!(measured("all that promise os: remanent"), "54 of 54");
    assert!(measured("all that promise os: remanent-d").starts_with("0 of 54; not: "));
    assert_eq!(measured("all that promise disk: remanent"), "");
}

#[test]
fn the_smallest_lead_is_named() {
    let mut records = cases("remanent", Promise::Memory, 100.0);
    records.extend(cases("sqlite", Promise::Memory, 900.0));
    let sqlite = figure(&records, "sqlite / Remanent");
    assert_eq!(sqlite.reached, Some(true));
    assert!(sqlite.measured.unwrap().starts_with("9.00x at "));
    let one = CaseKey { per_transaction: 1, ..PLACE };
    at(&mut records, "sqlite", one).wall_ns_per_op = Spread::of(vec![450.0]);
    at(&mut records, "sqlite", PLACE).wall_ns_per_op = Spread::of(vec![1.0]);
    let sqlite = figure(&records, "sqlite / Remanent");
    assert_eq!(sqlite.reached, Some(false));
    let text = "4.50x at update, 1 a transaction, 10 readers";
    assert_eq!(sqlite.measured.as_deref(), Some(text));
    assert_eq!(figure(&records, "berkeley-db / Remanent").measured, None);
}
