//! Links to what is gone are found, seen from the folder of the document.

use super::check;
use crate::tidy::sample;

fn findings(text: &str) -> Vec<String> {
    let files = [("docs/a.md", text), ("docs/sub/b.md", "# B\n"), ("LICENSE", "")];
    let found = sample::check(check, &files);
    found.iter().map(|line| line.replacen("docs/a.md:", "", 1)).collect()
}

#[test]
fn a_link_to_nothing_is_found() {
    let text = "# A\n[b](sub/b.md#part), [l](../LICENSE), [gone](gone.md) [`x`](LICENSE)\n";
    let expected = [
        "2: the link leads to `docs/LICENSE`, which does not exist",
        "2: the link leads to `docs/gone.md`, which does not exist",
    ];
    assert_eq!(findings(text), expected);
}

#[test]
fn other_links_and_code_are_free() {
    let text = "[w](https://example.org/x) [here](#a) `[x](y)`\n```\n[x](y)\n```\n[f](sub)\n";
    assert!(findings(text).is_empty());
}

#[test]
fn a_page_that_a_comment_names_exists() {
    let text = "//! As `b.md` says, and sub/b.md.\n// See `../docs/a.md`; not LAB.md.\nfn f() {}\n";
    let files = [("docs/a.md", ""), ("docs/sub/b.md", ""), ("crates/a/src/lib.rs", text)];
    let expected = ["crates/a/src/lib.rs:2: there is no page `LAB.md`"];
    assert_eq!(sample::check(check, &files), expected);
}

#[test]
fn a_path_between_backticks_exists() {
    let page = "`crates/a/src/lib.rs`, `crates/a/`, `crates/*/x.rs`, `src/gone.rs`, `a/b`\n\
        `crates/a/src/gone.rs`\n```\n`crates/a/gone`\n```\n";
    let files = [("docs/a.md", page), ("crates/a/src/lib.rs", "")];
    assert_eq!(sample::check(check, &files), ["docs/a.md:2: there is no `crates/a/src/gone.rs`"]);
}
