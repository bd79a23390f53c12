//! LISTEN and NOTIFY: who is told what when, what a transaction that does not commit leaves, and
//! the channels on which the database itself says that tables have changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_engine::Options;
use remanent_sql::{Session, SqlDatabase};

/// How long a notification may take, on a machine that others use.
const PATIENCE: Duration = Duration::from_secs(60);

fn run(session: &mut Session, script: &str) {
    session.execute(script).expect(script);
}

fn state(session: &mut Session, text: &str) -> String {
    session.execute(text).map_or_else(|error| error.state().as_str().to_owned(), |_| String::new())
}

/// Channels and payloads that a session was told.
fn told(session: &mut Session) -> Vec<String> {
    let taken = session.take_notifications();
    taken.iter().map(|it| format!("{}:{}", it.channel, it.payload)).collect()
}

/// The same, once there is something.
fn told_soon(session: &mut Session) -> Vec<String> {
    let until = Instant::now() + PATIENCE;
    loop {
        let told = told(session);
        if !told.is_empty() {
            return told;
        }
        assert!(Instant::now() < until, "nothing is told");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn two() -> (Arc<SqlDatabase>, Session, Session) {
    let db = SqlDatabase::in_memory().expect("a database");
    let (a, b) = (db.session(), db.session());
    (db, a, b)
}

#[test]
fn what_a_transaction_says_is_heard_when_it_has_committed() {
    let (_db, mut hears, mut says) = two();
    run(&mut hears, "listen news; listen \"Other News\"");
    run(&mut says, "begin; notify news, 'a'; notify news, 'b'; notify news, 'a'; notify news");
    assert!(told(&mut hears).is_empty());
    run(&mut says, "notify \"Other News\", 'c'; notify nobody, 'd'; commit");
    assert_eq!(told(&mut hears), ["news:a", "news:b", "news:", "Other News:c"]);
    run(&mut says, "begin; notify news, 'e'; rollback");
    run(&mut says, "begin; notify news, '1'; savepoint s; notify news, '2'; rollback to s");
    assert_eq!(state(&mut says, "select 1 / 0"), "22012");
    run(&mut says, "notify news, '3'; release s; notify news, '4'; commit");
    assert_eq!(told(&mut hears), ["news:1", "news:3", "news:4"]);
    // Outside a block at once; who says it hears it, too.
    run(&mut says, "listen news; notify news, 'mine'");
    assert_eq!(told(&mut says), ["news:mine"]);
    assert_eq!(told(&mut hears), ["news:mine"]);
    // Within a block nothing is taken.
    run(&mut hears, "begin");
    run(&mut says, "notify news, 'late'");
    assert!(told(&mut hears).is_empty());
    run(&mut hears, "commit");
    assert_eq!(told(&mut hears), ["news:late"]);
}

#[test]
fn who_listens_to_what_is_decided_by_the_commit() {
    let (_db, mut hears, mut says) = two();
    run(&mut hears, "begin; listen a; rollback");
    run(&mut says, "notify a, '1'");
    assert!(told(&mut hears).is_empty());
    run(&mut hears, "begin; listen a; listen b");
    run(&mut says, "notify a, '2'");
    run(&mut hears, "commit");
    run(&mut says, "notify a, '3'");
    assert_eq!(told(&mut hears), ["a:3"]);
    let channels = |session: &mut Session| {
        let answer = session.query("select * from pg_listening_channels()", &[]).expect("rows");
        answer.rows.iter().map(|row| row[0].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(channels(&mut hears), ["a", "b"]);
    assert!(channels(&mut says).is_empty());
    run(&mut hears, "begin; unlisten a; rollback; listen a; unlisten b");
    run(&mut says, "notify b, '4'; notify a, '5'");
    assert_eq!(told(&mut hears), ["a:5"]);
    for ends in ["unlisten *", "discard all"] {
        run(&mut hears, ends);
        run(&mut says, "notify a, '6'");
        assert!(told(&mut hears).is_empty() && channels(&mut hears).is_empty(), "{ends}");
        run(&mut hears, "listen a");
    }
    assert!(!says.has_listened() && hears.has_listened());
}

#[test]
fn a_function_says_the_same() {
    let (_db, mut hears, mut says) = two();
    run(&mut hears, "listen rows");
    run(&mut says, "create table t (a int primary key)");
    let values = "select pg_notify('rows', 'row ' || a) from (values (1), (2)) as v (a)";
    run(&mut says, values);
    assert_eq!(told(&mut hears), ["rows:row 1", "rows:row 2"]);
    // What fails has said nothing, wherever it fails.
    let fails = "select pg_notify('rows', 'x' || (1 / (a - 3))) from (values (1), (3)) as v (a)";
    assert_eq!(state(&mut says, fails), "22012");
    run(&mut says, "begin");
    assert_eq!(state(&mut says, fails), "22012");
    run(&mut says, "select pg_notify('rows', 'in a block')");
    assert!(told(&mut hears).is_empty());
    run(&mut says, "commit");
    assert_eq!(told(&mut hears), ["rows:in a block"]);
    run(&mut says, "insert into t values (1) returning pg_notify('rows', 'inserted')");
    let twice = "insert into t select 1 from (select pg_notify('rows', 'twice')) as n (m)";
    assert_eq!(state(&mut says, twice), "23505");
    assert_eq!(told(&mut hears), ["rows:inserted"]);
    let usage = says.query("select pg_notification_queue_usage()", &[]).expect("a row");
    assert_eq!(usage.rows[0][0].to_string(), "0");
}

#[test]
fn what_cannot_be_said_is_refused() {
    let (_db, mut session, _) = two();
    let long = "x".repeat(8000);
    for (text, refused) in [
        (format!("notify a, '{long}'"), "22023"),
        (format!("select pg_notify('a', '{long}')"), "22023"),
        (format!("select pg_notify('{}', 'a')", &long[..64]), "22023"),
        ("select pg_notify('', 'a')".to_owned(), "22023"),
        ("select pg_notify(null, 'a')".to_owned(), "22023"),
        ("notify remanent_changes, 'a'".to_owned(), "42501"),
        ("notify \"remanent_changes.public.t\"".to_owned(), "42501"),
        // There is no feed of what is in memory alone.
        ("listen remanent_changes".to_owned(), "22023"),
        ("listen \"remanent_changes.public.t\"".to_owned(), "42P01"),
        ("notify remanent_changes2, 'a'; select pg_notify('a', null)".to_owned(), ""),
        (format!("notify a, '{}'", &long[1..]), ""),
    ] {
        assert_eq!(state(&mut session, &text), refused, "{}", &text[..40]);
    }
}

/// Each says the number that it has committed; all numbers come, in their order.
#[test]
fn notifications_come_in_the_order_of_commits() {
    const THREADS: i64 = 4;
    const EACH: i64 = 40;
    let (db, mut hears, mut says) = two();
    run(&mut says, "create table counter (n bigint); insert into counter values (0)");
    run(&mut hears, "listen numbers");
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut session = db.session();
                let change = "begin; update counter set n = n + 1; \
                              select pg_notify('numbers', n::text) from counter; commit";
                let mut done = 0;
                while done < EACH {
                    match session.execute(change) {
                        Ok(_) => done += 1,
                        Err(error) => {
                            assert_eq!(error.state().as_str(), "40001");
                            run(&mut session, "rollback");
                        }
                    }
                }
            });
        }
    });
    let numbers: Vec<String> = (1..=THREADS * EACH).map(|n| format!("numbers:{n}")).collect();
    assert_eq!(told(&mut hears), numbers);
}

