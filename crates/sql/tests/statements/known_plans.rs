//! Plans that are kept, attacked: whatever has changed between two executions of one text, the
//! second answers as if it were the first.

use std::sync::Arc;

use remanent_sql::{Rows, Session, SqlDatabase, Statement};
use tokio::runtime::{Builder, Runtime};

fn database() -> Arc<SqlDatabase> {
    SqlDatabase::in_memory().expect("a database in memory opens")
}

fn run(session: &mut Session, text: &str) -> Vec<String> {
    match session.execute(text) {
        Ok(answers) => {
            let rows = answers.last().map(|answer| answer.rows.clone()).unwrap_or_default();
            let row = |row: &Vec<remanent_sql::Datum>| {
                let values = row.iter().map(|value| value.to_text().unwrap_or("NULL".to_owned()));
                values.collect::<Vec<_>>().join(",")
            };
            rows.iter().map(row).collect()
        }
        Err(error) => vec![error.state().as_str().to_owned()],
    }
}

/// Each of the steps, with what a text answers before and after it. It is asked twice each time.
fn between(session: &mut Session, text: &str, steps: &[(&str, &[&str])]) {
    for (step, expected) in steps {
        run(session, step);
        for _ in 0..2 {
            assert_eq!(run(session, text), *expected, "after: {step}");
        }
    }
}

#[test]
fn definitions_between_two_executions() {
    let mut session = database().session();
    run(&mut session, "create table t (a int, b int); insert into t values (1, 2), (3, 4)");
    let steps: [(&str, &[&str]); 7] = [
        ("select 1", &["1,2", "3,4"]),
        ("alter table t add column c int default 7", &["1,2,7", "3,4,7"]),
        ("alter table t drop column b", &["1,7", "3,7"]),
        ("drop table t; create table t (x text); insert into t values ('y')", &["y"]),
        ("drop table t", &["42P01"]),
        ("create view t as select 5 as five", &["5"]),
        ("create or replace view t as select 6 as five", &["6"]),
    ];
    between(&mut session, "select * from t order by 1", &steps);
}

#[test]
fn an_index_comes_and_goes() {
    let mut session = database().session();
    run(&mut session, "create table t (a int, b int)");
    run(&mut session, "insert into t select n, n * 2 from generate_series(1, 1000) s(n)");
    let steps: [(&str, &[&str]); 4] = [
        ("select 1", &["999,1998", "1000,2000"]),
        ("create index i on t (a)", &["999,1998", "1000,2000"]),
        ("drop index i", &["999,1998", "1000,2000"]),
        ("delete from t where a = 999", &["1000,2000"]),
    ];
    between(&mut session, "select a, b from t where a > 998 order by a", &steps);
}

#[test]
fn a_savepoint_takes_a_definition_back() {
    let mut session = database().session();
    run(&mut session, "create table t (a int); insert into t values (1)");
    let steps: [(&str, &[&str]); 5] = [
        ("select 1", &["1"]),
        ("begin; savepoint s; alter table t add column b int default 2", &["1,2"]),
        ("rollback to s", &["1"]),
        ("alter table t add column c int default 3", &["1,3"]),
        ("rollback", &["1"]),
    ];
    between(&mut session, "select * from t", &steps);
}

#[test]
fn rights_are_asked_for_each_time() {
    let database = database();
    let mut owner = database.session();
    run(&mut owner, "create table t (a int); insert into t values (1)");
    run(&mut owner, "create role ann; create role ben; grant select on t to ann");
    let (mut ann, mut ben) = (database.session(), database.session());
    ann.act_as("ann").expect("there is such a role");
    ben.act_as("ben").expect("there is such a role");
    let text = "select a from t where a > 0";
    for _ in 0..2 {
        assert_eq!(run(&mut owner, text), ["1"]);
        assert_eq!(run(&mut ann, text), ["1"]);
        assert_eq!(run(&mut ben, text), ["42501"]);
    }
    run(&mut owner, "revoke select on t from ann; grant select on t to ben");
    for _ in 0..2 {
        assert_eq!(run(&mut ann, text), ["42501"]);
        assert_eq!(run(&mut ben, text), ["1"]);
    }
    // In a block that keeps its snapshot, too.
    run(&mut ben, "begin isolation level repeatable read read only");
    assert_eq!(run(&mut ben, text), ["1"]);
    run(&mut owner, "revoke select on t from ben");
    assert_eq!(run(&mut ben, text), ["42501"]);
}

