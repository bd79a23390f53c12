//! OFFSET without LIMIT skips rows in the order that is asked for, whoever reads the others.
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
