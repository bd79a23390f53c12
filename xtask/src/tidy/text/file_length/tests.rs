//! 800 lines pass, 801 do not.

use super::{LINES_MAX, check};
use crate::tidy::sample::check_library;

#[test]
fn the_801st_line_is_too_much() {
    assert!(check_library(check, &"\n".repeat(LINES_MAX)).is_empty());
    let findings = check_library(check, &"\n".repeat(LINES_MAX + 1));
    assert_eq!(findings, ["801: the file has 801 lines, more than 800"]);
}
