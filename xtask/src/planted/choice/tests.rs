//! A bug is tried again when its file or its entry has changed, and otherwise when it has its turn.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::list::read;
use super::{Choice, is_touched};
use crate::ci::Part;

fn list(names: &[&str]) -> String {
    let bug = |name: &&str| {
        format!(
            "[[bug]]\nname = \"{name}\"\nbreaks = \"it\"\ncheck = \"interleaved snapshot 5\"\n\
             [[bug.edit]]\nfile = \"{name}.rs\"\nfind = \"one\"\nput = \"two\"\n"
        )
    };
    names.iter().map(bug).collect()
}

#[test]
fn a_bug_is_touched_by_its_file_or_its_entry() {
    let before = read(&list(&["a", "b"])).expect("it is a list");
    let after = read(&list(&["a", "b", "c"]).replacen("two", "three", 1)).expect("it is a list");
    let files = BTreeSet::from(["b.rs".to_owned(), "d.rs".to_owned()]);
    let none = BTreeSet::new();
    let touched = |files| after.iter().map(|bug| is_touched(bug, files, &before)).collect();
    let by_entry: Vec<bool> = touched(&none);
    assert_eq!(by_entry, [true, false, true], "changed, as it was, new");
    let by_file: Vec<bool> = touched(&files);
    assert_eq!(by_file, [true, true, true]);
}

#[test]
fn names_must_be_known() {
    let bugs = read(&list(&["a", "b"])).expect("it is a list");
    let named = |name: &str| Choice::Named(vec![name.to_owned()]).of(&bugs, Path::new("."));
    assert_eq!(named("b").map(|bugs| bugs.len()), Ok(1));
    assert!(named("c").is_err());
}

#[test]
fn without_a_recorded_run_everything_is_tried() {
    let bugs = read(&list(&["a", "b", "c"])).expect("it is a list");
    let nowhere = std::env::temp_dir().join("remanent-no-such-folder");
    for choice in [Choice::All, Choice::Changed, Choice::Part(Part::All)] {
        assert_eq!(choice.of(&bugs, &nowhere).map(|bugs| bugs.len()), Ok(3), "{choice:?}");
    }
}
