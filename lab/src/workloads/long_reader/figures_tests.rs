use super::*;
use crate::protocol::Point;

const MIB: u64 = 1 << 20;

#[test]
fn growth_after_the_first_hundredth_is_bounded() {
    let flat = figures(&[record(|operations| 5 * MIB + operations / 10)]);
    assert_eq!(flat[0].reached, Some(true));
    assert_eq!(flat[0].measured.as_deref(), Some("5.1 MiB against 5.0 MiB"));
    let early = figures(&[record(|operations| if operations == 0 { 0 } else { 50 * MIB })]);
    assert_eq!(early[0].reached, Some(true), "what is needed at once is no growth");
}

#[test]
fn growth_without_end_is_not_reached() {
    let growing = figures(&[record(|operations| operations * 250)]);
    assert_eq!(growing[0].reached, Some(false));
    assert_eq!(growing[0].asked, "at most 8.0 MiB more");
}

#[test]
fn what_is_wrong_or_too_short_says_nothing() {
    let wrong = Record { verified: Some(false), ..record(|_| MIB) };
    let short =
        Record { time_series: record(|_| MIB).time_series[..2].to_vec(), ..record(|_| MIB) };
    for record in [wrong, short] {
        assert_eq!(figures(&[record])[0].reached, None);
    }
    assert_eq!(figures(&[])[0].measured, None);
}

fn record(held: impl Fn(u64) -> u64) -> Record {
    let point = |number: u64| Point {
        operations: number * 5_000,
        held_bytes: held(number * 5_000),
        ..Point::default()
    };
    Record {
        verified: Some(true),
        time_series: (0..=200).map(point).collect(),
        ..Record::default()
    }
}
