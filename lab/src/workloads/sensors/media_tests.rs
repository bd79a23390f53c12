use super::*;
use crate::record::Spread;

#[test]
fn media_are_compared_within_a_setting() {
    let records = [
        record("remanent", Promise::Memory, Medium::Memory, 100.0),
        record("remanent", Promise::Os, Medium::Ramdisk, 150.0),
        record("lmdb", Promise::Os, Medium::Ramdisk, 1_000.0),
        record("lmdb", Promise::Disk, Medium::Ramdisk, 1_100.0),
        record("lmdb", Promise::Disk, Medium::Disk, 44_000.0),
        record("lmdb", Promise::Os, Medium::Disk, 3_000.0),
        record("sqlite", Promise::Os, Medium::Disk, 9_000.0),
    ];
    let told: Vec<_> = figures(&records, 30_000)
        .into_iter()
        .map(|figure| (figure.what, figure.measured, figure.reached))
        .collect();
    let write = |what: &str| format!("write, wall time, 30,000 rows: {what}");
    assert_eq!(
        told[..2],
        [
            (
                write("on a disk / on a RAM disk"),
                Some("40x lmdb disk, 3.00x lmdb os".to_owned()),
                None
            ),
            (
                write("on a RAM disk / Remanent in memory"),
                Some("10x lmdb os, 11x lmdb disk".to_owned()),
                None
            ),
        ]
    );
    assert!(told[2..].iter().all(|(_, measured, _)| measured.is_none()), "nothing was read");
}

fn record(contender: &str, promise: Promise, medium: Medium, wall_ns: f64) -> Record {
    Record {
        contender: contender.to_owned(),
        phase: "write".to_owned(),
        rows: Some(30_000),
        setting: Some(promise),
        medium: Some(medium),
        wall_ns_per_op: Spread::of(vec![wall_ns]),
        verified: Some(true),
        ..Record::default()
    }
}
