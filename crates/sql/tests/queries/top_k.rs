//! ORDER BY with a LIMIT: the first rows of what a sort of all rows gives, whatever comes first,
//! and whether rows are hot, frozen or changed, read by one thread or by several.

use remanent_sql::{Datum, Session, SqlDatabase};

use crate::sorts::{KEYS, rows, table};

/// The operator of a query that keeps its first rows.
fn top_k(session: &mut Session, query: &str) -> Option<String> {
    let plan = rows(session, &format!("explain {query}"));
    let mut lines = plan.iter().map(|line| line[0].to_string());
    lines.find(|line| line.trim_start().starts_with("TopK: "))
}

/// Whether a scan of a table is told what is wanted still.
fn is_told(session: &mut Session, table: &str, query: &str) -> bool {
    let plan = rows(session, &format!("explain {query}"));
    let mut lines = plan.iter().map(|line| line[0].to_string());
    lines.any(|line| line.contains(&format!("Scan: {table}")) && line.contains("runtime filters"))
}

#[test]
fn first_rows_are_those_of_sorts_of_all() {
    let mut session = table();
    let changes = "begin; update t set large = -large, word = 'changed' where id % 3 = 0; \
                   delete from t where id % 10 = 4; \
                   insert into t select id + 10000, small, large, price, wide, ratio, day, at, \
                       is_on, word, line from t where id % 5 = 2";
    for made in ["", "vacuum full t", changes] {
        session.execute(made).expect("frozen rows, and changed ones");
        for keys in KEYS {
            let query = format!("select * from t order by {keys}, id");
            let all = rows(&mut session, &query);
            assert!(all.len() > 5000);
            for (limit, offset) in [(1, 0), (7, 0), (100, 50), (3000, 0), (9000, 0)] {
                let few = format!("{query} limit {limit} offset {offset}");
                assert!(top_k(&mut session, &few).is_some(), "{few}");
                let end = all.len().min(offset + limit);
                assert!(rows(&mut session, &few) == all[offset..end], "{few}, {made}");
            }
        }
    }
}

/// Rows of several segments, and some hot ones, in no order.
fn many_rows() -> Session {
    let mut session = SqlDatabase::in_memory().expect("a database").session();
    let script =
        "create table many (id int primary key, k int, word text, of int, note text not null);
        insert into many select i, i * 7919::bigint % 200003, 'word ' || i * 31 % 1009, i % 1000,
            'what is noted of it: ' || md5(i::text) from generate_series(1, 200000) g(i);
        create table few (id int primary key, name text);
        insert into few select i, 'name ' || i from generate_series(0, 1100, 3) g(i);
        vacuum full many; vacuum full few;
        insert into many select i, i * 7919::bigint % 200003, 'word ' || i * 31 % 1009, i % 1000,
            'what is noted of it: ' || md5(i::text) from generate_series(200001, 230000) g(i);
        analyze many; analyze few";
    session.execute(script).expect("tables");
    session
}

#[test]
fn threads_find_the_same_first_rows() {
    let mut session = many_rows();
    let keys = [
        "k desc, id",
        "word, id desc",
        "word desc, k",
        "id",
        "of, k desc",
        "k + of, id",
        "note",
        "note desc",
    ];
    for key in keys {
        session.execute("set query_threads = 1").expect("a setting");
        // More than are kept alone.
        let all = rows(&mut session, &format!("select * from many order by {key} limit 10000"));
        for threads in [1, 2] {
            session.execute(&format!("set query_threads = {threads}")).expect("a setting");
            for limit in [1, 20, 2500] {
                let few = format!("select * from many order by {key} limit {limit}");
                assert!(rows(&mut session, &few) == all[..limit], "{few}, {threads} threads");
            }
        }
    }
}

#[test]
fn scans_are_told_what_is_wanted_of_joins() {
    let mut session = many_rows();
    // Of a join that gives rows without a partner in the end, each row of the source matters.
    for (join, tells) in [("join", true), ("left join", true), ("full join", false)] {
        let from = format!("from many {join} few on of = few.id");
        let query = format!("select many.id, k, name {from} order by k desc nulls last, many.id");
        let few = format!("{query} limit 30");
        assert!(top_k(&mut session, &few).is_some(), "{few}");
        assert_eq!(is_told(&mut session, "many", &few), tells, "{few}");
        let all = rows(&mut session, &format!("{query} limit 10000"));
        assert!(all.len() == 10_000 && rows(&mut session, &few) == all[..30], "{few}");
    }
    // The first rows by a column of the build side, and by one of both.
    for keys in ["name, many.id", "few.id + k desc, many.id"] {
        let query =
            format!("select many.id, k, name from many join few on of = few.id order by {keys}");
        let all = rows(&mut session, &format!("{query} limit 10000"));
        assert!(rows(&mut session, &format!("{query} limit 30")) == all[..30], "{keys}");
    }
    // Rows of few that have no partner come last, which is first here.
    let unmatched = "select few.id from many full join few on of = few.id \
                     order by many.id desc nulls first, few.id limit 5";
    let ids: Vec<_> =
        rows(&mut session, unmatched).iter().filter_map(|row| row[0].as_i64()).collect();
    assert_eq!(ids, [1002, 1005, 1008, 1011, 1014]);
}

