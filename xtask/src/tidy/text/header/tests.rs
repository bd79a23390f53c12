//! Missing, short and long headers are found; tests need none.

use super::check;
use crate::tidy::sample;

fn module(lines: usize) -> Vec<String> {
    let text = "//! words\n".repeat(lines);
    sample::check(check, &[("crates/a/src/part.rs", &text)])
}

#[test]
fn a_header_is_needed() {
    let message = "crates/a/src/part.rs:1: the first line is not `//!` with what the file is for";
    assert_eq!(module(0), [message]);
    let findings = sample::check_library(check, "\n//! late\n//! and\n//! refused\n");
    assert_eq!(findings, ["1: the first line is not `//!` with what the file is for"]);
}

#[test]
fn a_header_has_3_to_15_lines() {
    assert_eq!(module(2), ["crates/a/src/part.rs:1: the header has 2 lines, fewer than 3"]);
    assert!(module(3).is_empty());
    assert!(module(15).is_empty());
    assert_eq!(module(16), ["crates/a/src/part.rs:1: the header has 16 lines, more than 15"]);
}

#[test]
fn a_front_page_may_be_longer() {
    assert!(sample::check_library(check, &"//! words\n".repeat(40)).is_empty());
    assert_eq!(sample::check_library(check, &"//! words\n".repeat(81)).len(), 1);
}

#[test]
fn test_files_need_no_header() {
    let header = "//! a\n//! b\n//! c\n#[cfg(test)]\nmod tests;\n";
    let files = [("crates/a/src/lib.rs", header), ("crates/a/src/tests.rs", "")];
    assert!(sample::check(check, &files).is_empty());
}
