//! A file that no `mod` line names is found.

use super::super::sample;
use super::check;

#[test]
fn a_dead_file_is_found() {
    let files = [
        ("crates/a/src/lib.rs", "mod alive;"),
        ("crates/a/src/alive.rs", ""),
        ("crates/a/src/dead.rs", ""),
        ("stray.rs", ""),
    ];
    let expected = [
        "crates/a/src/dead.rs:1: no `mod` line leads to this file",
        "stray.rs:1: no `mod` line leads to this file",
    ];
    assert_eq!(sample::check(check, &files), expected);
}

#[test]
fn fixtures_are_free() {
    let layers = "[fixtures]\nfolders = [\"crates/a/tests/refused/\"]\n";
    let files = [("crates/a/tests/refused/x.rs", ""), ("xtask/layers.toml", layers)];
    assert!(sample::check(check, &files).is_empty());
}
