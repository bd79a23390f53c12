//! With the setting `freeze` on, a query that has ended makes columns of segments that it has read
//! and in which nothing is changed any more. Nobody notices but by time and memory: what hinders it
//! is passed over without a word.

use std::sync::Arc;

use remanent_engine::{Database, Options, SEGMENT_ROWS};
use remanent_sql::{Freezing, Session, SqlDatabase, SqlState};

const SEGMENT: usize = SEGMENT_ROWS;

const SUM: &str = "select count(*), sum(id), sum(v) from t";

/// A table of hot rows: so many segments, and ten rows more.
fn rows_of(segments: usize) -> Session {
    let engine = Arc::new(Database::open(Options::new().budget(512 << 20)).unwrap());
    let database = SqlDatabase::new(engine).unwrap();
    database.freezing(Freezing::OnRead);
    let mut session = database.session();
    session.execute("create table t (id int primary key, v int, w text)").unwrap();
    load(&mut session, "t", segments * SEGMENT + 10);
    assert_eq!(frozen(&session), 0);
    session
}

/// Inserts rows in statements that are too small for a segment.
fn load(session: &mut Session, table: &str, rows: usize) {
    let part = SEGMENT / 2;
    for from in (0..rows).step_by(part) {
        let to = rows.min(from + part) - 1;
        let text = format!("select i, 1, 'text ' || i % 10 from generate_series({from}, {to})");
        session.execute(&format!("insert into {table} {text} as s(i)")).unwrap();
    }
}

fn frozen(session: &Session) -> usize {
    session.database().engine().statistics().frozen_segments as usize
}

fn answer(session: &mut Session, query: &str) -> String {
    let rows = session.query(query, &[]).unwrap().rows;
    let values: Vec<String> = rows.iter().flatten().map(ToString::to_string).collect();
    values.join(" ")
}

fn expected(rows: usize) -> String {
    format!("{rows} {} {rows}", rows * (rows - 1) / 2)
}

/// Asks until nothing becomes columns any more; how many segments did.
fn ask(session: &mut Session, query: &str) -> usize {
    let before = frozen(session);
    loop {
        let frozen_before = frozen(session);
        session.query(query, &[]).unwrap();
        if frozen(session) == frozen_before {
            return frozen_before - before;
        }
    }
}

#[test]
fn queries_freeze_what_they_have_read() {
    let mut session = rows_of(3);
    let rows = 3 * SEGMENT + 10;
    assert_eq!(answer(&mut session, "show freeze"), "on_read");
    // Each statement freezes one segment at least.
    for segments in 1..=3 {
        assert_eq!(answer(&mut session, SUM), expected(rows));
        assert!(frozen(&session) >= segments);
    }
    assert_eq!(answer(&mut session, SUM), expected(rows));
    assert_eq!(frozen(&session), 3);
    let memory = session.database().engine().memory_by_table().unwrap();
    let table = memory.iter().find(|memory| memory.name.ends_with('t')).unwrap();
    assert_eq!(table.frozen_rows, 3 * SEGMENT as u64);
    // What is changed then is a row again, and stays one.
    session.execute("update t set v = 2 where id = 70000").unwrap();
    assert_eq!(answer(&mut session, "select v from t where id = 70000"), "2");
    assert_eq!(ask(&mut session, SUM), 0);
}

#[test]
fn queries_freeze_again_what_was_changed_a_lot() {
    let mut session = rows_of(2);
    let rows = 2 * SEGMENT + 10;
    assert_eq!(ask(&mut session, SUM), 2);
    // Ids of rows that are deleted in the columns do not become free. Of the second segment too
    // few rows change.
    session.execute("delete from t where id between 100 and 199").unwrap();
    let changed = format!("id % 2 = 0 and id < {SEGMENT} or id % 20 = 1");
    session.execute(&format!("update t set w = 'changed', v = v + 0 where {changed}")).unwrap();
    let words = "select w, count(*) from t group by w order by w";
    let before = answer(&mut session, words);
    let left = answer(&mut session, SUM);
    assert!(left.starts_with(&format!("{} ", rows - 100)), "{left}");
    assert_eq!(ask(&mut session, SUM), 0, "it was frozen by the queries before");
    assert_eq!(frozen(&session), 3);
    assert_eq!(answer(&mut session, words), before);
    assert_eq!(answer(&mut session, SUM), left);
}

#[test]
fn it_takes_no_longer_than_the_query_did() {
    // Each takes about as long as to count the rows of all; one is always frozen. A query that the
    // machine holds up has more time, so it is enough that it is so once.
    let mut all = Vec::new();
    while !all.iter().any(|&frozen| frozen <= 3) {
        assert!(all.len() < 6, "{all:?} of 6 segments each");
        let mut session = rows_of(6);
        session.query("select count(*) from t", &[]).unwrap();
        all.push(frozen(&session));
    }
    assert!(all.iter().all(|&frozen| frozen >= 1), "{all:?}");
}

