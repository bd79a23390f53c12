//! An automaton has a state for each byte of its pattern, and patterns of too many have none.

use super::{has_bits, states};
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
        pattern.parts().and_then(states).map(|(states, _)| states.len())
    };
    assert_eq!((states_of(1), states_of(126)), (Some(2), Some(127)));
    assert_eq!((states_of(127), states_of(300)), (None, None));
}

#[test]
fn a_text_has_the_bits_between_its_ends() {
    for bit in [0, 63, 64, 100, 191, 192, 299] {
        let mut bitmap = vec![0_u64; 5];
        bitmap[bit / 64] |= 1 << (bit % 64);
        for start in 0..300 {
            for end in start..=300 {
                let expected = (start..end).contains(&bit);
                assert_eq!(has_bits(&bitmap, start..end), expected, "{bit} in {start}..{end}");
            }
        }
    }
}
