//! Several sessions at once, at every level, beside definitions, judged by what always holds: the
//! sum of all accounts, no booking beyond the seats, no item of a list that is gone.
//!
//! REMANENT_THREADS_SECONDS says for how long each case runs; two seconds in all otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use remanent_sql::SqlDatabase;

use super::judge::{database, orphans, rows, run};

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

/// What a client may be told beside definitions and others.
const RIGHT: [&str; 5] = ["40001", "23503", "55006", "55P03", "40P01"];

fn seconds() -> Duration {
    let given = std::env::var("REMANENT_THREADS_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_millis(given.map_or(700, |seconds: u64| seconds * 1000))
}

/// Runs `work` again and again in each of so many threads, beside `define`.
fn beside(
    database: &Arc<SqlDatabase>,
    work: impl Fn(&mut remanent_sql::Session, u64, &str) -> Result<(), &'static str> + Sync,
    define: impl Fn(&mut remanent_sql::Session, u64) + Sync,
) -> u64 {
    let (over, done) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..3_u64 {
            let (over, done, work, database) = (&over, &done, &work, Arc::clone(database));
            scope.spawn(move || {
                let mut session = database.session();
                let mut number = thread;
                while !over.load(Ordering::Relaxed) {
                    number += 3;
                    match work(&mut session, number, LEVELS[thread as usize]) {
                        Ok(()) => drop(done.fetch_add(1, Ordering::Relaxed)),
                        Err(state) => {
                            assert!(RIGHT.contains(&state), "{state}");
                            let _ = session.execute("rollback");
                        }
                    }
                }
            });
        }
        let started = Instant::now();
        let mut session = database.session();
        let mut round = 0;
        while started.elapsed() < seconds() {
            define(&mut session, round);
            round += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
        over.store(true, Ordering::Relaxed);
    });
    done.load(Ordering::Relaxed)
}

/// A definition that either is done or says that others write.
fn define(session: &mut remanent_sql::Session, text: &str) {
    if let Err(error) = session.execute(text) {
        // Where the one before was not done, this one finds nothing to change.
        let is_next = ["42701", "42703", "42704", "42P07"].contains(&error.state().as_str());
        assert!(is_next || RIGHT.contains(&error.state().as_str()), "{text}: {error:?}");
    }
}

fn all(session: &mut remanent_sql::Session, texts: &[String]) -> Result<(), &'static str> {
    texts.iter().try_for_each(|text| {
        session.execute(text).map(drop).map_err(|error| {
            let state = error.state().as_str();
            if RIGHT.contains(&state) { state } else { panic!("{text}: {error:?}") }
        })
    })
}

#[test]
fn transfers_beside_definitions_keep_the_sum() {
    let (database, mut session) = database(
        "create table account (id int primary key, amount bigint check (amount >= 0)); \
         insert into account select i, 100 from generate_series(0, 19) g(i)",
    );
    let done = beside(
        &database,
        |session, number, level| {
            let (from, to) = (number * 7 % 20, number * 3 % 20);
            if from == to {
                return Ok(());
            }
            let total = "select sum(amount) from account";
            all(session, &[format!("begin isolation level {level}")])?;
            let sum = session.query(total, &[]).map_err(|error| error.state().as_str())?;
            assert_eq!(sum.rows[0][0].to_text().as_deref(), Some("2000"), "{level}");
            all(
                session,
                &[
                    format!(
                        "update account set amount = amount - 1 where id = {from} and amount > 0"
                    ),
                    format!(
                        "update account set amount = amount + 1 where id = {to} and exists \
                         (select 1 from account where id = {from})"
                    ),
                    // The one that had nothing gave nothing.
                    "update account set amount = amount where id = 0".to_owned(),
                ],
            )?;
            let sum = session.query(total, &[]).map_err(|error| error.state().as_str())?;
            let is_whole = sum.rows[0][0].to_text().as_deref() == Some("2000");
            all(session, &[if is_whole { "commit" } else { "rollback" }.to_owned()])
        },
        |session, round| {
            define(
                session,
                match round % 4 {
                    0 => "alter table account add column note text default 'x'",
                    1 => "alter table account alter column amount type numeric(20, 0)",
                    2 => "alter table account alter column amount type bigint",
                    _ => "alter table account drop column note",
                },
            );
        },
    );
    assert!(done > 0, "nobody got through");
    assert_eq!(rows(&mut session, "select sum(amount), count(*) from account"), [["2000", "20"]]);
}

#[test]
fn lists_beside_definitions_have_no_orphans() {
    let (database, mut session) = database(
        "create table list (id int primary key, name text); \
         create table item (id bigint primary key, list int references list on delete cascade)",
    );
    let done = beside(
        &database,
        |session, number, level| {
            let list = number % 5;
            let change = match number % 4 {
                0 => format!("delete from list where id = {list}"),
                1 => format!("insert into list values ({list}, '') on conflict do nothing"),
                _ => format!("insert into item values ({number}, {list})"),
            };
            let begin = format!("begin isolation level {level}");
            all(session, &[begin, change, "commit".to_owned()])
        },
        |session, round| {
            define(
                session,
                match round % 4 {
                    0 => "create index item_list on item (list)",
                    1 => "alter table list rename column name to title",
                    2 => "alter table list rename column title to name",
                    _ => "drop index item_list",
                },
            );
        },
    );
    assert!(done > 0, "nobody got through");
    assert!(orphans(&mut session, ("item", &["list"]), ("list", &["id"])).is_empty());
}

/// No more bookings than seats, which only SERIALIZABLE promises.
#[test]
fn bookings_beside_definitions_stay_within_the_seats() {
    let (database, mut session) = database(
        "create table flight (id int primary key, seats int); insert into flight values (1, 30); \
         create table booking (id bigint primary key, flight int references flight)",
    );
    beside(
        &database,
        |session, number, _| {
            all(session, &["begin isolation level serializable".to_owned()])?;
            let full = session
                .query("select (select count(*) from booking) >= (select seats from flight)", &[])
                .map_err(|error| error.state().as_str())?;
            if full.rows[0][0].to_text().as_deref() == Some("t") {
                let which = "delete from booking where id = (select min(id) from booking)";
                return all(session, &[which.to_owned(), "commit".to_owned()]);
            }
            let book = format!("insert into booking values ({number}, 1)");
            all(session, &[book, "commit".to_owned()])
        },
        |session, round| {
            define(
                session,
                match round % 3 {
                    0 => "alter table booking add constraint positive check (id >= 0)",
                    1 => "alter table booking alter column flight set not null",
                    _ => "alter table booking drop constraint positive",
                },
            );
            let booked = rows(session, "select count(*) from booking");
            let booked: u64 = booked[0][0].parse().unwrap();
            assert!(booked <= 30, "{booked} seats");
        },
    );
    assert!(orphans(&mut session, ("booking", &["flight"]), ("flight", &["id"])).is_empty());
    run(&mut session, "drop table booking; drop table flight");
}
