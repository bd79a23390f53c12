//! The program as people call it: what it answers, where, and with which status.

#[expect(dead_code, reason = "a part of it is used here")]
mod program;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use program::{Folder, err, out, remanent};

fn with_input(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_remanent"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn sample(name: &str) -> String {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ddl/tests/samples");
    samples.join(name).to_string_lossy().into_owned()
}

#[test]
fn help_and_version_answer() {
    for arguments in [&["--help"][..], &["help"], &["ddl", "--help"], &["-h"]] {
        let output = remanent(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(out(&output).contains("usage: remanent"), "{arguments:?}");
    }
    assert!(out(&remanent(&["--version"])).starts_with("remanent 0."));
    assert!(out(&remanent(&["ddl", "--help"])).contains("--char-bytes"));
}

#[test]
fn wrong_calls_end_with_2() {
    let file = sample("measure.mco");
    for arguments in [
        &["nope"][..],
        &["ddl"],
        &["ddl", "c"],
        &["ddl", "frob", &file],
        &["ddl", "c", &file, "more"],
        &["ddl", "check", &file, "-o", "x"],
        &["ddl", "c", &file, "--frob"],
        &["ddl", "c", &file, "-o"],
    ] {
        let output = remanent(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?} {}", err(&output));
        assert!(out(&output).is_empty() && err(&output).starts_with("error: "), "{arguments:?}");
    }
}

#[test]
fn samples_are_accepted_with_their_warnings() {
    for (name, warnings) in [("measure.mco", 0), ("measure.ddl", 0), ("strings.ddl", 3)] {
        let output = remanent(&["ddl", "check", &sample(name)]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert!(out(&output).is_empty());
        assert_eq!(err(&output).matches("warning: ").count(), warnings, "{}", err(&output));
    }
}

#[test]
fn a_refused_schema_ends_with_1_and_all_its_errors() {
    let text = "declare database d; class A { uint5 a; };\nclass A { float b; };";
    for action in ["check", "print", "c", "rust", "sql"] {
        let output = with_input(&["ddl", action, "-"], text);
        assert_eq!(output.status.code(), Some(1));
        assert!(out(&output).is_empty());
        assert!(err(&output).contains("standard input:1:31"), "{}", err(&output));
        assert!(err(&output).contains("standard input:2:7"), "{}", err(&output));
    }
    assert_eq!(remanent(&["ddl", "check", "/nowhere/x.mco"]).status.code(), Some(1));
}

#[test]
fn each_action_answers_with_its_language() {
    let file = sample("measure.ddl");
    for (action, words) in [
        ("print", "database mcs[8192] {"),
        ("c", "#define MEASURE 10000"),
        ("rust", "pub struct Measure"),
        ("sql", "CREATE TABLE \"Measure\""),
    ] {
        let output = remanent(&["ddl", action, &file]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert!(out(&output).contains(words), "{action}");
    }
    // What is printed is a schema of its own, of a language recognised by its words.
    let printed = out(&remanent(&["ddl", "print", &file]));
    assert_eq!(out(&with_input(&["ddl", "print", "-"], &printed)), printed);
}

#[test]
fn o_writes_a_file_named_after_the_database() {
    let folder = Folder::new("out");
    let to = folder.0.join("deep").to_string_lossy().into_owned();
    let file = sample("testdb.ddl");
    let output = remanent(&["ddl", "c", &file, "-o", &to, "--char-bytes"]);
    assert_eq!((output.status.code(), out(&output)), (Some(0), String::new()));
    let header = std::fs::read_to_string(folder.0.join("deep/testdb.h")).expect("it is there");
    assert!(header.contains("#pragma remanent char_bytes"));
    assert_eq!(header, out(&remanent(&["ddl", "c", &file, "--char-bytes"])));
}

#[test]
fn files_are_included_beside_the_file_and_from_folders() {
    let folder = Folder::new("include");
    let main =
        folder.file("a/main.mco", "#include \"near.h\"\n#include \"far.h\"\nclass A { u4 x; };");
    folder.file("a/near.h", "#define u4 unsigned<4>\n");
    folder.file("b/far.h", "declare database d;\n");
    let far = folder.0.join("b").to_string_lossy().into_owned();
    let refused = remanent(&["ddl", "check", &main]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("-I"), "{}", err(&refused));
    let output = remanent(&["ddl", "print", &main, "-I", &far]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("unsigned<4> x;"));
    let itself = folder.file("c/loop.mco", "#include \"../c/loop.mco\"\n");
    let output = remanent(&["ddl", "check", &itself]);
    assert!(err(&output).contains("includes itself"), "{}", err(&output));
}
