//! Steps run in order, the first failure stops the run and is named.

use std::collections::BTreeSet;
use std::path::Path;

use super::steps::{self, Action, Step};
use super::wish::Wish;
use super::{chosen, run_steps};
use crate::part::Part;
use crate::process::Program;

const fn step(name: &'static str, line: &'static str) -> Step {
    let action = Action::Program(Program { line, environment: &[] });
    Step { name, purpose: "", usual_s: 1, action }
}

#[test]
fn names_are_unique_words() {
    let names: BTreeSet<_> = steps::all().map(|step| step.name).collect();
    assert_eq!(names.len(), steps::all().count());
    assert!(names.iter().all(|name| *name != "list" && !name.contains(' ')));
}

#[test]
fn the_first_failure_stops_the_run() {
    let marker = std::env::temp_dir().join(format!("remanent-ci-{}", std::process::id()));
    let path = marker.to_str().expect("a path in UTF-8").to_owned();
    let line: &'static str = format!("touch {path}").leak();
    let steps = [step("good", "true"), step("bad", "false"), step("late", line)];
    let steps: Vec<_> = steps.iter().collect();
    let outcome = run_steps(Path::new("."), &steps, Part::All);
    let reason = outcome.expect_err("the second step fails").to_string();
    assert!(reason.starts_with("step `bad` failed: `false` failed"), "{reason}");
    assert!(reason.ends_with("repeat it with: cargo xtask ci bad"), "{reason}");
    assert!(!marker.exists());
}

#[test]
fn steps_are_chosen_by_name_and_keep_their_order() {
    let names = |names: &[&str]| -> Result<Vec<&str>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Ok(chosen(&names)?.iter().map(|step| step.name).collect())
    };
    assert_eq!(names(&["tidy", "fmt"]), Ok(vec!["fmt", "tidy"]));
    assert_eq!(names(&[]).map(|all| all.len()), Ok(steps::all().count()));
    assert!(names(&["nothing"]).is_err());
}

#[test]
fn a_command_in_parts_is_told_its_part() {
    fn third(_: &Path, part: Part) -> crate::outcome::Outcome {
        if part == Part::Tenth(3) { Ok(()) } else { Err(format!("{part}").into()) }
    }
    let step = Step { action: Action::InParts(third), ..step("third", "") };
    assert!(run_steps(Path::new("."), &[&step], Part::of(13)).is_ok());
    assert!(run_steps(Path::new("."), &[&step], Part::All).is_err());
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let wish = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Wish::read(&words)
    };
    assert_eq!(wish(""), Ok(Wish::default()));
    let names = vec!["fmt".to_owned(), "sql".to_owned()];
    assert_eq!(wish("fmt --turn 7 sql"), Ok(Wish { turn: Some(7), names, ..Wish::default() }));
    assert_eq!(wish("--all"), Ok(Wish { all: true, ..Wish::default() }));
    for wrong in ["--every", "--turn", "--turn x", "--all --turn 1", "list fmt", "list --all"] {
        assert!(wish(wrong).is_err(), "{wrong}");
    }
}
