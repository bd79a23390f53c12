//! Titles that are too long and messages that do not say why are found.

use super::check;

fn refused(message: &str) -> String {
    check(message).expect_err("something is wrong")
}

#[test]
fn a_title_and_a_body_are_free() {
    assert_eq!(check("Deletes succeed at a full budget\n\nA reserve is kept.\n"), Ok(()));
    assert_eq!(check(&format!("{}\n\nWhy\n", "\u{e4}".repeat(72))), Ok(()));
}

#[test]
fn a_long_title_is_found() {
    let message = format!("{}\n\nWhy\n", "a".repeat(73));
    assert_eq!(refused(&message), "the title has 73 columns, more than 72");
    assert_eq!(refused("\n"), "there is no title");
}

#[test]
fn a_message_that_does_not_say_why_is_found() {
    assert_eq!(refused("A title\n"), "there is no body that says why");
    assert_eq!(refused("A title\n\n \n"), "there is no body that says why");
    assert_eq!(refused("A title\nthat goes on\n\nWhy\n"), "no empty line follows the title");
}
