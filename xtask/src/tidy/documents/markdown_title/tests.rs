//! No title, two titles and a late title are found.

use super::check;
use crate::tidy::sample;

fn findings(text: &str) -> Vec<String> {
    sample::check(check, &[("docs/a.md", text)])
}

#[test]
fn one_title_comes_first() {
    assert!(findings("# A\n\n## B\n\n```sh\n# comment\n```\n").is_empty());
    assert_eq!(findings("## A\n"), ["docs/a.md:1: no top-level title"]);
    assert_eq!(findings("# A\n\n# B\n"), ["docs/a.md:3: more than one top-level title"]);
    assert_eq!(findings("words\n\n# A\n"), ["docs/a.md:3: the title is not the first line"]);
}
