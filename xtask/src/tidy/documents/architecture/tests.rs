//! A crate without a heading, a page without an end, and a false line of the table are found.

use super::check;
use crate::tidy::sample;

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

#[test]
fn the_table_says_what_is_allowed() {
    let with_table = |row: &str| {
        let page = format!("## crates/*\n\n| Crate | Uses | Is |\n| --- | --- | --- |\n{row}\n");
        let files = [
            ("ARCHITECTURE.md", page.as_str()),
            ("xtask/layers.toml", "[crates.a]\nuses = [\"remanent-c\", \"b\"]\n"),
        ];
        sample::check(check, &files)
    };
    assert!(with_table("| `a` | b, c | the first |").is_empty());
    assert_eq!(with_table("| `a` | c | it |"), ["ARCHITECTURE.md:5: `a` uses b, c"]);
    assert_eq!(with_table("| `a` | - | it |"), ["ARCHITECTURE.md:5: `a` uses b, c"]);
    let missing = "ARCHITECTURE.md:1: the table has no line for the crate `a`";
    assert_eq!(with_table(""), [missing]);
    let unknown = "ARCHITECTURE.md:5: `d` is no crate, or stands here twice";
    assert_eq!(with_table("| `d` | - | it |"), [missing, unknown]);
}

#[test]
fn the_picture_has_every_crate() {
    let with_picture = |picture: &str| {
        findings(&format!("## crates/*\n\n```text\n{picture}\n```\n\n```text\na\n```\n"))
    };
    assert!(with_picture("  b     a, c").is_empty());
    let expected = ["ARCHITECTURE.md:3: the picture does not have `a`"];
    assert_eq!(with_picture("  b     ab, c"), expected);
    assert_eq!(with_picture("  crates"), expected);
    assert!(with_picture("  crates/*").is_empty());
}
