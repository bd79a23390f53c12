//! ROLLUP, CUBE and GROUPING SETS: each set has the groups, sums and types that a query by its keys
//! alone has.

use remanent_sql::{Datum, Session, SqlDatabase};

fn session() -> Session {
    let mut session = SqlDatabase::in_memory().expect("a database").session();
    let script =
        "create table s (a int, b text, c date, i int, l bigint, n numeric(12, 3), f float8,
             w text);
         insert into s select case when i % 7 > 0 then i % 5 end, case when i % 11 > 0 then
                 'b' || i % 3 end, date '2026-11-01' + i % 4, case when i % 3 > 0 then i - 2000 end,
             i * 900719925474099, case when i % 5 > 0 then i % 1000 / 8.0 end,
             case when i % 4 > 0 then i / 2.0 end, 'word ' || i * 31 % 97
         from generate_series(1, 5000) g(i);
         create table empty (like s);
         insert into empty select null, null, null, null, null, null, null, null where false";
    session.execute(script).expect("tables");
    session
}

/// The types of the columns, and the rows in some order.
fn answer(session: &mut Session, query: &str) -> (Vec<String>, Vec<String>) {
    let answer = session.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
    let types = answer.columns.iter().map(|column| format!("{:?}", column.sql_type)).collect();
    let mut rows: Vec<String> = answer.rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    (types, rows)
}

const FUNCTIONS: [&str; 4] = [
    "count(*), count(i), sum(i), sum(l), sum(n), sum(f)",
    "min(i), max(l), min(w), max(c), min(n), max(f)",
    "avg(i), avg(n), avg(f), avg(l), count(n), sum(n), avg(i + 1)",
    "sum(i) + count(*) as both, max(i) - min(i) as wide, sum(n * 2), avg(i)",
];

/// What cannot be put together of groups by all keys.
const OTHERS: [&str; 3] = [
    "count(distinct w), sum(i)",
    "sum(i) filter (where i > 0), count(*)",
    "stddev_samp(f), string_agg(w, ',' order by w)",
];

/// Sets, as they are written, and the keys of each.
const SETS: [(&str, &[&[&str]]); 6] = [
    ("rollup (a, b)", &[&["a", "b"], &["a"], &[]]),
    ("cube (a, c)", &[&["a", "c"], &["a"], &["c"], &[]]),
    ("grouping sets ((a), (b), (b, c))", &[&["a"], &["b"], &["b", "c"]]),
    ("rollup (b, c, a)", &[&["b", "c", "a"], &["b", "c"], &["b"], &[]]),
    ("a, rollup (b)", &[&["a", "b"], &["a"]]),
    ("grouping sets ((), (a), (a))", &[&[], &["a"], &["a"]]),
];

#[test]
fn sets_have_the_groups_of_their_keys() {
    let mut session = session();
    for table in ["s", "s where i < -1500", "empty"] {
        for made in ["", "vacuum full s"] {
            session.execute(made).expect("frozen rows");
            for functions in FUNCTIONS.iter().chain(&OTHERS) {
                for (sets, keys) in SETS {
                    let query = format!("select a, b, c, {functions} from {table} group by ");
                    let used = |key: &&str| keys.iter().any(|set| set.contains(key));
                    let of = |set: &[&str]| {
                        let mut query = query.clone();
                        for key in ["a", "b", "c"].iter().filter(|key| !set.contains(key)) {
                            let null = format!("case when false then max({key}) end as {key}, ");
                            let key = format!("{key}, ");
                            query = query.replacen(&key, &null, 1);
                        }
                        format!("{query} ({})", set.join(", "))
                    };
                    // A column that is in no set is not to be had.
                    let mut all = query.clone();
                    for key in ["a", "b", "c"].iter().filter(|key| !used(key)) {
                        let null = format!("case when false then max({key}) end as {key}, ");
                        all = all.replacen(&format!("{key}, "), &null, 1);
                    }
                    let parts: Vec<String> = keys.iter().map(|set| of(set)).collect();
                    let found = answer(&mut session, &format!("{all} {sets}"));
                    let expected = answer(&mut session, &parts.join(" union all "));
                    assert_eq!(found, expected, "{functions} from {table} by {sets}");
                }
            }
        }
    }
}

#[test]
fn groups_by_all_keys_are_an_aggregate_of_ours() {
    let mut session = session();
    let plan = |session: &mut Session, query: &str| -> String {
        let plan = session.query(&format!("explain {query}"), &[]).expect("a plan");
        let lines = plan.rows.iter().map(|row| row[0].to_string());
        lines.collect::<Vec<_>>().join("\n")
    };
    let rollup = "select a, b, sum(i), avg(n), count(*) from s group by rollup (a, b)";
    assert!(plan(&mut session, rollup).contains("Aggregate: gby=[a@0, b@1]"), "{rollup}");
    let distinct = "select a, b, count(distinct i) from s group by rollup (a, b)";
    assert!(!plan(&mut session, distinct).contains("gby=[a@0, b@1]"), "{distinct}");
}

/// PostgreSQL's lists of keys: several in brackets, and none, which is one group even of no rows.
#[test]
fn lists_of_keys_are_their_keys() {
    let mut session = session();
    let of = |session: &mut Session, query: &str| answer(session, query);
    for (list, keys) in [("(a, b)", "a, b"), ("(a), (b, c)", "a, b, c"), ("a, ()", "a")] {
        let query = |by: &str| format!("select count(*), sum(i) from s group by {by}");
        assert_eq!(of(&mut session, &query(list)), of(&mut session, &query(keys)), "{list}");
    }
    for (query, rows) in [
        ("select 1 from s group by ()", 1),
        ("select count(*) from empty group by ()", 1),
        ("select 1 from empty group by ()", 1),
        ("select 1 from s group by () having count(*) > 9000", 0),
    ] {
        assert_eq!(of(&mut session, query).1.len(), rows, "{query}");
    }
}

#[test]
fn which_set_a_group_is_of_is_told() {
    let mut session = session();
    let query = "select a, b, grouping(a), grouping(b), grouping(a, b), sum(i) from s
                 where a = 1 and b = 'b1' group by cube (a, b) having count(*) > 0
                 order by 3, 4, sum(i)";
    let rows = session.query(query, &[]).expect("groups").rows;
    let told: Vec<Vec<Option<i64>>> =
        rows.iter().map(|row| row[2..5].iter().map(Datum::as_i64).collect()).collect();
    let expected = [[0, 0, 0], [0, 1, 1], [1, 0, 2], [1, 1, 3]];
    assert_eq!(told, expected.map(|row| row.map(Some).to_vec()));
    assert!(rows.iter().all(|row| row[5] == rows[0][5]));
    // Of computed keys, in a subquery, and beside a window.
    for (query, rows) in [
        ("select i % 3, length(w), count(*) from s group by rollup (i % 3, length(w))", 13),
        ("select * from (select a, sum(i) t from s group by rollup (a)) q where t is not null", 7),
        ("select a, rank() over (order by sum(i)) from s group by rollup (a)", 7),
        (
            "select (select max(t) from (select sum(o.i) t from s o where o.a = u.a
             group by rollup (o.b)) q) from (select distinct a from s) u",
            6,
        ),
    ] {
        assert_eq!(session.query(query, &[]).expect(query).rows.len(), rows, "{query}");
    }
}
