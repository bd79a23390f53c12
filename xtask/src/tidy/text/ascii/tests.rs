//! Names are ASCII; strings, characters and comments need not be.

use super::check;
use crate::tidy::sample::check_library;

#[test]
fn a_name_beyond_ascii_is_found() {
    let findings = check_library(check, "fn a() {}\nfn \u{e4}() {}\n");
    assert_eq!(findings, ["2: `\u{e4}` is not ASCII and stands in code"]);
}

#[test]
fn strings_and_comments_are_free() {
    let text = "// \u{e4}\nfn a() { f(\"\u{e4}\", '\u{e4}', r#\"\u{e4}\"#) }\n";
    assert!(check_library(check, text).is_empty());
}
