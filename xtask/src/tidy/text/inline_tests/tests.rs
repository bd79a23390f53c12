//! A test module with a body is found, one with a file is not.

use super::check;
use crate::tidy::sample::check_library;

#[test]
fn a_test_module_with_a_body_is_found() {
    let findings = check_library(check, "#[cfg(test)]\nmod tests {}\n");
    assert_eq!(findings, ["2: tests inside the file; write `mod tests;`"]);
    let findings = check_library(check, "#[cfg(all(test, shuttle))]\nmod models { fn a() {} }\n");
    assert_eq!(findings, ["2: tests inside the file; write `mod models;`"]);
}

#[test]
fn other_modules_are_free() {
    assert!(check_library(check, "#[cfg(test)]\nmod tests;\nmod part {}\n").is_empty());
    assert!(check_library(check, "#[cfg(not(test))]\nmod part {}\n").is_empty());
}
