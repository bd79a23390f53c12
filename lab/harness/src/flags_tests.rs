use super::*;

const LIST: &[Flag] = &[flag("rows", Some("N"), "how many"), flag("help", None, "this text")];

fn given(line: &str) -> Outcome<Given> {
    read(line.split_whitespace().map(OsString::from), LIST)
}

#[test]
fn words_and_flags_are_told_apart() {
    let found = given("first --rows 3 second -h").unwrap();
    assert_eq!(found.words, ["first", "second"]);
    assert_eq!(found.flags, [("rows", "3".into()), ("help", "".into())]);
}

#[test]
fn what_is_not_in_the_list_is_refused_as_it_was_typed() {
    for (line, flag) in [("--colour", "--colour"), ("-x", "-x"), ("-V", "-V")] {
        let refused = given(line).unwrap_err().to_string();
        assert_eq!(refused, format!("unknown flag {flag}; see --help"));
    }
    assert!(given("--rows").is_err());
}

#[test]
fn the_help_has_a_line_for_each() {
    assert_eq!(help_lines(LIST, 10), "  --rows N   how many\n  --help     this text\n");
}
