//! The shell as scripts use it: what it opens, what it writes, and the status that it ends with.

#![cfg(feature = "sql")]

mod program;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use program::{Folder, err, out, remanent};

fn code(output: &std::process::Output) -> i32 {
    output.status.code().expect("it ended by itself")
}

#[test]
fn a_database_is_made_when_asked_for_and_found_again() {
    let folder = Folder::new("shell-create");
    let path = folder.path("shop");
    let made = remanent(&[
        &path,
        "--create",
        "-q",
        "-c",
        "create table part (id int primary key, name text); insert into part values (1, 'bolt')",
    ]);
    assert_eq!((code(&made), out(&made), err(&made)), (0, String::new(), String::new()));
    let found = remanent(&[&path, "--format", "csv", "-c", "select * from part"]);
    assert_eq!((code(&found), out(&found).as_str()), (0, "id,name\n1,bolt\n"));
    let rows = remanent(&[&path, "--format", "json", "-c", "select * from part"]);
    assert_eq!(out(&rows), "[{\"id\":1,\"name\":\"bolt\"}]\n");
}

#[test]
fn a_mistyped_command_or_path_leaves_nothing_behind() {
    let folder = Folder::new("shell-mistyped");
    let inside = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_remanent"));
        command.args(words).current_dir(&folder.0).output().expect("it starts")
    };
    let word = inside(&["chek"]);
    assert_eq!(code(&word), 2, "{}", err(&word));
    assert!(err(&word).contains("no command and no folder `chek`"), "{}", err(&word));
    let path = inside(&["./data/chek", "-c", "select 1"]);
    assert_eq!(code(&path), 3, "{}", err(&path));
    std::fs::create_dir(folder.path("empty")).unwrap();
    let empty = inside(&["empty", "-c", "select 1"]);
    assert_eq!(code(&empty), 3, "{}", err(&empty));
    let names: Vec<_> =
        std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["empty"]);
    assert_eq!(std::fs::read_dir(folder.path("empty")).unwrap().count(), 0);
}

#[test]
fn the_status_says_how_a_script_ended() {
    let folder = Folder::new("shell-status");
    let script = folder.file("script.sql", "select 1;\n\nselect 1 / 0;\nselect 'not reached';\n");
    let failed = remanent(&["-f", &script]);
    assert_eq!(code(&failed), 1);
    assert!(!out(&failed).contains("not reached"));
    let place = format!("{script}:3: ERROR:  22012");
    assert!(err(&failed).starts_with(&place), "{}", err(&failed));
    let went_on = remanent(&["-k", "-f", &script]);
    assert_eq!(code(&went_on), 1);
    assert!(out(&went_on).contains("not reached"));
    assert_eq!(code(&remanent(&["-f", &folder.path("missing.sql")])), 3);
    assert_eq!(code(&remanent(&["--format", "xml", "-c", "select 1"])), 2);
    assert_eq!(code(&remanent(&["-c", "select 1", "--once"])), 2);
}

#[test]
fn what_a_single_transaction_did_before_an_error_is_gone() {
    let folder = Folder::new("shell-single");
    let path = folder.path("db");
    let made = remanent(&[&path, "--create", "-c", "create table t (a int)"]);
    assert_eq!(code(&made), 0, "{}", err(&made));
    let failed = remanent(&[&path, "-1", "-c", "insert into t values (1)", "-c", "select 1 / 0"]);
    assert_eq!(code(&failed), 1);
    let count = remanent(&[&path, "-t", "--format", "unaligned", "-c", "select count(*) from t"]);
    assert_eq!(out(&count), "0\n");
}

#[test]
fn standard_input_is_a_script_without_prompts() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_remanent"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("it starts");
    let text = "create table t (a int);\ncopy t from stdin;\n1\n2\n\\.\nselect sum(a) from t;\n";
    running.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let ended = running.wait_with_output().unwrap();
    assert_eq!(code(&ended), 0, "{}", err(&ended));
    assert_eq!(out(&ended), "CREATE TABLE\nCOPY 2\n sum \n-----\n   3\n(1 row)\n\n");
    assert_eq!(err(&ended), "");
}

#[test]
fn whoever_reads_enough_of_a_long_answer_hears_nothing_more() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_remanent"));
    let query = "select * from generate_series(1, 100000000)";
    command.args(["--format", "csv", "-c", query]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("it starts");
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    assert_eq!(lines.nth(2).unwrap().unwrap(), "2");
    drop(lines);
    let ended = running.wait_with_output().unwrap();
    assert_eq!((code(&ended), err(&ended)), (0, String::new()));
}

/// What has no room goes to a folder that is named, where nothing is left; a folder that is not
/// there is told of before anything is made.
#[test]
fn rows_without_room_go_to_the_folder_that_is_named() {
    let folder = Folder::new("shell-spill");
    let spill = folder.path("spill");
    let path = folder.path("shop");
    let missing = remanent(&[&path, "--create", "--spill-folder", &spill, "-c", "select 1"]);
    assert_eq!(code(&missing), 3, "{}", err(&missing));
    assert!(err(&missing).contains("--spill-folder"), "{}", err(&missing));
    assert!(!std::fs::exists(&path).unwrap());
    let alone = remanent(&["--spill-limit", "5M", "-c", "select 1"]);
    assert_eq!(code(&alone), 2, "{}", err(&alone));
    std::fs::create_dir(&spill).unwrap();
    let query = "select max(id) from (select id from (select v as id, repeat('wide ', 30) \
                 || v % 97 as word from generate_series(1, 200000) g(v)) t \
                 order by word, id offset 7) q";
    let memory = ["--memory", "64M", "--query-memory", "8M", "-t", "--format", "csv", "-c", query];
    let refused = remanent(&memory);
    assert_eq!(code(&refused), 1);
    assert!(err(&refused).contains("53200"), "{}", err(&refused));
    let found = remanent(&[&["--spill-folder", &spill], &memory[..]].concat());
    assert_eq!((code(&found), out(&found).as_str()), (0, "200000\n"), "{}", err(&found));
    assert_eq!(std::fs::read_dir(&spill).unwrap().count(), 0);
}

/// When rows become columns is the setting's word; others are told of before anything is made.
#[test]
fn the_setting_freeze_is_what_the_flag_says() {
    for (flag, shown) in [("off", "off"), ("on_read", "on_read"), ("ON_COMMIT", "on_commit")] {
        let found = remanent(&["--freeze", flag, "-t", "--format", "csv", "-c", "show freeze"]);
        assert_eq!((code(&found), out(&found)), (0, format!("{shown}\n")), "{}", err(&found));
    }
    let bad = remanent(&["--freeze", "always", "-c", "select 1"]);
    assert_eq!(code(&bad), 2);
    assert!(err(&bad).contains("on_commit"), "{}", err(&bad));
}
