//! One database in WAL mode shared by a writer and readers, a connection for each thread.
//!
//! WAL is how its documentation has readers and a writer not wait for each other. Every
//! transaction is begun and committed by prepared statements, the writer's as IMMEDIATE. A lock
//! that is not had within ten seconds aborts the transaction.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use lab_harness::readers::{
    Deleted, Ended, HEXKEY_LEN, Row, RowReader, RowView, RowWriter, See, SharedStore, hexkey_bytes,
    hexkey_of,
};
use lab_harness::{Location, Outcome, Promise, Setting};

use crate::connection::{self, Bound, Session};

const TABLE: &str = "PRAGMA journal_mode=WAL; CREATE TABLE rec_200 (
    id INTEGER PRIMARY KEY, hexkey BLOB NOT NULL, payload BLOB NOT NULL)";

/// Statements of a writer, in the order of the numbers below.
const WRITES: &[&str] = &[
    "BEGIN IMMEDIATE",
    "COMMIT",
    "INSERT INTO rec_200 VALUES (?1, ?2, ?3)",
    "UPDATE rec_200 SET payload = ?2 WHERE id = ?1",
    "SELECT id FROM rec_200 WHERE id >= ?1 ORDER BY id LIMIT ?2",
    "DELETE FROM rec_200 WHERE id = ?1",
];

/// Statements of a reader, in the order of the numbers below.
const READS: &[&str] = &[
    "BEGIN",
    "COMMIT",
    "SELECT id, hexkey, payload FROM rec_200 WHERE id = ?1",
    "SELECT id, hexkey, payload FROM rec_200",
];

const BEGIN: usize = 0;
const COMMIT: usize = 1;
const INSERT: usize = 2;
const UPDATE: usize = 3;
const NEXT: usize = 4;
const DELETE: usize = 5;
const SELECT: usize = 2;
const SCAN: usize = 3;

/// Where the database is and how a connection is set up.
pub(crate) struct Shared {
    path: CString,
    pragmas: String,
}

struct Writer {
    session: Session,
    ids: Vec<i64>,
}

struct Reader(Session);

impl Shared {
    pub(crate) fn create(setting: &Setting, location: &Location<'_>) -> Outcome<Self> {
        let synchronous = if setting.promise == Promise::Disk { "FULL" } else { "OFF" };
        let path = location.files()?.join("rec_200.sqlite");
        let path = CString::new(path.as_os_str().as_bytes())?;
        let cache_kib = location.data_bytes * 2 / 1024 + 65_536;
        let map_bytes = location.data_bytes * 3 + (64 << 20);
        let pragmas = format!(
            "PRAGMA busy_timeout=10000; PRAGMA synchronous={synchronous};
             PRAGMA temp_store=MEMORY;
             PRAGMA cache_size=-{cache_kib}; PRAGMA mmap_size={map_bytes};"
        );
        Session::open(&path, TABLE, &[])?;
        Ok(Self { path, pragmas })
    }
}

impl SharedStore for Shared {
    fn writer(&self) -> Outcome<Box<dyn RowWriter + '_>> {
        let session = Session::open(&self.path, &self.pragmas, WRITES)?;
        Ok(Box::new(Writer { session, ids: Vec::new() }))
    }

    fn reader(&self) -> Outcome<Box<dyn RowReader + '_>> {
        Ok(Box::new(Reader(Session::open(&self.path, &self.pragmas, READS)?)))
    }
}

impl RowWriter for Writer {
    fn insert(&mut self, rows: &[Row]) -> Outcome<Ended> {
        transaction(&mut self.session, |session| {
            for row in rows {
                let hexkey = hexkey_bytes(row.hexkey);
                let id = Bound::Integer(i64::from(row.id));
                let values = [id, Bound::Bytes(&hexkey), Bound::Bytes(&row.payload)];
                if session.run(INSERT, &values, |_| ())? == Ended::Aborted {
                    return Ok(Ended::Aborted);
                }
            }
            Ok(Ended::Committed)
        })
    }

    fn update(&mut self, changes: &[Row]) -> Outcome<Ended> {
        transaction(&mut self.session, |session| {
            for change in changes {
                let id = Bound::Integer(i64::from(change.id));
                let values = [id, Bound::Bytes(&change.payload)];
                if session.run(UPDATE, &values, |_| ())? == Ended::Aborted {
                    return Ok(Ended::Aborted);
                }
                if session.changed() != 1 {
                    return Err("a row is not there".into());
                }
            }
            Ok(Ended::Committed)
        })
    }

    fn delete(&mut self, from: i32, count: usize) -> Outcome<Option<Deleted>> {
        let ids = &mut self.ids;
        ids.clear();
        let ended = transaction(&mut self.session, |session| {
            let values = [Bound::Integer(i64::from(from)), Bound::Integer(count as i64)];
            let mut ended = session.run(NEXT, &values, |row| ids.push(row.integer(0)))?;
            for &id in &*ids {
                if ended == Ended::Aborted {
                    break;
                }
                ended = session.run(DELETE, &[Bound::Integer(id)], |_| ())?;
            }
            Ok(ended)
        })?;
        let last = ids.last().map_or(from, |&id| id as i32);
        Ok((ended == Ended::Committed).then_some(Deleted { rows: ids.len(), last }))
    }
}

impl RowReader for Reader {
    fn read(&mut self, ids: &[i32], see: &mut See<'_>) -> Outcome<Ended> {
        transaction(&mut self.0, |session| {
            for &id in ids {
                let mut found = false;
                let values = [Bound::Integer(i64::from(id))];
                let ended = session.run(SELECT, &values, |row| {
                    found = true;
                    show(row, see);
                })?;
                if ended == Ended::Aborted {
                    return Ok(ended);
                }
                if !found {
                    see(None);
                }
            }
            Ok(Ended::Committed)
        })
    }

    fn scan(&mut self, see: &mut See<'_>) -> Outcome<Ended> {
        transaction(&mut self.0, |session| session.run(SCAN, &[], |row| show(row, see)))
    }
}

/// Runs statements between a begin and a commit.
fn transaction(
    session: &mut Session,
    statements: impl FnOnce(&mut Session) -> Outcome<Ended>,
) -> Outcome<Ended> {
    if session.run(BEGIN, &[], |_| ())? == Ended::Aborted {
        return Ok(Ended::Aborted);
    }
    match statements(session)? {
        Ended::Aborted => Ok(Ended::Aborted),
        Ended::Committed => session.run(COMMIT, &[], |_| ()),
    }
}

fn show(row: &connection::Row, see: &mut See<'_>) {
    let hexkey: [u8; HEXKEY_LEN] = row.bytes(1).try_into().unwrap_or_default();
    let id = row.integer(0) as i32;
    see(Some(RowView { id, hexkey: hexkey_of(hexkey), payload: row.bytes(2) }));
}
