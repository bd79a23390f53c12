//! A program that fails or is missing is refused in words.

use std::path::Path;

use super::Program;

fn failure(words: &'static [&'static str]) -> String {
    let outcome = Program { words, environment: &[] }.run(Path::new("."));
    outcome.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn failures_are_reported() {
    assert_eq!(failure(&["true"]), "");
    assert!(failure(&["false"]).starts_with("`false` failed: exit status: 1"));
    assert!(failure(&["no-such-program"]).starts_with("cannot run `no-such-program`"));
    assert_eq!(failure(&[]), "no program to run");
}

#[test]
fn variables_are_set_and_shown() {
    let words = &["sh", "-c", "test \"$COLOUR\" = 'dark red'"];
    let program = Program { words, environment: &[("COLOUR", "dark red")] };
    assert!(program.run(Path::new(".")).is_ok());
    assert!(program.shown().starts_with("COLOUR='dark red' sh -c"));
}

#[test]
fn standard_input_is_empty() {
    assert_eq!(failure(&["sh", "-c", "! read line"]), "");
}
