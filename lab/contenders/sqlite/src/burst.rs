//! One large transaction in SQLite: a prepared insert between BEGIN and COMMIT, or ROLLBACK.
//!
//! In a file without readers it has a rollback journal, which its documentation says is quicker
//! than the WAL for transactions above some hundred megabytes; beside snapshots it has the WAL,
//! without which a reader would have to be gone at the commit. A snapshot is a connection of its
//! own, opened beforehand, whose transaction has read something.

use std::cell::RefCell;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use lab_harness::burst::{Burst, BurstSnapshot, BurstStore};
use lab_harness::pairs::{Key, Pair, Seen};
use lab_harness::readers::Ended;
use lab_harness::{Location, Medium, Outcome, Promise, Setting, Tier};

use crate::connection::{Bound, Session};

pub(crate) const SETTINGS: &[Setting] = &[
    setting(Promise::Memory, Medium::Memory, IN_MEMORY),
    setting(Promise::Memory, Medium::Ramdisk, UNSYNCED),
    setting(Promise::Os, Medium::Disk, UNSYNCED),
    setting(Promise::Disk, Medium::Disk, SYNCED),
];

const IN_MEMORY: &str = ":memory:, integer primary key, one prepared statement within BEGIN";
const UNSYNCED: &str = "journal_mode=TRUNCATE, beside snapshots WAL; synchronous=OFF, cache holds \
    everything, integer primary key, one prepared statement within BEGIN";
const SYNCED: &str = "journal_mode=TRUNCATE, beside snapshots WAL; synchronous=FULL, cache holds \
    everything, integer primary key, one prepared statement within BEGIN";

const fn setting(promise: Promise, medium: Medium, note: &'static str) -> Setting {
    Setting { variant: "", promise, medium, tier: Tier::Always, note }
}

const TABLE: &str = "CREATE TABLE burst (key INTEGER PRIMARY KEY, value BLOB NOT NULL);";

/// Statements of the writer, in the order of the numbers below.
const WRITES: &[&str] = &[
    "BEGIN IMMEDIATE",
    "COMMIT",
    "ROLLBACK",
    "INSERT INTO burst VALUES (?1, ?2)",
    "SELECT key, value FROM burst ORDER BY key",
];

/// Statements of a snapshot, in the order of the numbers below.
const READS: &[&str] =
    &["BEGIN", "COMMIT", "SELECT 1 FROM burst WHERE key = ?1", "SELECT count(*) FROM burst"];

const BEGIN: usize = 0;
const COMMIT: usize = 1;
const ROLLBACK: usize = 2;
const INSERT: usize = 3;
const WALK: usize = 4;
const SELECT: usize = 2;
const COUNT: usize = 3;

struct Store {
    /// Dropped first, so that the writer is the last to close.
    readers: RefCell<Vec<Session>>,
    writer: RefCell<Session>,
}

struct Inserts<'s> {
    session: &'s RefCell<Session>,
    ended: bool,
}

struct Open(Session);

/// Opens an empty database, and a connection for each snapshot.
pub(crate) fn open(
    setting: &Setting,
    location: &Location<'_>,
    snapshots: u64,
) -> Outcome<Box<dyn BurstStore>> {
    if setting.medium == Medium::Memory {
        if snapshots > 0 {
            return Err("a database in :memory: has one connection".into());
        }
        let writer = RefCell::new(Session::open_alone(c":memory:", TABLE, WRITES)?);
        return Ok(Box::new(Store { readers: RefCell::default(), writer }));
    }
    let path = CString::new(location.files()?.join("burst.sqlite").as_os_str().as_bytes())?;
    let own = pragmas(setting, location);
    if snapshots == 0 {
        let alone =
            format!("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=TRUNCATE; {own} {TABLE}");
        let writer = RefCell::new(Session::open_alone(&path, &alone, WRITES)?);
        return Ok(Box::new(Store { readers: RefCell::default(), writer }));
    }
    let beside = format!("PRAGMA journal_mode=WAL; {own} {TABLE}");
    let writer = RefCell::new(Session::open(&path, &beside, WRITES)?);
    let reader = |_| Session::open(&path, "", READS);
    let readers = (0..snapshots).map(reader).collect::<Outcome<Vec<_>>>()?;
    Ok(Box::new(Store { readers: RefCell::new(readers), writer }))
}

fn pragmas(setting: &Setting, location: &Location<'_>) -> String {
    let synchronous = if setting.promise == Promise::Disk { "FULL" } else { "OFF" };
    let cache_kib = location.data_bytes * 3 / 1024 + 65_536;
    let map_bytes = location.data_bytes * 3 + (64 << 20);
    format!(
        "PRAGMA synchronous={synchronous}; PRAGMA temp_store=MEMORY; \
         PRAGMA cache_size=-{cache_kib}; PRAGMA mmap_size={map_bytes};"
    )
}

fn number(key: &Key) -> Bound<'static> {
    Bound::Integer(i64::from_be_bytes(*key))
}

fn done(ended: Ended) -> Outcome<()> {
    match ended {
        Ended::Committed => Ok(()),
        Ended::Aborted => Err("SQLite: the database is locked".into()),
    }
}

impl BurstStore for Store {
    fn begin(&self) -> Outcome<Box<dyn Burst + '_>> {
        done(self.writer.borrow_mut().run(BEGIN, &[], |_| ())?)?;
        Ok(Box::new(Inserts { session: &self.writer, ended: false }))
    }

    fn snapshot(&self) -> Outcome<Box<dyn BurstSnapshot + '_>> {
        let session = self.readers.borrow_mut().pop().ok_or("opened without snapshots")?;
        let mut open = Open(session);
        done(open.0.run(BEGIN, &[], |_| ())?)?;
        open.sees(&[0; 8])?;
        Ok(Box::new(open))
    }

    fn read_in_order(&self, seen: &mut Seen) -> Outcome<()> {
        done(self.writer.borrow_mut().run(WALK, &[], |row| {
            seen.see_bytes(&row.integer(0).to_be_bytes(), row.bytes(1));
        })?)
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl Burst for Inserts<'_> {
    fn insert(&mut self, pairs: &[Pair]) -> Outcome<()> {
        let mut session = self.session.borrow_mut();
        for (key, value) in pairs {
            done(session.run(INSERT, &[number(key), Bound::Bytes(value)], |_| ())?)?;
        }
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Outcome<()> {
        self.ended = true;
        done(self.session.borrow_mut().run(COMMIT, &[], |_| ())?)
    }

    fn roll_back(mut self: Box<Self>) -> Outcome<()> {
        self.ended = true;
        done(self.session.borrow_mut().run(ROLLBACK, &[], |_| ())?)
    }
}

impl Drop for Inserts<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.session.borrow_mut().run(ROLLBACK, &[], |_| ());
        }
    }
}

impl BurstSnapshot for Open {
    fn sees(&mut self, key: &Key) -> Outcome<bool> {
        let mut found = false;
        done(self.0.run(SELECT, &[number(key)], |_| found = true)?)?;
        Ok(found)
    }

    fn count(&mut self) -> Outcome<u64> {
        let mut count = 0;
        done(self.0.run(COUNT, &[], |row| count = row.integer(0) as u64)?)?;
        Ok(count)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let _ = self.0.run(COMMIT, &[], |_| ());
    }
}
