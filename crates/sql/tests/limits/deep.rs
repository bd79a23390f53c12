//! Statements nested too deep, too long or too often: an answer or 54001, and the process lives.
//!
//! Who attacks: anybody who may send a text. With what: chains of operators that the parser makes
//! in a loop, nests that it recurses into, views and named queries that multiply. Each shape is
//! sent in several sizes from a thread with the stack that threads have by themselves; one that is
//! too small for what recurses would end this process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_sql::{Session, SqlDatabase};

/// Sizes that must be answered, and sizes that may be refused.
const SMALL: usize = 50;
const LARGE: [usize; 2] = [400, 60_000];

type Shape = (&'static str, fn(usize) -> String);

/// Chains and nests of each kind that the grammar has.
const SHAPES: &[Shape] = &[
    ("sums", |n| format!("select {}", vec!["1"; n].join(" + "))),
    ("differences of columns", |n| format!("select {} from t", vec!["v"; n].join(" - "))),
    ("products", |n| format!("select {} from t", vec!["v"; n].join(" * "))),
    ("sums of floats", |n| format!("select {} from t", vec!["v::float8"; n].join(" + "))),
    ("texts", |n| format!("select length({}) from t", vec!["s"; n].join(" || "))),
    ("casts", |n| format!("select 1{}", "::bigint".repeat(n))),
    ("words of casts", |n| format!("select {}1{}", "cast(".repeat(n), " as int)".repeat(n))),
    ("OR", |n| format!("select count(*) from t where {}", conditions(n, " or "))),
    ("AND", |n| format!("select count(*) from t where {}", conditions(n, " and "))),
    ("OR of AND", |n| {
        let parts: Vec<String> = (0..n).map(|i| format!("v = {i} and s = 'x'")).collect();
        format!("select count(*) from t where {}", parts.join(" or "))
    }),
    ("OR without an end", |n| format!("select count(*) from t where {} or", conditions(n, " or "))),
    ("parentheses", |n| format!("select {}1{}", "(".repeat(n), ")".repeat(n))),
    ("open parentheses", |n| format!("select {}", "(".repeat(n))),
    ("NOT", |n| format!("select {}true", "not ".repeat(n))),
    ("signs", |n| format!("select {}1", "- ".repeat(n))),
    ("IS NULL", |n| format!("select 1{}", " is null".repeat(n))),
    ("calls", |n| format!("select {}1{}", "abs(".repeat(n), ")".repeat(n))),
    ("coalesce", |n| {
        format!("select {}v{} from t", "coalesce(".repeat(n), " + 1, null)".repeat(n))
    }),
    ("BETWEEN", |n| {
        let before = "(".repeat(n);
        format!("select {before}v = 1{} from t", " between v = 2 and v = 3)".repeat(n))
    }),
    ("short lists", |n| {
        let before = "(".repeat(n);
        format!("select {before}v = 1{} from t", " in (v = 2, v = 3, v = 4))".repeat(n))
    }),
    ("CASE", |n| format!("select {}1{}", "case when true then ".repeat(n), " end".repeat(n))),
    ("branches of a CASE", |n| {
        let all: Vec<String> = (0..n).map(|i| format!("when v = {i} then {i}")).collect();
        format!("select case {} end from t", all.join(" "))
    }),
    ("a CASE with a chain of names that are its words", |n| {
        format!("select case when {} then 1 end from t", vec!["then"; n].join(" + "))
    }),
    ("a CASE with a chain of columns that are its words", |n| {
        format!("select case when {} then 1 end from t", vec!["t.then"; n].join(" + "))
    }),
    ("a CASE with a chain of types that are its words", |n| {
        format!("select case when 1{} then 1 end from t", "::then".repeat(n))
    }),
    ("a CASE with a chain of comparisons with its words", |n| {
        format!("select case when 1{} then 1 end from t", " is distinct from then".repeat(n))
    }),
    ("a chain of names that end a CASE", |n| {
        format!("select case when true then (1{}) end from t", " + end".repeat(n))
    }),
    ("sums of CASE", |n| {
        format!("select {} from t", vec!["case v when 1 then 2 else 3 end"; n].join(" + "))
    }),
    ("arrays", |n| format!("select {}1{}", "array[".repeat(n), "]".repeat(n))),
    ("subscripts", |n| format!("select (array[1]){}", "[1]".repeat(n))),
    ("subqueries", |n| format!("select {}1{}", "(select ".repeat(n), ")".repeat(n))),
    ("derived tables", |n| {
        format!("{}select 1 as a{}", "select a from (".repeat(n), ") as d".repeat(n))
    }),
    ("UNION ALL", |n| format!("select 1{}", " union all select 1".repeat(n))),
    ("EXCEPT", |n| format!("select 1{}", " except select 2".repeat(n))),
    ("named queries", |n| {
        let next = |i: usize| format!("c{i} as (select a from c{})", i.saturating_sub(1));
        let all: Vec<String> = (1..n).map(next).collect();
        format!("with c0 as (select 1 as a), {} select a from c{}", all.join(", "), n - 1)
    }),
    ("named queries that double", |n| {
        let next = |i: usize| format!("c{i} as (select x.a from c{0} x, c{0} y)", i - 1);
        let all: Vec<String> = (1..n.min(64)).map(next).collect();
        let last = n.min(64) - 1;
        format!("with c0 as (select 1 as a), {} select a from c{last}", all.join(", "))
    }),
    ("tables of FROM", |n| {
        let all: Vec<String> = (0..n).map(|i| format!("t as t{i}")).collect();
        format!("select count(*) from {}", all.join(", "))
    }),
    ("LIKE", |n| {
        let parts: Vec<String> = (0..n).map(|i| format!("s like '%{i}%'")).collect();
        format!("select count(*) from t where {}", parts.join(" or "))
    }),
    ("EXPLAIN", |n| format!("{}select 1", "explain ".repeat(n))),
    ("a condition of a change", |n| format!("update t set v = v where {}", conditions(n, " or "))),
    ("a value of a change", |n| format!("update t set v = {}", vec!["v"; n].join(" - "))),
    ("a check", |n| format!("create table c{n} (a int check ({}))", conditions_of("a", n, " or "))),
    ("a view", |n| format!("create view w{n} as select {} as a from t", vec!["v"; n].join(" - "))),
    ("a prepared statement", |n| {
        format!("prepare p{n} as select count(*) from t where {}", conditions(n, " or "))
    }),
];

/// Shapes that are no statement, have no meaning here, or multiply, may be refused when small.
const NESTS: &[&str] = &[
    "named queries that double",
    "OR without an end",
    "open parentheses",
    "subscripts",
    "subqueries",
    "coalesce",
    "BETWEEN",
    "short lists",
    "EXPLAIN",
    "a CASE with a chain of names that are its words",
    "a CASE with a chain of columns that are its words",
    "a CASE with a chain of types that are its words",
    "a CASE with a chain of comparisons with its words",
    "a chain of names that end a CASE",
];

fn conditions(n: usize, link: &str) -> String {
    conditions_of("v", n, link)
}

fn conditions_of(column: &str, n: usize, link: &str) -> String {
    let all: Vec<String> = (0..n).map(|i| format!("{column} <> {i}")).collect();
    all.join(link)
}

fn database() -> Arc<SqlDatabase> {
    let database = SqlDatabase::in_memory().expect("a database in memory opens");
    let mut session = database.session();
    let made =
        "create table t (k int primary key, v int, s text); insert into t values (1, 0, 'x')";
    session.execute(made).expect("the table is made");
    database
}

/// The state of the error, if there is one.
fn state(session: &mut Session, text: &str) -> Option<&'static str> {
    session.execute(text).err().map(|error| error.state().as_str())
}

