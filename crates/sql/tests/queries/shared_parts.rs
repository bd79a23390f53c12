//! Parts that stand several times in a plan are run once, and answer as if each were run.
//!
//! What is not the same each time, or is asked for other rows or columns, is run by itself.

use remanent_sql::{Datum, Session, SqlDatabase, SqlState};

fn session() -> Session {
    let mut session = SqlDatabase::in_memory().unwrap().session();
    session
        .execute(
            "create table t (id int primary key, k int, v int); \
             insert into t select i, i % 7, i from generate_series(1, 1000) g(i)",
        )
        .unwrap();
    session
}

fn rows(session: &mut Session, query: &str) -> Vec<String> {
    let answer = session.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}"));
    let line = |row: &Vec<Datum>| row.iter().map(ToString::to_string).collect::<Vec<_>>().join("|");
    answer.rows.iter().map(line).collect()
}

/// How often parts are named in the plan of a query.
fn shared(session: &mut Session, query: &str) -> usize {
    let plan = rows(session, &format!("explain {query}"));
    plan.iter().filter(|line| line.contains("Shared: part")).count()
}

#[test]
fn a_part_is_run_once() {
    let mut session = session();
    let cases = [
        (
            "with s as (select k, sum(v) as total from t group by k) \
             select a.k, a.total, b.total from s a join s b on a.k = b.k order by a.k limit 2",
            2,
            vec!["0|71071|71071", "1|71214|71214"],
        ),
        (
            "with s as (select k, sum(v) as total from t group by k) \
             select k from s where total = (select max(total) from s)",
            2,
            vec!["6"],
        ),
        (
            "with s as (select k, sum(v) as total from t group by k) \
             select count(*) from (select * from s union all select * from s limit 9) u",
            2,
            vec!["9"],
        ),
        (
            "with s as (select k, sum(v) as total from t group by k), \
             r as (select k, total, rank() over (order by total) as place from s) \
             select a.k, b.k from r a join r b on a.place = b.place + 1 order by a.place limit 1",
            2,
            vec!["1|0"],
        ),
        // Each is wanted in another order.
        (
            "with s as (select k, sum(v) as total from t group by k), \
             up as (select k, rank() over (order by total) as place from s), \
             down as (select k, rank() over (order by total desc) as place from s) \
             select up.k, down.k from up join down on up.place = down.place \
             order by up.place limit 2",
            2,
            vec!["0|6", "1|5"],
        ),
        (
            "with s as (select k, sum(v) as total from t group by k) \
             (select k from s order by total limit 1) union all \
             (select k from s order by total desc limit 2)",
            2,
            vec!["0", "6", "5"],
        ),
        // Each is asked for other rows.
        (
            "with s as (select k, sum(v) as total from t group by k) \
             select a.total + b.total from s a, s b where a.k = 1 and b.k = 2",
            0,
            vec!["142571"],
        ),
    ];
    for (query, parts, expected) in cases {
        assert_eq!(shared(&mut session, query), parts, "{query}");
        assert_eq!(rows(&mut session, query), expected, "{query}");
    }
}

#[test]
fn what_differs_each_time_is_run_each_time() {
    let mut session = session();
    let random = "select count(*) from (select k, max(random()) as r from t group by k) a \
                  join (select k, max(random()) as r from t group by k) b on a.k = b.k \
                  where a.r = b.r";
    assert_eq!(shared(&mut session, random), 0);
    assert_eq!(rows(&mut session, random), ["0"]);
    let recursive = "with recursive r(n) as (select 1 union all \
                     select n + 1 from r where n < (select count(*) from t where id < 4)) \
                     select max(n) from r";
    assert_eq!(rows(&mut session, recursive), ["3"]);
}

#[test]
fn a_statement_that_runs_again_reads_again() {
    let mut session = session();
    let query = "with s as (select k, count(*) as n from t where id > $1 group by k) \
                 select sum(a.n + b.n) from s a join s b on a.k = b.k";
    let ask = |session: &mut Session, least: i64| {
        let answer = session.query(query, &[Datum::Int(least)]).unwrap();
        answer.rows[0][0].to_string()
    };
    assert_eq!(ask(&mut session, 0), "2000");
    assert_eq!(ask(&mut session, 500), "1000");
    session.execute("delete from t where id > 900").unwrap();
    assert_eq!(ask(&mut session, 500), "800");
}

#[test]
fn what_a_part_meets_is_said() {
    let mut session = session();
    let query = "with s as (select k, sum(10 / (v - 500)) as total from t group by k) \
                 select count(a.total + b.total) from s a full join s b on a.k = b.k";
    let error = session.query(query, &[]).unwrap_err();
    assert_eq!(error.state(), SqlState::DIVISION_BY_ZERO);
    assert_eq!(rows(&mut session, "select count(*) from t"), ["1000"]);
}
