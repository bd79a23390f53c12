//! What counts as the same answer, and what does not.

use super::*;

fn answer(rows: &[&[&str]]) -> Answer {
    let value = |value: &&str| (*value != "NULL").then(|| (*value).to_owned());
    Answer(rows.iter().map(|row| row.iter().map(value).collect()).collect())
}

#[test]
fn numbers_may_differ_by_a_millionth_or_a_cent() {
    let expected = answer(&[&["a", "1000000.00"]]);
    assert_eq!(difference(&answer(&[&["a  ", "1000000.9"]]), &expected, &[]), None);
    assert_eq!(difference(&answer(&[&["a", "1000000"]]), &expected, &[]), None);
    assert!(difference(&answer(&[&["a", "1000002"]]), &expected, &[]).is_some());
    assert_eq!(difference(&answer(&[&["0.05"]]), &answer(&[&["0.06"]]), &[]), None);
    assert!(difference(&answer(&[&["5"]]), &answer(&[&["6"]]), &[]).is_some());
}

#[test]
fn rows_come_in_the_order_that_was_asked_for() {
    let expected = answer(&[&["1", "x"], &["2", "y"], &["2", "z"]]);
    let other_ties = answer(&[&["1", "x"], &["2", "z"], &["2", "y"]]);
    assert_eq!(difference(&other_ties, &expected, &[0]), None);
    let other_order = answer(&[&["2", "y"], &["1", "x"], &["2", "z"]]);
    assert!(difference(&other_order, &expected, &[0]).is_some());
    assert_eq!(difference(&other_order, &expected, &[]), None);
}

#[test]
fn a_row_is_expected_once_for_each_time_it_is_there() {
    let expected = answer(&[&["1"], &["1"], &["2"]]);
    assert!(difference(&answer(&[&["1"], &["2"], &["2"]]), &expected, &[]).is_some());
    assert!(difference(&answer(&[&["1"], &["1"]]), &expected, &[]).is_some());
}

#[test]
fn null_is_equal_to_null_alone() {
    assert_eq!(difference(&answer(&[&["NULL"]]), &answer(&[&["NULL"]]), &[]), None);
    assert!(difference(&answer(&[&["0"]]), &answer(&[&["NULL"]]), &[]).is_some());
    assert!(difference(&answer(&[&["NULL"]]), &answer(&[&[""]]), &[]).is_some());
}
