//! Aggregates that run over sorted rows answer as DataFusion's.
//!
//! Each query is asked twice: as it is, and with one more function over the same window, which only
//! DataFusion has, so that it computes all of them. The seed is in every message.

use std::sync::Arc;

use crate::random::{Random, seeds};
use remanent_sql::{Datum, Session, SqlDatabase};

/// So many rows that peers are in several batches.
const ROWS: u64 = 20_000;

const FUNCTIONS: [&str; 19] = [
    "lag(word)",
    "lag(price, 3)",
    "lag(day, 0)",
    "lag(id, 90)",
    "row_number()",
    "rank()",
    "dense_rank()",
    "count(*)",
    "count(small)",
    "count(word)",
    "sum(small)",
    "sum(large)",
    "sum(price)",
    "sum(ratio)",
    "avg(small)",
    "avg(price)",
    "avg(ratio)",
    "min(day)",
    "max(large)",
];

const PARTITIONS: [&str; 5] =
    ["", "partition by few", "partition by word", "partition by half", "partition by few, word"];

const ORDERS: [&str; 7] =
    ["few", "word desc", "small nulls first", "half", "day, few", "id desc", "price desc, id"];

const FRAMES: [&str; 4] = [
    "",
    "range between unbounded preceding and current row",
    "rows unbounded preceding",
    "rows between unbounded preceding and current row",
];

fn one_of<'c>(random: &mut Random, choices: &[&'c str]) -> &'c str {
    choices[random.below(choices.len() as u64) as usize]
}

fn database(random: &mut Random) -> Arc<SqlDatabase> {
    let db = SqlDatabase::in_memory().expect("a database");
    let mut session = db.session();
    let create = "create table t (id int primary key, few int, half int, small int, large bigint, \
                  word text, price numeric(12, 2), ratio float8, day date)";
    session.execute(create).expect("a table");
    let nulls = [1, 3, 50][random.below(3) as usize];
    let factor = 7_919 + random.below(100) * 2;
    let fill = format!(
        "insert into t select i, r % 4, i / {half}, nullif(r % 900, r % {nulls}) - 400, \
         r * 9000000001 - 70000000000000, case when r % {nulls} <> 1 then 'word ' || r % 11 end, \
         nullif(r % 5003, r % {nulls}) / 100.0 - 20, nullif(r % 64, r % {nulls}) / 8.0, \
         date '1998-01-01' + (r % 400)::int \
         from (select i, i * {factor} % 100003 as r from generate_series(1, {ROWS}) g(i)) q",
        half = ROWS / 2 + 1,
    );
    session.execute(&fill).expect("rows");
    db
}

fn rows(session: &mut Session, text: &str, seed: u64) -> Vec<Vec<Option<String>>> {
    let answer = session.query(text, &[]);
    let answer = answer.unwrap_or_else(|error| panic!("seed {seed}: {text}: {error}"));
    let texts = |row: &Vec<Datum>| row.iter().map(Datum::to_text).collect();
    answer.rows.iter().map(texts).collect()
}

/// Whether the operator is ours.
fn is_native(session: &mut Session, text: &str) -> bool {
    let plan = rows(session, &format!("explain {text}"), 0);
    plan.iter().flatten().flatten().any(|line| line.contains("Window: running="))
}

#[test]
fn windows_are_those_of_datafusion() {
    let mut native = 0;
    for seed in seeds("REMANENT_WINDOW_SEEDS", 1, 6) {
        let mut random = Random(seed);
        let db = database(&mut random);
        let mut session = db.session();
        for _ in 0..8 {
            let frame = one_of(&mut random, &FRAMES);
            let order = one_of(&mut random, &ORDERS);
            let functions = [0; 3].map(|_| one_of(&mut random, &FUNCTIONS));
            let is_of_rows = |it: &&str| it.starts_with("lag") || it.starts_with("row_");
            // By rows, peers are told from one another.
            let by_rows = frame.starts_with("rows") || functions.iter().any(is_of_rows);
            let more = if by_rows { ", id" } else { "" };
            let partition = one_of(&mut random, &PARTITIONS);
            let window = format!("({partition} order by {order}{more} {frame})");
            let [a, b, c] = functions.map(|function| format!("{function} over {window}"));
            let mine = format!("select id, {a} as a, {b} as b, {c} as c from t order by id");
            let other = format!(
                "select id, {a} as a, {b} as b, {c} as c, bit_or(few) over {window} as d \
                 from t order by id"
            );
            native += usize::from(is_native(&mut session, &mine));
            assert!(!is_native(&mut session, &other), "{other}");
            let found = rows(&mut session, &mine, seed);
            let expected = rows(&mut session, &other, seed);
            assert_eq!(found.len(), expected.len(), "seed {seed}: {mine}");
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(*found, expected[..4], "seed {seed}: {mine}");
            }
        }
    }
    assert!(native > 40, "{native} of 48 windows are ours");
}

