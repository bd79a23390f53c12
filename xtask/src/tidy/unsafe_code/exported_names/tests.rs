//! A name that two functions export, or that has no prefix of its crate, is found.

use super::super::super::sample;
use super::check;

const LAYERS: &str = "[exports]\n\"crates/a/\" = [\"a_\"]\n";

/// What is found in two files of the folder `crates/a`.
fn found(one: &str, other: &str) -> Vec<String> {
    let files = [
        ("xtask/layers.toml", LAYERS),
        ("crates/a/src/one.rs", one),
        ("crates/a/src/two.rs", other),
    ];
    sample::check(check, &files)
}

const ONE: &str = "#[unsafe(no_mangle)]\npub extern \"C\" fn a_one() {}\n";

#[test]
fn two_functions_of_one_name_are_found() {
    let expected = "crates/a/src/two.rs:2: `a_one` is exported by crates/a/src/one.rs, too";
    assert_eq!(found(ONE, &format!("\n{ONE}")), [expected]);
    let other = ONE.replace("a_one", "a_two");
    assert!(found(ONE, &other).is_empty());
}

#[test]
fn a_name_without_the_prefix_is_found() {
    let expected = "crates/a/src/two.rs:1: `write` begins with none of a_";
    assert_eq!(found(ONE, &ONE.replace("a_one", "write")), [expected]);
}

#[test]
fn a_folder_that_may_not_export_is_found() {
    let files = [("crates/b/src/lib.rs", ONE)];
    let expected = "crates/b/src/lib.rs:1: `a_one` is exported from a folder without `[exports]`";
    assert_eq!(sample::check(check, &files), [expected]);
}

#[test]
fn a_stale_folder_is_found() {
    let expected = "xtask/layers.toml:1: `crates/a/` of `[exports]` exports nothing";
    assert_eq!(found("", ""), [expected]);
}
