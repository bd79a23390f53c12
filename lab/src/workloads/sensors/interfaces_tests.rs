use super::*;
use crate::record::Spread;

#[test]
fn an_interface_is_compared_with_rust_at_its_size() {
    let records = [
        record("remanent", "write", 30_000, 100.0),
        record("remanent", "write", 1_000_000, 500.0),
        record("remanent-mco", "write", 30_000, 140.0),
        record("remanent-mco", "write", 1_000_000, 600.0),
    ];
    let figures = figures(&records, &[30_000, 1_000_000]);
    let told: Vec<_> = figures
        .iter()
        .map(|figure| (figure.what.as_str(), figure.measured.as_deref(), figure.reached))
        .collect();
    assert_eq!(
        told,
        [
            ("write, 30,000 rows: CPU time, remanent-mco / remanent", Some("1.40x"), Some(false)),
            ("write, 1,000,000 rows: CPU time, remanent-mco / remanent", Some("1.20x"), Some(true)),
        ]
    );
}

#[test]
fn a_text_in_pieces_is_shown_in_time_and_bytes() {
    let mut pieces = record("remanent-d-strings", "read", 30_000, 900.0);
    pieces.bytes_per_data_byte = Some(1.9);
    let mut native = record("remanent", "read", 30_000, 100.0);
    native.bytes_per_data_byte = Some(1.2);
    let figures = figures(&[pieces, native], &[30_000]);
    let [figure] = &figures[..] else { panic!("{figures:?}") };
    let expected = "9.00x the time, 1.90 against 1.20 bytes per byte of data";
    assert_eq!(figure.measured.as_deref(), Some(expected));
    assert_eq!(figure.reached, None);
}

#[test]
fn without_interfaces_or_without_rust_nothing_is_claimed() {
    assert_eq!(figures(&[record("remanent", "write", 30_000, 100.0)], &[30_000]), []);
    let alone = figures(&[record("remanent-c", "write", 30_000, 100.0)], &[30_000]);
    assert_eq!((alone[0].measured.as_deref(), alone[0].reached), (None, None));
}

fn record(contender: &str, phase: &str, rows: u64, cpu_ns: f64) -> Record {
    Record {
        contender: contender.to_owned(),
        phase: phase.to_owned(),
        rows: Some(rows),
        cpu_ns_per_op: Spread::of(vec![cpu_ns]),
        verified: Some(true),
        ..Record::default()
    }
}
