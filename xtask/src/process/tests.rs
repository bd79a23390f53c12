//! A program that fails or is missing is refused in words.

use std::path::Path;

use super::Program;

fn failure(line: &'static str) -> String {
    let outcome = Program { line, environment: &[] }.run(Path::new("."));
    outcome.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn failures_are_reported() {
    assert_eq!(failure("true"), "");
    assert!(failure("false").starts_with("`false` failed: exit status: 1"));
    assert!(failure("no-such-program").starts_with("cannot run `no-such-program`"));
    assert_eq!(failure(""), "no program to run");
}

#[test]
fn variables_are_set_and_shown() {
    let environment = &[("COLOUR", "dark red")];
    let program = Program { line: "printenv COLOUR", environment };
    assert!(program.run(Path::new(".")).is_ok());
    assert!(Program { environment: &[], ..program }.run(Path::new(".")).is_err());
    assert_eq!(program.shown(), "COLOUR='dark red' printenv COLOUR");
    let program = Program { line: "cargo test --package lab*", environment: &[] };
    assert_eq!(program.shown(), "cargo test --package 'lab*'");
}

#[test]
fn standard_input_is_empty() {
    assert_eq!(failure("cmp -s /dev/stdin /dev/null"), "");
}

#[test]
fn what_cargo_runs_is_compiled_first_and_nothing_else() {
    let outcome = |line| Program { line, environment: &[] }.compile(Path::new("."));
    assert!(outcome("false --no-run").is_ok(), "it is not cargo's");
    assert!(outcome("cargo run --package no-such-package -- --help").is_err());
    assert!(outcome("cargo test --package no-such-package").is_err());
}
