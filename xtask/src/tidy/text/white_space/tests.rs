//! Trailing blanks, tabs and missing line breaks are found in every kind of text.

use super::check;
use crate::tidy::sample::{check as check_files, check_library};

#[test]
fn white_space_is_found() {
    let expected = ["1: white space at the end of the line", "2: a tab; indent with spaces"];
    assert_eq!(check_library(check, "a \n\tb\n"), expected);
    assert_eq!(check_library(check, "a\r\n"), ["1: white space at the end of the line"]);
}

#[test]
fn the_last_line_ends() {
    assert_eq!(check_library(check, "a\nb"), ["2: no line break at the end of the file"]);
    assert!(check_library(check, "").is_empty());
}

#[test]
fn documents_are_checked_and_data_is_not() {
    assert_eq!(check_files(check, &[("docs/a.md", "x \n")]).len(), 1);
    assert!(check_files(check, &[("lab/data.tsv", "1\t2 ")]).is_empty());
}
