//! The process ends at some call to the disk while something is defined: the database opens, and
//! has all of the definition or nothing.

use std::sync::Arc;

use remanent_engine::{Database, Durability, Options};
use remanent_sql::SqlDatabase;

use super::cases::{DEFINITIONS, go_on, make, seen};
use super::disk::{Content, Disk};
use super::folder::{is_chosen, run};

fn open(disk: &Disk) -> Arc<SqlDatabase> {
    // Small, so that a definition goes from one file of the log to the next.
    let options = Options::new().durability(Durability::Os).log_file_size(64 << 10);
    let engine = Database::open_in(Arc::new(disk.clone()), options).unwrap();
    SqlDatabase::new(Arc::new(engine)).unwrap()
}

/// What is seen on a disk with this on it.
fn seen_on(content: &Content, what: &str) -> Vec<String> {
    let database = open(&Disk::with(content));
    assert_eq!(database.set_aside(), [], "{what}");
    let all = seen(&mut database.session());
    go_on(&mut database.session(), what);
    all
}

#[test]
fn a_crash_leaves_all_of_a_definition_or_nothing() {
    let all = std::env::var("REMANENT_CRASHES").is_ok_and(|all| all == "all");
    for (number, text) in DEFINITIONS.iter().enumerate() {
        if !is_chosen(number, 4) {
            continue;
        }
        let disk = Disk::default();
        let database = open(&disk);
        let mut session = database.session();
        make(&mut session, 400);
        let before = seen(&mut session);
        disk.watch();
        run(&mut session, text);
        let states = disk.watched();
        let after = seen(&mut session);
        assert_ne!(before, after, "{text}");
        let mut is_after = false;
        for (place, content) in states.iter().enumerate() {
            let is_last = place + 1 == states.len();
            let is_chosen = all || is_last || place + 3 >= states.len() || place == number;
            if !is_chosen {
                continue;
            }
            let what = format!("{text}: call {place} of {}", states.len());
            let found = seen_on(content, &what);
            assert!(found == before || found == after, "{what}: {found:#?} before {before:#?}");
            assert!(!is_after || found == after, "{what}: it was there and is not any more");
            is_after |= found == after;
        }
        assert!(is_after, "{text}: it was acknowledged and is not there");
    }
}

#[test]
fn a_crash_leaves_a_block_or_nothing() {
    let disk = Disk::default();
    let database = open(&disk);
    let mut session = database.session();
    make(&mut session, 300);
    let before = seen(&mut session);
    disk.watch();
    run(
        &mut session,
        "begin; alter table t add column d text default 'd'; \
         insert into t (a) values (77); savepoint s; drop table child; rollback to s; \
         create table n as select id, a, b from t; alter table t rename to u; commit",
    );
    let states = disk.watched();
    let after = seen(&mut session);
    for (place, content) in states.iter().enumerate() {
        if !is_chosen(place, states.len() / 5 + 1) && place + 3 < states.len() {
            continue;
        }
        let what = format!("call {place} of {}", states.len());
        let found = seen_on(content, &what);
        assert!(found == before || found == after, "{what}: {found:#?}");
        assert!(found == after || place + 1 < states.len(), "{what}: it was acknowledged");
    }
}
