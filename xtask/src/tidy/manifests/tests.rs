//! Missing fields of published crates are found, inherited ones count.

use super::super::sample;
use super::check;

fn findings(manifest: &str) -> Vec<String> {
    let root = "[workspace]\nmembers = [\"crates/*\"]\n[workspace.package]\nlicense = \"MIT\"\n";
    let files = [("Cargo.toml", root), ("crates/a/Cargo.toml", manifest)];
    let found = sample::check(check, &files);
    found.iter().map(|line| line.replacen("crates/a/Cargo.toml:1: ", "", 1)).collect()
}

#[test]
fn a_published_crate_says_what_it_is() {
    let bare = "[package]\nname = \"a\"\n[lints]\nworkspace = true\n";
    let expected = ["`a` is published without `description`", "`a` is published without `license`"];
    assert_eq!(findings(bare), expected);
    let inherited = "[package]\nname = \"a\"\nlicense.workspace = true\n\
        description.workspace = true\n[lints]\nworkspace = true\n";
    assert_eq!(findings(inherited), ["`a` is published without `description`"]);
}

#[test]
fn a_private_crate_needs_the_lints_only() {
    let private = "[package]\nname = \"a\"\npublish = false\n";
    assert_eq!(findings(private), ["`a` lacks `[lints] workspace = true`"]);
}
