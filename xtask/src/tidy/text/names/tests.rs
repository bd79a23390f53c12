//! Banned names are found in paths, in `mod` lines and in names of packages.

use super::check;
use crate::tidy::sample;

#[test]
fn a_banned_file_or_folder_is_found() {
    let files = [("crates/a/src/utils.rs", ""), ("crates/a/tests/common/mod.rs", "")];
    let expected = [
        "crates/a/src/utils.rs:1: `utils` says nothing; name what is in it",
        "crates/a/tests/common/mod.rs:1: `common` says nothing; name what is in it",
    ];
    assert_eq!(sample::check(check, &files), expected);
}

#[test]
fn a_banned_module_is_found() {
    let findings = sample::check_library(check, "mod row;\n\nmod deep { pub mod helpers {} }");
    assert_eq!(findings, ["3: `helpers` says nothing; name what is in it"]);
}

#[test]
fn a_banned_package_is_found() {
    let manifest = "[package]\nname = \"remanent-common\"\n";
    let findings = sample::check(check, &[("crates/a/Cargo.toml", manifest)]);
    assert_eq!(findings, ["crates/a/Cargo.toml:1: `common` says nothing; name what is in it"]);
}

#[test]
fn a_longer_name_may_hold_the_word() {
    assert!(sample::check(check, &[("crates/a/src/column_types.rs", "")]).is_empty());
}
