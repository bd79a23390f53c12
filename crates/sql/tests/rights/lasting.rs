//! Rights over time: restarts, transactions that are taken back, tables of other interfaces.

use remanent_engine::Options;
use remanent_sql::{SqlDatabase, SqlState};

use crate::world::{World, refused, state, values};

#[test]
fn rights_outlive_a_restart_and_numbers_of_roles_are_never_given_again() {
    let folder = tempfile::tempdir().unwrap();
    let before = {
        let database = SqlDatabase::open_at(folder.path(), Options::new()).unwrap();
        let text = "create table kept (a int); create table gone (a int); create role ann; \
             create role ben; grant select on kept to ann; grant select on gone to ann, ben; \
             drop table gone; create table gone (a int)";
        database.session().execute(text).unwrap();
        let ben = database.role("ben").unwrap();
        database.session().execute("drop role ben").unwrap();
        ben
    };
    let database = SqlDatabase::open_at(folder.path(), Options::new()).unwrap();
    database.session().execute("create role ben").unwrap();
    let ben = database.role("ben").unwrap();
    assert!(ben.id > before.id, "{} after {}", ben.id, before.id);
    assert!(database.session().admit(&before).is_err());
    let mut session = database.session();
    session.act_as("ann").unwrap();
    session.execute("select * from kept").unwrap();
    refused(&mut session, "select * from gone");
    session.act_as("ben").unwrap();
    refused(&mut session, "select * from gone");
    refused(&mut session, "select * from kept");
}

#[test]
fn what_is_taken_back_was_never_given() {
    let mut world = World::new();
    let mut guest = world.act("guest");
    let text = "begin; grant usage on schema s to guest; grant select on s.t to guest";
    world.run(text);
    refused(&mut guest, "select * from s.t");
    world.run("rollback");
    refused(&mut guest, "select * from s.t");
    world.run("grant usage on schema s to guest; begin; savepoint x; grant select on s.t to guest");
    world.run("rollback to savepoint x; commit");
    refused(&mut guest, "select * from s.t");
    // A statement that fails in the middle gives nothing.
    let half = "grant select on s.t to guest, nobody";
    assert_eq!(state(world.program.execute(half)), Some(SqlState::UNKNOWN_OBJECT));
    refused(&mut guest, "select * from s.t");
    world.run("grant select on s.t to guest; begin; revoke select on s.t from guest; rollback");
    guest.execute("select * from s.t where a = 1; select * from s.t").unwrap();
}

#[test]
fn in_a_block_rights_count_as_they_are_at_each_statement() {
    let mut world = World::new();
    world.run("grant usage on schema s to guest; grant select on s.t to guest");
    for isolation in ["read committed", "repeatable read", "serializable"] {
        let mut guest = world.act("guest");
        guest.execute(&format!("begin isolation level {isolation}")).unwrap();
        guest.execute("prepare x as select * from s.t where a = 1; execute x").unwrap();
        world.run("revoke select on s.t from guest");
        refused(&mut guest, "select * from s.t");
        refused(&mut guest, "execute x");
        world.run("grant select on s.t to guest");
    }
}

#[test]
fn an_open_transaction_keeps_nobody_from_taking_rights() {
    let mut world = World::new();
    world.run("grant usage on schema s to guest; grant all on s.t to guest");
    let mut guest = world.act("guest");
    let mut other = world.act("guest");
    guest.execute("begin; insert into s.t values (5, 'x'); select * from s.t").unwrap();
    let started = std::time::Instant::now();
    for text in [
        "revoke all on s.t from guest",
        "alter role other nologin",
        "create role new",
        "grant select on s.u to guest",
        "drop role new",
    ] {
        world.run(text);
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(4), "{:?}", started.elapsed());
    refused(&mut guest, "select * from s.t");
    refused(&mut other, "select * from s.t where a = 1");
    guest.execute("select * from s.u; commit").unwrap();
    assert_eq!(values(&mut world.program, "select count(*) from s.t"), ["2"]);
}

