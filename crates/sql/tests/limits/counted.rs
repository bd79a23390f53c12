//! What statements hold beside operators is counted in the memory budget, also where the program's
//! allocator does not count.
//!
//! The budget is so small that each statement fits by itself, and is refused where what it holds
//! would be more than is left.

use std::sync::Arc;

use remanent_engine::{Database, Options};
use remanent_sql::{Session, SqlDatabase, SqlState};

/// A session on a table of so many numbers, in a budget of so many megabytes.
fn numbers(megabytes: u64, rows: usize) -> Session {
    let engine = Arc::new(Database::open(Options::new().budget(megabytes << 20)).unwrap());
    let mut session = SqlDatabase::new(engine).unwrap().session();
    session.execute("create table n (i integer, j integer)").unwrap();
    // Statements of less than a segment make rows, which leave less room than columns.
    for from in (0..rows).step_by(50_000) {
        let (first, last) = (from + 1, rows.min(from + 50_000));
        let made =
            format!("insert into n select i, i from generate_series({first}, {last}) as g(i)");
        session.execute(&made).unwrap();
    }
    session
}

#[test]
fn the_entries_of_an_index_are_counted_while_they_are_sorted() {
    let mut session = numbers(24, 200_000);
    let error = session.execute("create index by_i on n (i)").expect_err("no room to sort");
    assert_eq!(error.state(), SqlState::OUT_OF_MEMORY, "{error}");
    assert!(error.to_string().contains("entries of an index"), "{error}");
    let mut session = numbers(24, 20_000);
    session.execute("create index by_i on n (i)").unwrap();
    let found = session.query("select j from n where i = 77", &[]).unwrap();
    assert_eq!(found.rows.len(), 1);
}

#[test]
fn rows_of_volatile_named_queries_are_counted_while_they_are_read() {
    let mut session = numbers(24, 1_000);
    let named = |name: &str| {
        format!(
            "{name} as (select i, random() as x, random() as y, random() as z \
             from generate_series(1, 450000) as g(i))"
        )
    };
    let one = format!("with {} select a.x from r a, r b where a.i = 1 and b.i = 1", named("r"));
    assert_eq!(session.query(&one, &[]).unwrap().rows.len(), 1);
    // Each has room by itself, but not both.
    let two = format!(
        "with {}, {} select a.x from r a, r b, s c, s d \
         where a.i = 1 and b.i = 1 and c.i = 1 and d.i = 1",
        named("r"),
        named("s")
    );
    let error = session.query(&two, &[]).expect_err("no room for both");
    assert_eq!(error.state(), SqlState::OUT_OF_MEMORY, "{error}");
    assert_eq!(session.query(&one, &[]).unwrap().rows.len(), 1);
}
