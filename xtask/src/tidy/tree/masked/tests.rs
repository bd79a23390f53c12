//! The parts of each line, and the places where a quote is not a string.

use super::{MaskedLine, lines};

fn code(text: &str) -> Vec<String> {
    lines(text).into_iter().map(|line| line.code).collect()
}

#[test]
fn comments_are_kept_apart() {
    let expected = MaskedLine { code: "let x = 1; ".into(), comment: "// why".into() };
    assert_eq!(lines("let x = 1; // why"), [expected]);
}

#[test]
fn strings_are_emptied() {
    assert_eq!(code(r#"f("unsafe // \" {", b"x")"#), [r#"f("", b"")"#]);
    assert_eq!(code("r\"a\" br#\"b\" c\"# cr##\"\"# \"##"), ["\"\" b\"\" c\"\""]);
}

#[test]
fn strings_and_block_comments_keep_line_numbers() {
    assert_eq!(code("\"a\nb\" x\n/* c /* d\n */ e */ y"), ["\"", "\" x", "", " y"]);
    assert_eq!(code("r#\"a\nb\"# z"), ["\"", "\" z"]);
}

#[test]
fn lifetimes_are_not_characters() {
    assert_eq!(
        code("fn f<'a>(x: &'a str, y: '\"', z: '\\'')"),
        ["fn f<'a>(x: &'a str, y: '', z: '')"]
    );
    assert_eq!(code("'\\u{1F600}' '\\\\' x"), ["'' '' x"]);
}

#[test]
fn a_word_that_ends_in_r_opens_nothing() {
    assert_eq!(code("for\"x\" r#match"), ["for\"\" r#match"]);
}
