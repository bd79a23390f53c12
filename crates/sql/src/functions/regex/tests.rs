//! What patterns match, against the crate that matches in one call, and PostgreSQL's own words.
//!
//! Random patterns of few letters on random texts: the place of the first match is the crate's
//! where no choice is between matches of different lengths; groups lie within it.

use regex_automata::Span;

use super::expression::Expression;
use super::spelling::Flags;

fn found(pattern: &str, text: &str) -> Option<(usize, usize)> {
    let mut expression = Expression::new(pattern, Flags::default()).unwrap();
    expression.find(text, 0).unwrap().map(ends)
}

fn ends(found: Span) -> (usize, usize) {
    (found.start, found.end)
}

#[test]
fn the_longest_of_the_first_matches_is_found() {
    assert_eq!(found("a|ab|abc", "xabcd"), Some((1, 4)));
    assert_eq!(found("a*", "baaa"), Some((0, 0)));
    assert_eq!(found("a+?", "baaa"), Some((1, 2)));
    assert_eq!(found("(a|ab)(c|bcd)", "abcd"), Some((0, 4)));
    assert_eq!(found("x", "abc"), None);
    assert_eq!(found("", "abc"), Some((0, 0)));
    assert_eq!(found(r"\yb\w*", "ab bß"), Some((3, 6)));
}

#[test]
fn words_end_beyond_ascii_too() {
    assert_eq!(found(r"\mé\w+\M", "aé éa b"), Some((4, 7)));
    assert_eq!(found(r"b\y", "bé b"), Some((4, 5)));
}

#[test]
fn nothing_is_found_within_a_letter() {
    let mut expression = Expression::new("x*", Flags::default()).unwrap();
    assert_eq!(expression.find("éx", 0).unwrap().map(ends), Some((0, 0)));
    assert_eq!(expression.find("éx", 2).unwrap().map(ends), Some((2, 3)));
}

#[test]
fn groups_hold_what_they_matched_within_the_match() {
    let mut expression = Expression::new("(a|ab)(c|bcd)?(x)?", Flags::default()).unwrap();
    let found = expression.find("zabcd", 0).unwrap().unwrap();
    assert_eq!(ends(found), (1, 5));
    let groups = expression.groups_of("zabcd", found).unwrap();
    let groups: Vec<_> = groups.into_iter().map(|group| group.map(ends)).collect();
    assert_eq!(groups, [Some((1, 5)), Some((1, 2)), Some((2, 5)), None]);
}

#[test]
fn both_machines_find_the_same() {
    let patterns = ["a", "a*b", "(a|b)*c", "[^a]b?", "^ab", "b$", "(ab)+", "a.c", "(?:a|bc){2}"];
    let mut word = 7_u64;
    let mut draw = |below: u64| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (word >> 33) % below
    };
    for pattern in patterns {
        let mut expression = Expression::new(pattern, Flags::default()).unwrap();
        for _ in 0..300 {
            let length = draw(12);
            let text: String =
                (0..length).map(|_| ['a', 'b', 'c', 'é'][draw(4) as usize]).collect();
            let matched = expression.find(&text, 0).unwrap();
            assert_eq!(expression.is_match(&text).unwrap(), matched.is_some(), "{pattern} {text}");
            let Some(matched) = matched else { continue };
            let groups = expression.groups_of(&text, matched).unwrap();
            assert_eq!(groups[0], Some(matched), "{pattern} {text}");
            for group in groups.into_iter().flatten() {
                let is_within = matched.start <= group.start && group.end <= matched.end;
                assert!(is_within && group.start <= group.end, "{pattern} {text}");
            }
        }
    }
}

#[test]
fn what_goes_back_is_refused() {
    let state = |pattern: &str| match Expression::new(pattern, Flags::default()) {
        Ok(_) => "matched".to_owned(),
        Err(error) => error.state().as_str().to_owned(),
    };
    assert_eq!(state(r"(a)\1"), "0A000");
    assert_eq!(state("a(?=b)"), "0A000");
    assert_eq!(state("(a"), "2201B");
    assert_eq!(state("a{5,2}"), "2201B");
    assert_eq!(state(r"(\w{100}){100}"), "2201B");
    assert_eq!(state("[[]"), "matched");
    assert_eq!(state("a{b"), "matched");
}
