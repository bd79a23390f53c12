//! Queries in several threads answer as in one, stop as in one, and fail as in one.
//!
//! Tables have several segments: frozen, frozen and changed, and hot. How many threads there are
//! does not depend on the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::executor::block_on;
use remanent_sql::{Rows, Session, SqlDatabase, SqlState};

/// Rows of the large table: four segments and a half.
const ROWS: i64 = 300_000;

/// A table of which some segments are frozen, some changed since, and some hot; and a small one.
fn filled() -> Arc<SqlDatabase> {
    let db = SqlDatabase::in_memory().expect("a database opens");
    let mut session = db.session();
    let mut run = |sql: &str| drop(session.execute(sql).expect(sql));
    run("create table t (id int primary key, k int, name text, x double, d numeric(12,2), n int)");
    run("create table s (k int primary key, name text, tid int)");
    let row = "i, i % 1013, 'name ' || i % 97, i / 4.0, i % 1009 + 0.25, \
               case when i % 3 = 0 then i end";
    run(&format!("insert into t select {row} from generate_series(0, 200000) g(i)"));
    run("vacuum full t");
    run("update t set k = k + 1, d = d + 1 where id between 1000 and 2000 or id % 701 = 0");
    run("delete from t where id between 70000 and 70500 or id % 401 = 0");
    run(&format!("insert into t select {row} from generate_series(200001, {}) g(i)", ROWS - 1));
    run("insert into s select i, 'name ' || i, i * 90 from generate_series(0, 1999, 2) g(i)");
    // Of this one nothing changes: its keys ascend from segment to segment.
    run("create table u (id int primary key, name text)");
    let row = "i, 'a name that is long, ' || i / 1000";
    run(&format!("insert into u select {row} from generate_series(1, 200000) g(i)"));
    run("vacuum full u");
    run("create sequence numbers");
    db
}

fn with_threads(db: &Arc<SqlDatabase>, threads: usize) -> Session {
    let mut session = db.session();
    session.execute(&format!("set query_threads = {threads}")).expect("a number of threads");
    session
}

fn rows(session: &mut Session, query: &str) -> Vec<String> {
    let answer = session.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}"));
    answer.rows.iter().map(|row| format!("{row:?}")).collect()
}

