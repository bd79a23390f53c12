//! The file of layers is refused when it says something that would silently allow nothing.

use super::Layers;

fn refusal(text: &str) -> String {
    Layers::parse(text).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn a_mistyped_key_is_refused() {
    assert!(refusal("[crates.a]\nuse = []").contains("unknown key `use`"));
    assert!(refusal("[module.a]\nx = []").contains("unknown key `module`"));
}

#[test]
fn an_external_dependency_needs_a_reason() {
    assert!(refusal("[crates.a.external]\nlibc = \"\"").contains("no reason for `libc`"));
    assert!(refusal("[crates.a.external]\nlibc = \"system calls for regions\"").is_empty());
}

#[test]
fn lists_hold_strings() {
    assert!(refusal("[unsafe]\nfiles = \"a\"").contains("not a list"));
    assert!(refusal("[unsafe]\nfiles = [1]").contains("more than strings"));
}
