//! What becomes of spellings that the parser does not know.

use crate::statement::Statement;

fn read(text: &str) -> String {
    Statement::parse(text).expect(text).ast.to_string()
}

#[test]
fn vacuum_keeps_full_and_its_table() {
    assert_eq!(read("vacuum analyze t"), read("vacuum t"));
    assert_eq!(read("vacuum (verbose, analyze) t"), read("vacuum t"));
    assert_eq!(read("vacuum (full, analyze) t"), read("vacuum full t"));
    assert_ne!(read("vacuum full t"), read("vacuum t"));
}

#[test]
fn users_are_roles() {
    assert_eq!(read("drop user ann"), read("drop role ann"));
    assert_ne!(read("select user"), read("select role"));
}
