//! Links to what is gone are found, seen from the folder of the document.

use super::super::sample;
use super::check;

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
