//! `query_memory`: one query holds no more than it may, whatever it holds it for.

use std::sync::Arc;

use remanent_engine::{Database, Options};
use remanent_sql::{Session, SqlDatabase};

fn database() -> Arc<SqlDatabase> {
    let engine = Database::open(Options::new().budget(1 << 30)).expect("a database opens");
    let db = SqlDatabase::new(Arc::new(engine)).expect("a database");
    let mut session = db.session();
    let mut run = |sql: &str| drop(session.execute(sql).expect(sql));
    run("create table t (id int primary key, k bigint, name text)");
    run("insert into t select i, i * 7919::bigint % 100003, 'name ' || i \
         from generate_series(1, 200000) g(i)");
    db
}

fn one(session: &mut Session, query: &str) -> String {
    let answer = session.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}"));
    answer.rows[0][0].to_string()
}

/// What holds groups, a build side, rows to be sorted, and rows of a window.
const HOLDING: [&str; 4] = [
    "select count(*) from (select k, count(*) from t group by k) q",
    "select count(*) from t a join t b on a.k = b.k and a.name <> b.name",
    "select max(id) from (select id from t order by name, id offset 10) q",
    "select count(*) from (select row_number() over (order by name) as at from t) q where at > 7",
];

#[test]
fn queries_that_hold_more_are_refused_and_others_are_not() {
    let db = database();
    let (mut session, mut other) = (db.session(), db.session());
    for threads in [1, 2] {
        session.execute(&format!("set query_threads = {threads}")).expect("a setting");
        for query in HOLDING {
            session.execute("set query_memory = '300kB'").expect("a setting");
            let error = session.query(query, &[]).expect_err(query);
            assert_eq!(error.state().as_str(), "53200", "{query}: {error}");
            assert!(error.to_string().contains("query_memory"), "{query}: {error}");
            // Neither what holds nothing nor another session knows of it.
            assert_eq!(one(&mut session, "select count(*) from t where k < 0"), "0");
            let found = one(&mut other, query);
            session.execute("set query_memory = '500MB'").expect("a setting");
            assert_eq!(one(&mut session, query), found);
        }
    }
}

/// What is asked for in small parts is added up.
#[test]
fn all_that_a_query_holds_is_counted() {
    let db = database();
    let mut session = db.session();
    let query = "select count(*) from (select k, count(*) from t group by k) a, \
                 (select k as l, count(*) from t group by k) b where k = l";
    let found = one(&mut session, query);
    // Twice two megabytes of groups, a build side, and a batch now and then.
    session.execute("set query_memory = '4MB'").expect("a setting");
    let error = session.query(query, &[]).expect_err("too little");
    assert_eq!(error.state().as_str(), "53200", "{error}");
    session.execute("set query_memory = '16MB'").expect("a setting");
    assert_eq!(one(&mut session, query), found);
}

#[test]
fn it_holds_from_the_next_statement_on() {
    let db = database();
    let mut session = db.session();
    session.execute("begin").expect("a block");
    one(&mut session, HOLDING[0]);
    session.execute("set query_memory = 300").expect("a setting");
    let error = session.query(HOLDING[0], &[]).expect_err("too little");
    assert_eq!(error.state().as_str(), "53200", "{error}");
    session.execute("rollback").expect("the end of the block");
    session.execute("reset query_memory").expect("a setting");
    assert_eq!(one(&mut session, "show query_memory"), "0");
    one(&mut session, HOLDING[0]);
}

#[test]
fn it_is_said_in_bytes_and_their_units() {
    let db = database();
    db.query_memory(3 << 30);
    let mut session = db.session();
    assert_eq!(one(&mut session, "show query_memory"), "3GB");
    for (given, shown) in [
        ("'64MB'", "64MB"),
        ("2048", "2MB"),
        ("'100'", "100kB"),
        ("'1000B'", "1000B"),
        ("' 5 GB '", "5GB"),
        ("0", "0"),
        ("'0MB'", "0"),
        ("'1TB'", "1TB"),
    ] {
        session.execute(&format!("set query_memory = {given}")).expect(given);
        assert_eq!(one(&mut session, "show query_memory"), shown, "{given}");
    }
    for bad in ["'-1'", "'much'", "'5 mb'", "''", "'99999999999999999TB'", "'1.5GB'"] {
        let error = session.execute(&format!("set query_memory = {bad}")).expect_err(bad);
        assert_eq!(error.state().as_str(), "22023", "{bad}: {error}");
    }
    assert_eq!(one(&mut session, "show query_memory"), "1TB");
    session.execute("reset query_memory").expect("a reset");
    assert_eq!(one(&mut session, "show query_memory"), "3GB");
}
