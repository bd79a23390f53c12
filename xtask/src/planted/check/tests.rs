//! What the end of a program and its words are taken for.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use super::{Verdict, run_for, verdict};

#[test]
fn words_tell_when_a_bug_was_found() {
    let end = |code: i32, text| verdict(Some(ExitStatus::from_raw(code << 8)), text);
    assert_eq!(end(0, "interleaved: 500 histories"), Verdict::Passed);
    let found = |after: &str, needed| Verdict::Found { after: after.to_owned(), needed };
    assert_eq!(end(1, "threads: history 17 of seed 17 is wrong"), found("17 histories", Some(17)));
    assert_eq!(end(101, "failed: execution 3 of bursts, seed 1"), found("3 schedules", Some(3)));
    assert_eq!(verdict(Some(ExitStatus::from_raw(11)), ""), found("crashes", None));
    assert_eq!(verdict(None, "threads: history"), found("does not end", None));
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let mut sleeper = Command::new("sleep");
    let ended = run_for(sleeper.arg("100"), Duration::from_millis(20)).expect("it can be run");
    assert!(ended.is_none());
    let ended = run_for(&mut Command::new("true"), Duration::from_secs(60)).expect("it runs");
    assert!(ended.is_some_and(|status| status.success()));
}