/// Queries whose rows have no order.
const GROUPS: &[&str] = &[
    "select count(*), sum(id), min(name), max(k), sum(d), count(n), avg(x), sum(k * d) from t",
    "select count(*) from t where id < 0",
    "select sum(id), max(id) from t where id < 0",
    "select k, count(*), sum(id), min(id), max(d), sum(x) from t group by k",
    "select name, count(n), sum(n), max(x) from t group by name",
    "select name, k % 7 as m, count(*), sum(d) from t group by name, k % 7",
    "select n, count(*) from t group by n",
    "select n % 5 as m, name, count(*) from t where n is null or n < 150000 group by 1, 2",
    "select id, sum(d) from t group by id having sum(d) > 1009",
    "select id / 70000 as part, count(*), sum(k), avg(x) from t group by 1",
    "select id / 70000 as part, count(*), max(id) from u group by 1",
    "select id, count(*) from u group by id having sum(id) % 1000 = 7",
    "select a.name, count(*), min(b.name), max(b.name) from u a join u b on a.id = b.id + 1 \
     where exists (select 1 from t where t.id = a.id and t.name <> b.name) group by 1",
    "select id / 3 as part, n is null, count(*), max(d) from t group by 1, 2 having sum(k) > 1900",
    "select id from t group by id, name having count(n) = 1 and max(k) % 5 = id % 5",
    "select m % 1000 as m, count(*), sum(k), min(name), max(x), sum(n) from \
     (select id / 2 as m, k, name, n, sum(d) as x from t group by 1, 2, 3, 4) g group by 1",
    "select count(*), count(distinct name), sum(k), max(x) from \
     (select id, k, name, max(x) as x from t group by 1, 2, 3) g",
    "select id, count(*), sum(k) from (select id, k, max(x) as x from t group by 1, 2 \
     union all select id, k, x from t) g group by id having count(*) <> 2 or id % 1000 = 1",
    "select a.id, a.name, count(*), sum(t.k), max(t.d) from u a join t on t.n = a.id \
     group by a.id, a.name",
    "select name, n % 1000 as m, k, count(*), sum(d) from t group by 1, 2, 3",
    // Rows of a build side that come when all threads have ended, and are one again.
    "select count(*), sum(a.id), min(b.name) from t a join \
     (select k, name from s where exists (select 1 from t where t.id = s.tid and t.x > 9)) b \
     on a.k = b.k",
    "select b.name, count(*) from (select id, name from u where exists \
     (select 1 from t where t.id = u.id and t.k <> 5) and not exists \
     (select 1 from t where t.n = u.id and t.k < 9)) b join t on t.n = b.id group by 1",
    "select max(name) from t group by k having count(*) > 290 and sum(k) > 1000",
    "select (id + 150000) % 300000 as moved, count(*), sum(d) from t group by 1",
    "select distinct name from t where x > 20000",
    "select count(distinct k), count(distinct name) from t",
    "select s.name, count(*), sum(t.d) from t join s using (k) group by s.name",
    "select s.k, s.name, s.tid, sum(t.x), min(t.id) from t join s using (k) group by s.k",
    "select count(*), sum(s.k) from t left join s on s.k = t.k and t.d > 300",
    "select count(*), count(t.id), sum(s.tid) from s left join t on s.tid = t.id",
    "select count(*), count(t.id), sum(s.tid) from s full join t on s.tid = t.id",
    "select count(*), sum(k) from s where exists (select 1 from t where t.id = s.tid)",
    "select count(*), sum(k) from s where not exists (select 1 from t where t.id = s.tid)",
    "select count(*), sum(k) from s where tid not in (select id from t)",
    "select count(*), sum(k) from s where tid not in (select n from t)",
    "select count(*) from t where k in (select k from s where s.name like '%1%')",
    "select count(*), sum(a.id) from t a join t b on a.id = b.n where b.k < 100",
    "select a.name, count(*), min(b.name), max(b.x) from t a join t b on a.id = b.n group by 1",
    "select count(*), sum(a.id), sum(b.id) from t a join t b on a.name = b.name \
     where a.k < 3 and b.k < 5",
    "select count(*), sum(a.id), count(b.n) from t a left join t b \
     on a.n = b.n and a.name = b.name and b.k > 300",
    "select b.name, count(*) from s join t b on b.n = s.tid join t c on c.id = b.id + 1 \
     group by b.name",
    "select m, count(*) from (select max(id) as m from t group by k) q group by m",
    "select sum(1701411834604692317316873037158841057 * (1 - id % 2 * 2)) from t where id < 299000",
    "select sum(9223372036854775807 / (1 + id % 2)), count(*) from t where id % 3 < 2",
];

/// Queries whose rows come in the order of the table.
const STREAMS: &[&str] = &[
    "select id, name from t where id % 7 = 0",
    "select id, k, n from t where name like '%1%' and x > 100",
    "select t.id, s.name from t join s using (k) where t.d > 900",
    "select a.id, b.id, b.name from t a join t b on a.k = b.k \
     where b.id % 97 = 0 and a.id % 101 = 0",
    "select t.id, s.name from t left join s on s.k = t.k where t.id % 11 = 0",
    "select id, x * 2 + k from t where not exists (select 1 from s where s.k = t.k)",
    "select id from t where id > 299990",
];

#[test]
fn several_threads_answer_as_one() {
    let db = filled();
    let mut alone = with_threads(&db, 1);
    for threads in [2, 5] {
        let mut together = with_threads(&db, threads);
        for query in GROUPS {
            let [mut found, mut expected] =
                [&mut together, &mut alone].map(|session| rows(session, query));
            found.sort_unstable();
            expected.sort_unstable();
            assert!(!expected.is_empty(), "{query}");
            assert_eq!(found, expected, "{threads} threads: {query}");
        }
        for query in STREAMS {
            let [found, expected] = [&mut together, &mut alone].map(|session| rows(session, query));
            assert!(!expected.is_empty(), "{query}");
            assert_eq!(found, expected, "{threads} threads: {query}");
        }
        let few = rows(&mut together, "select id from t where id >= 3 limit 3");
        assert_eq!(few, rows(&mut alone, "select id from t where id >= 3 limit 3"));
    }
}

#[test]
fn calls_that_answer_otherwise_each_time_come_one_after_the_other() {
    let db = filled();
    let mut session = with_threads(&db, 4);
    let query = "select count(*), count(distinct n), max(n) - min(n) from \
                 (select nextval('numbers') as n from t where id >= 0) q";
    let answer = session.query(query, &[]).expect(query);
    let [all, distinct, span] = [0, 1, 2].map(|place| answer.rows[0][place].as_i64().unwrap());
    assert_eq!((all, all - 1), (distinct, span));
}