#[test]
fn the_setting_is_off_unless_somebody_asks() {
    let session = rows_of(2);
    let database = Arc::clone(session.database());
    database.freezing(Freezing::Off);
    let mut session = database.session();
    assert_eq!(answer(&mut session, "show freeze"), "off");
    assert_eq!(ask(&mut session, SUM), 0);
    session.execute("set freeze = on_read").unwrap();
    let shown = "select setting from pg_settings where name = 'freeze'";
    assert_eq!(answer(&mut session, shown), "on_read");
    session.execute("reset freeze").unwrap();
    assert_eq!(ask(&mut session, SUM), 0);
    session.execute("set freeze to 'ON_READ'; reset all").unwrap();
    assert_eq!(ask(&mut session, SUM), 0);
    for bad in ["on_write", "true", "''"] {
        let refused = session.execute(&format!("set freeze = {bad}")).unwrap_err();
        assert_eq!(refused.state(), SqlState::BAD_PARAMETER);
    }
    database.freezing(Freezing::OnRead);
    let mut session = database.session();
    session.execute("set freeze = off; reset freeze").unwrap();
    assert_eq!(ask(&mut session, SUM), 2);
}

#[test]
fn what_is_being_changed_stays_rows() {
    let mut session = rows_of(3);
    let rows = 3 * SEGMENT + 10;
    let mut other = session.database().session();
    // One segment has a row that is being changed, one a row id that is free.
    other.execute("begin; update t set v = 5 where id = 7").unwrap();
    session.execute(&format!("delete from t where id = {}", SEGMENT + 5)).unwrap();
    assert_eq!(ask(&mut session, SUM), 1);
    let left = format!("{} {} {}", rows - 1, rows * (rows - 1) / 2 - SEGMENT - 5, rows - 1);
    assert_eq!(answer(&mut session, SUM), left);
    // Others still see the row as it was.
    let mut reader = session.database().session();
    reader.execute("begin isolation level repeatable read").unwrap();
    assert_eq!(answer(&mut reader, SUM), left);
    other.execute("commit").unwrap();
    assert_eq!(ask(&mut session, SUM), 0);
    assert_eq!(answer(&mut reader, SUM), left);
    reader.execute("commit").unwrap();
    session.database().engine().reclaim();
    assert_eq!(ask(&mut session, SUM), 1);
    session.execute("vacuum").unwrap();
    assert_eq!(frozen(&session), 3);
}

#[test]
fn a_segment_that_was_not_read_whole_stays_as_it_is() {
    let mut session = rows_of(2);
    for query in ["select w from t limit 70", "select v from t where id = 70000"] {
        assert_eq!(ask(&mut session, query), 0, "{query}");
    }
    // Conditions leave out rows, and the segment was read.
    assert_eq!(ask(&mut session, "select count(*) from t where w = 'text 3'"), 2);
}

#[test]
fn blocks_and_sessions_that_only_read_change_nothing() {
    let mut session = rows_of(2);
    session.execute("begin").unwrap();
    assert_eq!(ask(&mut session, SUM), 0);
    session.execute("commit; set default_transaction_read_only = on").unwrap();
    assert_eq!(ask(&mut session, SUM), 0);
    session.execute("set default_transaction_read_only = off").unwrap();
    let mut other = session.database().session();
    other.execute("begin; create table u (a int)").unwrap();
    assert_eq!(ask(&mut session, SUM), 0);
    other.execute("rollback").unwrap();
    assert_eq!(ask(&mut session, SUM), 2);
}

#[test]
fn a_role_freezes_what_it_owns() {
    let mut session = rows_of(2);
    session
        .execute("create role ann login; create role bob login; grant select on t to bob")
        .unwrap();
    let database = Arc::clone(session.database());
    let mut bob = database.session();
    bob.act_as("bob").unwrap();
    assert_eq!(ask(&mut bob, SUM), 0);
    session.execute("alter table t owner to ann").unwrap();
    let mut ann = database.session();
    ann.act_as("ann").unwrap();
    assert_eq!(ask(&mut ann, SUM), 2);
}

#[test]
fn memory_that_is_refused_is_nobodys_error() {
    let mut session = rows_of(2);
    let engine = Arc::clone(session.database().engine());
    let mut refused = 0;
    for nth in 1..6 {
        engine.fail_allocations_from(nth);
        let answered = session.query(SUM, &[]);
        engine.fail_allocations_from(0);
        if let Ok(answer) = answered {
            assert_eq!(answer.rows[0][0].as_i64(), Some(2 * SEGMENT as i64 + 10));
            refused += usize::from(frozen(&session) == 0);
        }
    }
    assert!(refused > 0);
    ask(&mut session, SUM);
    assert_eq!(frozen(&session), 2);
    assert_eq!(answer(&mut session, SUM), expected(2 * SEGMENT + 10));
}

#[test]
fn many_sessions_ask_and_change_at_a_time() {
    let session = rows_of(4);
    let database = Arc::clone(session.database());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let mut session = database.session();
            scope.spawn(move || {
                for turn in 0..6 {
                    let id = (thread * 71_993 + turn * 13) % (4 * SEGMENT);
                    let text = format!("update t set w = 'new' where id = {id}");
                    session.execute(&text).unwrap();
                    assert_eq!(answer(&mut session, SUM), expected(4 * SEGMENT + 10));
                }
            });
        }
    });
    let mut session = session;
    session.database().engine().reclaim();
    ask(&mut session, SUM);
    assert_eq!(frozen(&session), 4);
    assert_eq!(answer(&mut session, "select count(*) from t where w = 'new'"), "24");
}
