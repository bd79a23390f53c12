//! A heading twice and a name of nothing are found.

use super::{PATH, check};
use crate::tidy::sample;

fn findings(page: &str) -> Vec<String> {
    let code = ("crates/a/src/lib.rs", "struct Table; impl Table { fn row(&self) {} }");
    let header = ("a.h", "void rem_open(void);");
    sample::check(check, &[code, header, (PATH, page)])
}

#[test]
fn a_heading_stands_once() {
    let expected = ["docs/glossary.md:3: the heading stands in line 1 too"];
    assert_eq!(findings("## Data\n\n## Data\n## Rows\n"), expected);
}

#[test]
fn names_exist() {
    let page = |row: &str| format!("| Word | Is | Rust | SQL | C |\n| --- | --- | --- |\n{row}\n");
    let good = "| row | a `thing` | `Table::row`, `Table<T>` types | `GONE` | `rem_open` |";
    assert!(findings(&page(good)).is_empty());
    assert!(findings(&page("| row | it | (`Later`) | - | (`rem_x`), `NAME.x` |")).is_empty());
    let found = findings(&page("| row | it | `Table::col` | - | `rem_x` of `rem_open` |"));
    let expected = ["3: nothing is named `col`", "3: nothing is named `rem_x`"];
    assert_eq!(found, expected.map(|line| format!("docs/glossary.md:{line}")));
}
