//! ORDER BY of all rows: the order in which the first rows come where few are wanted, which are
//! found in another way.

use remanent_sql::{Datum, Session, SqlDatabase};

const ROWS: u64 = 6000;

pub(crate) fn table() -> Session {
    let db = SqlDatabase::in_memory().expect("a database");
    let mut session = db.session();
    let script = format!(
        "create table t (id int primary key, small smallint, large bigint, price numeric(12, 2),
             wide numeric(38, 4), ratio float8, day date, at timestamp, is_on boolean, word text,
             line text not null);
         insert into t select i, case when i % 5 > 0 then i % 7 end,
             case when i % 11 > 0 then (i * 2654435761 % 1000003 - 500000) * 9007199254740 end,
             case when i % 13 > 0 then i * 7919 % 1009 / 100.0 - 4 end,
             case when i % 3 > 0 then (i * 7919 % 1009 - 500) * 12345678901234567890123456789 end,
             case when i % 17 > 0 then (i * 31 % 101 - 50) / 7.0 end,
             date '2026-11-26' + (i * 17 % 3001),
             timestamp '1999-12-31' + i % 977 * interval '7 minutes',
             case when i % 2 = 0 then i % 4 = 0 end,
             case when i % 19 > 0 then chr(97 + i % 26) || repeat('x', i % 4) end,
             'the line ' || i * 31 % 5003
         from generate_series(1, {ROWS}) g(i)"
    );
    session.execute(&script).expect("a table");
    session
}

pub(crate) fn rows(session: &mut Session, query: &str) -> Vec<Vec<Datum>> {
    session.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}")).rows
}

/// Whether the sort of a query is ours.
fn is_ours(session: &mut Session, query: &str) -> bool {
    let plan = rows(session, &format!("explain {query}"));
    plan.iter().any(|line| line[0].to_string().trim_start().starts_with("Sort: "))
}

/// Keys of each type and of several, computed ones and constants among them.
pub(crate) const KEYS: [&str; 16] = [
    "small",
    "small desc nulls last, large",
    "large desc",
    "price nulls first, word desc",
    "wide, price",
    "wide desc nulls last",
    "ratio desc, small nulls first",
    "day, at desc",
    "at, day desc",
    "is_on nulls first, price desc",
    "word, line",
    "line desc",
    "word desc nulls last, line desc",
    "lower(line) desc, abs(small)",
    "id % 7, price + small desc nulls last, word",
    "small, is_on, day, at, price, word, large",
];

#[test]
fn orders_are_those_of_sorts_that_keep_few_rows() {
    let mut session = table();
    for made in ["", "vacuum full t"] {
        session.execute(made).expect("frozen rows");
        for threads in [1, 2] {
            session.execute(&format!("set query_threads = {threads}")).expect("a setting");
            for keys in KEYS {
                let all = format!("select * from t order by {keys}, id");
                let few = format!("{all} limit 9999");
                assert!(is_ours(&mut session, &all) && !is_ours(&mut session, &few), "{keys}");
                let found = rows(&mut session, &all);
                assert_eq!(found.len() as u64, ROWS);
                assert!(found == rows(&mut session, &few), "{keys}");
            }
        }
    }
}

#[test]
fn equal_keys_leave_rows_in_their_order() {
    let mut session = table();
    let ids = rows(&mut session, "select id from t where small = 3 order by small");
    assert!(ids.len() > 600 && ids.is_sorted_by_key(|row| row[0].as_i64()));
}

#[test]
fn few_and_no_rows_are_sorted() {
    let mut session = table();
    let none = "select * from t where id < 0 order by large, word";
    assert!(is_ours(&mut session, none) && rows(&mut session, none).is_empty());
    let one = rows(&mut session, "select id from t where id = 5 order by large, word");
    assert_eq!(one, [[Datum::Int(5)]]);
    let nulls = "select id from t where large is null order by large desc, id desc";
    assert!(rows(&mut session, nulls).is_sorted_by_key(|row| row[0].as_i64().map(|id| -id)));
}

#[test]
fn the_first_of_many_come() {
    let mut session = table();
    let script = "create table many as select v as id, v * 7919::bigint % 100003 as k \
                  from generate_series(1, 40000) g(v)";
    session.execute(script).expect("a table");
    let query = "select k, id from many order by k, id limit 15000 offset 100";
    assert!(is_ours(&mut session, query));
    let found = rows(&mut session, query);
    let all = rows(&mut session, "select k, id from many order by k, id");
    assert!(found.len() == 15_000 && found == all[100..15_100]);
}

/// Zero has no sign, and NaN is above all numbers.
#[test]
fn floats_have_the_order_of_postgresql() {
    let mut session = table();
    let query = "select id from (values (1, float8 '0'), (2, '-0'), (3, 'NaN'), (4, 'Infinity'), \
                 (5, '0'), (6, '-1e300'), (7, null)) v(id, f) order by f, id";
    let found = rows(&mut session, query);
    let ids: Vec<_> = found.iter().filter_map(|row| row[0].as_i64()).collect();
    assert_eq!(ids, [6, 1, 2, 5, 4, 3, 7]);
}

/// What a window is computed over, and rows that are only counted.
#[test]
fn windows_stand_on_sorts() {
    let mut session = table();
    let query = "select count(*), sum(at) from (select row_number() over \
                 (partition by word order by line, id) as at from t) q where at <= 3";
    assert!(is_ours(&mut session, query));
    let groups = rows(&mut session, "select count(*) from t group by word");
    let firsts = groups.iter().filter_map(|row| row[0].as_i64()).map(|count| count.min(3));
    let (count, sum) =
        firsts.fold((0, 0), |(count, sum), it| (count + it, sum + it * (it + 1) / 2));
    let found = rows(&mut session, query);
    assert_eq!(found[0][0].as_i64(), Some(count));
    assert_eq!(found[0][1].to_string(), sum.to_string());
}
