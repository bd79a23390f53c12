//! Every kind of leftover is found in code or comment, and none of them in a string.

use super::{MARKERS, check};
use crate::tidy::sample::{check as check_files, check_library};

#[test]
fn markers_are_found_in_comments() {
    for marker in MARKERS {
        let findings = check_library(check, &format!("fn a() {{}}\n// {marker}: later"));
        assert_eq!(findings, [format!("2: `{marker}` is left over; do it or open an issue")]);
        assert!(check_library(check, &format!("fn a() {{ f(\"{marker}\") }}")).is_empty());
    }
}

#[test]
fn markers_are_found_in_manifests() {
    let text = format!("[workspace]\nmembers = []\n# {}\n", MARKERS[0]);
    assert_eq!(check_files(check, &[("Cargo.toml", &text)]).len(), 1);
}

#[test]
fn debugging_macros_are_found() {
    assert_eq!(check_library(check, "fn a() { dbg!(1); }"), ["1: `dbg!` is left over"]);
    assert_eq!(check_library(check, "fn a() {\n todo!()\n}"), ["2: `todo!` is left over"]);
    let findings = check_library(check, "fn a() { vec![unimplemented!()] }");
    assert_eq!(findings, ["1: `unimplemented!` is left over"]);
    assert!(check_library(check, "fn a() { todo != 1; not_dbg!(); f(\"dbg!(1)\") }").is_empty());
}

#[test]
fn ignored_tests_are_found() {
    let message = "1: an ignored test proves nothing; run it or delete it";
    assert_eq!(check_library(check, "#[ignore]\nfn a() {}"), [message]);
    assert_eq!(check_library(check, "#[ignore = \"slow\"]\nfn a() {}"), [message]);
    assert_eq!(check_library(check, "#[cfg_attr(miri, ignore)]\nfn a() {}"), [message]);
}

#[test]
fn allow_is_refused_and_expect_needs_a_reason() {
    let allow = "1: `allow` stays when its reason goes; use `expect(.., reason = ..)`";
    assert_eq!(check_library(check, "#![allow(dead_code)]"), [allow]);
    assert_eq!(check_library(check, "#[cfg_attr(x, allow(dead_code))]\nfn a() {}"), [allow]);
    let expect = "1: `expect` needs `reason = \"..\"`";
    assert_eq!(check_library(check, "#[expect(dead_code)]\nfn a() {}"), [expect]);
    let good = "#[expect(\n    dead_code,\n    reason = \"[it] is used\"\n)]\nfn a() {}";
    assert!(check_library(check, good).is_empty());
}