#[test]
fn nulls_may_be_what_is_wanted_last() {
    let mut session = SqlDatabase::in_memory().expect("a database").session();
    let script = "create table n (id int primary key, v int, f float8);
                  insert into n select i, case when i % 4 = 0 then i end,
                      case when i % 8 > 0 then case i % 3 when 0 then 'NaN' when 1 then -0.0
                          else 0.0 end end
                  from generate_series(1, 8000) g(i); vacuum full n";
    session.execute(script).expect("a table");
    for (order, first) in [
        ("v nulls first, id", 1),
        ("v desc nulls first, id desc", 7999),
        ("v, id", 4),
        ("v desc nulls last, id", 8000),
        ("f, id", 1),
        ("f desc nulls last, id", 3),
    ] {
        let all = rows(&mut session, &format!("select * from n order by {order}"));
        assert_eq!(all[0][0], Datum::Int(first), "{order}");
        for limit in [1, 1999, 2000, 2001, 6001, 7000] {
            let few = format!("select * from n order by {order} limit {limit}");
            let found = rows(&mut session, &few);
            // NaN is not the same as itself.
            assert_eq!(format!("{found:?}"), format!("{:?}", &all[..limit]), "{few}");
        }
    }
}

/// The scan is told a number first, and nulls, which come before it, lie behind that.
#[test]
fn nulls_that_come_first_may_lie_last() {
    let mut session = SqlDatabase::in_memory().expect("a database").session();
    let script = "create table late (id int primary key, v int);
                  insert into late select i, case when i < 130000 or i % 100 > 0 then i end
                      from generate_series(1, 140000) g(i)";
    session.execute(script).expect("a table");
    for made in ["", "vacuum full late"] {
        session.execute(made).expect("frozen rows");
        for order in ["v nulls first, id", "v desc nulls first, id"] {
            let all = rows(&mut session, &format!("select * from late order by {order}"));
            assert!(all[100][1] == Datum::Null && all[101][1] != Datum::Null, "{order}");
            let few = format!("select * from late order by {order} limit 150");
            assert_eq!(rows(&mut session, &few), all[..150], "{few}");
        }
    }
}

/// What a scan was told is forgotten when the same operators run again.
#[test]
fn each_run_of_a_recursive_query_begins_anew() {
    let mut session = SqlDatabase::in_memory().expect("a database").session();
    let script = "create table t (k int primary key, v int, g int);
                  insert into t select i, i * 7919::bigint % 100003, i % 2
                      from generate_series(1, 100002) g(i)";
    session.execute(script).expect("a table");
    for made in ["", "vacuum full t"] {
        session.execute(made).expect("frozen rows");
        for (order, compared, first) in [("v desc", "<", 100_003), ("v", ">", 0)] {
            let query = format!(
                "with recursive r(n, v, g) as (select 1, {first}, 1 union all \
                 select n + 1, q.v, 1 from (select t.v, r.n from t join r on t.g = r.g \
                 where t.v {compared} r.v order by t.{order} limit 1) q where n < 6) \
                 select v from r order by n"
            );
            assert!(is_told(&mut session, "t", &query), "{query}");
            let found = rows(&mut session, &query);
            let of = format!("select v from t where g = 1 order by {order} limit 5");
            let mut expected = vec![vec![Datum::Int(first)]];
            expected.extend(rows(&mut session, &of));
            assert_eq!(found, expected, "{query}");
        }
    }
}

#[test]
fn equal_rows_are_as_many_as_are_wanted() {
    let mut session = many_rows();
    session.execute("set query_threads = 2").expect("a setting");
    for limit in [1_usize, 999, 5000] {
        let query = format!("select of from many where of < 50 order by of / 100 limit {limit}");
        assert_eq!(rows(&mut session, &query).len(), limit);
    }
    let none = "select * from many where k < 0 order by k limit 5";
    assert!(top_k(&mut session, none).is_some() && rows(&mut session, none).is_empty());
    // Groups, and rows that come from elsewhere.
    let groups = "select of, count(*) from many group by of order by count(*) desc, of limit 3";
    assert!(top_k(&mut session, groups).is_some());
    assert_eq!(rows(&mut session, groups)[0], [Datum::Int(0), Datum::Int(230)]);
    let both = "select id from many where id < 9 union all select id from few order by id limit 4";
    let ids: Vec<_> = rows(&mut session, both).iter().filter_map(|row| row[0].as_i64()).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
}

#[test]
fn what_is_kept_counts_and_may_be_refused() {
    let mut session = many_rows();
    let wide = "select repeat(word, 1000) as wide, id from many order by wide desc, id limit 9000";
    session.execute("set query_memory = '20MB'").expect("a setting");
    let refused = session.query(wide, &[]).expect_err("9,000 rows of 8 kB");
    assert_eq!(refused.state().as_str(), "53200");
    let few = "select repeat(word, 1000) as wide, id from many order by wide desc, id limit 30";
    assert_eq!(rows(&mut session, few).len(), 30);
    session.execute("reset query_memory; set statement_timeout = 1").expect("settings");
    let stopped = session.query(wide, &[]).expect_err("it takes longer");
    assert_eq!(stopped.state().as_str(), "57014");
}
