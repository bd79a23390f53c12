use serde_json::Value;

use super::*;
use crate::parameters::{BLOCK_BYTES, TOTAL_BYTES};
use crate::record::Spread;

#[test]
fn a_curve_that_rises_too_fast_is_found_among_others() {
    let mut records = Vec::new();
    for (total, straight, bent) in [(1_u64, 1.0, 1.0), (2, 2.0, 2.0), (4, 4.0, 9.0)] {
        records.push(record("remanent", "free", 1024, total << 30, straight));
        records.push(record("remanent", "free", 65_536, total << 30, straight / 10.0));
        records.push(record("malloc", "free", 65_536, total << 30, bent));
    }
    let figures_of = |records: &[Record]| figures(records);
    let straight = figures_of(&records);
    let ours = straight.iter().find(|figure| figure.what.ends_with("remanent")).unwrap();
    assert_eq!((ours.measured.as_deref(), ours.reached), (Some("1.00 to 1.00"), Some(true)));
    let theirs = straight.iter().find(|figure| figure.what.ends_with("malloc")).unwrap();
    assert_eq!((theirs.measured.as_deref(), theirs.reached), (Some("1.58 to 1.58"), None));
    for record in records.iter_mut().filter(|record| record.contender == "malloc") {
        record.contender = "remanent-ahead".to_owned();
    }
    let bent = figures_of(&records);
    let ahead = bent.iter().find(|figure| figure.what.ends_with("remanent-ahead")).unwrap();
    assert_eq!(ahead.reached, Some(false));
}

#[test]
fn smallest_and_largest_blocks_of_a_total_are_compared() {
    let compared = |small, middle, large| {
        let records = [
            record("remanent", "drop", 1024, 1 << 30, small),
            record("remanent", "drop", 4096, 1 << 30, middle),
            record("remanent", "drop", 65_536, 1 << 30, large),
        ];
        let [figure] = &figures(&records)[..] else { panic!("one figure") };
        assert!(figure.what.contains("1.00 GiB"), "{}", figure.what);
        figure.reached
    };
    assert_eq!(compared(0.004, 1.0, 0.0001), Some(true), "below 5 ms");
    assert_eq!(compared(1.0, 0.0, 1.09), Some(true), "below a tenth");
    assert_eq!(compared(1.0, 1.0, 1.2), Some(false));
    let alone = [record("remanent", "reset", 1024, 1 << 30, 0.1)];
    assert!(figures(&alone).is_empty());
}

#[test]
fn the_dearest_small_block_decides() {
    let prefaulted = |bytes: u64, ns: f64| Record {
        cpu_ns_per_op: Spread::of(vec![ns]),
        extra: [(BLOCK_BYTES, Value::from(bytes)), (PREFAULTED, Value::from(true))]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        ..record("remanent", "free_warm", bytes, 0, 0.0)
    };
    let [figure] =
        &figures(&[prefaulted(32, 4.0), prefaulted(4096, 14.0), prefaulted(8192, 90.0)])[..]
    else {
        panic!("one figure")
    };
    assert_eq!(figure.measured.as_deref(), Some("14.0 ns, of 4096 bytes"));
    assert_eq!(figure.reached, Some(true));
    assert_eq!(figures(&[prefaulted(64, 15.5)])[0].reached, Some(false));
}

fn record(contender: &str, phase: &str, block: u64, total: u64, seconds: f64) -> Record {
    Record {
        contender: contender.to_owned(),
        phase: phase.to_owned(),
        rows: Some(total / block),
        cpu_s: Some(seconds),
        verified: Some(true),
        extra: [(BLOCK_BYTES, block), (TOTAL_BYTES, total)]
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .into(),
        ..Record::default()
    }
}
