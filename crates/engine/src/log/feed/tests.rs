//! What a feed gives is what was committed: all of it, in order, and nothing twice.
//!
//! Applied to an empty database it makes the same one. Around that, what happens to files of the
//! log meanwhile: there are many, they grow, they go and are used again, they end in the middle.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use remanent_schema::{ColumnType, TableSchema};

use super::LoggedCommit;
use crate::database::Database;
use crate::error::ErrorKind;
use crate::log::{Durability, LogEntryKind};
use crate::options::Options;
use crate::replay::{self, Replay};
use crate::storage::Folder;
use crate::table::Table;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// A folder that vanishes with the test.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new() -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("remanent-feed-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn open(&self, durability: Durability) -> Database {
        Database::open_at(&self.0, options(durability)).expect("a database")
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Small files and a small buffer, no checkpoints but those that are asked for.
fn options(durability: Durability) -> Options {
    let options = Options::new().budget(64 << 20).durability(durability).checkpoint_after(0);
    options.log_file_size(32 << 10).log_buffer_size(16 << 10)
}

fn numbers(name: &str) -> TableSchema {
    let schema = TableSchema::new(name).column("n", ColumnType::U64);
    schema.column("text", ColumnType::STRING).primary_key(["n"])
}

fn insert(db: &Database, table: &Table, n: u64, text: &str) {
    db.write(|tx| tx.insert_values(table, &[Some(n.into()), Some(text.into())])).expect("to fit");
}

/// Rows that come, change and go, a table that goes, an index; and transactions in many parts, one
/// of which is taken back.
fn work(db: &Database, rounds: u64) {
    let name = format!("Of{}", db.table_names().len());
    let table = db.create_table(numbers(&name)).expect("a table");
    let (text, primary) = (table.column("text").expect("it"), table.index("primary").expect("it"));
    for n in 0..rounds {
        insert(db, &table, n, "as it came");
        db.write(|tx| {
            let row = tx.find(&table, primary, &[n.into()])?.expect("it is there").id();
            tx.update_values(&table, row, &[(text, "as it came, and became".into())])?;
            if n % 7 == 6 {
                let row = tx.find(&table, primary, &[(n - 1).into()])?.expect("it is there").id();
                tx.delete(&table, row)?;
            }
            Ok(())
        })
        .expect("a commit");
        if n % 20 == 10 {
            let many = |text: &str| {
                let tx = db.begin_write().expect("a transaction");
                for n in n * 1000 + rounds..n * 1000 + rounds + 400 {
                    tx.insert_values(&table, &[Some(n.into()), Some(text.into())]).expect("to fit");
                }
                tx
            };
            drop(many("never there"));
            many(&"there, and long ".repeat(20)).commit().expect("a commit");
        }
    }
    let gone = db.create_table(numbers("Gone")).expect("a table");
    insert(db, &gone, 1, "gone");
    db.drop_table(&gone).expect("to go");
}

/// A table's name, and its rows by their ids.
type Rows = (String, Vec<(u64, Vec<u8>)>);

/// All tables with all their rows.
fn content(db: &Database) -> Vec<Rows> {
    let tx = db.begin_read().expect("a transaction");
    let mut tables = Vec::new();
    for name in db.table_names() {
        let table = db.table(&name).expect("it was named");
        let rows = tx.scan(&table).expect("it is there");
        tables.push((name, rows.map(|row| (row.id().number(), row.bytes().to_vec())).collect()));
    }
    tables
}

/// What a feed from a position on gives by now.
fn feed(db: &Database, position: u64) -> Vec<LoggedCommit> {
    let feed = db.log_feed(position).expect("a feed");
    feed.map(|commit| commit.expect("it is readable")).collect()
}

/// A database to which these commits were applied.
fn replica(commits: &[LoggedCommit]) -> Database {
    let db = Database::open(Options::new().budget(64 << 20)).expect("a database");
    let mut replay = Replay::new(&db);
    for commit in commits {
        replay.commit(&commit.operations).expect("to be applied");
    }
    replay.end_transaction().expect("to commit");
    drop(replay);
    replay::finish(&db, commits.last().map_or(0, |commit| commit.timestamp)).expect("an end");
    db
}

