//! Several sessions take numbers of one sequence.
//!
//! Numbers are reserved some at a time, and each reservation waits for the disk. Whoever finds none
//! left waits for those that another reserves, and takes nothing from the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use remanent_engine::Options;
use remanent_sql::SqlDatabase;

const SESSIONS: i64 = 6;
const ROWS: i64 = 150;

/// What is reserved at a time, at most.
const RESERVED_MAX: i64 = 1024;

#[test]
fn sessions_share_the_numbers_that_are_reserved() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options::new().budget(256 << 20);
    let database = SqlDatabase::open_at(folder.path(), options).expect("a database opens");
    let mut session = database.session();
    let table = "create table t (id int generated always as identity primary key, by int not null)";
    session.execute(table).expect("a table is made");
    std::thread::scope(|scope| {
        for by in 0..SESSIONS {
            let database = Arc::clone(&database);
            scope.spawn(move || {
                let mut session = database.session();
                session.execute("set synchronous_commit = off").expect("a setting");
                for _ in 0..ROWS {
                    let insert = format!("insert into t (by) values ({by})");
                    session.execute(&insert).expect("a row is inserted");
                }
            });
        }
    });
    let answer = session.query("select id from t", &[]).expect("rows are read");
    let ids: BTreeSet<i64> = answer.rows.iter().filter_map(|row| row[0].as_i64()).collect();
    assert_eq!(ids.len() as i64, SESSIONS * ROWS, "each has a number of its own");
    let (first, last) = (ids.first().copied(), ids.last().copied().expect("there are rows"));
    assert_eq!(first, Some(1));
    // Conflicts may lose a number; reservations that others made are not.
    assert!(last <= SESSIONS * ROWS + RESERVED_MAX, "{last} of {} numbers", SESSIONS * ROWS);
}