/// Nothing here may take longer than this, which is long: it is the growth that is looked for.
const TIME_MAX: Duration = Duration::from_secs(20);

#[test]
fn every_shape_is_answered_or_refused() {
    let database = database();
    let mut session = database.session();
    for (name, shape) in SHAPES {
        eprintln!("{name}");
        let small = state(&mut session, &shape(SMALL));
        let refused = ["42601", "42703", "42704", "42883", "54001"].map(Some);
        let is_nest = NESTS.contains(name) || shape(SMALL).contains("((((");
        assert!(small.is_none() || is_nest && refused.contains(&small), "{name}: {small:?}");
        for n in LARGE {
            // What takes long is stopped by the clock.
            state(&mut session, "set statement_timeout = '300ms'");
            let started = Instant::now();
            let found = state(&mut session, &shape(n));
            let classes = ["22", "42", "54", "57"];
            let known = found.is_none_or(|it| classes.iter().any(|class| it.starts_with(class)));
            assert!(known, "{name} of {n}: {found:?}");
            assert!(started.elapsed() < TIME_MAX, "{name} of {n}: {:?}", started.elapsed());
            state(&mut session, "set statement_timeout = 0");
        }
        assert_eq!(state(&mut session, "select count(*) from t"), None, "{name}");
    }
}

