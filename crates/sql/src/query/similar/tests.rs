//! What a pattern of SIMILAR TO is as a regular expression, letter by letter, and what cannot be
//! one: parts of texts, and escapes of several letters. What they match, tests of statements say.

use super::*;

#[test]
fn signs_mean_what_sql_says() {
    let of = |pattern: &str| regex(pattern, Some('\\')).expect(pattern);
    assert_eq!(of("a%_"), "^(?:a.*.)$");
    assert_eq!(of("(a|b)*.c"), r"^(?:(?:a|b)*\.c)$");
    assert_eq!(of(r"\%[%_^\]$"), r"^(?:\%[%_^\]$)$");
    assert_eq!(regex(r"a\#%", Some('#')).expect("a pattern"), r"^(?:a\\\%)$");
    assert_eq!(regex(r"\", None).expect("a pattern"), r"^(?:\\)$");
    assert!(regex(r#"a\"b"#, Some('\\')).is_err());
    assert_eq!(escape_of(&Value::SingleQuotedString(String::new())).expect("none"), None);
    assert!(escape_of(&Value::SingleQuotedString("ab".to_owned())).is_err());
}
