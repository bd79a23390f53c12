use super::*;
use crate::record::Spread;

#[test]
fn an_excerpt_has_both_ends() {
    for len in [1, 2, 12, 13, 201] {
        let time_series: Vec<_> = (0..len).map(point).collect();
        let shown: Vec<_> = excerpt(&time_series).map(|point| point.operations).collect();
        assert_eq!((shown[0], shown[shown.len() - 1]), (0, (len - 1) * 1_000));
        assert!(shown.len() <= SHOWN + 1, "{} of {len}", shown.len());
        assert!(shown.is_sorted());
    }
    assert_eq!(excerpt(&[]).count(), 0);
}

#[test]
fn the_terminal_shows_points_with_units() {
    let record = Record {
        contender: "remanent".to_owned(),
        cpu_ns_per_op: Spread::of(vec![321.0]),
        verified: Some(true),
        time_series: (0..3).map(point).collect(),
        ..Record::default()
    };
    let mut out = Vec::new();
    print_group(&mut out, "a group", &[record]).unwrap();
    let text = String::from_utf8(out).unwrap();
    for part in ["321 CPU ns", "2,000", "3.0 MiB", "512 KiB"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

fn point(number: u64) -> Point {
    Point {
        operations: number * 1_000,
        wall_ms: number,
        held_bytes: (number + 1) << 20,
        rows_bytes: 1 << 19,
    }
}
