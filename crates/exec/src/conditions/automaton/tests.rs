//! An automaton has a state for each byte of its pattern, and patterns of too many have none.

use super::states;
use crate::conditions::pattern::{Find, Pattern, TextPattern};

#[derive(Debug)]
struct Nowhere;

impl Find for Nowhere {
    fn find(&self, _: &[u8]) -> Option<usize> {
        None
    }
}

#[test]
fn a_pattern_of_too_many_letters_is_left_to_others() {
    let states_of = |letters: usize| {
        let text = format!("%{}%", "x".repeat(letters));
        let pattern = Pattern::parse(&text, false, |_| Nowhere).expect("a pattern");
        states(pattern.parts()).map(|(states, _)| states.len())
    };
    assert_eq!((states_of(1), states_of(126)), (Some(2), Some(127)));
    assert_eq!((states_of(127), states_of(300)), (None, None));
}
