//! Words are counted as the parser sees them, or more.

use super::{LETTER_BYTES, SHORT_BYTES, WORD_BYTES, of_text, words};

#[test]
fn quoted_text_is_a_word_unless_quotes_may_be_hidden() {
    let long = "a b ".repeat(100);
    assert_eq!(words(b"select 1, 'a b'"), 4);
    assert!(words(format!("select '{long}', 1").as_bytes()) < 10);
    for hides in [
        format!("select $$'$$, {long}"),
        format!("select E'\\'', {long}"),
        format!("select 1 \"'\", {long}"),
        format!("select /*'*/ {long}"),
        format!("select --'\n {long}"),
    ] {
        assert!(words(hides.as_bytes()) >= 200, "{hides}");
    }
}

#[test]
fn many_words_weigh_much_and_a_long_one_little() {
    let literal = format!("select '{}'", "x".repeat(1 << 20));
    assert!(of_text(&literal) < LETTER_BYTES * literal.len() + 10 * WORD_BYTES);
    let list = format!("select {}", "1,".repeat(1 << 10));
    assert!(of_text(&list) >= (2 * WORD_BYTES) << 10);
    assert_eq!(of_text(&"1,".repeat(SHORT_BYTES / 2)), 0);
}
