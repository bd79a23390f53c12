//! Readers and writers beside definitions: readers see one state or the other, whole, and rows
//! whose insertion was acknowledged are there.
//!
//! REMANENT_BESIDE_SECONDS says for how long; two seconds otherwise.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use remanent_sql::{Session, SqlDatabase};

use super::cases::make;
use super::folder::{run, value};

/// Definitions that change the table again and again, each the opposite of another.
const CHANGES: [&str; 12] = [
    "alter table t add column d text default 'd'",
    "alter table t drop column d",
    "alter table t alter column b type varchar(40)",
    "alter table t alter column b type text",
    "create index t_x on t (a)",
    "drop index t_x",
    "alter table t add constraint ab unique (id, a)",
    "alter table t drop constraint ab",
    "create view w as select * from v",
    "drop view w",
    "comment on table t is 'again'",
    "begin; alter table t rename to other; alter table other rename to t; commit",
];

const ROWS: i64 = 2_000;

#[test]
fn readers_and_writers_beside_definitions_lose_nothing() {
    let seconds = std::env::var("REMANENT_BESIDE_SECONDS").ok();
    let seconds = Duration::from_secs(seconds.and_then(|text| text.parse().ok()).unwrap_or(2));
    let database = SqlDatabase::in_memory().unwrap();
    make(&mut database.session(), ROWS as usize);
    let (over, told) = (AtomicBool::new(false), AtomicI64::new(0));
    let (defined, refused, read) = (AtomicI64::new(0), AtomicI64::new(0), AtomicI64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| write_without_pause(&mut database.session(), (&over, &told)));
        for begin in [
            "",
            "begin read only",
            "begin isolation level read committed read only",
            "begin isolation level repeatable read read only",
        ] {
            let (over, told, read, database) = (&over, &told, &read, &database);
            scope.spawn(move || read_all(&mut database.session(), begin, (over, told, read)));
        }
        let mut session = database.session();
        let started = Instant::now();
        let mut round = 0;
        while started.elapsed() < seconds {
            let change = CHANGES[round % CHANGES.len()];
            match session.execute(change) {
                Ok(_) => {
                    defined.fetch_add(1, Ordering::Relaxed);
                    round += 1;
                }
                Err(error) => {
                    // Others write for too long; then it is tried again.
                    assert_eq!(error.state().as_str(), "55006", "{change}: {error:?}");
                    refused.fetch_add(1, Ordering::Relaxed);
                    let _ = session.execute("rollback");
                }
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    let mut session = database.session();
    let all = value(&mut session, "select count(*) from t").parse::<i64>().unwrap();
    assert_eq!(all, ROWS + told.load(Ordering::SeqCst));
    let numbers = value(&mut session, "select count(distinct id) from t");
    assert_eq!(numbers.parse::<i64>().unwrap(), all);
    assert!(defined.load(Ordering::Relaxed) > 3, "definitions do not get through");
    assert!(read.load(Ordering::Relaxed) > 10, "readers do not get through");
}

/// A client that writes without pause.
fn write_without_pause(session: &mut Session, (over, told): (&AtomicBool, &AtomicI64)) {
    let mut next = ROWS + 1;
    while !over.load(Ordering::Relaxed) {
        let insert = format!("insert into t (a, b) values ({next}, 'b{next}')");
        match session.execute(&insert) {
            Ok(_) => {
                told.fetch_add(1, Ordering::SeqCst);
                next += 1;
            }
            Err(error) => {
                let state = error.state().as_str();
                assert!(["40001", "55006", "55P03"].contains(&state), "{error:?}");
            }
        }
    }
}

/// A client that reads, and finds all that was there when it began.
fn read_all(
    session: &mut Session,
    begin: &str,
    (over, told, read): (&AtomicBool, &AtomicI64, &AtomicI64),
) {
    while !over.load(Ordering::Relaxed) {
        let before = told.load(Ordering::SeqCst);
        if !begin.is_empty() {
            run(session, begin);
        }
        for query in [
            "select count(*) from t",
            "select count(*) from v",
            "select count(a) from t where id > 0",
        ] {
            let answer = match session.query(query, &[]) {
                // An index that was planned with and is dropped by now.
                Err(error) if error.state().as_str() == "42704" => continue,
                answer => answer,
            };
            let answer = answer.unwrap_or_else(|error| panic!("{query}: {error:?}"));
            let count = answer.rows[0][0].as_i64().unwrap();
            assert!(count >= ROWS + before, "{begin} {query}: {count} of {before}");
            read.fetch_add(1, Ordering::Relaxed);
        }
        let one = session.query("select b from t where id = 7", &[]).unwrap();
        assert_eq!(one.rows.len(), 1, "{begin}");
        if !begin.is_empty() {
            run(session, "commit");
        }
    }
}
