//! `check`, `dump-log`, `backup`, `restore` and `salvage` on folders that hold databases.
//!
//! The program that is tested is the one that people run; the folders are made with the engine.

#[expect(dead_code, reason = "a part of it is used here")]
mod program;

use std::collections::BTreeMap;
use std::path::Path;

use program::{Folder, err, out, remanent};
use remanent_engine::schema::*;
use remanent_engine::{Database, Durability, Options, TransactionOptions};

fn options() -> Options {
    Options::new().budget(64 << 20).log_file_size(64 << 10).keep_history(true)
}

/// A database with a table, a set and an index that came later; the timestamps of its commits.
fn make(path: &str) -> Vec<u64> {
    let db = Database::open_at(path, options()).unwrap();
    let schema = TableSchema::new("Part")
        .column("number", ColumnType::U32)
        .column("name", ColumnType::STRING)
        .primary_key(["number"])
        .hash_index("quick", ["name"]);
    let parts = db.create_table(schema).unwrap();
    let notes = db.create_table(TableSchema::new("Note").column("text", ColumnType::BLOB)).unwrap();
    // So much at once makes the log record the time.
    db.write(|tx| tx.insert_values(&notes, &[Some(Value::Bytes(&[7; 5000]))])).unwrap();
    let set = SetSchema::new("Holds", "Part", SetOrder::Last).member("Part");
    let set = db.create_set(set).unwrap();
    let mut commits = Vec::new();
    let mut rows = Vec::new();
    for number in 0..300_u32 {
        // Many parts have the same name.
        let name = format!("part {}", number % 7);
        let (row, ticket) = db
            .write_with_ticket(|tx| {
                tx.insert_values(&parts, &[Some(number.into()), Some(name.as_str().into())])
            })
            .unwrap();
        rows.push(row);
        commits.push(ticket.timestamp());
        if number == 99 {
            db.checkpoint().unwrap();
        }
    }
    db.create_index(&parts, IndexSchema::new("by_name", ["name"])).unwrap();
    db.write(|tx| tx.connect(&set, rows[0], &parts, rows[1])).unwrap();
    db.write(|tx| tx.delete(&parts, rows[250])).unwrap();
    commits
}

