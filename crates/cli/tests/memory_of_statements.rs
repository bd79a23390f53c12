//! What statements make a server hold: never more than its budget, and a little for the program.
//!
//! Each operator, each function that makes large values, and each statement that gathers rows is
//! asked for far more than there is room for, of data that has room. It is answered, refused or out
//! of time, and the server never held more than it may.
#![cfg(all(feature = "sql", target_os = "linux"))]

#[expect(dead_code, reason = "other tests use more of it")]
#[path = "../../server/tests/wire/raw.rs"]
mod raw;
mod served;

use served::Served;

/// What a statement may be answered: nothing, no room, too large, too complex, out of time, too
/// long for a function.
const STATES: [&str; 6] = ["", "53200", "54000", "54001", "57014", "22023"];

/// 300,000 rows of some 36 MB together, and fewer.
const TABLES: &str = "
    create table big as select i, repeat('x', 100) t from generate_series(1, 300000) s(i);
    create table b as select i, repeat('x', 50) t from generate_series(1, 100000) s(i)";

/// Single values.
const VALUES: &[&str] = &[
    "select length(repeat('x', 1000000))",
    "select length(repeat('x', 2000000000))",
    "select length(repeat('x', 900000000))",
    "select length(repeat(repeat('x', 10000000), 100))",
    "select length(lpad('x', 2000000000, 'y'))",
    "select length(rpad('x', 100000000, 'yz'))",
    "select length(replace(repeat('x', 9000000), 'x', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyy'))",
    "select length(regexp_replace(repeat('x', 500000), 'x', repeat('y', 100), 'g'))",
    "select length(translate(repeat('x', 16000000), 'x', 'ä'))",
    "select length(concat_ws(repeat('x', 9000000), 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'))",
    "select length(array_to_string(generate_series(1, 100000), repeat('x', 10000)))",
    "select array_length(array_repeat(1, 2000000000), 1)",
    "select array_length(array_repeat(repeat('x', 1000000), 2000), 1)",
    "select array_length(generate_series(1, 2000000000), 1)",
    "select array_length(array_resize(array[1], 2000000000, 1), 1)",
    "select array_length(string_to_array(repeat('x,', 9000000), ','), 1)",
    "select array_length(regexp_match(repeat('x', 9000000), '((((((((((x*))))))))))'), 1)",
    "select levenshtein(repeat('a', 1000000), repeat('b', 1000000))",
    "select levenshtein(repeat('a', 60000), repeat('b', 60000))",
    "select upper(a), lower(a), initcap(a), reverse(a), a || 'x', concat(a, 'y'), trim(a), \
     substr(a, 2), overlay(a placing 'x' from 1 for 2) from (select repeat('x', 15000000) a) x",
    "with a as (select repeat('x', 10000000) s), b as (select s || s s from a), \
     c as (select s || s s from b), d as (select s || s s from c), e as (select s || s s from d) \
     select length(s) from e",
    "with recursive t as (select repeat('x', 1000000) s \
     union all select s || s from t where length(s) < 1000000000) select max(length(s)) from t",
    "select max(length(t || repeat('y', 100000))) from b",
];

/// Functions of groups and of windows.
const GROUPS: &[&str] = &[
    "select length(string_agg('x', ',')) from generate_series(1, 1000) s(i)",
    "select length(string_agg(repeat('x', 1000), ',')) from generate_series(1, 10000000) s(i)",
    "select array_length(array_agg(repeat('x', 1000)), 1) from generate_series(1, 9000000) s(i)",
    "select length(string_agg(t, '')) from big",
    "select array_length(array_agg(t), 1) from big",
    "select max(length(s)) from (select i % 100, string_agg(t, '') s from big group by 1) x",
    "select max(array_length(s, 1)) from (select i % 9, array_agg(t) s from big group by 1) x",
    "select count(distinct t || i) from big",
    "select t || i, count(*) from big group by 1 order by 2 limit 1",
    "select max(length(a)) from (select string_agg(t, '') over () a from b) x",
    "select max(array_length(a, 1)) from (select array_agg(t) over () a from b) x",
    "select max(length(a)) from (select string_agg(t, '') over (order by i) a from b) x",
    "select max(array_length(a, 1)) from (select array_agg(t) over (order by i) a from b) x",
    "select sum(i) over (partition by t order by i rows between unbounded preceding and current \
     row) from big order by 1 limit 1",
    "select max(length(m)) from (select max(a) over () m from \
     (select repeat('x', 5000000) a from b) x) y",
];