fn log_files(path: &Path) -> usize {
    let names = std::fs::read_dir(path).expect("a folder");
    let is_log = |name: &str| name.starts_with("log-0");
    names.filter(|name| is_log(&name.as_ref().expect("it").file_name().to_string_lossy())).count()
}

#[test]
fn all_commits_of_many_files() {
    let home = TestFolder::new();
    let mut db = home.open(Durability::Os);
    work(&db, 60);
    drop(db);
    db = home.open(Durability::Os);
    work(&db, 60);
    db.flush(Durability::Disk).expect("to be synced");
    assert!(log_files(&home.0) > 20);

    let commits = feed(&db, 0);
    assert!(commits.is_sorted_by(|a, b| a.timestamp < b.timestamp && a.end < b.end));
    assert_eq!(content(&replica(&commits)), content(&db));
    // The log as whoever looks at files sees it has the same commits.
    let mut seen = Vec::new();
    let folder = Folder::existing(&home.0).expect("a folder");
    let damage = Database::read_log(&folder, &mut |entry| {
        if let LogEntryKind::Commit { timestamp, .. } = entry.kind {
            seen.push((timestamp, entry.operations().count()));
        }
        ControlFlow::Continue(())
    });
    assert_eq!(damage.expect("a log"), None);
    let given = commits.iter().map(|commit| (commit.timestamp, commit.operations().count()));
    assert_eq!(given.collect::<Vec<_>>(), seen);
    // From the end of each it goes on.
    for (number, commit) in commits.iter().enumerate() {
        let next = db.log_feed(commit.end).expect("a feed").next();
        assert_eq!(next.transpose().expect("it is readable").as_ref(), commits.get(number + 1));
    }
}

#[test]
fn a_feed_begins_between_frames() {
    let home = TestFolder::new();
    let db = home.open(Durability::Disk);
    work(&db, 15);
    let commits = feed(&db, 0);
    let durable = db.log_statistics().expect("a log").bytes_synced;
    // Those of parts are among them, also of parts that were taken back.
    let mut boundaries = BTreeSet::from([durable]);
    let mut parts = 0;
    let folder = Folder::existing(&home.0).expect("a folder");
    let walked = Database::read_log(&folder, &mut |entry| {
        boundaries.insert(entry.position);
        parts += u64::from(matches!(entry.kind, LogEntryKind::Part { .. }));
        ControlFlow::Continue(())
    });
    assert_eq!(walked.expect("a log"), None);
    assert!(parts > 10);
    for &position in &boundaries {
        let rest = commits.iter().filter(|commit| commit.end > position);
        assert!(feed(&db, position).iter().eq(rest));
    }
    for position in boundaries.iter().flat_map(|at| [at + 1, at + 2, at + 500]) {
        if !boundaries.contains(&position) {
            let error = db.log_feed(position).map(|_| ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidOptions, "{position}");
        }
    }
    for position in [durable + 1, u64::MAX] {
        let error = db.log_feed(position).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOptions);
    }
    let in_memory = Database::open(Options::new()).expect("a database");
    let error = in_memory.log_feed(0).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidOptions);
}

#[test]
fn only_what_the_disk_has() {
    let home = TestFolder::new();
    let db = home.open(Durability::Os);
    let table = db.create_table(numbers("Number")).expect("a table");
    db.flush(Durability::Disk).expect("to be synced");
    let mut feed = db.log_feed(0).expect("a feed");
    assert_eq!(feed.by_ref().count(), 1);
    for n in 0..100 {
        insert(&db, &table, n, "number");
        assert!(feed.next().is_none());
        if n % 10 == 9 {
            db.flush(Durability::Disk).expect("to be synced");
            assert_eq!(feed.by_ref().count(), 10);
        }
    }
}

