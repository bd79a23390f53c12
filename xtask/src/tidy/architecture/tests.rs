//! A crate without a heading and a page without an end are found.

use super::super::sample;
use super::check;

fn findings(text: &str) -> Vec<String> {
    sample::check(check, &[("ARCHITECTURE.md", text)])
}

#[test]
fn a_crate_without_a_heading_is_found() {
    let expected = ["ARCHITECTURE.md:1: no heading names the crate `a`"];
    assert_eq!(findings("# Architecture\n\ncrates/a is\n\n## crates/ab\n"), expected);
    assert!(findings("# Architecture\n\n## `crates/a`: the first\n").is_empty());
    assert!(findings("# Architecture\n\n## The rest (crates/*)\n").is_empty());
}

#[test]
fn more_than_300_lines_are_found() {
    let long = format!("# a\n{}", "\n".repeat(300));
    let expected = ["ARCHITECTURE.md:301: the file has 301 lines, more than 300"];
    assert_eq!(findings(&long), expected);
}

#[test]
fn the_page_must_exist() {
    assert_eq!(sample::check(check, &[]), ["ARCHITECTURE.md:1: the file is missing"]);
}
