//! Small pairs in SQLite: the key is the integer primary key.
//!
//! Eight bytes are an integer whose order is theirs as long as the first bit is not set, and the
//! integer primary key is how SQLite stores a table by its key. One call is one statement, which
//! commits by itself. Threads that commit have a connection each and wait for each other; whoever
//! waits too long is told to try again.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use lab_harness::pairs::{CommitStore, Committer, Key, Pair, PairStore, Seen, Value};
use lab_harness::readers::Ended;
use lab_harness::{Location, Medium, Outcome, Promise, Setting};

use crate::connection::{Bound, Session};

const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS pair (key INTEGER PRIMARY KEY, value BLOB NOT NULL);";

/// The statements, in the order of the numbers below.
const STATEMENTS: &[&str] = &[
    "INSERT INTO pair VALUES (?1, ?2)",
    "UPDATE pair SET value = ?2 WHERE key = ?1",
    "SELECT value FROM pair WHERE key = ?1",
    "SELECT key, value FROM pair ORDER BY key",
    "BEGIN",
    "COMMIT",
];

const INSERT: usize = 0;
const UPDATE: usize = 1;
const SELECT: usize = 2;
const WALK: usize = 3;
const BEGIN: usize = 4;
const COMMIT: usize = 5;

const FILE: &str = "pairs.sqlite";

/// What is behind the file's name in that of the log.
pub(crate) const LOG: &str = "pairs.sqlite-wal";

struct Pairs(Session);

/// Where the database is and how a connection is set up.
struct Commits {
    path: CString,
    pragmas: String,
}

/// Opens a database, new or not, for one thread.
pub(crate) fn open(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn PairStore>> {
    let (path, setting_up) = match setting.medium {
        Medium::Memory => (c":memory:".to_owned(), TABLE.to_owned()),
        _ => {
            let alone = "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;";
            (path(location)?, format!("{alone} {} {TABLE}", pragmas(setting, location.data_bytes)))
        }
    };
    Ok(Box::new(Pairs(Session::open_alone(&path, &setting_up, STATEMENTS)?)))
}

/// As [`open`], for a database that is to be killed: the log keeps everything.
pub(crate) fn open_to_return(
    setting: &Setting,
    location: &Location<'_>,
) -> Outcome<Box<dyn PairStore>> {
    let setting_up = format!(
        "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; {} \
         PRAGMA wal_autocheckpoint=0; {TABLE}",
        pragmas(setting, location.data_bytes)
    );
    Ok(Box::new(Pairs(Session::open_alone(&path(location)?, &setting_up, STATEMENTS)?)))
}

/// Opens an empty database for several threads.
pub(crate) fn open_commits(
    setting: &Setting,
    location: &Location<'_>,
) -> Outcome<Box<dyn CommitStore>> {
    let path = path(location)?;
    let own = pragmas(setting, location.data_bytes);
    let pragmas = format!("PRAGMA busy_timeout=10000; {own}");
    Session::open(&path, &format!("PRAGMA journal_mode=WAL; {pragmas} {TABLE}"), &[])?;
    Ok(Box::new(Commits { path, pragmas }))
}

fn path(location: &Location<'_>) -> Outcome<CString> {
    Ok(CString::new(location.files()?.join(FILE).as_os_str().as_bytes())?)
}

fn pragmas(setting: &Setting, data_bytes: u64) -> String {
    let synchronous = if setting.promise == Promise::Disk { "FULL" } else { "OFF" };
    let cache_kib = data_bytes * 2 / 1024 + 65_536;
    let map_bytes = data_bytes * 3 + (64 << 20);
    format!(
        "PRAGMA synchronous={synchronous}; PRAGMA temp_store=MEMORY; \
         PRAGMA cache_size=-{cache_kib}; PRAGMA mmap_size={map_bytes};"
    )
}

fn number(key: &Key) -> Bound<'static> {
    Bound::Integer(i64::from_be_bytes(*key))
}

fn write(session: &mut Session, statement: usize, key: &Key, value: &Value) -> Outcome<Ended> {
    let ended = session.run(statement, &[number(key), Bound::Bytes(value)], |_| ())?;
    if ended == Ended::Committed && session.changed() != 1 {
        return Err("a key is not there".into());
    }
    Ok(ended)
}

fn read(session: &mut Session, key: &Key, out: &mut Value) -> Outcome<bool> {
    let mut found = false;
    session.run(SELECT, &[number(key)], |row| {
        if let Ok(value) = row.bytes(0).try_into() {
            *out = value;
            found = true;
        }
    })?;
    Ok(found)
}

fn committed(ended: Ended) -> Outcome<()> {
    match ended {
        Ended::Committed => Ok(()),
        Ended::Aborted => Err("SQLite: the database is locked".into()),
    }
}

impl PairStore for Pairs {
    fn insert(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        committed(write(&mut self.0, INSERT, key, value)?)
    }

    fn overwrite(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        committed(write(&mut self.0, UPDATE, key, value)?)
    }

    fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()> {
        committed(self.0.run(BEGIN, &[], |_| ())?)?;
        for (key, value) in pairs {
            self.insert(key, value)?;
        }
        committed(self.0.run(COMMIT, &[], |_| ())?)
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        read(&mut self.0, key, out)
    }

    fn read_in_order(&mut self, seen: &mut Seen) -> Outcome<()> {
        committed(self.0.run(WALK, &[], |row| {
            seen.see_bytes(&row.integer(0).to_be_bytes(), row.bytes(1));
        })?)
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl CommitStore for Commits {
    fn committer(&self) -> Outcome<Box<dyn Committer + '_>> {
        Ok(Box::new(Pairs(Session::open(&self.path, &self.pragmas, STATEMENTS)?)))
    }

    fn syncs(&self) -> Outcome<Option<u64>> {
        Ok(None)
    }
}

impl Committer for Pairs {
    fn commit(&mut self, key: &Key, value: &Value) -> Outcome<Ended> {
        write(&mut self.0, INSERT, key, value)
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        read(&mut self.0, key, out)
    }
}