fn files(path: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

fn flip(path: &str, prefix: &str, nth: usize, at: usize) -> String {
    let name = files(path).into_keys().filter(|name| name.starts_with(prefix)).nth(nth).unwrap();
    let file = Path::new(path).join(&name);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[at] ^= 0x40;
    std::fs::write(file, bytes).unwrap();
    name
}

fn rows_of(path: &str) -> usize {
    let db = Database::open_at(path, options()).unwrap();
    assert!(db.damage().is_none());
    let parts = db.table("Part").unwrap();
    let tx = db.begin_read().unwrap();
    tx.scan(&parts).unwrap().count()
}

#[test]
fn check_says_what_there_is_and_changes_nothing() {
    let folder = Folder::new("check");
    let path = folder.path("db");
    make(&path);
    let before = files(&path);
    let output = remanent(&["check", &path, "--memory", "64M"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    for words in [
        "up to commit ",
        "table Part: 299 rows, index primary (ordered), index quick (hash)",
        ", index by_name (ordered)\n",
        "set Holds: 1 members",
        "last commit: ",
        "nothing is damaged",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(err(&output).is_empty() && files(&path) == before);
}

#[test]
fn check_ends_with_1_if_anything_is_damaged() {
    let folder = Folder::new("damaged");
    for (prefix, at) in [("image-", 200), ("log-0", 4300)] {
        let path = folder.path(prefix);
        make(&path);
        let name = flip(&path, prefix, 0, at);
        let output = remanent(&["check", &path]);
        if prefix == "image-" {
            // The log reaches back to the beginning: all is there, and the image is damaged.
            assert!(out(&output).contains("table Part: 299 rows"), "{}", out(&output));
        }
        // A file of the log that the image makes needless is not missed.
        let expected = if prefix == "image-" { 1 } else { 0 };
        assert_eq!(output.status.code(), Some(expected), "{}", err(&output));
        assert_eq!(err(&output).contains(&name), expected == 1);
    }
    let path = folder.path("end");
    make(&path);
    let logs = files(&path).into_keys().filter(|name| name.starts_with("log-0")).count();
    let name = flip(&path, "log-0", logs - 1, 4300);
    let output = remanent(&["check", &path]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains(&format!("damaged: {name}, byte ")), "{}", err(&output));
    assert_eq!(remanent(&["dump-log", &path]).status.code(), Some(1));
    for command in ["backup", "restore"] {
        let target = folder.path(command);
        let output = remanent(&[command, &path, &target]);
        assert_eq!(output.status.code(), Some(1));
        assert!(err(&output).contains("salvage") && !Path::new(&target).exists());
    }
}

#[test]
fn dump_log_lists_commits_times_and_rows() {
    let folder = Folder::new("dump");
    let path = folder.path("db");
    let commits = make(&path);
    let output = remanent(&["dump-log", &path]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    assert!(text.contains("table 0 (Part): create table Part"), "{text}");
    assert!(text.contains("create set Holds") && text.contains("create index by_name of Part"));
    assert!(text.contains(&format!("commit {}: 1 inserts", commits[7])));
    assert!(text.contains("  time 20") && text.contains("; all before it was synced"));
    assert!(text.trim_end().ends_with("  closed"), "{text}");
    assert!(!text.contains("    table"));
    let rows = out(&remanent(&["dump-log", &path, "--rows"]));
    assert!(rows.contains("    table 0 (Part) row 7: insert, "), "{rows}");
    assert!(rows.contains("row 250: delete"));
}

#[test]
fn a_backup_is_a_database_of_its_own() {
    let folder = Folder::new("backup");
    let (path, target) = (folder.path("db"), folder.path("copy"));
    make(&path);
    let output = remanent(&["backup", &path, &target]);
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
    assert_eq!(rows_of(&target), 299);
    let again = remanent(&["backup", &path, &target]);
    assert_eq!(again.status.code(), Some(1));
    assert!(err(&again).contains("already"), "{}", err(&again));
    let small = remanent(&["backup", &path, &folder.path("small"), "--memory", "128K"]);
    assert_eq!(small.status.code(), Some(1));
    assert!(err(&small).contains("budget"), "{}", err(&small));
}

#[test]
fn an_earlier_moment_is_restored() {
    let folder = Folder::new("restore");
    let path = folder.path("db");
    let commits = make(&path);
    for (number, target) in [(150, "later"), (20, "before the image")] {
        let target = folder.path(target);
        let commit = commits[number].to_string();
        let output = remanent(&["restore", &path, &target, "--until-commit", &commit]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert!(out(&output).contains("as it was after commit"), "{}", out(&output));
        assert_eq!(rows_of(&target), number + 1);
    }
    let target = folder.path("now");
    let output =
        remanent(&["restore", &path, &target, "--until-time", "2999-01-01T00:00:00+01:00"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(rows_of(&target), 299);
    // Before the first file that is kept, nothing is known.
    let first = files(&path).into_keys().find(|name| name.starts_with("log-0")).unwrap();
    std::fs::remove_file(Path::new(&path).join(first)).unwrap();
    for flags in [["--until-time", "1999-01-01T00:00:00Z"], ["--until-commit", "1"]] {
        let output = remanent(&["restore", &path, &folder.path("none"), flags[0], flags[1]]);
        assert_eq!(output.status.code(), Some(1), "{}", out(&output));
        assert!(!Path::new(&folder.path("none")).exists());
    }
}

#[test]
fn what_is_left_is_salvaged() {
    let folder = Folder::new("salvage");
    let (path, target) = (folder.path("db"), folder.path("saved"));
    make(&path);
    let output = remanent(&["salvage", &path, &target]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("nothing is lost"), "{}", out(&output));
    assert_eq!(rows_of(&target), 299);

    // Neither the image nor the log before it is whole.
    flip(&path, "image-", 0, 1000);
    flip(&path, "log-0", 0, 5000);
    let before = files(&path);
    let target = folder.path("less");
    let output = remanent(&["salvage", &path, &target]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("lost: 1 places in the image"), "{}", out(&output));
    let rows = rows_of(&target);
    assert!((199..299).contains(&rows), "{rows}");
    assert!(files(&path) == before);
}

#[test]
fn an_open_database_and_no_database_are_refused() {
    let folder = Folder::new("open");
    let path = folder.path("db");
    let db = Database::open_at(&path, options()).unwrap();
    let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32)).unwrap();
    let buffered = TransactionOptions::new().durability(Durability::Buffered);
    db.write_with(&buffered, |tx| tx.insert_values(&table, &[Some(1.into())])).unwrap();
    let target = folder.path("target");
    for arguments in [
        &["check", &path][..],
        &["dump-log", &path],
        &["backup", &path, &target],
        &["restore", &path, &target],
        &["salvage", &path, &target],
    ] {
        let output = remanent(arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(err(&output).contains("has this database open"), "{}", err(&output));
        let mut nothing = arguments.to_vec();
        let empty = folder.path("");
        nothing[1] = &empty;
        let output = remanent(&nothing);
        assert!(err(&output).contains("there is no database"), "{}", err(&output));
        nothing[1] = "/no/such/folder";
        assert_eq!(remanent(&nothing).status.code(), Some(1));
    }
    // Without the file for it, the folder is locked.
    std::fs::remove_file(Path::new(&path).join("lock")).unwrap();
    let output = remanent(&["check", &path]);
    assert!(err(&output).contains("has this database open"), "{}", err(&output));
    assert!(!Path::new(&target).exists());
}

#[test]
fn wrong_calls_end_with_2_and_each_command_has_help() {
    for arguments in [
        &["check"][..],
        &["check", "a", "b"],
        &["check", "a", "--rows"],
        &["check", "a", "--memory", "much"],
        &["dump-log", "a", "--memory", "1G"],
        &["backup", "a"],
        &["restore", "a", "b", "--until-commit", "now"],
        &["restore", "a", "b", "--until-time", "noon"],
        &["restore", "a", "b", "--until-time", "2026-01-01T00:00:00Z", "--until-commit", "1"],
        &["salvage", "a"],
        &["ddl", "check", "a", "--rows"],
    ] {
        let folder = Folder::new("usage");
        make_if_missing(&folder);
        let path = folder.path("a");
        let arguments: Vec<_> =
            arguments.iter().map(|&word| if word == "a" { path.as_str() } else { word }).collect();
        let output = remanent(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?} {}", err(&output));
        assert!(out(&output).is_empty(), "{}", out(&output));
    }
    for command in ["check", "dump-log", "backup", "restore", "salvage"] {
        let output = remanent(&[command, "--help"]);
        assert_eq!(output.status.code(), Some(0));
        assert!(out(&output).contains(&format!("usage: remanent {command} DIR")));
        assert!(out(&remanent(&["--help"])).contains(command));
    }
}

fn make_if_missing(folder: &Folder) {
    drop(Database::open_at(folder.path("a"), options()).unwrap());
}
