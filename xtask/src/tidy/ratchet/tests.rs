//! Each count is found when it rises above its limit, and asked for when it has fallen.

use super::super::sample;
use super::{PATH, check};

/// What is said of these files, with this list.
fn findings(listed: &str, files: &[(&str, &str)]) -> Vec<String> {
    let mut all = files.to_vec();
    all.push((PATH, listed));
    let found = sample::check(check, &all);
    found.iter().map(|line| line.replacen("xtask/ratchet.toml:1: ", "", 1)).collect()
}

#[test]
fn a_folder_has_few_files() {
    let paths: Vec<String> = (0..18).map(|at| format!("crates/a/src/b/m{at}.rs")).collect();
    let found = |count: usize, listed: &str| {
        let mut files: Vec<(&str, &str)> =
            paths[..count].iter().map(|path| (path.as_str(), "")).collect();
        files.push(("crates/a/src/lib.rs", "mod b;"));
        files.push(("crates/a/src/b.rs", "#[cfg(test)] mod tests;"));
        files.push(("crates/a/src/b/tests.rs", ""));
        findings(listed, &files)
    };
    assert!(found(16, "").is_empty(), "tests do not count");
    let many = ["`crates/a/src/b` has 17 Rust files in one folder, more than 16"];
    assert_eq!(found(17, ""), many);
    let listed = "[siblings]\n\"crates/a/src/b\" = 17\n";
    assert!(found(17, listed).is_empty());
    let more = ["`crates/a/src/b` has 18 Rust files in one folder, more than the 17 of the list"];
    assert_eq!(found(18, listed), more);
    let lower = ["`crates/a/src/b` has only 17 Rust files in one folder: lower it in `siblings`"];
    assert_eq!(found(17, "[siblings]\n\"crates/a/src/b\" = 18\n"), lower);
    let done = ["`crates/a/src/b` keeps the limit: delete it from `siblings`"];
    assert_eq!(found(16, listed), done);
}

#[test]
fn a_type_is_implemented_in_few_files() {
    let paths: Vec<String> = (0..4).map(|at| format!("crates/a/src/m{at}.rs")).collect();
    let found = |other: &str| {
        let home = "struct T<X>(X); impl<X> T<X> {} impl Clone for T<X> {}";
        let mut files = vec![("crates/a/src/lib.rs", home)];
        files
            .extend(paths[..3].iter().map(|path| (path.as_str(), "impl T<u8> {} impl Vec<u8> {}")));
        files.push((paths[3].as_str(), other));
        findings("", &files)
    };
    assert!(found("impl Drop for T<u8> {} struct U;").is_empty(), "traits do not count");
    let expected = ["`a T` has 5 files with an `impl` of it, more than 4"];
    assert_eq!(found("impl T<i8> {}\nimpl T<u8> {}"), expected);
    assert!(found("struct T; impl T {}").is_empty(), "it is another one");
}

#[test]
fn parameters_have_names() {
    let found = |text: &str| findings("", &[("crates/a/src/lib.rs", text)]);
    assert!(found("fn f(a: (u8, u8), b: u8) { g(|(x, y)| x); }").is_empty());
    assert!(found("fn f((key, value): (u8, u8)) {}").is_empty());
    let expected = ["`a` has 2 parameters that are tuples taken apart, more than 0"];
    assert_eq!(found("fn f((a, b): (u8, u8)) {}\nimpl T { fn g(&self, (c, _): C) {} }"), expected);
}

#[test]
fn the_text_of_an_error_is_for_people() {
    let place = |path: &'static str, text: &'static str| findings("", &[(path, text)]);
    let expected = ["`a` has 1 places that look into an error's text, more than 0"];
    for text in [
        "fn f() -> bool { e.message().contains(\"x\") }",
        "fn f() -> bool { error.to_string().starts_with(\"x\") }",
        "fn f() -> bool { self.failure.to_string().ends_with(\"x\") }",
    ] {
        assert_eq!(place("crates/a/src/lib.rs", text), expected, "{text}");
        assert!(place("crates/a/src/error.rs", text).is_empty());
    }
    for text in
        ["fn f() -> bool { text.contains(\"x\") }", "fn f() { e.message().contains(word); }"]
    {
        assert!(place("crates/a/src/lib.rs", text).is_empty(), "{text}");
    }
}

#[test]
fn the_list_itself_is_checked() {
    assert_eq!(findings("[sums]\n", &[]), ["there is no rule `sums`"]);
    assert_eq!(findings("[siblings]\na = \"few\"\n", &[]), ["`a` is no count"]);
}
