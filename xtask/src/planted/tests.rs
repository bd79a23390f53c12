//! The list is read as it is written, and refused when it says something twice or not at all.

use super::check::Kind;
use super::{read, table};
use crate::planted::check::Verdict;

const BUG: &str = r#"
[[bug]]
name = "nothing validated"
breaks = "commits compare nothing"
check = "interleaved serializable 500"
[[bug.edit]]
file = "a.rs"
find = "one"
put = "two"
"#;

#[test]
fn a_bug_is_what_the_list_says() {
    let bugs = read(BUG).expect("it is a list");
    assert_eq!((bugs[0].name.as_str(), bugs[0].edits.len()), ("nothing validated", 1));
    assert_eq!((bugs[0].check.kind, bugs[0].check.count), (Kind::Interleaved, 500));
    let found = Verdict::Found { after: "3 histories".to_owned(), needed: Some(3) };
    let line = "| nothing validated | commits compare nothing | interleaved, serializable | 3 hist";
    assert!(table(&[(&bugs[0], found)]).contains(line));
}

#[test]
fn a_list_that_is_not_one_is_refused() {
    let twice = [BUG, BUG].concat();
    let unknown = BUG.replace("interleaved", "interwoven");
    let without = BUG.replace("put =", "place =");
    for list in ["", &twice, &unknown, &without] {
        assert!(read(list).is_err(), "{list}");
    }
}
