//! Foreign crates are told from our own by their names.

use std::path::Path;

use super::is_foreign;

#[test]
fn nothing_of_our_own_is_taken_over() {
    let is = |name: &str, is_library| is_foreign(Path::new(name), is_library);
    assert!(is("libarrow-12.rlib", true) && is("liblabel-12.rmeta", true) && is("libx-1.so", true));
    assert!(!is("libremanent_sql-12.rlib", true) && !is("liblab-1.rlib", true));
    assert!(!is("arrow-12.d", true) && !is("explain-12", true));
    assert!(is("arrow-12", false) && !is("remanent-sql-12", false) && !is("lab-12", false));
}