/// Arguments that nobody needs, and functions beside those that are known: an answer, or an error,
/// is DataFusion's.
#[test]
fn odd_functions_are_those_of_datafusion() {
    let db = database(&mut Random(7));
    let mut session = db.session();
    let functions = [
        "lag(null)",
        "lag(small, null)",
        "lag(small, -1)",
        "lag(small, 3000000000)",
        "lag(small, few)",
        "lag(small, 1, 7)",
        "lag(word, 1, 'none')",
        "lag(small, 2, null)",
        "lag(small) ignore nulls",
        "lead(small)",
        "first_value(small)",
        "last_value(small)",
        "ntile(3)",
        "percent_rank()",
        "sum(null)",
        "sum(null::int)",
        "count(null)",
        "count()",
        "count(few, small)",
        "count(distinct few)",
        "sum(distinct few)",
        "sum(word)",
        "avg(day)",
        "max(few > 1)",
        "min(word)",
        "max(null)",
        "rank(few)",
        "row_number() filter (where few > 1)",
        "avg(1 / few)",
    ];
    let windows = [
        "(partition by few order by id)",
        "(order by 1)",
        "(order by null)",
        "(partition by id order by null)",
        "(order by ratio)",
        "(order by id rows between unbounded preceding and unbounded following)",
        "(order by id groups unbounded preceding)",
    ];
    for function in functions {
        for window in windows {
            let rows = "from t where id <= 2000 order by id";
            let mine = format!("select id, {function} over {window} as a {rows}");
            let other = format!(
                "select id, {function} over {window} as a, bit_or(few) over {window} {rows}"
            );
            match (session.query(&mine, &[]), session.query(&other, &[])) {
                (Ok(mine_rows), Ok(others)) => {
                    for (row, other) in mine_rows.rows.iter().zip(&others.rows) {
                        let [row, other] = [row, other].map(|row| row[1].to_text());
                        assert_eq!(row, other, "{mine}");
                    }
                }
                (Err(error), Err(other)) => assert_eq!(error.state(), other.state(), "{mine}"),
                (mine_rows, others) => {
                    panic!("{mine}: {:?}, {:?}", mine_rows.err(), others.err())
                }
            }
        }
    }
}

/// As PostgreSQL 15 answers.
#[test]
fn peers_have_one_answer_and_rows_their_own() {
    let db = SqlDatabase::in_memory().expect("a database");
    let mut session = db.session();
    session.execute("create table t (a int, b int, c int)").expect("a table");
    let fill =
        "insert into t values (1, 1, 10), (1, 1, null), (1, 2, 5), (2, null, 7), (2, 3, null)";
    session.execute(fill).expect("rows");
    let mut texts = |sql: &str| -> Vec<String> {
        let text = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
        rows(&mut session, sql, 0).into_iter().flatten().map(text).collect()
    };
    let select = |what: &str| format!("select {what} from t order by a, b, c");
    let found = texts(&select("sum(c) over (partition by a order by b)"));
    assert_eq!(found, ["10", "10", "15", "null", "7"]);
    let found = texts(&select("sum(c) over (order by a desc)"));
    assert_eq!(found, ["22", "22", "22", "7", "7"]);
    let found =
        texts(&select("count(c) over (partition by a order by b, c rows unbounded preceding)"));
    assert_eq!(found, ["1", "1", "2", "0", "1"]);
    // What a FILTER leaves out is not counted.
    let found = texts(&select("sum(c) filter (where c > 6) over (partition by a order by b)"));
    assert_eq!(found, ["10", "10", "10", "null", "7"]);
    let found = texts(&select("count(*) filter (where c > 6) over (order by a)"));
    assert_eq!(found, ["1", "1", "1", "2", "2"]);
    let found = texts(&select("lag(c) over (partition by a order by b, c)"));
    assert_eq!(found, ["null", "10", "null", "null", "null"]);
    let found = texts(&select("lag(c, 1, 0) over (order by a, b, c)"));
    assert_eq!(found, ["0", "10", "null", "5", "null"]);
    let found = texts("select max(c) over (order by a) from t where a > 5");
    assert_eq!(found, [""; 0]);
}

/// Partitions of 1,024 rows begin where batches do.
#[test]
fn a_partition_may_begin_with_a_batch() {
    let db = SqlDatabase::in_memory().expect("a database");
    let mut session = db.session();
    let fill = "create table t as select i as id, (i - 1) / 1024 as block, \
                (i - 1) % 1024 + 1 as place from generate_series(1, 65536) g(i)";
    session.execute(fill).expect("rows");
    let query = "select count(*) from ( \
                 select place, row_number() over w as n, count(*) over w as c, lag(id) over w as l \
                 from t window w as (partition by block order by id)) q \
                 where n = place and c = place and (l is null) = (place = 1)";
    assert!(is_native(&mut session, query));
    assert_eq!(rows(&mut session, query, 0), [[Some("65536".to_owned())]]);
}

#[test]
fn what_is_too_large_ends_the_statement() {
    let db = SqlDatabase::in_memory().expect("a database");
    let mut session = db.session();
    session.execute("create table t (id int primary key, n numeric(38, 0))").expect("a table");
    let most = "9".repeat(38);
    session.execute(&format!("insert into t values (1, {most}), (2, 1), (3, -2)")).expect("rows");
    let error = session.query("select sum(n) over (order by id) from t", &[]);
    assert_eq!(error.expect_err("39 digits").state().as_str(), "22003");
    let peers = session.query("select sum(n) over (order by id / 10) from t", &[]).expect("38");
    assert_eq!(peers.rows[0][0].to_text(), Some(format!("{}8", "9".repeat(37))));

    // All rows are peers, and wait for the last one.
    session
        .execute("create table u as select i, 1 as one from generate_series(1, 300000) g(i)")
        .expect("rows");
    let query = "select max(s) from (select sum(i) over (order by one) as s from u) q";
    assert!(is_native(&mut session, query));
    let all = session.query(query, &[]).expect("memory");
    assert_eq!(all.rows[0][0].to_text(), Some((300_000_u64 * 300_001 / 2).to_string()));
    session.execute("set query_memory = '12MB'").expect("a setting");
    let error = session.query(query, &[]).expect_err("no room");
    assert_eq!(error.state().as_str(), "53200", "{error}");
    session.execute("reset query_memory").expect("a setting");
    assert_eq!(session.query(query, &[]).expect("memory").rows.len(), 1);
}
