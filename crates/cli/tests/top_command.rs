//! `top` against a process that exports its database: this one.
//!
//! What is drawn on a terminal is tested beside its code; here is what scripts get, and what is
//! said when there is nothing to get.

#[expect(dead_code, reason = "a part of it is used here")]
mod program;

use std::sync::Arc;

use program::{Folder, err, out, remanent};
use remanent_engine::schema::{ColumnType, TableSchema};
use remanent_engine::{Database, Options, TransactionOptions};
use remanent_exporter::{Exporter, Listen};

fn database(path: &str) -> Arc<Database> {
    let db = Database::open_at(path, Options::new().budget(64 << 20)).unwrap();
    let schema = TableSchema::new("Part").column("number", ColumnType::U32);
    let parts = db.create_table(schema.primary_key(["number"])).unwrap();
    for number in 0..1234_u32 {
        db.write(|tx| tx.insert_values(&parts, &[Some(number.into())])).unwrap();
    }
    Arc::new(db)
}

#[test]
fn a_picture_as_text() {
    let folder = Folder::new("top");
    let path = folder.path("db");
    let db = database(&path);
    let named = TransactionOptions::new().name("a, \"b\" = {c}");
    let _held = db.begin_read_with(&named).unwrap();
    let exporter = Exporter::start(Arc::clone(&db), Listen::folder(&path)).unwrap();
    let output = remanent(&["top", &path, "--once"]);
    let text = out(&output);
    assert!(output.status.success(), "{}", err(&output));
    for part in [
        "metrics.sock: version",
        " of 64.0 MiB held",
        "1,234 commits of 1,234 changes",
        "active: 1 readers, 0 writers",
        "  Part: 1,234 rows, 1,234 versions",
        "  a, \"b\" = {c}: 1 reader, for ",
        "log: ",
        "tables: 1, as of",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    // By its socket, and by an address, which have the same to say.
    let socket = format!("{path}/metrics.sock");
    assert!(out(&remanent(&["top", "--once", &socket])).contains("  Part: 1,234 rows"));
    let second = Exporter::start(Arc::clone(&db), Listen::port(0)).unwrap();
    let address = second.address().unwrap().to_string();
    assert!(out(&remanent(&["top", &address, "--once"])).contains("  Part: 1,234 rows"));
    let raw = out(&remanent(&["top", &address, "--prometheus"]));
    assert!(
        raw.starts_with("# HELP remanent_info ") && raw.contains("\nremanent_commits_total 1234\n")
    );
    drop(exporter);
    let output = remanent(&["top", &path, "--once"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("nobody exports this database"), "{}", err(&output));
    drop(second);
    let output = remanent(&["top", &address, "--once"]);
    assert!(err(&output).contains("nobody listens there any more"), "{}", err(&output));
}

#[test]
fn what_is_not_there_is_said() {
    let folder = Folder::new("top-nothing");
    let file = folder.path("file");
    std::fs::write(&file, "text").unwrap();
    let stale = folder.path("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    let empty = folder.path("");
    for (word, expected) in [
        (empty.as_str(), "there is no database in it"),
        (&file, "neither a folder nor a socket"),
        (&stale, "is the program running?"),
        ("/nowhere/at/all", "No such file"),
    ] {
        let output = remanent(&["top", word, "--once"]);
        assert_eq!(output.status.code(), Some(1), "{word}");
        assert!(err(&output).contains(expected), "{word}: {}", err(&output));
    }
    // Something else answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answers = ["SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\n\r\nnode_load1 1\n"];
    let other = std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            std::io::Read::read(&mut stream, &mut request).unwrap();
            std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
        }
    });
    assert!(err(&remanent(&["top", &address, "--once"])).contains("does not speak HTTP"));
    assert!(err(&remanent(&["top", &address, "--once"])).contains("no exporter of Remanent"));
    other.join().unwrap();
}

#[test]
fn wrong_calls() {
    let folder = Folder::new("top-wrong");
    let path = folder.path("db");
    let db = database(&path);
    let _exporter = Exporter::start(Arc::clone(&db), Listen::folder(&path)).unwrap();
    for (arguments, expected) in [
        (&["top"][..], "needs the folder of a database, a socket, or HOST:PORT"),
        (&["top", &path, "x"], "one word too many"),
        (&["top", &path, "--interval", "0"], "--interval takes seconds from 0.1 to 3600"),
        (&["top", &path, "--rows"], "--rows has no meaning for `top`"),
        (&["top", &path], "standard output is no terminal"),
        (&["check", &path, "--once"], "--once has no meaning for `check`"),
    ] {
        let output = remanent(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(err(&output).contains(expected), "{arguments:?}: {}", err(&output));
    }
    assert!(out(&remanent(&["top", "--help"])).contains("q  quit"));
}
