//! Patterns mean what DataFusion says that they mean.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Scalar, StringViewArray};
use datafusion::arrow::compute::kernels::comparison::like;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, col, lit};
use datafusion::prelude::substring;
use proptest::prelude::*;

use super::{parse, prefixes_of};

/// Whether Arrow finds a text like a pattern.
fn by_arrow(text: &str, pattern: &str) -> bool {
    let one = |text: &str| Arc::new(StringViewArray::from(vec![text])) as ArrayRef;
    let answer = like(&one(text), &Scalar::new(one(pattern))).expect("it is compared");
    answer.value(0)
}

proptest! {
    #[test]
    fn a_text_is_like_what_arrow_says(text in "[abé]{0,9}", pattern in "[abé%]{0,7}") {
        match parse(&pattern, false) {
            Some(parsed) => {
                prop_assert_eq!(parsed.meets(text.as_bytes()), by_arrow(&text, &pattern));
                let negated = parse(&pattern, true).expect("it is parsed as before");
                prop_assert_eq!(negated.meets(text.as_bytes()), !by_arrow(&text, &pattern));
            }
            None => prop_assert!(!pattern.contains('%')),
        }
    }

    #[test]
    fn a_text_begins_with_its_first_letters(
        text in "[abé]{0,4}",
        count in 1..3_i64,
        list in prop::collection::vec("[abé]{1,2}", 4),
        negated in prop::bool::ANY,
    ) {
        let has_letters = |one: &String| one.chars().count() == count as usize;
        let listed = list.iter().map(|one| lit(one.as_str())).collect();
        let filter = first_letters(lit(1_i64), count).in_list(listed, negated);
        match prefixes_of(&filter) {
            Some(prefixes) => {
                let first: String = text.chars().take(count as usize).collect();
                prop_assert_eq!(prefixes.meets(text.as_bytes()), list.contains(&first) != negated);
            }
            None => prop_assert!(!list.iter().all(has_letters)),
        }
    }
}

#[test]
fn start_and_end_do_not_share_letters() {
    let pattern = parse("aba%ba", false).expect("a pattern");
    assert!(!pattern.meets(b"aba"));
    assert!(pattern.meets(b"ababa"));
}

#[test]
fn one_letter_for_any_and_escapes_are_not_for_it() {
    for pattern in ["a_%", "a\\%%", "a"] {
        assert!(parse(pattern, false).is_none(), "{pattern}");
    }
}

fn first_letters(from: Expr, count: i64) -> Expr {
    substring(col("text"), from, lit(count))
}

#[test]
fn letters_behind_the_first_and_null_are_not_for_it() {
    let known = vec![lit("ab")];
    assert!(prefixes_of(&first_letters(lit(1_i64), 2).in_list(known.clone(), false)).is_some());
    assert!(prefixes_of(&first_letters(lit(2_i64), 2).in_list(known.clone(), false)).is_none());
    assert!(prefixes_of(&first_letters(lit(1_i64), -1).in_list(known.clone(), false)).is_none());
    assert!(prefixes_of(&col("text").in_list(known, false)).is_none());
    let with_null = vec![lit("ab"), lit(ScalarValue::Utf8(None))];
    assert!(prefixes_of(&first_letters(lit(1_i64), 2).in_list(with_null, false)).is_none());
}
