//! With the setting `freeze` at `on_commit`, a commit makes columns of segments that have become
//! full since somebody began to ask for that, of whomever's rows. Nobody notices but by time and
//! memory: what hinders it is tried again at a later commit.

use std::sync::Arc;

use remanent_engine::{Database, Options, SEGMENT_ROWS};
use remanent_sql::{Freezing, Session, SqlDatabase};

const SEGMENT: usize = SEGMENT_ROWS;

fn session() -> Session {
    let engine = Arc::new(Database::open(Options::new().budget(512 << 20)).unwrap());
    let database = SqlDatabase::new(engine).unwrap();
    database.freezing(Freezing::OnCommit);
    let mut session = database.session();
    session.execute("create table t (id int primary key, v int, w text)").unwrap();
    session
}

/// A statement that inserts rows with these ids, too few for a segment.
fn rows(ids: std::ops::Range<usize>) -> String {
    let std::ops::Range { start, end } = ids;
    assert!(end - start < SEGMENT);
    let text = "select i, 1, 'text ' || i % 10 from generate_series";
    format!("insert into t {text}({start}, {}) as s(i)", end - 1)
}

/// Inserts so many rows in statements of some.
fn load(session: &mut Session, count: usize, part: usize) {
    for from in (0..count).step_by(part) {
        session.execute(&rows(from..count.min(from + part))).unwrap();
    }
}

/// One row by itself, which is no statement that is planned.
fn insert_one(session: &mut Session, id: usize) {
    let text = format!("insert into t values ({id}, 1, 'one')");
    session.run_text(&text).expect("a statement about one key").unwrap();
}

fn frozen(session: &Session) -> usize {
    session.database().engine().statistics().frozen_segments as usize
}

fn check_count(session: &mut Session, count: usize) {
    let rows = session.query("select count(*) from t", &[]).unwrap().rows;
    assert_eq!(rows[0][0].as_i64(), Some(count as i64));
}

fn check_sum(session: &mut Session, count: usize) {
    let rows = session.query("select count(*), sum(id), sum(v) from t", &[]).unwrap().rows;
    let found: Vec<String> = rows[0].iter().map(ToString::to_string).collect();
    let sum = count * (count - 1) / 2;
    assert_eq!(found, [count.to_string(), sum.to_string(), count.to_string()]);
}

#[test]
fn commits_freeze_segments_that_are_full() {
    let mut session = session();
    assert_eq!(session.query("show freeze", &[]).unwrap().rows[0][0].as_str(), Some("on_commit"));
    let part = SEGMENT / 2 + 1;
    for (statements, segments) in (1..=9).zip([0, 1, 1, 2, 2, 3, 3, 4, 4]) {
        session.execute(&rows((statements - 1) * part..statements * part)).unwrap();
        assert_eq!(frozen(&session), segments, "after {statements}");
    }
    check_sum(&mut session, 9 * part);
}

#[test]
fn a_row_by_itself_freezes_what_is_full() {
    let mut session = session();
    load(&mut session, SEGMENT - 2, SEGMENT / 2);
    for id in SEGMENT - 2..=SEGMENT {
        assert_eq!(frozen(&session), 0, "{id}");
        insert_one(&mut session, id);
    }
    assert_eq!(frozen(&session), 1);
    check_sum(&mut session, SEGMENT + 1);
}

#[test]
fn a_block_freezes_all_that_it_has_filled() {
    let mut session = session();
    session.execute("begin").unwrap();
    load(&mut session, 5 * SEGMENT + 1, SEGMENT / 4);
    assert_eq!(frozen(&session), 0);
    session.execute("commit").unwrap();
    assert_eq!(frozen(&session), 5);
    check_sum(&mut session, 5 * SEGMENT + 1);
}

#[test]
fn what_was_full_before_waits_for_queries() {
    let mut session = session();
    session.database().freezing(Freezing::Off);
    let mut off = session.database().session();
    off.execute("create table other (id int primary key)").unwrap();
    for half in 0..5 {
        let (from, to) = (half * SEGMENT / 2, (half + 1) * SEGMENT / 2 - 1);
        let text = format!("insert into other select generate_series({from}, {to})");
        off.execute(&text).unwrap();
    }
    assert_eq!(frozen(&off), 0);
    // Those of the session that has the setting count from its first statement on.
    let mut late = SqlDatabase::new(Arc::clone(off.database().engine())).unwrap().session();
    late.execute("set freeze = on_commit; insert into other values (-1)").unwrap();
    insert_one(&mut late, 0);
    assert_eq!(frozen(&late), 0);
    // Whoever has filled a segment meanwhile, the next commit of such a session freezes it.
    let mut insert = |text: &str, id: i64| {
        session.execute(text).unwrap();
        let text = format!("insert into other values ({id})");
        session.run_text(&text).expect("a statement about one key").unwrap();
        frozen(&session)
    };
    assert_eq!(insert("show freeze", -2), 1);
    assert_eq!(insert("set freeze = off", -3), 1);
    assert_eq!(insert("reset freeze", -4), 2);
    let counted = session.query("select count(*) from other", &[]).unwrap();
    assert_eq!(counted.rows[0][0].as_i64(), Some(5 * SEGMENT as i64 / 2 + 4));
}