/// Definitions wait for all who write: not while these wait for their turn to notify.
#[test]
fn who_defines_and_notifies_keeps_nobody_from_committing() {
    let (db, mut hears, mut says) = two();
    run(&mut says, "create table t (a int); create role guest");
    run(&mut hears, "listen a");
    let scripts = [
        "begin; grant select on t to guest; notify a, 'grant'; commit",
        "begin; insert into t values (1); notify a, 'row'; commit",
        "begin; notify a, 'column'; alter table t add column b int; commit; \
         alter table t drop column b",
    ];
    std::thread::scope(|scope| {
        for script in scripts {
            let mut session = db.session();
            scope.spawn(move || {
                for _ in 0..30 {
                    if session.execute(script).is_err() {
                        run(&mut session, "rollback");
                    }
                }
            });
        }
    });
    let told = told(&mut hears);
    assert!(told.iter().any(|it| it == "a:row"), "{told:?}");
    assert!(told.iter().any(|it| it == "a:grant"), "{told:?}");
}

#[test]
fn changes_of_tables_are_told_by_the_database() {
    let place = tempfile::tempdir().expect("a folder");
    let db = SqlDatabase::open_at(place.path(), Options::new()).expect("a database");
    let (mut hears, mut says) = (db.session(), db.session());
    run(
        &mut says,
        "create schema s; create table s.part (id int primary key); create table other (a int); \
         create role guest login",
    );
    run(&mut hears, "listen \"remanent_changes.s.part\"");
    run(&mut says, "insert into other values (1); begin; insert into s.part values (1); rollback");
    run(&mut says, "begin; insert into s.part values (2); insert into s.part values (3); commit");
    let first = told_soon(&mut hears);
    let lsn = first[0].strip_prefix("remanent_changes.s.part:").expect("of the table");
    let count = |session: &mut Session, lsn: &str| {
        let query = format!("select * from remanent_changes({lsn}) where new_row is not null");
        session.query(&query, &[]).expect("the feed goes on there").rows.len()
    };
    assert_eq!((first.len(), count(&mut says, lsn)), (1, 0));
    // Of what is not taken the newest is kept.
    for i in 4..20 {
        run(&mut says, &format!("insert into s.part values ({i})"));
        std::thread::sleep(Duration::from_millis(3));
    }
    let until = Instant::now() + PATIENCE;
    let mut last = lsn.to_owned();
    while count(&mut says, &last) > 0 || last == lsn {
        assert!(Instant::now() < until, "the last is not told");
        let told = told_soon(&mut hears);
        assert_eq!(told.len(), 1, "{told:?}");
        last = told[0].rsplit_once(':').expect("a position").1.to_owned();
    }
    run(&mut hears, "unlisten *; listen remanent_changes");
    run(&mut says, "insert into other values (2)");
    assert!(told_soon(&mut hears)[0].starts_with("remanent_changes:"));
    // A definition is a change of the table as well.
    run(&mut hears, "unlisten *; set search_path = s; listen \"remanent_changes.part\"");
    run(&mut says, "alter table s.part add column b int");
    assert!(told_soon(&mut hears)[0].starts_with("remanent_changes.s.part:"));

    let mut guest = db.session();
    guest.act_as("guest").expect("there is such a role");
    assert_eq!(state(&mut guest, "listen \"remanent_changes.public.other\""), "42501");
    assert_eq!(state(&mut guest, "listen \"remanent_changes.public.none\""), "42P01");
    run(&mut says, "grant select on other to guest");
    assert_eq!(state(&mut guest, "listen \"remanent_changes.public.other\""), "");
    // Whoever watches ends with those who listen.
    drop((hears, guest, says));
    let until = Instant::now() + PATIENCE;
    while Arc::strong_count(&db) > 1 {
        assert!(Instant::now() < until, "somebody still watches");
        std::thread::sleep(Duration::from_millis(5));
    }
}
