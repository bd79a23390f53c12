//! Edges that the list does not have are found with the line of the manifest.

use super::super::sample;
use super::check;

fn findings(dependencies: &str, layers: &str) -> Vec<String> {
    let manifest = format!("[package]\nname = \"a\"\n\n{dependencies}");
    let layers = format!("{layers}\n[crates.b]\n");
    let files = [
        ("crates/a/Cargo.toml", manifest.as_str()),
        ("crates/b/Cargo.toml", "[package]\nname = \"b\"\n"),
        ("xtask/layers.toml", &layers),
    ];
    sample::check(check, &files)
}

#[test]
fn an_edge_between_crates_must_be_listed() {
    let dependencies = "[dependencies]\nb.workspace = true\n";
    let expected = ["crates/a/Cargo.toml:5: `a` may not use the crate `b`"];
    assert_eq!(findings(dependencies, "[crates.a]\nuses = []"), expected);
    assert!(findings(dependencies, "[crates.a]\nuses = [\"b\"]").is_empty());
}

#[test]
fn an_edge_for_tests_allows_nothing_else() {
    let layers = "[crates.a]\ndev-uses = [\"b\"]";
    assert!(findings("[dev-dependencies]\nb = { path = \"../b\" }\n", layers).is_empty());
    let found = findings("[dependencies]\nb = { path = \"../b\" }\n", layers);
    assert_eq!(found[0], "crates/a/Cargo.toml:5: `a` may not use the crate `b`");
    let found = findings("[dev-dependencies]\nb = { path = \"../b\" }\n", "[crates.a]");
    assert_eq!(found, ["crates/a/Cargo.toml:5: `a` may not use the crate `b` in tests"]);
}

#[test]
fn an_external_dependency_must_be_listed() {
    let expected = ["crates/a/Cargo.toml:5: `a` may not depend on `libc`"];
    assert_eq!(findings("[dependencies]\nlibc = \"0.2\"\n", "[crates.a]"), expected);
    let reason = "[crates.a.external]\nlibc = \"maps memory for regions\"";
    assert!(findings("[dependencies]\nlibc = \"0.2\"\n", reason).is_empty());
    let conditional = "[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n";
    assert_eq!(findings(conditional, "[crates.a]"), expected);
}

#[test]
fn a_renamed_dependency_keeps_its_name() {
    let renamed = "[dependencies]\nsystem = { package = \"libc\", version = \"0.2\" }\n";
    let expected = ["crates/a/Cargo.toml:5: `a` may not depend on `libc`"];
    assert_eq!(findings(renamed, "[crates.a]"), expected);
}

#[test]
fn the_list_holds_nothing_else() {
    let layers = "[crates.a]\nuses = [\"b\"]\n[crates.c]";
    let expected = [
        "xtask/layers.toml:1: `a` is allowed `b` and does not use it",
        "xtask/layers.toml:1: `c` is no crate of the workspace",
    ];
    assert_eq!(findings("", layers), expected);
    let found = findings("", "");
    assert_eq!(found, ["crates/a/Cargo.toml:1: `a` is missing in xtask/layers.toml"]);
}
