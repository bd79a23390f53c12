//! Texts that rows of a join share are there once, and are counted once.
//!
//! A name stands in one small table, and a row of a large one has it by its key. What a query keeps
//! of such rows is a view of the name for each, whichever joins lie between: it fits into a budget
//! that has no room for the names of all rows, or for a count of them batch by batch.

use std::sync::Arc;

use remanent_engine::{Database, Options};
use remanent_sql::{Session, SqlDatabase};

const BUDGET: u64 = 100 << 20;

/// Rows of the large table.
const ROWS: i64 = 250_000;

fn session(threads: usize) -> Session {
    session_of(BUDGET, threads)
}

fn session_of(budget: u64, threads: usize) -> Session {
    let engine = Database::open(Options::new().budget(budget)).expect("a database opens");
    let db = SqlDatabase::new(Arc::new(engine)).expect("a database");
    let mut session = db.session();
    let mut run = |sql: &str| drop(session.execute(sql).expect(sql));
    run("create table names (k int primary key, name text)");
    run("create table t (id int primary key, k int, n int)");
    run("insert into names select i, repeat('x', 100) || i from generate_series(0, 19999) g(i)");
    run(&format!(
        "insert into t select i, i % 20000, i * 7919::bigint % 1000003 \
         from generate_series(1, {ROWS}) g(i)"
    ));
    run("vacuum full");
    run(&format!("set query_threads = {threads}"));
    session
}

fn answer(session: &mut Session, query: &str) -> Vec<String> {
    let answer = session.query(query, &[]).unwrap_or_else(|error| panic!("{query}: {error}"));
    let text = |row: &Vec<remanent_sql::Datum>| {
        row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    answer.rows.iter().map(text).collect()
}

#[test]
fn a_build_side_has_the_texts_of_its_own_build_side_once() {
    for threads in [1, 2] {
        let mut session = session(threads);
        // Each join keeps all rows so far with their names, and is the build side of the next.
        let query = "select count(*), count(distinct name), min(length(name)) \
                     from t join names using (k) \
                     where exists (select 1 from t b where b.id = t.id and b.k + 1 <> t.k) \
                     and exists (select 1 from t c where c.id = t.id and c.n + 1 <> t.n) \
                     and not exists (select 1 from t d where d.id = t.id and d.k <> t.k)";
        assert_eq!(answer(&mut session, query), ["250000 20000 101"], "{threads} threads");
    }
}

/// The order is by both tables, so rows are joined before they are sorted.
const SORTED: &str = "select count(*), max(at), min(name) from (select name, \
                      row_number() over (order by n * length(name), id) as at \
                      from t join names using (k)) q where at % 2 = 1";

#[test]
fn sorted_rows_of_a_join_are_counted_as_what_they_are() {
    for threads in [1, 2] {
        let found = answer(&mut session(threads), SORTED);
        let name = "x".repeat(100);
        assert!(found[0].starts_with(&format!("125000 249999 {name}")), "{found:?}");
    }
}

/// Nor are they put into files, where nobody would look for them.
#[test]
fn rows_that_have_no_room_to_be_sorted_are_refused() {
    let mut session = session_of(BUDGET / 5 * 2, 1);
    for _ in 0..2 {
        let error = session.query(SORTED, &[]).expect_err("there is no room");
        assert_eq!(error.state().as_str(), "53200", "{error}");
        assert_eq!(answer(&mut session, "select count(*) from t join names using (k)"), ["250000"]);
    }
}
