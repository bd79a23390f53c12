//! Files are found where the compiler finds them, and test modules are known as such.

use super::super::sample;

fn graph(files: &[(&str, &str)]) -> Vec<(String, String, bool)> {
    let project = sample::project(files);
    let mut modules: Vec<_> = project
        .modules
        .iter()
        .map(|module| (module.file.clone(), module.path.join("::"), module.is_test))
        .collect();
    modules.sort();
    modules
}

fn entry(file: &str, path: &str, is_test: bool) -> (String, String, bool) {
    (file.to_owned(), path.to_owned(), is_test)
}

#[test]
fn modules_in_files_and_folders() {
    let found = graph(&[
        ("crates/a/src/lib.rs", "mod one; mod two; mod inner { mod deep; }"),
        ("crates/a/src/one.rs", "mod child; #[path = \"../odd.rs\"] mod elsewhere;"),
        ("crates/a/src/one/child.rs", ""),
        ("crates/a/src/two/mod.rs", "mod leaf;"),
        ("crates/a/src/two/leaf.rs", ""),
        ("crates/a/src/inner/deep.rs", ""),
        ("crates/a/odd.rs", ""),
        ("crates/a/src/lost.rs", ""),
    ]);
    let expected = [
        entry("crates/a/odd.rs", "one::elsewhere", false),
        entry("crates/a/src/inner/deep.rs", "inner::deep", false),
        entry("crates/a/src/lib.rs", "", false),
        entry("crates/a/src/one.rs", "one", false),
        entry("crates/a/src/one/child.rs", "one::child", false),
        entry("crates/a/src/two/leaf.rs", "two::leaf", false),
        entry("crates/a/src/two/mod.rs", "two", false),
    ];
    assert_eq!(found, expected);
}

#[test]
fn test_code_is_known() {
    let found = graph(&[
        (
            "crates/a/src/lib.rs",
            "#[cfg(test)] mod tests; #[cfg(all(test, shuttle))] mod models; \
             #[cfg(not(test))] mod real; #[cfg(feature = \"test\")] mod extra;",
        ),
        ("crates/a/src/tests.rs", "mod more;"),
        ("crates/a/src/tests/more.rs", ""),
        ("crates/a/src/models.rs", ""),
        ("crates/a/src/real.rs", ""),
        ("crates/a/src/extra.rs", ""),
        ("crates/a/tests/outside.rs", ""),
    ]);
    let tests: Vec<_> = found.iter().filter(|entry| entry.2).map(|entry| &entry.0).collect();
    let expected = [
        "crates/a/src/models.rs",
        "crates/a/src/tests.rs",
        "crates/a/src/tests/more.rs",
        "crates/a/tests/outside.rs",
    ];
    assert_eq!(tests, expected);
}

#[test]
fn the_main_crate_is_the_library_or_else_the_program() {
    let both = [("crates/a/src/lib.rs", "mod one;"), ("crates/a/src/one.rs", "")];
    let program = [("crates/a/src/main.rs", "mod two;"), ("crates/a/src/two.rs", "")];
    let test = [("crates/a/tests/t.rs", "")];
    let main = |files: &[(&str, &str)]| {
        let modules = sample::project(files).modules.into_iter();
        let main = modules.filter(|module| module.in_main_crate);
        let mut files: Vec<String> = main.map(|module| module.file).collect();
        files.sort();
        files
    };
    assert_eq!(main(&[&both[..], &program, &test].concat()), both.map(|(file, _)| file));
    assert_eq!(main(&[&program[..], &test].concat()), program.map(|(file, _)| file));
}
