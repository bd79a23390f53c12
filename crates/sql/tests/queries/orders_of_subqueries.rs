//! Rows of a subquery come in its order to whoever wants one: OFFSET without LIMIT skips them in
//! it, whoever reads the others, and values are put one behind the other in it.
//!
//! What reads them may want them in no order at all: an aggregate, a join, a set. The order is by a
//! column that is given out or by one that is not, and by one that an index has.

use remanent_sql::{Session, SqlDatabase};

/// `b` runs against `a`.
fn session() -> Session {
    let db = SqlDatabase::in_memory().expect("a database");
    let mut session = db.session();
    let mut run = |sql: &str| drop(session.execute(sql).expect(sql));
    run("create table t (a int primary key, b int, c text)");
    run("insert into t select i, 1000 - i, 'c' || i % 7 from generate_series(1, 500) g(i)");
    session
}

fn answer(session: &mut Session, query: &str) -> String {
    let answer = session.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}"));
    let row = |row: &Vec<remanent_sql::Datum>| {
        row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    answer.rows.iter().map(row).collect::<Vec<_>>().join("; ")
}

/// Queries, and what PostgreSQL 15 answers.
const ANSWERS: [(&str, &str); 12] = [
    ("select min(a), max(a), count(*) from (select a from t order by b offset 10) q", "1 490 490"),
    ("select min(a), max(a) from (select a from t order by a offset 10) q", "11 500"),
    ("select min(a), max(a) from (select a from t order by a desc offset 10) q", "1 490"),
    ("select min(a), max(a) from (select a, b from t order by b, a offset 499) q", "1 1"),
    ("select max(a + 1) from (select a from t where a > 3 order by b offset 5) q", "496"),
    ("select max(x) from (select a * 2 as x from t order by c desc, b offset 1) q", "1000"),
    (
        "select max(n), min(c) from (select c, count(*) n from t group by c order by c offset 3) q",
        "72 c3",
    ),
    (
        "select count(*), max(t.a) from t join (select a from t order by b offset 490) q using (a)",
        "10 10",
    ),
    (
        "select max(a) from (select a from t order by b offset 400) q union \
      select 7 order by 1",
        "7; 100",
    ),
    ("select count(*) from t where a in (select a from t order by b offset 480) and a > 15", "5"),
    (
        "select max(a) from (select a from (select a, b from t order by b offset 100) r \
      order by a offset 50) q",
        "400",
    ),
    (
        "select min(a) from (select a from (select a, b from t order by b offset 100) r \
      order by a offset 50) q",
        "51",
    ),
];

#[test]
fn rows_are_skipped_in_their_order() {
    let mut session = session();
    for is_frozen in [false, true] {
        if is_frozen {
            session.execute("vacuum full").expect("columns");
        }
        for (query, expected) in ANSWERS {
            assert_eq!(answer(&mut session, query), expected, "{query}, frozen: {is_frozen}");
        }
    }
}

/// Of rows in no order any are skipped, but as many: of one table, of several, of groups.
#[test]
fn rows_in_no_order_are_skipped_by_their_number() {
    let mut session = session();
    for (query, expected) in [
        ("select count(*) from (select a from t offset 7) q", "493"),
        ("select count(*) from (select a from t union all select b from t offset 7) q", "993"),
        ("select count(*) from (select c from t group by c offset 5) q", "2"),
        ("select count(*) from (values (1), (2), (3) offset 4) q", "0"),
    ] {
        assert_eq!(answer(&mut session, query), expected, "{query}");
    }
}

/// Queries whose answer is in the order of a subquery, in PostgreSQL 15 as here.
const ORDERED: [(&str, &str); 10] = [
    ("select array_agg(a) from (select a from t where a < 5 order by b) q", "{4,3,2,1}"),
    (
        "select string_agg(c, ',') from (select c, a from t where a < 9 order by c desc, a) q \
      where a > 4",
        "c6,c5,c1,c0",
    ),
    (
        "select a % 2, array_agg(a) from (select a from t where a < 7 order by b) q group by 1 \
      order by 1",
        "0 {6,4,2}; 1 {5,3,1}",
    ),
    ("select array_agg(a order by a) from (select a from t where a < 5 order by b) q", "{1,2,3,4}"),
    ("with q as (select a from t where a < 5 order by b) select array_agg(a) from q", "{4,3,2,1}"),
    (
        "select array_agg(x) from (select c as x, count(*) from t group by c order by c desc \
         limit 3) q",
        "{c6,c5,c4}",
    ),
    ("select a from (select a, b from t where a > 497 order by b) q", "500; 499; 498"),
    (
        "select a + 1 from (select a, b from t where a > 496 order by b) q where a <> 498",
        "501; 500; 498",
    ),
    (
        "select a, row_number() over () from (select a from t where a < 4 order by b) q",
        "3 1; 2 2; 1 3",
    ),
    ("select a from (select a from t order by b) q limit 2", "500; 499"),
];

#[test]
fn rows_of_a_subquery_come_in_its_order() {
    let mut session = session();
    for (query, expected) in ORDERED {
        assert_eq!(answer(&mut session, query), expected, "{query}");
    }
}

/// What nobody wants in order is not sorted, and what the order is by is not read.
#[test]
fn subqueries_are_not_sorted_for_nothing() {
    let mut session = session();
    for query in [
        "select count(*) from (select a from t order by b) q",
        "select sum(a), max(c) from (select a, c from t order by b) q where a > 7",
        "select c, count(*) from (select a, c from (select * from t order by b) q order by a) r \
         group by c",
    ] {
        let plan = answer(&mut session, &format!("explain {query}"));
        assert!(!plan.contains("Sort"), "{plan}");
        let scan = plan.split("columns=").nth(1).expect("a scan");
        assert!(!scan.contains('b'), "{plan}");
    }
}

/// The number comes with the statement.
#[test]
fn so_they_are_when_their_number_is_a_parameter() {
    let mut session = session();
    let query = "select max(a) from (select a from t order by b offset $1) q";
    for (skipped, expected) in [(0, "500"), (1, "499"), (499, "1"), (500, "")] {
        let answer = session.query(query, &[remanent_sql::Datum::Int(skipped)]).expect(query);
        let found = answer.rows[0][0].to_string().to_lowercase();
        assert_eq!(found, expected, "{skipped} skipped");
    }
}