#[test]
fn chains_that_programs_write_are_answered() {
    let mut session = database().session();
    for (n, link) in [(3_000, " or "), (3_000, " and ")] {
        let text = format!("select count(*) from t where {}", conditions(n, link));
        assert_eq!(state(&mut session, &text), None, "{link}");
    }
    let list: Vec<String> = (0..5_000).map(|i| i.to_string()).collect();
    let text = format!("select count(*) from t where k in ({})", list.join(", "));
    assert_eq!(state(&mut session, &text), None);
    let branches: Vec<String> = (0..2_000).map(|i| format!("when k = {i} then v + {i}")).collect();
    let text = format!("update t set v = case {} else v end", branches.join(" "));
    assert_eq!(state(&mut session, &text), None);
    let sum = format!("select {}", vec!["1"; 6_000].join(" + "));
    let answer = session.query(&sum, &[]).expect("it is added up");
    assert_eq!(answer.rows[0][0].as_i64(), Some(6_000));
    let mixed = format!("select 10000 {}", "- 2 + 1 ".repeat(3_000));
    let answer = session.query(&mixed, &[]).expect("it is added up");
    assert_eq!(answer.rows[0][0].as_i64(), Some(7_000));
    let texts = format!("select length({}) from t", vec!["s || 'ab'"; 2_000].join(" || "));
    let answer = session.query(&texts, &[]).expect("they are put together");
    assert_eq!(answer.rows[0][0].as_i64(), Some(6_000));
    let longer = format!("select {}", vec!["1"; 7_000].join(" + "));
    assert_eq!(state(&mut session, &longer), Some("54001"));
}