#[test]
fn what_is_busy_is_tried_again() {
    let mut session = session();
    let mut reader = session.database().session();
    reader.execute("set freeze = off").unwrap();
    load(&mut session, SEGMENT / 2, SEGMENT / 2);
    reader.execute("begin isolation level repeatable read").unwrap();
    assert_eq!(reader.query("select count(*) from t", &[]).unwrap().rows.len(), 1);
    session.execute(&rows(SEGMENT / 2..SEGMENT + 1)).unwrap();
    assert_eq!(frozen(&session), 0, "a snapshot does not see all of its rows");
    reader.execute("commit").unwrap();
    // One whose rows are being changed.
    reader.execute("begin; update t set w = w where id = 7").unwrap();
    insert_one(&mut session, SEGMENT + 1);
    assert_eq!(frozen(&session), 0);
    reader.execute("rollback").unwrap();
    session.database().engine().reclaim();
    insert_one(&mut session, SEGMENT + 2);
    assert_eq!(frozen(&session), 1);
    check_sum(&mut session, SEGMENT + 3);
}

#[test]
fn tables_that_are_emptied_or_gone_are_no_trouble() {
    let mut session = session();
    let mut reader = session.database().session();
    reader.execute("set freeze = off").unwrap();
    load(&mut session, 2 * SEGMENT + 1, SEGMENT / 2);
    assert_eq!(frozen(&session), 2);
    session.execute("truncate t").unwrap();
    check_count(&mut session, 0);
    // Those of a table that is dropped while they wait are forgotten.
    reader.execute("begin isolation level repeatable read, read only; select * from t").unwrap();
    load(&mut session, 2 * SEGMENT + 1, SEGMENT / 2);
    assert_eq!(frozen(&session), 2);
    session.execute("drop table t; create table t (id int primary key, v int, w text)").unwrap();
    reader.execute("commit").unwrap();
    load(&mut session, SEGMENT + 1, SEGMENT / 2);
    assert_eq!(frozen(&session), 3);
    check_sum(&mut session, SEGMENT + 1);
}

#[test]
fn ids_that_are_used_again_fill_a_segment_as_well() {
    let mut session = session();
    load(&mut session, SEGMENT, SEGMENT / 2);
    session.execute("delete from t where id < 10").unwrap();
    session.database().engine().reclaim();
    // Nine of the ten ids are free when the next segment is begun.
    insert_one(&mut session, 0);
    assert_eq!(frozen(&session), 0);
    for id in 1..=10 {
        insert_one(&mut session, if id == 10 { SEGMENT } else { id });
    }
    assert_eq!(frozen(&session), 1);
    check_sum(&mut session, SEGMENT + 1);
}

#[test]
fn a_role_freezes_what_it_owns() {
    let mut session = session();
    session.execute("create role ann login; grant insert, select on t to ann").unwrap();
    let mut ann = session.database().session();
    ann.act_as("ann").unwrap();
    load(&mut ann, SEGMENT + 1, SEGMENT / 2);
    assert_eq!(frozen(&session), 0);
    insert_one(&mut session, SEGMENT + 1);
    assert_eq!(frozen(&session), 1);
}

#[test]
fn memory_that_is_refused_is_nobodys_error() {
    let mut session = session();
    let engine = Arc::clone(session.database().engine());
    load(&mut session, SEGMENT, SEGMENT / 2);
    let (mut id, mut refused) = (SEGMENT, 0);
    for nth in 1..12 {
        let text = format!("insert into t values ({id}, 1, 'one')");
        engine.fail_allocations_from(nth);
        let inserted = session.run_text(&text).expect("a statement about one key");
        engine.fail_allocations_from(0);
        if inserted.is_ok() {
            id += 1;
            refused += usize::from(frozen(&session) == 0);
        }
    }
    assert!(refused > 0);
    insert_one(&mut session, id);
    assert_eq!(frozen(&session), 1);
    check_sum(&mut session, id + 1);
}

#[test]
fn many_sessions_insert_and_change_at_a_time() {
    let session = session();
    let database = Arc::clone(session.database());
    let (threads, part) = (4, SEGMENT / 8 + 1);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let mut session = database.session();
            scope.spawn(move || {
                for turn in 0..8 {
                    let from = (turn * threads + thread) * part;
                    session.execute(&rows(from..from + part)).unwrap();
                    let text = format!("update t set w = 'new' where id = {from}");
                    session.run_text(&text).expect("a statement about one key").unwrap();
                }
            });
        }
    });
    let mut session = session;
    session.database().engine().reclaim();
    let count = 8 * threads * part;
    for id in count..count + 4 {
        insert_one(&mut session, id);
    }
    assert_eq!(frozen(&session), count / SEGMENT);
    check_sum(&mut session, count + 4);
    let new = "select count(*) from t where w = 'new'";
    assert_eq!(session.query(new, &[]).unwrap().rows[0][0].as_i64(), Some(8 * threads as i64));
}
