use serde_json::Value;

use super::*;
use crate::record::Spread;

#[test]
fn curves_are_by_allocator_and_size_and_go_with_the_total() {
    let records = [
        record("malloc", 65_536, 4 << 30, 4.0),
        record("malloc", 1024, 2 << 30, 9.0),
        record("malloc", 65_536, 1 << 30, 1.0),
        record("jemalloc", 65_536, 1 << 30, 3.0),
        record("malloc", 65_536, 2 << 30, 2.0),
    ];
    let curves = curves(&records, "free");
    let names: Vec<_> =
        curves.iter().map(|curve| (&*curve.first.contender, curve.block_bytes)).collect();
    assert_eq!(names, [("jemalloc", 65_536), ("malloc", 1024), ("malloc", 65_536)]);
    assert_eq!(curves[2].points.iter().map(|point| point.1).sum::<f64>(), 7e9);
    let text_table = over_totals("free: malloc", &[&curves[1], &curves[2]]);
    assert_eq!(text_table.columns, ["1.00 GiB", "2.00 GiB", "4.00 GiB", "exponent"]);
    assert_eq!(text_table.lines[0].1, ["-", "9 s", "-", "-"]);
    assert_eq!(text_table.lines[1].1, ["1 s", "2 s", "4 s", "1.00 linear"]);
    assert_eq!(text_table.lines[1].0, "64 KiB");
}

#[test]
fn a_total_has_a_table_for_each_phase_over_sizes() {
    let mut wrong = record("mimalloc", 1024, 1 << 30, 1.0);
    wrong.verified = Some(false);
    let records = [record("malloc", 65_536, 1 << 30, 0.5), wrong];
    let [text_table] = &over_sizes(&records)[..] else { panic!("one phase") };
    assert_eq!(
        (text_table.title.as_str(), &text_table.columns[..]),
        ("free", &["1 KiB", "64 KiB"].map(String::from)[..])
    );
    assert_eq!(text_table.lines[0].1, ["-", "500 ms"]);
    assert_eq!(text_table.lines[1].1, ["unverified", "-"]);
}

#[test]
fn in_touched_memory_a_block_has_its_own_time() {
    let mut prefaulted = record("malloc", 32, 0, 1.0);
    prefaulted.extra =
        [(String::from("block_bytes"), Value::from(32)), (PREFAULTED.to_owned(), true.into())]
            .into();
    prefaulted.cpu_ns_per_op = Spread::of(vec![12.34]);
    let records = [prefaulted];
    assert_eq!(over_sizes(&records)[0].lines[0].1, ["12.3 ns"]);
    assert!(curves(&records, "free").is_empty());
}

fn record(contender: &str, block: u64, total: u64, seconds: f64) -> Record {
    Record {
        contender: contender.to_owned(),
        phase: "free".to_owned(),
        cpu_s: Some(seconds),
        verified: Some(true),
        extra: [("block_bytes", block), ("total_bytes", total)]
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .into(),
        ..Record::default()
    }
}
