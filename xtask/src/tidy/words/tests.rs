//! Banned words are found in names, in sentences and in paths, and only where they are banned.

use super::super::sample;
use super::check;

const LIST: &str = r#"areas = ["crates/", "docs/"]

[[banned]]
words = ["redeem*", "work off"]
instead = "release, drain"
"#;

fn findings(list: &str, path: &str, text: &str) -> Vec<String> {
    sample::check(check, &[("xtask/words.toml", list), (path, text)])
}

fn in_docs(text: &str) -> Vec<String> {
    findings(LIST, "docs/a.md", text)
}

#[test]
fn a_word_is_found_in_every_spelling() {
    let expected = "docs/a.md:2: `redeem*`: say release, drain";
    for text in ["redeemed", "Redeem it", "fn redeem_many()", "RedeemMany", "is_redeemed"] {
        assert_eq!(in_docs(&format!("\n{text}\n")), [expected], "{text}");
    }
    assert!(in_docs("predeem, deem, re deem\n").is_empty());
}

#[test]
fn a_phrase_is_found_in_a_line() {
    let expected = ["docs/a.md:1: `work off`: say release, drain"];
    for text in ["they work off all", "fn work_off_all()", "WorkOff"] {
        assert_eq!(in_docs(text), expected, "{text}");
    }
    assert!(in_docs("work it off\nwork\noff").is_empty());
}

#[test]
fn a_path_is_read_too() {
    let findings = findings(LIST, "crates/a/src/redeem.rs", "");
    assert_eq!(findings, ["crates/a/src/redeem.rs:1: `redeem*`: say release, drain"]);
}

#[test]
fn other_areas_are_free() {
    assert!(findings(LIST, "lab/a.md", "redeem").is_empty());
    let list = format!("{LIST}within = [\"docs/b.md\"]\n");
    assert!(findings(&list, "docs/a.md", "redeem").is_empty());
    assert_eq!(findings(&list, "docs/b.md", "redeem").len(), 1);
}

#[test]
fn an_exception_has_a_reason_and_is_needed() {
    let list = format!("{LIST}except = {{ \"docs/a.md\" = \"the word of others\" }}\n");
    assert!(findings(&list, "docs/a.md", "redeem").is_empty());
    let stale = "xtask/words.toml:1: `docs/a.md` needs no exception: say release, drain";
    assert_eq!(findings(&list, "docs/a.md", "release"), [stale]);
    let list = format!("{LIST}except = {{ \"docs/a.md\" = \"\" }}\n");
    let expected = "xtask/words.toml:1: no reason why `docs/a.md` is excepted";
    assert_eq!(findings(&list, "docs/a.md", "redeem"), [expected]);
}

#[test]
fn a_list_that_cannot_be_read_is_found() {
    for list in ["areas", "areas = []", "areas = [\"docs/\"]\n[[banned]]\nwords = [\"a\"]\n"] {
        assert_eq!(findings(list, "docs/a.md", "a").len(), 1, "{list}");
    }
}
