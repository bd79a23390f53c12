//! What is told of tables whose rows are known to the tests: hot, frozen, both, and opened again.

use std::sync::Arc;

use datafusion::common::stats::Precision;
use datafusion::common::{ScalarValue, Statistics};
use remanent_engine::{Database, Options};

use super::segments::Segments;
use crate::database::SqlDatabase;
use crate::names::Name;

/// Rows that fill three segments and a part of one.
const ROWS: usize = 210_000;

const FILL: &str =
    "insert into t select n, n % 700, case when n % 4 = 0 then null else n % 30000 end,
    'text ' || (n % 12345), n / 3.0 from generate_series(1, 210000) as g(n)";

fn with_table(database: Arc<Database>, fill: &[&str]) -> Arc<SqlDatabase> {
    let database = SqlDatabase::new(database).expect("it is new");
    let mut session = database.session();
    let made = "create table t (id bigint primary key, few int, some int, text text, ratio float8)";
    for statement in [made].iter().chain(fill) {
        session.execute(statement).expect(statement);
    }
    database
}

fn in_memory(fill: &[&str]) -> Arc<SqlDatabase> {
    with_table(Arc::new(Database::open(Options::new()).expect("it opens")), fill)
}

/// What is told of the table, and how many of its rows segments speak for.
fn told(database: &SqlDatabase) -> (Arc<Statistics>, usize) {
    let tx = database.engine.begin_read().expect("a transaction");
    let table = database.catalog().table(&Name::new("public", "t")).expect("the table");
    let segments = Segments::of(&tx, &table).expect("its segments");
    (database.statistics.of(&database.engine, &table).expect("it can be read"), segments.rows)
}

#[track_caller]
fn assert_near(told: Precision<usize>, expected: usize, most: f64) {
    let told = *told.get_value().expect("it is told") as f64;
    let share = told / expected as f64;
    assert!((1.0 / most..most).contains(&share), "{told} of {expected}");
}

fn assert_right(statistics: &Statistics, most: f64) {
    assert_near(statistics.num_rows, ROWS, 1.05);
    let columns = &statistics.column_statistics;
    for (column, distinct) in columns.iter().zip([ROWS, 700, 22_500, 12_345, ROWS]) {
        let most_values = column.distinct_count.get_value().is_some_and(|count| *count <= ROWS);
        assert!(most_values, "{:?} of {ROWS} rows", column.distinct_count);
        assert_near(column.distinct_count, distinct, most);
    }
    assert_near(columns[2].null_count, ROWS / 4, 1.1);
    assert_eq!(columns[0].null_count.get_value(), Some(&0));
}

#[test]
fn frozen_hot_and_mixed_rows_tell_the_same() {
    // So few rows at a time stay rows.
    let part = |part: usize| {
        let rows = format!("({}, {})", part * 30_000 + 1, (part + 1) * 30_000);
        FILL.replace("(1, 210000)", &rows)
    };
    let parts: Vec<String> = (0..7).map(part).collect();
    let hot: Vec<&str> = parts.iter().map(String::as_str).collect();
    let some_frozen = [&hot[..5], &["vacuum t"], &hot[5..]].concat();
    let frozen = vec![FILL, "vacuum full t"];
    let ways = [(hot, false, false), (frozen, true, true), (some_frozen, true, false)];
    for (fill, has_segments, is_frozen) in ways {
        let (statistics, in_segments) = told(&in_memory(&fill));
        // A sample of one row in twenty knows less of values than segments do.
        assert_right(&statistics, if has_segments { 1.3 } else { 2.5 });
        assert_eq!((in_segments > 0, in_segments == ROWS), (has_segments, is_frozen), "{fill:?}");
        if is_frozen {
            assert_eq!(statistics.num_rows, Precision::Exact(ROWS));
            let id = &statistics.column_statistics[0];
            let end = |number| Precision::Inexact(ScalarValue::Int64(Some(number)));
            assert_eq!((&id.min_value, &id.max_value), (&end(1), &end(ROWS as i64)));
        }
    }
}

#[test]
fn changed_and_deleted_rows_are_not_exact() {
    let change = "delete from t where id % 3 = 0";
    let (statistics, in_segments) = told(&in_memory(&[FILL, "vacuum full t", change]));
    assert!(in_segments < ROWS);
    let rows = ROWS / 3 * 2;
    assert_eq!(statistics.num_rows, Precision::Inexact(rows));
    assert_near(statistics.column_statistics[0].distinct_count, rows, 1.05);
    assert_near(statistics.column_statistics[2].null_count, rows / 4, 1.1);
}

#[test]
fn segments_speak_after_a_restart() {
    let folder = std::env::temp_dir().join(format!("remanent-statistics-{}", std::process::id()));
    let open = || Arc::new(Database::open_at(&folder, Options::new()).expect("it opens"));
    let database = with_table(open(), &[FILL, "vacuum full t"]);
    let before = told(&database).0;
    database.engine.checkpoint().expect("an image");
    drop(database);
    let database = SqlDatabase::new(open()).expect("it is read");
    let (after, in_segments) = told(&database);
    drop(database);
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    assert_eq!(in_segments, ROWS);
    assert_eq!(before, after);
}