#[test]
fn a_definition_that_is_refused_keeps_nobody_from_writing() {
    let mut world = World::new();
    world.run("grant usage on schema s to guest; create table p (a int primary key)");
    let texts = [
        "drop table s.t",
        "create table s.x (a int)",
        "alter table s.t add column c int",
        "grant select on s.t to guest",
        "drop role other",
        "create index on s.t (a)",
    ];
    for (number, text) in texts.iter().enumerate() {
        let mut guest = world.act("guest");
        guest.execute("begin").unwrap();
        refused(&mut guest, text);
        let started = std::time::Instant::now();
        world.run(&format!("insert into p values ({number})"));
        assert!(started.elapsed() < std::time::Duration::from_secs(4), "{text}");
        guest.execute("rollback").unwrap();
    }
    let mut guest = world.act("guest");
    guest.execute("begin").unwrap();
    refused(&mut guest, "drop table s.t");
    guest.execute("create table g.mine (a int); insert into g.mine values (1)").unwrap();
    refused(&mut guest, "drop table s.t");
    guest.execute("commit; select * from g.mine").unwrap();
}

/// Rights and definitions at once: no catalog that is put up lacks what the other has made.
#[test]
fn rights_and_definitions_at_once_lose_nothing_of_each_other() {
    let mut world = World::new();
    world.run("create table p (a int)");
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let mut session = world.database.session();
            std::thread::spawn(move || {
                for round in 0..25 {
                    let text = match number % 2 {
                        0 => format!("create table t{number}_{round} (a int)"),
                        _ => format!(
                            "create role r{number}_{round}; \
                                      grant select on p to r{number}_{round}"
                        ),
                    };
                    session.execute(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    for round in 0..25 {
        for number in [0, 2] {
            world.run(&format!("select * from t{number}_{round}"));
        }
        for number in [1, 3] {
            world.act(&format!("r{number}_{round}")).execute("select * from p").unwrap();
        }
    }
    let (roles, tables) = (
        "select count(*) from pg_roles where rolname like 'r%\\_%'",
        "select count(*) from pg_tables where tablename like 't%\\_%'",
    );
    assert_eq!(values(&mut world.program, roles), ["50"]);
    assert_eq!(values(&mut world.program, tables), ["50"]);
}

#[test]
fn tables_of_other_interfaces_are_nobodys_until_something_is_granted() {
    let mut world = World::new();
    let engine = world.database.engine().clone();
    let make = |name: &str| {
        let mut session = SqlDatabase::in_memory().unwrap().session();
        session.execute(&format!("create table {name} (a int)")).unwrap();
        let schema = session.database().engine().table(name).unwrap().schema().clone();
        engine.create_table(schema).unwrap()
    };
    let table = make("foreign");
    world.database.refresh_catalog().unwrap();
    let mut guest = world.act("guest");
    refused(&mut guest, "select * from \"foreign\"");
    refused(&mut guest, "drop table \"foreign\"");
    world.run("grant select on \"foreign\" to guest");
    guest.execute("select * from \"foreign\"").unwrap();
    // Another interface drops it, and makes another of the same name.
    engine.drop_table(&table).unwrap();
    make("foreign");
    world.database.refresh_catalog().unwrap();
    refused(&mut guest, "select * from \"foreign\"");
}

#[test]
fn the_schema_public_is_everybodys_to_look_into_until_that_is_revoked() {
    let mut world = World::new();
    world.run("create table p (a int primary key); grant all on p to guest");
    let mut guest = world.act("guest");
    guest.execute("select * from p where a = 1").unwrap();
    refused(&mut guest, "create table q (a int)");
    refused(&mut guest, "create view q as select 1 as a");
    refused(&mut guest, "create sequence q");
    world.run("grant create on schema public to guest");
    guest.execute("create table q (a int); select * from p").unwrap();
    world.run("revoke usage on schema public from public");
    for text in [
        "select * from p",
        "select * from p where a = 1",
        "insert into p values (1)",
        "select * from public.p",
        "truncate p",
    ] {
        refused(&mut guest, text);
    }
    world.run("grant usage on schema public to guest");
    guest.execute("select * from p where a = 1").unwrap();
}

#[test]
fn settings_say_of_a_superuser_that_it_is_one() {
    let mut world = World::new();
    let mut boss = world.act("boss");
    assert_eq!(values(&mut boss, "select current_setting('is_superuser')"), ["on"]);
    world.run("alter role boss nosuperuser");
    assert_eq!(values(&mut boss, "select current_setting('is_superuser')"), ["off"]);
    assert_eq!(values(&mut boss, "show is_superuser"), ["off"]);
    refused(&mut boss, "select * from s.t");
}
