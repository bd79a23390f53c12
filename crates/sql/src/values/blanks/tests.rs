//! Blanks are counted in letters, not bytes, and only they are blanks: a text that is as long as
//! its type, or longer, has none to get. What statements show, tests of statements say.

use super::*;

#[test]
fn blanks_fill_letters_not_bytes() {
    let mut datum = Datum::from("ü");
    add(&mut datum, &SqlType::Char(3));
    assert_eq!(datum, Datum::from("ü  "));
    add(&mut datum, &SqlType::Char(2));
    assert_eq!(datum, Datum::from("ü  "));
    add(&mut datum, &SqlType::Varchar(9));
    assert_eq!(datum, Datum::from("ü  "));
    assert_eq!(without("ü \u{a0}  "), "ü \u{a0}");
}
