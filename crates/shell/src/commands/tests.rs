//! The list of commands, and what patterns ask for.

use std::collections::HashSet;

use super::pattern::Pattern;
use super::{names, takes_file};

#[test]
fn no_name_is_of_two_commands() {
    let mut seen = HashSet::new();
    assert_eq!(names().filter(|name| !seen.insert(*name)).count(), 0);
}

#[test]
fn patterns_are_conditions() {
    let asked = |text: &str| Pattern::new(Some(text)).conditions("s", "n");
    assert_eq!(
        asked("Pa*_?"),
        format!("{} and n ~ '^(pa.*_.)$'", Pattern::new(None).conditions("s", "n"))
    );
    assert_eq!(asked("o.\"A.b*\""), " and s ~ '^(o)$' and n ~ '^(A\\.b\\*)$'");
    assert_eq!(asked("o."), " and s ~ '^(o)$'");
    assert_eq!(asked("x'y").matches("x\\''y").count(), 1);
}

#[test]
fn files_are_completed_where_they_stand() {
    assert!(takes_file("copy", "\\copy part from "));
    assert!(takes_file("copy", "\\copy (select 1) to pa"));
    assert!(!takes_file("copy", "\\copy pa"));
    assert!(takes_file("i", "\\i "));
    assert!(!takes_file("dt", "\\dt "));
}