#[test]
fn several_threads_fail_as_one() {
    const DIVISION_BY_ZERO: SqlState = SqlState::DIVISION_BY_ZERO;
    const NUMBER_OUT_OF_RANGE: SqlState = SqlState::NUMBER_OUT_OF_RANGE;
    let db = filled();
    for threads in [1, 3] {
        let mut session = with_threads(&db, threads);
        for (query, state) in [
            ("select sum(100 / (id - 250000)) from t", DIVISION_BY_ZERO),
            ("select id / (id - 3) from t", DIVISION_BY_ZERO),
            (
                "select sum(100 / (m - 299999)) from (select id as m, k from t group by 1, 2) g",
                DIVISION_BY_ZERO,
            ),
            ("select count(*) from t join s on s.k = t.k / (t.id - 299999)", DIVISION_BY_ZERO),
            ("select sum((id + 2147283647) * 1) from t where id >= 0", NUMBER_OUT_OF_RANGE),
        ] {
            let error = session.query(query, &[]).expect_err(query);
            assert_eq!(error.state(), state, "{threads} threads: {query}: {error}");
        }
        // The session goes on.
        assert_eq!(rows(&mut session, "select count(*) from s").len(), 1);
    }
}

#[test]
fn several_threads_stop_when_they_are_told_to() {
    let db = filled();
    let mut session = with_threads(&db, 4);
    let long = "select count(*) from t a join t b on a.k = b.k join t c on c.k = b.k";
    let (cancel, over) = (session.cancel_handle(), Arc::new(AtomicBool::new(false)));
    let seen = Arc::clone(&over);
    let canceller = std::thread::spawn(move || {
        while !seen.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(30));
            cancel.cancel();
        }
    });
    let error = session.query(long, &[]).expect_err(long);
    over.store(true, Ordering::Relaxed);
    canceller.join().unwrap();
    assert_eq!(error.state(), SqlState::CANCELLED, "{error}");
    session.execute("set statement_timeout = 80").unwrap();
    let error = session.query(long, &[]).expect_err(long);
    assert_eq!(error.state(), SqlState::CANCELLED, "{error}");
}

#[test]
fn a_result_that_is_read_slowly_stays_what_it_was() {
    let db = filled();
    let mut session = with_threads(&db, 4);
    let query = "select id, d from t where k % 2 = 0";
    let begin = |session: &mut Session| {
        let statement = session.parse(query).expect(query);
        let outcome = block_on(session.run(&statement, &[])).expect(query);
        outcome.rows.expect("there are rows")
    };
    let batches = |mut result: Rows, most: usize| {
        let mut texts = Vec::new();
        while texts.len() < most
            && let Some(batch) = block_on(result.next_batch()).expect(query)
        {
            texts.push(format!("{:?}", batch.columns()));
        }
        (texts, result)
    };
    let (expected, _) = batches(begin(&mut session), usize::MAX);
    assert!(expected.len() > 10);
    let (mut found, result) = batches(begin(&mut session), 2);
    let mut other = db.session();
    other.execute("update t set d = 0, k = k + 1 where id > 100").unwrap();
    other.execute("vacuum full t").unwrap();
    let (rest, _) = batches(result, usize::MAX);
    found.extend(rest);
    assert_eq!(found, expected);
    // One that nobody reads to its end.
    let (begun, result) = batches(begin(&mut session), 2);
    assert_eq!(begun.len(), 2);
    drop(result);
    other.execute("drop table t").unwrap();
}

#[test]
fn the_number_of_threads_is_a_setting() {
    let db = SqlDatabase::in_memory().unwrap();
    db.query_threads(3);
    let mut session = db.session();
    let shown = |session: &mut Session| rows(session, "show query_threads");
    assert_eq!(shown(&mut session), ["[Text(\"3\")]"]);
    session.execute("set query_threads = 2").unwrap();
    assert_eq!(shown(&mut session), ["[Text(\"2\")]"]);
    for bad in ["0", "-1", "1025", "'many'"] {
        let error = session.execute(&format!("set query_threads = {bad}")).unwrap_err();
        assert_eq!(error.state(), SqlState::BAD_PARAMETER, "{bad}");
    }
    session.execute("reset query_threads").unwrap();
    assert_eq!(shown(&mut session), ["[Text(\"3\")]"]);
    db.query_threads(0);
    let cores = std::thread::available_parallelism().unwrap().to_string();
    assert_eq!(shown(&mut db.session()), [format!("[Text({cores:?})]")]);
}
