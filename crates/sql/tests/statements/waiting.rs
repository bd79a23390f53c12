//! Statements at READ COMMITTED wait for rows that others have changed, and then go on with what
//! was committed; at other levels they fail at once.
//!
//! Each case runs by the short way, for one key, and by the long one.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use remanent_sql::{Session, SqlDatabase};

/// Conditions on the row with key 1 that are and are not recognised as about one key.
const ROW: [&str; 2] = ["k = 1", "k + 0 = 1"];

fn database() -> Arc<SqlDatabase> {
    let database = SqlDatabase::in_memory().expect("a database in memory opens");
    let mut session = database.session();
    let made = "create table t (k int primary key, v int); insert into t values (1, 10), (2, 20)";
    session.execute(made).expect("the table is made");
    database
}

fn run(session: &mut Session, text: &str) {
    session.execute(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
}

/// A session whose block has changed a row, and its database.
fn with_changed(row: &str) -> (Arc<SqlDatabase>, Session) {
    let database = database();
    let mut first = database.session();
    run(&mut first, &format!("begin; update t set v = v + 5 where {row}"));
    (database, first)
}

fn value(session: &mut Session) -> i64 {
    let answer = session.query("select sum(v) from t where k = 1", &[]).expect("it is read");
    answer.rows[0][0].as_i64().expect("it is a number")
}

/// A session that begins a block, tells so, and runs a statement; the error's state if it fails.
fn waiter(
    database: &Arc<SqlDatabase>,
    level: &str,
    text: String,
) -> (JoinHandle<(Session, Option<&'static str>)>, Receiver<()>) {
    let (tell, told) = channel();
    let mut session = database.session();
    run(&mut session, &format!("begin isolation level {level}"));
    run(&mut session, "update t set v = v where k = 2");
    let thread = std::thread::spawn(move || {
        tell.send(()).expect("somebody waits for it");
        let failed = session.execute(&text).err().map(|error| error.state().as_str());
        (session, failed)
    });
    (thread, told)
}

/// Enough for a statement that does not wait to have ended.
fn a_moment() {
    std::thread::sleep(Duration::from_millis(150));
}

#[test]
fn a_change_waits_and_sees_what_was_committed() {
    for row in ROW {
        for (end, expected) in [("commit", 16), ("rollback", 11)] {
            let (database, mut first) = with_changed(row);
            let text = format!("update t set v = v + 1 where {row}");
            let (thread, told) = waiter(&database, "read committed", text);
            told.recv().expect("it begins");
            a_moment();
            assert!(!thread.is_finished(), "{row}: it waits");
            run(&mut first, end);
            let (mut second, failed) = thread.join().expect("it does not panic");
            assert_eq!(failed, None, "{row}, {end}");
            run(&mut second, "commit");
            assert_eq!(value(&mut second), expected, "{row}, {end}");
        }
    }
}

#[test]
fn at_serializable_it_fails_at_once() {
    for row in ROW {
        let (database, _first) = with_changed(row);
        let text = format!("update t set v = v + 1 where {row}");
        let (thread, _told) = waiter(&database, "serializable", text);
        let (_, failed) = thread.join().expect("it does not panic");
        assert_eq!(failed, Some("40001"), "{row}");
    }
}

#[test]
fn of_two_that_wait_for_each_other_one_goes_on() {
    for row in ROW {
        let database = database();
        let mut first = database.session();
        run(&mut first, "begin isolation level read committed");
        run(&mut first, &format!("update t set v = v + 5 where {row}"));
        let text = format!("update t set v = v + 1 where {row}");
        let (thread, told) = waiter(&database, "read committed", text);
        told.recv().expect("it begins");
        a_moment();
        let refused = first.execute("update t set v = 0 where k = 2").err();
        run(&mut first, if refused.is_some() { "rollback" } else { "commit" });
        let (mut second, failed) = thread.join().expect("it does not panic");
        run(&mut second, if failed.is_some() { "rollback" } else { "commit" });
        let first_failed = refused.map(|error| error.state().as_str());
        let outcome = (first_failed, failed, value(&mut second));
        let one = [(Some("40001"), None, 11), (None, Some("40001"), 15)];
        assert!(one.contains(&outcome), "{row}: {outcome:?}");
    }
}

#[test]
fn waiting_ends_by_lock_timeout_and_the_block_goes_on() {
    for row in ROW {
        let (database, mut first) = with_changed(row);
        let mut second = database.session();
        run(&mut second, "set lock_timeout = '100ms'; begin isolation level read committed");
        let refused = second.execute(&format!("update t set v = v + 1 where {row}")).unwrap_err();
        assert_eq!(refused.state().as_str(), "55P03", "{row}: {refused:?}");
        run(&mut first, "rollback");
        run(&mut second, &format!("update t set v = v + 1 where {row}; commit"));
        assert_eq!(value(&mut second), 11, "{row}");
    }
}

#[test]
fn waiting_ends_when_it_is_cancelled() {
    for row in ROW {
        let (database, _first) = with_changed(row);
        let mut second = database.session();
        run(&mut second, "begin isolation level read committed");
        let cancel = second.cancel_handle();
        let text = format!("update t set v = v + 1 where {row}");
        let thread = std::thread::spawn(move || second.execute(&text).unwrap_err());
        a_moment();
        assert!(!thread.is_finished(), "{row}: it waits");
        cancel.cancel();
        let refused = thread.join().expect("it does not panic");
        assert_eq!(refused.state().as_str(), "57014", "{row}: {refused:?}");
    }
}
