//! Flags mean what they say, every example is found, and the README tells of each.

use std::path::Path;

use super::example::{self, Mode};
use super::{FOLDER, Wish, chosen, modes, wish};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn folder() -> std::path::PathBuf {
    crate::workspace_root().join(FOLDER)
}

#[test]
fn flags_and_names_are_told_apart() {
    let asked = wish(&words(&["--valgrind", "native", "cpp"]));
    let expected = Wish { valgrind: true, names: words(&["native", "cpp"]), ..Wish::default() };
    assert_eq!(asked, Ok(expected));
    let reason = wish(&words(&["--fast"])).expect_err("there is no such flag");
    assert!(reason.contains("--sanitize"), "{reason}");
}

#[test]
fn without_flags_they_run_plain_and_with_both_flags_twice() {
    assert_eq!(modes(&Wish::default()), [Mode::Plain]);
    let both = Wish { sanitize: true, valgrind: true, ..Wish::default() };
    assert_eq!(modes(&both), [Mode::Sanitize, Mode::Valgrind]);
}

#[test]
fn an_unknown_name_is_refused() {
    let all = example::all(&folder()).expect("the folder is there");
    let names = |names: &[&str]| {
        chosen(&all, &words(names)).map(|some| some.iter().map(|it| it.name.clone()).collect())
    };
    assert_eq!(names(&["native"]), Ok(words(&["native"])));
    assert_eq!(names(&[]).map(|all: Vec<String>| all.len()), Ok(all.len()));
    assert!(names(&["nothing"]).expect_err("there is none").contains("`nothing`"));
}

#[test]
fn every_example_is_whole_and_told_of() {
    let all = example::all(&folder()).expect("each has a source");
    let readme = std::fs::read_to_string(folder().join("README.md")).expect("it is there");
    let cmake = std::fs::read_to_string(folder().join("CMakeLists.txt")).expect("it is there");
    for example in &all {
        assert!(readme.contains(&format!("`{}`", example.name)), "{}", example.name);
        assert!(cmake.contains(&example.name), "{}", example.name);
    }
    let has_schema: Vec<&str> =
        all.iter().filter(|it| it.schema.is_some()).map(|it| it.name.as_str()).collect();
    assert_eq!(has_schema, ["from_mco", "measure_d", "measure_mco", "readers_d", "strings_d"]);
}

/// The blocks of a page that are of C or of a schema, without their fences.
fn blocks(page: &str) -> Vec<String> {
    let (mut blocks, mut block) = (Vec::new(), None::<String>);
    for line in page.lines() {
        match (&mut block, line) {
            (None, "```c") => block = Some(String::new()),
            (Some(_), "```") => blocks.extend(block.take()),
            (Some(block), line) => *block += &format!("{line}\n"),
            (None, _) => {}
        }
    }
    blocks
}

#[test]
fn what_the_book_shows_is_in_an_example() {
    let mut files = Vec::new();
    for name in ["start", "from_mco"] {
        for entry in std::fs::read_dir(folder().join(name)).expect("it is there") {
            let path = entry.expect("it can be read").path();
            files.push(std::fs::read_to_string(path).expect("it is text"));
        }
    }
    let mut shown = 0;
    for page in ["docs/start.md", "docs/coming-from.md"] {
        let text = std::fs::read_to_string(crate::workspace_root().join(page));
        for block in blocks(&text.expect("the page is there")) {
            assert!(files.contains(&block), "{page} has a block that no file is:\n{block}");
            shown += 1;
        }
    }
    assert_eq!(shown, files.len(), "each file is shown once");
}

#[test]
fn checks_are_in_the_calls() {
    let all = example::all(&folder()).expect("the folder is there");
    let place = Path::new("somewhere");
    let native = all.iter().find(|it| it.name == "native").expect("it is there");
    let call = format!("{:?}", native.compile(Mode::Sanitize, place, place));
    assert!(call.starts_with("\"gcc\"") && call.contains("-fsanitize=address,undefined"), "{call}");
    let call = format!("{:?}", native.start(Mode::Valgrind, place));
    assert!(call.contains("--error-exitcode=1") && call.ends_with("\"--quick\""), "{call}");
    let call = format!("{:?}", native.start(Mode::Plain, place));
    assert!(!call.contains("--quick"), "{call}");
}
