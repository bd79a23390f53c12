//! A bug whose text is gone, or there twice, is found; so is a list that cannot be read.

use super::super::sample;
use super::check;

const LIST: &str = "crates/simulator/planted.toml";
const BUG: &str = "[[bug]]\nname = \"none\"\nbreaks = \"all\"\ncheck = \"crashes all 1\"\n\
    [[bug.edit]]\nfile = \"crates/a/src/lib.rs\"\nfind = \"fn a\"\nput = \"fn b\"\n";

#[test]
fn the_text_is_there_once() {
    let found = |text: &str| sample::check(check, &[(LIST, BUG), ("crates/a/src/lib.rs", text)]);
    assert!(found("fn a() {}").is_empty());
    for (text, count) in [("fn c() {}", 0), ("fn a() {} fn ab() {}", 2)] {
        let message = format!("{LIST}:7: `none`: crates/a/src/lib.rs has its text {count} times");
        assert_eq!(found(text), [message]);
    }
}

#[test]
fn a_list_is_one() {
    let found = sample::check(check, &[(LIST, "[[bug]]\n"), ("crates/a/src/lib.rs", "")]);
    assert_eq!(found, [format!("{LIST}:1: a bug or an edit lacks `name`")]);
}
