//! What is written on the page is read from it.

use super::{commit, table, with};

const PAGE: &str = "# Bugs\n\nAll were found on 2026-01-01, at commit `abc`.\n\n\
                    | planted bug | what it breaks | found by | after |\n\
                    | --- | --- | --- | --- |\n| old | it | crashes | 7 states |\n\nThe end.\n";
const DATE: &str = "2026-02-02";
const COMMIT: &str = "def";

#[test]
fn a_record_replaces_the_one_before() {
    assert_eq!(commit(PAGE, 0).as_deref(), Some("abc"));
    let rows = table(&[["new", "all", "flips", "1 states"], ["other", "much", "flips", "crashes"]]);
    let page = with(PAGE, 0, &rows, DATE, COMMIT).expect("it has both");
    assert_eq!(commit(&page, 0).as_deref(), Some("def"));
    assert!(page.contains("2026-02-02") && !page.contains("2026-01-01"));
    let end = "| new | all | flips | 1 states |\n| other | much | flips | crashes |\n\nThe end.\n";
    assert!(page.ends_with(end), "{page}");
    assert!(!page.contains("old"));
}

#[test]
fn a_page_without_its_places_is_refused() {
    assert_eq!(commit("# Bugs\n", 0), None);
    assert_eq!(commit(PAGE, 1), None);
    assert_eq!(with("# Bugs\n", 0, "", DATE, COMMIT), None);
    assert_eq!(with(&PAGE.replace("All were", "None was"), 0, "", DATE, COMMIT), None);
    assert_eq!(with(PAGE, 1, "", DATE, COMMIT), None);
}

#[test]
fn each_list_has_its_table_and_its_commit() {
    let page = format!("{PAGE}\n{}", PAGE.replace("abc", "xyz"));
    let row = table(&[["one", "all", "flips", "1 states"]]);
    let page = with(&page, 1, &row, DATE, COMMIT).expect("it has two");
    assert_eq!(commit(&page, 0).as_deref(), Some("abc"));
    assert_eq!(commit(&page, 1).as_deref(), Some("def"));
    let place = |name: &str| page.find(&format!("| {name} |")).expect("it is there");
    assert!(place("old") < place("one"), "{page}");
}
