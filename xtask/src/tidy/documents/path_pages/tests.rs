//! Files and functions that are gone are found with the line of the page.

use super::check;
use crate::tidy::sample;

const CODE: &str = "pub struct Database;\n\
    impl<T> Database<T> { pub fn begin(&self) {} }\n\
    enum Stage { Validate }\n\
    fn commit() {}\n";

fn findings(rows: &str) -> Vec<String> {
    let page = format!(
        "# The path\n\n| Step | File | Function | Afterwards |\n| --- | --- | :-- | --- |\n{rows}"
    );
    let files = [
        ("crates/a/src/lib.rs", CODE),
        ("crates/a/src/one/same.rs", ""),
        ("crates/a/src/two/same.rs", ""),
        ("docs/path-of-a-commit.md", &page),
    ];
    let found = sample::check(check, &files);
    found.iter().map(|line| line.replacen("docs/path-of-a-commit.md:", "", 1)).collect()
}

#[test]
fn what_exists_passes() {
    let rows = "| begin | `crates/a/src/lib.rs` | `Database::begin`, `begin` | open |\n\
        | commit | | `commit(self)`, over `Stage::Validate` | done |\n\
        | | a/src/lib.rs | `Stage`, `Database<T>` | |\n";
    assert_eq!(findings(rows), Vec::<String>::new());
}

#[test]
fn what_is_gone_is_found() {
    let rows = "| begin | crates/a/src/gone.rs | `begin` | |\n\
        | commit | crates/a/src/lib.rs | `Database::commit` and `abort` | |\n\
        | end | same.rs | | |\n";
    let expected = [
        "5: there is no file `crates/a/src/gone.rs`",
        "6: there is no `Database::commit` in crates/a/src/lib.rs",
        "6: there is no `abort` in crates/a/src/lib.rs",
        "7: `same.rs` may be `crates/a/src/one/same.rs` or `crates/a/src/two/same.rs`",
    ];
    assert_eq!(findings(rows), expected);
}

#[test]
fn a_page_without_a_table_is_found() {
    let found = sample::check(check, &[("docs/path-of-x.md", "# X\n\n| a | b |\n| - | - |\n")]);
    let expected =
        ["docs/path-of-x.md:1: no table with the columns step, file, function, afterwards"];
    assert_eq!(found, expected);
    assert_eq!(findings("| a | b |\n"), ["5: the row has 2 columns and not 4"]);
}

#[test]
fn a_section_of_too_many_files_is_found() {
    let names: Vec<String> = (0..26).map(|number| format!("crates/a/src/f{number}.rs")).collect();
    let rows = names.iter().map(|name| format!("| step | `{name}` | | |\n")).collect::<String>();
    let head = "| Step | File | Function | Afterwards |\n| --- | --- | --- | --- |\n";
    let page =
        format!("# The path\n\n## One\n\n{head}{rows}\n## Two\n\n{head}| a | `x.rs` | | |\n");
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    files.extend([("crates/a/src/x.rs", ""), ("docs/path-of-a-commit.md", &page)]);
    let expected = "docs/path-of-a-commit.md:3: the section names 26 files, more than 25";
    assert_eq!(sample::check(check, &files), [expected]);
}