#[test]
fn names_are_looked_for_on_the_path() {
    let mut session = database().session();
    run(&mut session, "create schema one; create schema two");
    run(&mut session, "create table one.t (a int); insert into one.t values (1)");
    run(&mut session, "create table two.t (a int, b int); insert into two.t values (2, 3)");
    let steps: [(&str, &[&str]); 5] = [
        ("set search_path = one", &["1"]),
        ("set search_path = two", &["2,3"]),
        ("set search_path = one, two", &["1"]),
        ("set search_path = public", &["42P01"]),
        ("reset search_path", &["42P01"]),
    ];
    between(&mut session, "select * from t", &steps);
}

#[test]
fn what_the_session_says_is_its_own() {
    let database = database();
    let (mut one, mut two) = (database.session(), database.session());
    run(&mut one, "create table t (a int); insert into t values (1)");
    run(&mut one, "create view v as select current_user as u, a from t");
    one.set_user("ann");
    two.set_user("ben");
    for text in ["select current_user, a from t", "select u, a from v", "select user, a from t"] {
        for _ in 0..2 {
            assert_eq!(run(&mut one, text), ["ann,1"], "{text}");
            assert_eq!(run(&mut two, text), ["ben,1"], "{text}");
        }
    }
    let text = "select current_setting('timezone'), a from t";
    assert_eq!(run(&mut one, text), ["UTC,1"]);
    run(&mut one, "set application_name = 'x'; set timezone = 'UTC'");
    assert_eq!(run(&mut two, text), ["UTC,1"]);
    let text = "select current_setting('application_name'), a from t";
    assert_eq!(run(&mut one, text), ["x,1"]);
    assert_eq!(run(&mut two, text), [",1"]);
}

#[test]
fn moments_and_chance_are_new_each_time() {
    let mut session = database().session();
    run(&mut session, "create table t (a int); insert into t values (1)");
    run(&mut session, "create sequence s");
    for text in [
        "select now(), a from t",
        "select a, case when a > 0 then clock_timestamp() end from t",
        "select random(), a from t",
        "select nextval('s'), a from t",
        "select a from t where a < nextval('s') - 2",
    ] {
        let (first, second) = (run(&mut session, text), run(&mut session, text));
        let is_known = first.first().is_some_and(|row| !row.starts_with("42"));
        assert!(!is_known || first != second, "{text}: {first:?}");
    }
    run(&mut session, "begin");
    let text = "select now(), a from t";
    let within = run(&mut session, text);
    assert_eq!(run(&mut session, text), within, "one transaction, one moment");
    run(&mut session, "commit");
    assert_ne!(run(&mut session, text), within);
}

#[test]
fn locking_needs_an_isolation_that_has_no_need_of_it() {
    let mut session = database().session();
    run(&mut session, "create table t (a int); insert into t values (1)");
    let steps: [(&str, &[&str]); 3] = [
        ("begin isolation level serializable", &["1"]),
        ("rollback; begin isolation level read committed", &["0A000"]),
        ("rollback; begin isolation level serializable", &["1"]),
    ];
    for (step, expected) in steps {
        run(&mut session, step);
        assert_eq!(run(&mut session, "select a from t for update"), expected, "{step}");
    }
}

/// The joins, sorts and aggregates whose operators keep something while they run.
const KEEPING: [&str; 9] = [
    "select count(*), sum(l.v) from l join r on l.k = r.k where r.v < 500",
    "select l.v from l left join r on l.k = r.k and r.v > 100 order by l.v desc limit 5",
    "select min(v), max(v) from l where v > 3",
    "select k % 7, max(v) from l group by k % 7 order by 1",
    "select count(*) from l, r where l.v < r.v and r.k < 50",
    "select count(*) from l cross join (select k from r where k < 3) as few",
    "select count(*) from l where v > (select avg(v) from r)",
    "select count(*) from l where k in (select k from r where v < 90) and k not in \
     (select k from r where v < 30)",
    "select k, row_number() over (order by v) from l where k < 30 union all \
     select k, v from r where k < 5 order by 1, 2",
];

fn with_pairs() -> Arc<SqlDatabase> {
    let database = database();
    let mut session = database.session();
    run(&mut session, "create table l (k int, v int); create table r (k int primary key, v int)");
    run(&mut session, "insert into l select n % 400, n from generate_series(1, 2000) s(n)");
    run(&mut session, "insert into r select n, n * 3 from generate_series(1, 400) s(n)");
    database
}

