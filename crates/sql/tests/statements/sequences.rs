//! Several sessions take numbers of one sequence.
//!
//! Numbers are reserved some at a time, and each reservation waits for the disk. Whoever finds none
//! left waits for those that another reserves, and takes nothing from the others.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

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

/// A definition that does not end keeps all others from reserving numbers: each is told so after a
/// while, and not one after the other.
#[test]
fn all_who_wait_for_numbers_give_up_together() {
    let database = SqlDatabase::in_memory().expect("a database opens");
    let mut definer = database.session();
    definer.execute("create sequence s").expect("a sequence is made");
    definer.execute("begin; create table other (a int)").expect("a definition is open");
    let wait_for_all = |sessions: usize| {
        let began = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..sessions {
                let database = Arc::clone(&database);
                scope.spawn(move || {
                    let next = database.session().query("select nextval('s')", &[]);
                    let error = next.expect_err("nothing can be reserved");
                    // Whoever reserves is told by the engine, whoever waits for that one is not.
                    assert!(["55006", "55P03"].contains(&error.state().as_str()), "{error}");
                });
            }
        });
        began.elapsed()
    };
    let one = wait_for_all(1);
    let six = wait_for_all(6);
    assert!(six < one * 4, "six waited {six:?}, and one {one:?}");
    definer.execute("rollback").expect("it is taken back");
    let next = database.session().query("select nextval('s')", &[]).expect("it can be reserved");
    assert_eq!(next.rows[0][0].as_i64(), Some(1));
}
