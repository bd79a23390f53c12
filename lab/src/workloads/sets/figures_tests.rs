use std::collections::BTreeMap;

use super::*;
use crate::record::Spread;

#[test]
fn the_limit_is_of_the_larger_size() {
    let records =
        [record("remanent", "next", 10_000, 100.0), record("remanent", "next", 1_000_000, 301.0)];
    let figures = figures(&records);
    let next = of(&figures, "remanent, order last: next, 1,000,000 members");
    assert_eq!((next.measured.as_deref(), next.reached), (Some("301 ns"), Some(false)));
}

#[test]
fn growth_is_told_between_the_sizes() {
    let records = [
        record("remanent-d", "first", 1_000_000, 60.0),
        record("remanent-d", "first", 10_000, 50.0),
        record("remanent-d", "last", 10_000, 50.0),
        record("remanent-d", "last", 1_000_000, 5000.0),
        record("remanent-d", "siblings_random", 10_000, 100.0),
        record("remanent-d", "siblings_random", 1_000_000, 900.0),
    ];
    let figures = figures(&records);
    let growth = |phase: &str| {
        let what =
            format!("remanent-d, order last: growth of {phase}, 1,000,000 against 10,000 members");
        let figure = of(&figures, &what);
        (figure.measured.clone().unwrap(), figure.reached)
    };
    assert_eq!(growth("first"), ("1.20x: 60.0 against 50.0 ns".to_owned(), Some(true)));
    assert_eq!(growth("last"), ("100x: 5,000 against 50.0 ns".to_owned(), Some(false)));
    assert_eq!(growth("siblings_random").1, None, "nobody asked that it be level");
}

#[test]
fn an_order_by_value_may_grow() {
    let by_value = |rows, cpu_ns| Record {
        extra: BTreeMap::from([(ORDER.to_owned(), Value::from(SEARCHED))]),
        ..record("remanent", "connect_100", rows, cpu_ns)
    };
    let figures = figures(&[by_value(10_000, 100.0), by_value(1_000_000, 250.0)]);
    let what = "growth of connect_100, 1,000,000 against 10,000 members";
    let growth = of(&figures, &format!("remanent, order ascending: {what}"));
    assert_eq!(growth.measured.as_deref(), Some("2.50x: 250 against 100 ns"));
    assert_eq!(growth.reached, None);
    let limit = of(&figures, "remanent, order ascending: connect_100, 1,000,000 members");
    assert_eq!(limit.reached, Some(true), "its cost has the limit of all");
}

#[test]
fn one_size_has_no_growth_and_an_unverified_phase_no_figure() {
    let mut wrong = record("remanent", "next", 10_000, 1.0);
    wrong.verified = Some(false);
    for figure in figures(&[wrong, record("remanent", "first", 10_000, 50.0)]) {
        assert_eq!((figure.measured, figure.reached), (None, None), "{}", figure.what);
    }
}

fn of<'f>(figures: &'f [Figure], what: &str) -> &'f Figure {
    let all: Vec<_> = figures.iter().map(|figure| &figure.what).collect();
    figures.iter().find(|figure| figure.what == what).unwrap_or_else(|| panic!("{all:?}"))
}

fn record(contender: &str, phase: &str, rows: u64, cpu_ns: f64) -> Record {
    Record {
        contender: contender.to_owned(),
        phase: phase.to_owned(),
        rows: Some(rows),
        cpu_ns_per_op: Spread::of(vec![cpu_ns]),
        verified: Some(true),
        extra: BTreeMap::from([(ORDER.to_owned(), Value::from("last"))]),
        ..Record::default()
    }
}
