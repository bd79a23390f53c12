//! Steps run in order, the first failure stops the run and is named.

use std::collections::BTreeSet;
use std::path::Path;

use super::steps::{Action, STEPS, Step};
use super::{chosen, run_steps};
use crate::process::Program;

const fn step(name: &'static str, words: &'static [&'static str]) -> Step {
    Step { name, purpose: "", action: Action::Program(Program { words, environment: &[] }) }
}

#[test]
fn names_are_unique_words() {
    let names: BTreeSet<_> = STEPS.iter().map(|step| step.name).collect();
    assert_eq!(names.len(), STEPS.len());
    assert!(names.iter().all(|name| *name != "list" && !name.contains(' ')));
}

#[test]
fn the_first_failure_stops_the_run() {
    let marker = std::env::temp_dir().join(format!("remanent-ci-{}", std::process::id()));
    let path = marker.to_str().expect("a path in UTF-8").to_owned().leak();
    let words: &'static [&'static str] = vec!["touch", &*path].leak();
    let steps = [step("good", &["true"]), step("bad", &["false"]), step("late", words)];
    let outcome = run_steps(Path::new("."), &steps.iter().collect::<Vec<_>>());
    let reason = outcome.expect_err("the second step fails").to_string();
    assert!(reason.starts_with("step `bad` failed: `false` failed"), "{reason}");
    assert!(reason.ends_with("repeat it with: cargo xtask ci bad"), "{reason}");
    assert!(!marker.exists());
}

#[test]
fn steps_are_chosen_by_name_and_keep_their_order() {
    let names = |names: &[&str]| -> Result<Vec<&str>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Ok(chosen(STEPS, &names)?.iter().map(|step| step.name).collect())
    };
    assert_eq!(names(&["tidy", "fmt"]), Ok(vec!["fmt", "tidy"]));
    assert_eq!(names(&[]).map(|all| all.len()), Ok(STEPS.len()));
    assert!(names(&["nothing"]).is_err());
}