#[test]
fn beside_a_thread_that_writes() {
    const ROWS: u64 = 3000;
    let home = TestFolder::new();
    let db = home.open(Durability::Buffered);
    let is_done = AtomicBool::new(false);
    let mut commits = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let table = db.create_table(numbers("Number")).expect("a table");
            for n in 0..ROWS {
                insert(&db, &table, n, &"x".repeat(n as usize % 50));
                if n % 16 == 0 {
                    db.flush(Durability::Disk).expect("to be synced");
                }
            }
            db.flush(Durability::Disk).expect("to be synced");
            is_done.store(true, Ordering::Release);
        });
        let mut feed = db.log_feed(0).expect("a feed");
        loop {
            let was_done = is_done.load(Ordering::Acquire);
            let before = commits.len();
            commits.extend(feed.by_ref().map(|commit| commit.expect("it is readable")));
            let durable = db.log_statistics().expect("a log").bytes_synced;
            assert!(commits.last().is_none_or(|commit| commit.end <= durable));
            if was_done && commits.len() == before {
                break;
            }
        }
    });
    assert_eq!(commits.len() as u64, ROWS + 1);
    assert!(commits.is_sorted_by(|a, b| a.timestamp < b.timestamp));
    assert_eq!(content(&replica(&commits)), content(&db));
}

#[test]
fn a_checkpoint_removes_the_beginning() {
    let home = TestFolder::new();
    let db = home.open(Durability::Disk);
    work(&db, 30);
    // It has read a little, and stays behind.
    let mut late = db.log_feed(0).expect("a feed");
    let first = late.next().expect("a commit").expect("it is readable");
    let before = feed(&db, 0);
    db.checkpoint().expect("a checkpoint");
    let kept = db.log_statistics().expect("a log").bytes_synced;
    for position in [0, first.end, before[before.len() / 2].end] {
        let error = db.log_feed(position).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LogPositionGone);
    }
    // Files of before are used again. What the late one still gives is right, until it says so.
    work(&db, 60);
    let mut given = vec![first];
    let error = loop {
        match late.next().expect("there is more") {
            Ok(commit) => given.push(commit),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::LogPositionGone);
    assert_eq!(late.next().expect("it stays there").unwrap_err().kind(), error.kind());
    assert!(given.len() < before.len() && given[..] == before[..given.len()]);
    assert!(feed(&db, kept).len() > 100);
}

#[test]
fn what_is_kept_can_be_followed_from_the_beginning() {
    let home = TestFolder::new();
    let options = options(Durability::Disk).keep_history(true);
    let db = Database::open_at(&home.0, options).expect("a database");
    for _ in 0..3 {
        work(&db, 20);
        db.checkpoint().expect("a checkpoint");
    }
    assert_eq!(content(&replica(&feed(&db, 0))), content(&db));
}

/// The machine stops while the last file is written: it ends in the middle of a frame.
#[test]
fn a_torn_tail() {
    let home = TestFolder::new();
    let db = home.open(Durability::Os);
    work(&db, 8);
    db.flush(Durability::Disk).expect("to be synced");
    let durable = feed(&db, 0);
    let table = db.table("Of0").expect("a table");
    (1000..1100).for_each(|n| insert(&db, &table, n, "perhaps lost"));

    let torn = TestFolder::new();
    std::fs::create_dir_all(&torn.0).expect("a folder");
    let mut names: Vec<_> = std::fs::read_dir(&home.0)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    for name in &names {
        std::fs::copy(home.0.join(name), torn.0.join(name)).expect("to be copied");
    }
    let last = names.iter().rfind(|name| name.to_string_lossy().starts_with("log-0"));
    let last = torn.0.join(last.expect("a file of the log"));
    let bytes = std::fs::read(&last).expect("the file");
    std::fs::write(&last, &bytes[..bytes.len() - 700]).expect("to be written");

    let db = torn.open(Durability::Disk);
    assert!(db.damage().is_none());
    let commits = feed(&db, 0);
    assert!(commits.len() > durable.len() && commits.len() < durable.len() + 100);
    assert_eq!(commits[..durable.len()], durable[..]);
    let table = db.table("Of0").expect("a table");
    (2000..2050).for_each(|n| insert(&db, &table, n, "behind it"));
    let all = feed(&db, 0);
    assert_eq!(all.len(), commits.len() + 50);
    assert_eq!(content(&replica(&all)), content(&db));
}

/// A feed is part of the database it borrows from, and goes to another thread with it.
#[test]
fn a_feed_in_another_thread() {
    let home = TestFolder::new();
    let db = Arc::new(home.open(Durability::Disk));
    work(&db, 5);
    let feed = db.log_feed(0).expect("a feed");
    let count = std::thread::scope(|scope| scope.spawn(|| feed.count()).join());
    assert!(count.expect("it ended") > 10);
}
