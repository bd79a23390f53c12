//! 100 characters pass, 101 do not unless they hold a URL.

use super::check;
use crate::tidy::sample::check_library;

#[test]
fn the_101st_character_is_too_much() {
    assert!(check_library(check, &"/".repeat(100)).is_empty());
    let findings = check_library(check, &format!("\n{}", "/".repeat(101)));
    assert_eq!(findings, ["2: the line has 101 characters, more than 100"]);
}

#[test]
fn characters_count_and_not_bytes() {
    assert!(check_library(check, &format!("//{}", "\u{e4}".repeat(98))).is_empty());
}

#[test]
fn a_url_may_be_long() {
    assert!(check_library(check, &format!("// https://{}", "a".repeat(200))).is_empty());
}
