//! 70 lines pass, 71 do not, wherever the function stands.

use super::check;
use crate::tidy::sample::check_library;

fn body(lines: usize) -> String {
    format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
}

#[test]
fn a_function_of_71_lines_is_found() {
    assert!(check_library(check, &body(70)).is_empty());
    assert_eq!(check_library(check, &body(71)), ["1: `long` has 71 lines, more than 70"]);
}

#[test]
fn methods_and_default_methods_are_measured() {
    let method = format!("impl A {{\n{}}}\n", body(71));
    assert_eq!(check_library(check, &method), ["2: `long` has 71 lines, more than 70"]);
    let default = format!("trait A {{\n{}}}\n", body(80));
    assert_eq!(check_library(check, &default), ["2: `long` has 80 lines, more than 70"]);
}

#[test]
fn attributes_and_documentation_do_not_count() {
    let text = format!("/// What.\n#[inline]\n{}", body(70));
    assert!(check_library(check, &text).is_empty());
}
