//! A file that is not Rust is reported with its line.

use super::super::sample;

#[test]
fn broken_syntax_is_found() {
    let findings =
        sample::check(super::check_syntax, &[("crates/a/src/lib.rs", "fn a() {}\nfn }")]);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].starts_with("crates/a/src/lib.rs:2: does not parse"), "{findings:?}");
}