/// Windows whose values for a batch nearly fill the budget, before they become a column.
const RUNNING: &[&str] = &[
    "select max(length(a)) from (select string_agg(t, '') over (order by i) a from b) x",
    "select max(length(a)) from (select string_agg('xx', '') over (order by i) a from b) x",
    "select max(length(a)) from (select string_agg('xx', '') over (order by -i) a from b) x",
];

/// Joins, sets, sorts.
const OPERATORS: &[&str] = &[
    "select count(*) from generate_series(1, 10) a, generate_series(1, 10) b",
    "select * from big order by t, i desc limit 1",
    "explain analyze select * from big order by t",
    "select count(*) from big a join big c on a.t || a.i = c.t || c.i",
    "select max(length(a.t || c.t)) from b a, b c",
    "select count(*) from big a where t || i in (select t || i from big)",
    "select count(*) from big a where t || i not in (select t || i || 'x' from big)",
    "select count(*) from (select t || i from big union select t || i from big) x",
    "select count(*) from (select t || i from big intersect select t || i from big) x",
    "select count(*) from (select t || i from big except select t || i from big) x",
    "select count(a) from (select array_agg(i) a from generate_series(1, 100000) s(i)) x, \
     generate_series(1, 8192)",
    "select count(a) from b, (select array_agg(i) a from generate_series(1, 100000) s(i)) x",
    "select count(a) from b join (select array_agg(i) a, max(i) m from \
     generate_series(1, 100000) s(i)) x on b.i < x.m",
    "select count(a) from b left join (select array_agg(i) a, i % 10 m from \
     generate_series(1, 100000) s(i) group by 2) x on b.i % 10 = x.m",
    "select count(*) from (select unnest(array_repeat(repeat('x', 1000), 100)) from b) x",
    "select unnest(generate_series(1, 100000)) from b limit 1000000",
    "select count(a) from (select generate_series(1, 100000) a from b offset 0) x",
    "select count(a) from (select case when i % 2 = 1 then generate_series(1, 100000) end a from b \
     offset 0) x",
];

/// Statements that gather rows.
const CHANGES: &[&str] = &[
    "insert into b select i + 1000000, t from b",
    "insert into b select i, repeat(t, 10) from b",
    "insert into b select i, t || t from b returning *",
    "update b set t = b.t || c.t from (select i, t from b) c where b.i = c.i",
    "merge into b using (select distinct i from b) s on b.i = s.i \
     when matched then update set t = 'a'",
    "create table c as select * from big",
    "create index on big (t)",
    "alter table big add column z text default repeat('y', 100)",
    "begin; declare c cursor with hold for select i, t from big; commit",
    "delete from big",
    "truncate b",
];

/// Runs the statements, of which so many are answered at least.
fn run(statements: &[&str], least: usize) -> Served {
    let served = Served::start(1024);
    let mut client = served.client();
    assert_eq!(client.query(TABLES).unwrap(), "");
    served.check_peak("tables", 1);
    let mut answered = 0;
    for statement in statements {
        let mut client = served.client();
        assert_eq!(client.query("set statement_timeout = '2s'").unwrap(), "");
        let found = client.query(statement).unwrap();
        assert!(STATES.contains(&found.as_str()), "{statement}: {found}");
        answered += usize::from(found.is_empty());
        served.check_peak(statement, 2);
    }
    // Not all is refused.
    assert!(answered >= least, "{answered}");
    served
}

#[test]
fn no_value_takes_more_than_the_budget() {
    run(VALUES, 1);
}

#[test]
fn no_group_takes_more_than_the_budget() {
    run(GROUPS, 1);
}

/// A column is a copy: it took half as much again as the budget, and nobody was asked.
#[test]
fn values_of_a_window_have_room_for_their_column() {
    let served = Served::start(1024);
    let mut client = served.client();
    assert_eq!(client.query(TABLES).unwrap(), "");
    served.peak();
    for statement in RUNNING {
        assert_eq!(client.query(statement).unwrap(), "53200", "{statement}");
        let peak = served.peak();
        assert!(peak <= 160 << 20, "{statement}: {} MiB", peak >> 20);
    }
}

#[test]
fn no_operator_takes_more_than_the_budget() {
    run(OPERATORS, 1);
}

#[test]
fn no_change_takes_more_than_the_budget() {
    let served = run(CHANGES, 2);
    // What frees memory is never refused.
    let mut client = served.client();
    assert_eq!(client.query("delete from b; drop table b; drop table big").unwrap(), "");
    assert_eq!(client.query("create table b as select repeat('x', 9) t").unwrap(), "");
}
