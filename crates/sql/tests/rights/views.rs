//! Views: they read what they read when they were made, with the rights of whoever owns them.

use remanent_sql::SqlState;

use crate::world::{World, refused, state, values};

#[test]
fn a_view_reads_with_its_owners_rights_as_they_are_now() {
    let mut world = World::new();
    world.run("grant usage on schema s to guest, other; grant usage on schema g to public");
    world.run("grant select on s.t to guest");
    let mut guest = world.act("guest");
    guest.execute("create view g.x as select b from s.t").unwrap();
    guest.execute("create view g.y as select b from g.x").unwrap();
    guest.execute("grant select on g.y to other").unwrap();
    let mut other = world.act("other");
    assert_eq!(values(&mut other, "select * from g.y"), ["secret"]);
    refused(&mut other, "select * from g.x");
    refused(&mut other, "select * from s.t");
    // Of a view in a view, the outer one's owner has to be allowed.
    world.run("revoke select on s.t from guest");
    refused(&mut other, "select * from g.y");
    refused(&mut guest, "select * from g.y");
    world.run("grant select on s.t to guest");
    assert_eq!(values(&mut other, "select * from g.y"), ["secret"]);
    // Who is given the view reads with their own.
    world.run("alter table g.y owner to other");
    refused(&mut other, "select * from g.y");
}

#[test]
fn names_in_a_view_are_what_they_were_to_its_maker() {
    let mut world = World::new();
    world.run("grant usage on schema s, g to public; grant usage on schema s to guest");
    let mut owner = world.act("owner");
    owner.execute("set search_path = s; create view shown as select b from t").unwrap();
    owner.execute("grant select on s.shown to guest").unwrap();
    let mut guest = world.act("guest");
    guest.execute("set search_path = g").unwrap();
    guest.execute("create table t (b text); insert into t values ('forged')").unwrap();
    assert_eq!(values(&mut guest, "select * from s.shown"), ["secret"]);
    // A table that hides another later hides it not in the view.
    world.run("create table public.t (b text)");
    assert_eq!(values(&mut guest, "select * from s.shown"), ["secret"]);
    world.act("owner").execute("alter table s.t rename to elsewhere").unwrap();
    assert_eq!(values(&mut guest, "select * from s.shown"), ["secret"]);
}

#[test]
fn whoever_replaces_a_view_of_another_gives_it_no_more_than_its_owner_has() {
    let mut world = World::new();
    world.run("create table public.hidden (b text); insert into hidden values ('secret')");
    world.run("grant usage on schema s to guest; grant select on s.v to guest");
    let mut boss = world.act("boss");
    let done = boss.execute("create or replace view s.v as select 1 as a, b from hidden");
    assert_eq!(state(done), Some(SqlState::NO_PRIVILEGE));
    refused(&mut world.act("guest"), "create or replace view s.v as select 1 as a, 'x' as b");
}

#[test]
fn an_owner_that_is_gone_leaves_nothing_behind() {
    let mut world = World::new();
    assert_eq!(state(world.program.execute("drop role owner")), Some(SqlState::DEPENDENT_OBJECTS));
    world.run("drop schema s cascade; drop role owner; create role owner");
    refused(&mut world.act("owner"), "create table x (a int)");
}

#[test]
fn a_view_that_takes_numbers_takes_them_with_the_readers_rights() {
    let mut world = World::new();
    world.run("grant usage on schema s, g to guest, owner; grant usage on schema g to public");
    let mut guest = world.act("guest");
    guest.execute("create view g.n as select nextval('s.q') as n").unwrap();
    refused(&mut guest, "select * from g.n");
}
