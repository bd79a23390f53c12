//! A number that is not its constant's is found, however both are written.

use super::check;
use crate::tidy::sample;

fn findings(page: &str) -> Vec<String> {
    let file = "pub const MAX: usize = (1 << 29) - 1;\nconst STEP: u64 = 64 << 10;\n\
        const HEAD: u16 = 512 + STEP as u16;\nconst VERSION: u8 = 5;\n";
    let files = [
        ("crates/a/src/lib.rs", "mod log;"),
        ("crates/a/src/log.rs", "mod file;\nmod head;"),
        ("crates/a/src/log/file.rs", file),
        ("crates/a/src/log/head.rs", "const VERSION: u8 = 2;"),
        ("crates/a/src/log/FORMAT.md", page),
    ];
    let found = sample::check(check, &files);
    found.iter().map(|line| line.replacen("crates/a/src/log/FORMAT.md:", "", 1)).collect()
}

#[test]
fn the_numbers_of_constants_are_free() {
    let page = "at most 2^29 - 1 (`MAX`) bytes\nsteps of 64 KiB (`STEP`), of 65,536 (`STEP`)\n\
        a head of 66048 (`HEAD`); u16 version, 5 (`file::VERSION`) or 2 (`head::VERSION`)\n";
    assert!(findings(page).is_empty(), "{:?}", findings(page));
}

#[test]
fn other_numbers_are_found() {
    let found = findings("at most 2^30 (`MAX`) bytes\n| a | 6 (`file::VERSION`) |\n");
    let expected = ["1: `MAX` is 536870911 and not 2^30", "2: `file::VERSION` is 5 and not 6"];
    assert_eq!(found, expected);
    assert_eq!(findings("17 (`GONE`)"), ["1: there is no constant `GONE` below this folder"]);
    let several = ["1: there are several `VERSION`: name the file before it"];
    assert_eq!(findings("2 (`VERSION`)"), several);
}

#[test]
fn a_page_without_a_number_is_found() {
    let found = findings("an error (`E_LOAD`), 17 (`magic`), 3 `MAX`\n");
    assert_eq!(found, ["1: no number stands before its constant: `17 (`NAME`)`"]);
}
