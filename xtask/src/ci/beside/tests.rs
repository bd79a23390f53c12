//! What runs beside is told its steps and its part, and its end is awaited, or brought about.

use std::fs;
use std::path::{Path, PathBuf};

use super::Beside;
use crate::ci::steps;
use crate::part::Part;

/// A folder with a script `ci` of one line, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str, line: &str) -> Self {
        let folder = format!("remanent-ci-{name}-{}", std::process::id());
        let place = Self(std::env::temp_dir().join(folder));
        fs::create_dir_all(&place.0).expect("a folder");
        fs::write(place.0.join("ci"), line).expect("a script");
        place
    }

    /// The shell takes its first argument, which is `ci`, for the name of a script.
    fn start(&self) -> Beside {
        let steps: Vec<_> = steps::FIRST.iter().collect();
        Beside::start_program(Path::new("sh"), &self.0, &steps, Part::Tenth(3)).expect("it starts")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn it_is_told_its_part_and_its_steps() {
    let place = Place::new("told", "echo \"$0 $*\"");
    assert!(place.start().join().is_ok());
    let said = fs::read_to_string(place.0.join(super::LOG)).expect("what it printed");
    assert_eq!(said, "ci --turn 3 fmt tidy commit\n");
}

#[test]
fn its_failure_is_a_failure() {
    let place = Place::new("failed", "exit 1");
    let reason = place.start().join().expect_err("it failed").to_string();
    assert!(reason.starts_with("a step that ran beside others failed"), "{reason}");
}

#[test]
fn it_ends_with_whoever_does_not_wait_for_it() {
    let place = Place::new("dropped", "(sleep 20; echo >late) & echo $! >child; wait; echo >ended");
    let beside = place.start();
    let child = place.0.join("child");
    let process = loop {
        match fs::read_to_string(&child) {
            Ok(text) if text.ends_with('\n') => break format!("/proc/{}", text.trim()),
            _ => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    };
    drop(beside);
    // Its parent is gone as well: whoever has it then takes a moment to forget it.
    let is_gone = || match fs::read_to_string(format!("{process}/stat")) {
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    };
    while !is_gone() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let reached = ["ended", "late"].map(|name| place.0.join(name).exists());
    assert_eq!(reached, [false, false], "the script came to its end");
}
