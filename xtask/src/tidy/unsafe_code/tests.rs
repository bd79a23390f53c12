//! Unlisted files, missing notes and stale entries are found; words in text are not `unsafe`.

use super::super::sample;
use super::check;

const LISTED: &str = "[unsafe]\nfiles = [\"crates/a/src/lib.rs\"]\n";
const NO_NOTE: &str = "crates/a/src/lib.rs:2: `unsafe` without a `// SAFETY:` note above it";

fn listed(text: &str) -> Vec<String> {
    sample::check(check, &[("crates/a/src/lib.rs", text), ("xtask/layers.toml", LISTED)])
}

#[test]
fn a_file_that_is_not_listed_is_found() {
    let findings = sample::check_library(check, "// SAFETY: sound\nfn a() { unsafe { f() } }");
    let expected = "2: `unsafe` in a file that `xtask/layers.toml` does not list";
    assert!(findings.contains(&expected.to_owned()), "{findings:?}");
}

#[test]
fn a_listed_folder_covers_what_is_in_it() {
    let layers = "[unsafe]\nfiles = [\"crates/a/src/memory/\"]\n";
    let text = "// SAFETY: sound\nunsafe impl Send for A {}\n";
    let files = [("crates/a/src/memory/region.rs", text), ("xtask/layers.toml", layers)];
    assert!(sample::check(check, &files).is_empty());
}

#[test]
fn a_stale_entry_is_found() {
    let files = [("xtask/layers.toml", LISTED)];
    let expected =
        "xtask/layers.toml:1: `crates/a/src/lib.rs` is listed for `unsafe` and does not exist";
    assert_eq!(sample::check(check, &files), [expected]);
}

#[test]
fn blocks_and_implementations_need_a_note() {
    assert_eq!(listed("fn a() {\n    unsafe { f() }\n}"), [NO_NOTE]);
    assert_eq!(listed("\nunsafe impl Send for A {}"), [NO_NOTE]);
    assert_eq!(listed("\nunsafe extern \"C\" { fn f(); }"), [NO_NOTE]);
    assert_eq!(listed("\n#[unsafe(link_section = \"a\")]\nfn a() {}"), [NO_NOTE]);
    assert!(listed("\n#[unsafe(no_mangle)]\nfn a() {}").is_empty());
    assert_eq!(listed("\n#[unsafe(no_mangle)]\nfn $call() {}"), [NO_NOTE]);
    assert_eq!(listed("// SAFETY: for b\n\nunsafe { f() }").len(), 1);
    assert!(listed("// SAFETY: f is fine\n// and so is g.\nlet x = unsafe { f() };").is_empty());
    assert!(listed("// SAFETY: f\nlet x = many(\n    words,\n    unsafe { f() },\n);").is_empty());
}

#[test]
fn one_note_does_not_cover_the_next_statement() {
    let text = "// SAFETY: f\nlet x = unsafe { f() };\nlet y = unsafe { g() };\n";
    assert_eq!(listed(text).len(), 1);
}

#[test]
fn functions_say_what_they_ask() {
    let bare = "/// Does.\nunsafe fn a() {}";
    let expected =
        "crates/a/src/lib.rs:2: an `unsafe fn` or `unsafe trait` without a `# Safety` section";
    assert_eq!(listed(bare), [expected]);
    let extern_fn = "/// Does.\npub unsafe extern \"C\" fn a() {}";
    assert_eq!(listed(extern_fn), [expected]);
    let good = "/// Does.\n///\n/// # Safety\n/// Alive.\n#[inline]\npub unsafe fn a() {}";
    assert!(listed(good).is_empty());
    assert!(listed("struct A {\n    call: unsafe extern \"C\" fn(u8),\n}").is_empty());
}

#[test]
fn text_is_not_code() {
    let text = "// unsafe { }\n#![deny(unsafe_code)]\nfn a() { f(\"unsafe {}\") }";
    assert!(sample::check_library(check, text).is_empty());
}
