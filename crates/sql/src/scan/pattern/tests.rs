//! Patterns mean what DataFusion says that they mean.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Scalar, StringViewArray};
use datafusion::arrow::compute::kernels::comparison::like;
use proptest::prelude::*;

use super::parse;

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
