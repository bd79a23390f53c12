//! A bug is tried again when its file or its entry has changed, and otherwise when it has its turn.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::LISTS;
use super::super::list::read;
use super::{Choice, is_touched, some};
use crate::part::Part;

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
    let named = |name: &str| Choice::Named(vec![name.to_owned()]);
    assert_eq!(named("b").of(&bugs, LISTS[0], Path::new(".")).len(), 1);
    assert_eq!(named("b").unknown(&["a", "b"]), None);
    assert_eq!(named("c").unknown(&["a", "b"]), Some("c"));
}

#[test]
fn of_bugs_that_take_long_a_few_have_their_turn() {
    let bugs = read(&list(&["a", "b", "c", "d", "e", "f", "g"])).expect("it is a list");
    let names = |touched: &[&str], tenth, most| -> String {
        let touched = touched.iter().map(|name| (*name).to_owned()).collect();
        some(&bugs, &touched, tenth, most).iter().map(|bug| bug.name.as_str()).collect()
    };
    assert_eq!(names(&[], 2, 3), "ef");
    assert_eq!(names(&["b", "f"], 0, 3), "bf");
    assert_eq!(names(&["a", "b", "c", "d", "e"], 1, 3), "dea");
}

#[test]
fn without_a_recorded_run_everything_is_tried() {
    let bugs = read(&list(&["a", "b", "c"])).expect("it is a list");
    let nowhere = std::env::temp_dir().join("remanent-no-such-folder");
    for choice in [Choice::All, Choice::Changed, Choice::Part(Part::All)] {
        assert_eq!(choice.of(&bugs, LISTS[0], &nowhere).len(), 3, "{choice:?}");
    }
}
