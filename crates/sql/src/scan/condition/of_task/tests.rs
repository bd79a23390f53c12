//! Each value of a key is one task's: bounds meet, NULL is the first task's, and bounds that a type
//! does not have leave nothing out and nothing twice.

use super::*;
use crate::SqlDatabase;

fn texts(column: usize, ends: [i64; 2], tasks: usize) -> Vec<String> {
    let db = SqlDatabase::in_memory().expect("a database");
    db.session().execute("create table t (a int not null, b bigint, c text)").expect("a table");
    let catalog = db.catalog();
    let table = catalog.tables.values().next().expect("a table");
    assert!(can_divide(table, 0) && can_divide(table, 1));
    assert!(!can_divide(table, 2) && !can_divide(table, 3));
    let [low, high] = ends;
    let of = |index| {
        let task = Task { index, tasks, segments: 0, timestamp: 0 };
        let filters = filters_of(Division::Keys { column, low, high }, table, task);
        filters.iter().map(ToString::to_string).collect::<Vec<_>>().join(" AND ")
    };
    (0..tasks).map(of).collect()
}

#[test]
fn each_value_is_one_tasks() {
    let expected = ["a < Int32(4)", "a >= Int32(4) AND a < Int32(7)", "a >= Int32(7)"];
    assert_eq!(texts(0, [1, 10], 3), expected);
    let expected = ["b < Int64(0) OR b IS NULL", "b >= Int64(0)"];
    assert_eq!(texts(1, [i64::MIN, i64::MAX], 2), expected);
    assert_eq!(texts(1, [i64::MAX, i64::MAX], 1), [""]);
    assert_eq!(texts(0, [7, 7], 2), ["a < Int32(7)", "a >= Int32(7)"]);
    // Of a table that has changed its type since.
    let expected = ["", "Boolean(false)"];
    assert_eq!(texts(0, [1 << 40, 1 << 41], 2), expected);
}
