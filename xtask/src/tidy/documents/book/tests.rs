//! Pages that the contents lack, or have twice, are found.

use super::check;
use crate::tidy::sample;

fn findings(contents: &str) -> Vec<String> {
    let pages = [("docs/a.md", "# A\n"), ("docs/b.md", "# B\n"), ("docs/SUMMARY.md", contents)];
    sample::check(check, &pages)
}

#[test]
fn each_page_is_there_once() {
    assert!(findings("# Summary\n\n[A](a.md)\n\n# Part\n\n- [B](b.md)\n").is_empty());
    let expected = ["docs/SUMMARY.md:1: `b.md` is not in the book"];
    assert_eq!(findings("[A](a.md)\n"), expected);
    let expected = ["docs/SUMMARY.md:3: `a.md` is in the book twice"];
    assert_eq!(findings("[A](a.md)\n[B](b.md)\n[A](a.md)\n"), expected);
    assert!(sample::check(check, &[("docs/a.md", "# A\n")]).is_empty());
}
