//! What is written on the page is read from it.

use super::{commit, table, with};

const PAGE: &str = "# Bugs\n\nAll were found on 2026-01-01, at commit `abc`.\n\n\
                    | planted bug | what it breaks | found by | after |\n\
                    | --- | --- | --- | --- |\n| old | it | crashes | 7 states |\n\nThe end.\n";

#[test]
fn a_record_replaces_the_one_before() {
    assert_eq!(commit(PAGE).as_deref(), Some("abc"));
    let rows = table(&[["new", "all", "flips", "1 states"], ["other", "much", "flips", "crashes"]]);
    let page = with(PAGE, &rows, "2026-02-02", "def").expect("it has both");
    assert_eq!(commit(&page).as_deref(), Some("def"));
    assert!(page.contains("2026-02-02") && !page.contains("2026-01-01"));
    let end = "| new | all | flips | 1 states |\n| other | much | flips | crashes |\n\nThe end.\n";
    assert!(page.ends_with(end), "{page}");
    assert!(!page.contains("old"));
}

#[test]
fn a_page_without_its_places_is_refused() {
    assert_eq!(commit("# Bugs\n"), None);
    assert_eq!(with("# Bugs\n", "", "", ""), None);
    assert_eq!(with(&PAGE.replace("All were", "None was"), "", "", ""), None);
}
