//! Tokens of ordinary and of odd text, with their places.

use super::{Kind, tokenize};

fn kinds(text: &str) -> Vec<Kind> {
    tokenize(text, 0).into_iter().map(|token| token.kind).collect()
}

#[test]
fn words_numbers_and_marks() {
    let word = |text: &str| Kind::Word(text.into());
    let expected = [
        word("tree"),
        Kind::Mark('<'),
        word("a_1"),
        Kind::Mark('>'),
        Kind::Int(0x10),
        Kind::Int(8),
        Kind::Float("1.5e3".into()),
        Kind::Text("a b".into()),
        Kind::End,
    ];
    assert_eq!(kinds("tree <a_1> 0x10 010 1.5e3 \"a b\""), expected);
}

#[test]
fn comments_of_all_shapes_are_gone() {
    let text = "/*****\n * a /* b \n *****/ x // y */ z\n/**/ w /* *****  \n * *****\n */";
    assert_eq!(kinds(text), [Kind::Word("x".into()), Kind::Word("w".into()), Kind::End]);
}

#[test]
fn a_comment_does_not_end_a_line_and_a_backslash_joins_two() {
    let tokens = tokenize("#define A /* \n */ b \\\n c\nd", 0);
    let starts: Vec<bool> = tokens.iter().map(|token| token.starts_line).collect();
    assert_eq!(starts, [true, false, false, false, false, true, false]);
}

#[test]
fn places_are_bytes_of_the_text() {
    let tokens = tokenize("ä = xyz", 0);
    assert!(matches!(tokens[0].kind, Kind::Bad(_)));
    let last = &tokens[2];
    assert_eq!((last.span.start, last.span.end), (5, 8));
}

#[test]
fn what_cannot_be_read_says_why() {
    for text in ["\"open", "/* open", "1a", "99999999999999999999", "'", "08"] {
        let kinds = kinds(text);
        assert!(matches!(kinds[0], Kind::Bad(_)), "{text}: {kinds:?}");
        assert_eq!(kinds.len(), 2, "{text}: {kinds:?}");
    }
}