#[test]
fn a_long_chain_means_what_a_short_one_does() {
    let mut session = database().session();
    let made =
        "create table n (i int, b bigint, m numeric(12, 2), d double precision, v varchar(9));
                insert into n values (1, 2, 3.25, 0.5, 'x'), (null, 2, 3.25, 0.5, null)";
    session.execute(made).expect("the table is made");
    // Each CASE ends a short chain.
    for (link, term) in [
        (" + ", ["i", "i", "i"]),
        (" + ", ["i", "b", "m"]),
        (" - ", ["i", "1.5", "m"]),
        (" + ", ["i", "m", "d"]),
        (" - ", ["d", "1", "-2"]),
        (" * ", ["i", "1.0", "1"]),
        (" * ", ["d", "2", "2.0"]),
        (" || ", ["v", "'a'", "v"]),
        (" || ", ["v", "i::text", "'b'"]),
    ] {
        let all: Vec<&str> = (0..30).map(|place| term[place * 3 / 30]).collect();
        let long = all.join(link);
        let parts: Vec<String> = all.chunks(10).map(|part| part.join(link)).collect();
        let within =
            |left: String, right: &String| format!("case when true then {left} end{link}{right}");
        let short = parts[1..].iter().fold(parts[0].clone(), within);
        let asked = |text: &str| format!("select {text} as x, pg_typeof({text}) from n order by 1");
        let (one, other) = (session.query(&asked(&long), &[]), session.query(&asked(&short), &[]));
        let (one, other) = (one.expect(&long), other.expect(&short));
        assert_eq!(one.columns, other.columns, "{long}");
        assert_eq!(one.rows, other.rows, "{long}");
    }
    // Where a short one overflows, a long one does.
    let text = format!("select 2147483600 + {}", vec!["i"; 60].join(" + "));
    assert_eq!(state(&mut session, &format!("{text} from n")), Some("22003"));
    let text = format!("select 2147483600 + {} + b", vec!["i"; 40].join(" + "));
    assert_eq!(state(&mut session, &format!("{text} from n")), None);
    // It groups, and is a limit or an argument of a table.
    let sum = vec!["i"; 40].join(" + ");
    let text = format!("select {sum}, count(*) from n group by {sum} order by {sum}");
    assert_eq!(state(&mut session, &text), None);
    let ones = vec!["1"; 40].join(" + ");
    for (text, rows) in [
        (format!("select * from generate_series(1, {ones})"), 40),
        (format!("select * from generate_series(1, 100) limit {ones}"), 40),
        (format!("select sum(i) + {} from n", vec!["count(*)"; 40].join(" + ")), 1),
        (format!("select i from n where b + {ones} > 41"), 2),
        (format!("select date '2020-01-01' + {ones}"), 1),
    ] {
        let answer = session.query(&text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(answer.rows.len(), rows, "{text}");
    }
}

#[test]
fn a_select_list_has_as_many_items_as_in_postgresql() {
    let mut session = database().session();
    let list = |n: usize| format!("select {} from t", vec!["v"; n].join(", "));
    assert_eq!(state(&mut session, &list(1_664)), None);
    for text in [list(1_665), list(20_000), format!("select 1 from ({}) d", list(1_665))] {
        assert_eq!(state(&mut session, &text), Some("54011"));
    }
}

#[test]
fn views_that_double_are_refused() {
    let mut session = database().session();
    session.execute("create view v0 as select v from t").expect("it is made");
    let mut last = None;
    for i in 1..30 {
        let text = format!("create view v{i} as select a.v from v{0} a, v{0} b", i - 1);
        last = state(&mut session, &text);
        if last.is_some() {
            break;
        }
    }
    assert_eq!(last, Some("54001"));
    assert_eq!(state(&mut session, "select * from v3"), None);
}

#[test]
fn planning_ends_in_time() {
    let mut session = database().session();
    session.execute("set statement_timeout = '50ms'").expect("it is set");
    for text in [
        format!("select {} from t", vec!["v::float8"; 230].join(" / ")),
        format!("select length({}) from t", vec!["s || v"; 240].join(" || ")),
        format!("select 1{}", " union all select 1".repeat(480)),
    ] {
        let started = Instant::now();
        assert_eq!(state(&mut session, &text), Some("57014"), "{}", &text[..40]);
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
    let handle = session.cancel_handle();
    session.execute("set statement_timeout = 0").expect("it is set");
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        handle.cancel();
    });
    let text = format!("select {} from t", vec!["v::float8"; 230].join(" / "));
    assert_eq!(state(&mut session, &text), Some("57014"));
    stopper.join().expect("it stops it");
}

/// What many alternatives have in common is put in front of them, and is no deep tree: wherever an
/// expression may stand.
#[test]
fn long_alternatives_with_much_in_common_are_answered() {
    let mut session = SqlDatabase::in_memory().expect("a database").session();
    let script = "create table w (k int, v int); create table t (k int primary key);
                  insert into t select i from generate_series(1, 5) g(i);
                  insert into w select i % 5, i from generate_series(1, 100) g(i)";
    session.execute(script).expect("tables");
    let parts: Vec<_> = (1000..4000).map(|number| format!("w.v <> {number}")).collect();
    let common = parts.join(" and ");
    let either = |one: &str, other: &str| format!("({common} and {one}) or ({common} and {other})");
    let (constant, outer) = (either("w.k = 1", "w.k = 2"), either("w.k = t.k", "w.v = t.k"));
    for (query, expected) in [
        (format!("select count(*) from w where {constant}"), 40),
        (format!("select count(*) from (select {constant} as x from w) q where x"), 40),
        (format!("select count(*) from w where case when {constant} then true end"), 40),
        (format!("select count(*) from w join t on {outer}"), 81),
        (format!("select sum((select count(*) from w where {outer})) from t"), 81),
    ] {
        let found = session.query(&query, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.rows[0][0].to_string(), expected.to_string());
    }
}