#[test]
fn rows_change_between_two_executions() {
    let database = with_pairs();
    let mut session = database.session();
    let mut fresh = Vec::new();
    for turn in 0..4 {
        let few = format!(
            "insert into l values ({turn}, {turn}), ({turn}1, 3{turn}00); \
             update r set v = v + 10 where k % 2 = 0; delete from l where k = 10{turn}"
        );
        run(&mut session, &few);
        for text in KEEPING {
            let known = run(&mut session, text);
            // A text that nobody has asked before.
            let other = text.replacen("select", &format!("select /* {turn} */"), 1);
            let other = other.replace("count(*)", &format!("count(*) + {turn} - {turn}"));
            let other = other.replacen(" where ", &format!(" where {turn} = {turn} and "), 1);
            fresh.push((turn, run(&mut session, &other)));
            assert_eq!(Some(&(turn, known)), fresh.last(), "{text}");
        }
    }
}

fn begun(runtime: &Runtime, session: &mut Session, text: &str) -> Rows {
    let statement = Statement::parse(text).expect("it is SQL");
    let outcome = runtime.block_on(session.run(&statement, &[])).expect("it runs");
    outcome.rows.expect("it has rows")
}

/// All rows of several executions, which are asked for one row in turn.
fn in_turn(runtime: &Runtime, mut all: Vec<Rows>) -> Vec<Vec<String>> {
    let mut read = vec![Vec::new(); all.len()];
    let mut left = true;
    while std::mem::take(&mut left) {
        for (rows, read) in all.iter_mut().zip(&mut read) {
            if let Some(row) = runtime.block_on(rows.next_row()).expect("it has a next row") {
                read.push(format!("{row:?}"));
                left = true;
            }
        }
    }
    read
}

#[test]
fn executions_in_turn_share_nothing() {
    let database = with_pairs();
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let (mut one, mut two, mut three) =
        (database.session(), database.session(), database.session());
    for text in KEEPING {
        let expected = in_turn(&runtime, vec![begun(&runtime, &mut one, text)]);
        // One sees fewer rows than the other, and a third is given up.
        run(&mut two, "begin; delete from l where k < 200; update r set v = v * 2");
        let alone = in_turn(&runtime, vec![begun(&runtime, &mut two, text)]);
        let first = begun(&runtime, &mut one, text);
        let second = begun(&runtime, &mut two, text);
        drop(begun(&runtime, &mut three, text));
        let third = begun(&runtime, &mut three, text);
        let read = in_turn(&runtime, vec![first, second, third]);
        assert_eq!(read[0], expected[0], "{text}");
        assert_eq!(read[1], alone[0], "{text}");
        assert_eq!(read[2], expected[0], "{text}");
        run(&mut two, "rollback");
    }
}

#[test]
fn threads_ask_the_same_at_once() {
    let database = with_pairs();
    let expected: Vec<_> = KEEPING.iter().map(|text| run(&mut database.session(), text)).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = database.session();
                for _ in 0..10 {
                    for (text, expected) in KEEPING.iter().zip(&expected) {
                        assert_eq!(run(&mut session, text), *expected, "{text}");
                    }
                }
            });
        }
    });
}

#[test]
fn what_is_read_is_remembered_each_time() {
    let database = database();
    let (mut one, mut two) = (database.session(), database.session());
    run(&mut one, "create table t (a int primary key, b int); insert into t values (1, 1), (2, 2)");
    let text = "select sum(b) from t";
    assert_eq!(run(&mut one, text), ["3"]);
    // Write skew: each reads the sum, and changes another row.
    run(&mut one, "begin isolation level serializable");
    run(&mut two, "begin isolation level serializable");
    assert_eq!(run(&mut one, text), ["3"]);
    assert_eq!(run(&mut two, text), ["3"]);
    run(&mut one, "update t set b = -1 where a = 1");
    run(&mut two, "update t set b = -1 where a = 2");
    assert!(run(&mut one, "commit").is_empty());
    assert_eq!(run(&mut two, "commit"), ["40001"]);
}

#[test]
fn a_known_plan_stops_when_it_is_told_to() {
    let database = with_pairs();
    let mut session = database.session();
    let text = "select count(*) from l as a, l as b, l as c where a.v + b.v < c.v - 100000";
    run(&mut session, "set statement_timeout = 50");
    for _ in 0..3 {
        assert_eq!(run(&mut session, text), ["57014"]);
    }
}
