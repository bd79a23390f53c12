//! What a hostile role would try beside asking plainly.

use remanent_sql::{Kind, SqlState, Statement};

use crate::world::{World, refused, state, values};

/// A world in which the guest may name what is in the schema, and no more.
fn named() -> World {
    let mut world = World::new();
    world.run("grant usage on schema s to guest, other; grant usage on schema g to public");
    world
}

/// Whatever is meant by it, it is not done, and nothing of the table is told.
fn fails(session: &mut remanent_sql::Session, text: &str) -> SqlState {
    match session.execute(text) {
        Ok(answers) => panic!("{text} was done: {:?}", answers.last().map(|a| &a.rows)),
        Err(error) => {
            let said = format!("{error} {:?} {:?}", error.detail_text(), error.hint_text());
            assert!(!said.contains("secret"), "{text}: {said}");
            error.state()
        }
    }
}

#[test]
fn a_table_is_forbidden_however_it_is_written() {
    let mut world = named();
    world.run(
        "create table \"T\u{c4}GLICH\" (word text); create table \"t\u{e4}glich\" (word text)",
    );
    world.run("insert into \"t\u{e4}glich\" values ('secret')");
    let mut guest = world.act("guest");
    for text in [
        "select * from t\u{c4}glich",
        "select * from T\u{c4}GLICH",
        "select * from \"t\u{e4}glich\"",
        "select * from S.T",
        "select * from \"s\".\"t\"",
        "select * from 's'.'t'",
        "select * from remanent.s.t",
        "select * from anything.s.t",
        "select (select b from s.t)",
        "select * from generate_series(1, (select max(a) from s.t))",
        "select case when (select count(*) from s.t) > 0 then 1 end",
        "select 1 order by (select b from s.t)",
        "select 1 group by (select b from s.t)",
        "select 1 having exists (select 1 from s.t)",
        "with recursive r as (select 1 as n union all select n + 1 from r, s.t where n < 3) \
         select * from r",
        "with t as (select 1) select * from t, s.t as u",
        "select row_id from s.t",
        "select t.row_id, b from s.t",
        "select has_table_privilege((select b from s.t), 'select')",
        "select nextval((select b from s.t))",
        "select 1 from s.u where a = any (select a from s.t)",
        "select 1 from (values (1)) as x(a) where (a, 'x') in (select a, b from s.t)",
        "select sum(1) over (order by (select b from s.t))",
        "select (s.t).b from s.t",
        "set search_path = s; select * from t",
    ] {
        refused(&mut guest, text);
    }
    for text in ["table s.t", "select * into g.x from s.t", "select 1 limit (select a from s.t)"] {
        fails(&mut guest, text);
    }
}

#[test]
fn changes_within_queries_need_rights_or_are_not_there() {
    let mut world = named();
    let before = world.print();
    let mut guest = world.act("guest");
    for text in [
        "with x as (delete from s.t returning *) select * from x",
        "with x as (select 1 as a) insert into s.t select a + 5, 'x' from x",
        "with x as (select 1 as a) delete from s.t where a in (select a from x)",
        "with x as (select 1 as a) update s.t set b = 'x'",
        "explain analyze with x as (select 1 as a) insert into s.t select a + 5, 'x' from x",
        "copy (delete from s.t returning *) to stdout",
    ] {
        fails(&mut guest, text);
    }
    assert_eq!(world.print(), before);
}

/// In what a statement becomes, its target has a name of ours, with all its rows.
#[test]
fn the_statements_own_tables_cannot_be_named() {
    let mut world = named();
    world.run("grant insert, update, delete on s.t to guest");
    let before = world.print();
    let mut guest = world.act("guest");
    for name in ["\"\u{1}own\".target", "'\u{1}own'.'target'", "'\u{1}own'.target"] {
        for text in [
            format!("insert into s.t select 7, cast(cast(b as int) as text) from {name}"),
            format!("insert into s.t select * from {name}"),
            format!("update s.t set b = (select 1 / (count(*) - 1) from {name})"),
            format!("select * from {name}"),
            format!("create table {name} (a int)"),
            format!("prepare x as insert into s.t select * from {name}"),
        ] {
            fails(&mut guest, &text);
        }
    }
    // Parts of a statement are printed and read again: they must not become others.
    for text in [
        "update s.t set b = N'x'', a = 9 + (select count(*) from s.t) --'",
        "update s.t set b = N'x'' || b || ''y'",
        "update s.t set b = X'00'' || b || ''y'",
        "update s.t set b = B'0'' || b || ''y'",
        "insert into s.t values (9, N'x'') , (10, (select b from \"s\".\"t\")) --')",
        "insert into s.t values (9, 'x') returning N'x'', b as c --'",
    ] {
        fails(&mut guest, text);
    }
    assert_eq!(world.print(), before);
    guest.execute("update s.t set a = - -1").unwrap();
    assert_eq!(values(&mut world.program, "select a from s.t"), ["1"]);
    // As a value the same characters are what they are, whatever they mean to us.
    let text = "merge into s.t using (select 1 as a) as \"x' || b || '\" on false \
         when not matched then insert values (6, '\u{2}\u{1}target')";
    world.run(text);
    assert_eq!(values(&mut world.program, "select b from s.t where a = 6"), ["\u{2}\u{1}target"]);
    guest.execute("insert into s.t values (8, '\u{1}own')").unwrap();
    assert_eq!(values(&mut world.program, "select b from s.t where a = 8"), ["\u{1}own"]);
}

#[test]
fn definitions_read_no_more_than_their_maker_may() {
    let mut world = named();
    let mut guest = world.act("guest");
    guest
        .execute("create table g.mine (a int, b text); insert into g.mine values (1, 'x')")
        .unwrap();
    let before = world.print();
    for text in [
        "alter table g.mine add check ((select count(*) from s.t) = 0)",
        "alter table g.mine add check (a > 0 or exists (select 1 from s.t))",
        "alter table g.mine add check (b = any (select b from s.t))",
        "alter table g.mine add check (b <> N'x'' or (select b from s.t) <> ''y')",
        "alter table g.mine add check (a in (select a from s.t))",
        "alter table g.mine alter column b type text using (select b from s.t)",
        "alter table g.mine add column c text default (select b from s.t)",
        "alter table g.mine alter column b set default (select b from s.t)",
        "alter table g.mine add column c text generated always as ((select b from s.t)) stored",
        "alter table g.mine add foreign key (a) references s.u",
        "create table g.x (a int references s.t)",
        "alter table g.mine add column c int references s.u",
        "create table g.x (a int, foreign key (a) references s.u on delete cascade)",
        "create table g.x (a int check (b <> any (select b from s.t)))",
        "create table g.x (a int default nextval((select b from s.t)))",
        "create table g.x (a int default (select a from s.t))",
        "create table g.x (a int check (a > (select a from s.t)))",
        "create table g.x (a text generated always as ((select b from s.t)) stored)",
        "create table g.x (like s.t)",
        "create table g.x (like s.v)",
        "create index on s.t (b)",
        "create sequence g.x start (select a from s.t)",
    ] {
        fails(&mut guest, text);
    }
    assert_eq!(world.print(), before);
    // Rights to refer do not count as rights to read.
    world.run("grant references on s.u to guest");
    guest.execute("create table g.x (a int references s.u on delete cascade)").unwrap();
    guest.execute("insert into g.x values (1)").unwrap();
    refused(&mut guest, "select * from s.u");
    refused(&mut guest, "truncate s.u cascade");
    let mut owner = world.act("owner");
    refused(&mut owner, "truncate s.u cascade");
    owner.execute("delete from s.u where a = 1").unwrap();
    assert_eq!(values(&mut guest, "select count(*) from g.x"), ["0"]);
}

#[test]
fn sequences_are_forbidden_however_they_are_asked() {
    let mut world = named();
    let mut owner = world.act("owner");
    owner.execute("create table s.i (a int generated by default as identity, b text)").unwrap();
    let mut guest = world.act("guest");
    guest.execute("create table g.x (a bigint default nextval('s.q'), b text)").unwrap();
    for text in [
        "select nextval('s.q')",
        "select nextval('\"s\".\"q\"')",
        "select nextval(' s . q ')",
        "select nextval('anything.s.q')",
        "select nextval('S.Q')",
        "select nextval(x) from (values ('s.q')) as y(x)",
        "select setval('s.q', 100)",
        "select setval('s.q', 100, false)",
        "select nextval('s.i_a_seq')",
        "select setval('s.i_a_seq', 100)",
        "drop sequence s.i_a_seq",
        "drop sequence if exists s.q",
        "select currval('s.q')",
        "insert into g.x (b) values ('x')",
        "insert into g.x values (nextval('s.q'), 'x')",
        "update g.x set a = nextval('s.q')",
        "execute y(nextval('s.q'))",
        "set search_path = s; select nextval('q')",
    ] {
        guest.execute("deallocate all; prepare y(bigint) as select $1").unwrap();
        if text.starts_with("update") {
            guest.execute("insert into g.x values (1, 'x')").unwrap();
        }
        refused(&mut guest, text);
    }
    // Whoever may insert takes the numbers of the column, and sets none.
    world.run("grant insert on s.i to guest");
    guest.execute("insert into s.i (b) values ('x')").unwrap();
    refused(&mut guest, "select setval('s.i_a_seq', 100)");
    assert_eq!(values(&mut world.act("owner"), "select nextval('s.q')"), ["1"]);
    // What a session took, no other is told.
    world.run("grant select on sequence s.q to guest");
    let mut again = world.act("guest");
    assert_eq!(state(again.execute("select currval('s.q')")), Some(SqlState::WRONG_STATE));
    assert_eq!(state(again.execute("select lastval()")), Some(SqlState::WRONG_STATE));
}

/// What is compiled for one key is as old as the catalog that it was compiled for.
#[test]
fn plans_for_one_key_do_not_outlive_the_right() {
    let mut world = named();
    world.run("grant select, insert, update, delete on s.t to guest");
    let mut guest = world.act("guest");
    let texts = [
        "select b from s.t where a = 1",
        "update s.t set b = 'y' where a = 99",
        "insert into s.t values (5, 'five')",
        "delete from s.t where a = 5",
    ];
    let prepared = texts.map(|text| guest.prepare(&Statement::parse(text).unwrap(), &[]).unwrap());
    for text in texts {
        assert!(guest.run_text(text).is_some(), "{text} is not about one key");
        guest.execute(text).unwrap_or_else(|error| {
            assert!(text.starts_with("insert"), "{text}: {error}");
            Vec::new()
        });
    }
    guest.execute("delete from s.t where a = 5").unwrap();
    for change in [
        "revoke all on s.t from guest",
        "revoke usage on schema s from guest",
        "alter table s.t rename to r; create table s.t (a int primary key, b text); \
         alter table s.t owner to owner",
        "drop table s.t; create table s.t (a int primary key, b text)",
    ] {
        world.run(change);
        for (text, prepared) in texts.iter().zip(&prepared) {
            if let Some(ran) = guest.run_text(text) {
                assert_eq!(state(ran), Some(SqlState::NO_PRIVILEGE), "{text} after {change}");
            }
            if let Some(ran) = guest.run_prepared_point(prepared, &[]) {
                assert_eq!(state(ran), Some(SqlState::NO_PRIVILEGE), "{text} after {change}");
            }
            refused(&mut guest, text);
        }
        let again = "grant usage on schema s to guest; grant all on table s.t to guest";
        if !change.starts_with("drop") {
            world.run(again);
            guest.execute(texts[0]).unwrap();
        }
    }
}

#[test]
fn a_transaction_that_keeps_its_snapshot_keeps_no_rights() {
    for isolation in ["repeatable read", "serializable"] {
        for (change, back) in [
            ("revoke select on s.t from guest", "grant select on s.t to guest"),
            ("drop schema g cascade; drop role guest", ""),
        ] {
            let mut world = named();
            world.run("grant select on s.t to guest");
            let mut guest = world.act("guest");
            guest.execute(&format!("begin isolation level {isolation} read only")).unwrap();
            assert_eq!(values(&mut guest, "select b from s.t where a = 1"), ["secret"]);
            assert_eq!(values(&mut guest, "select b from s.t"), ["secret"]);
            let text = "select b from s.t where a = 1";
            let prepared = guest.prepare(&Statement::parse(text).unwrap(), &[]).unwrap();
            world.run(change);
            refused(&mut guest, "select b from s.t where a = 1");
            refused(&mut guest, "select b from s.t");
            if let Some(ran) = guest.run_prepared_point(&prepared, &[]) {
                assert_eq!(state(ran), Some(SqlState::NO_PRIVILEGE));
            }
            if !back.is_empty() {
                world.run(back);
                assert_eq!(values(&mut guest, "select b from s.t"), ["secret"]);
            }
        }
    }
}

#[test]
fn nobody_becomes_somebody_else() {
    let mut world = named();
    let mut guest = world.act("guest");
    for text in [
        "set role boss",
        "set session authorization boss",
        "set local role boss",
        "set session authorization default",
        "set session_authorization = 'boss'",
        "set is_superuser = on",
        "reset is_superuser",
        "alter role guest superuser",
        "alter role guest login password 'x'",
        "alter role guest password 'x' superuser",
        "alter role boss password 'x'",
        "alter user boss nologin",
        "alter role guest rename to boss",
        "create role x superuser",
        "create user x",
        "drop role boss",
        "grant boss to guest",
        "grant all on schema s to guest",
        "grant select on s.t to guest",
        "grant select on s.t to public",
        "grant select on all tables in schema s to guest",
        "alter table s.t owner to guest",
        "alter table g.n owner to boss",
        "alter schema s owner to guest",
        "create schema x authorization boss",
        "create table s.x (a int)",
        "alter table s.t rename to x",
    ] {
        fails(&mut guest, text);
        let is = values(&mut guest, "select current_setting('is_superuser')");
        assert_eq!(is, ["off"], "{text}");
    }
    guest.execute("alter role guest password 'mine'").unwrap();
    guest.execute("discard all; reset all; reset role").unwrap();
    refused(&mut guest, "select * from s.t");
    assert_eq!(values(&mut guest, "select current_user"), ["guest"]);
    for name in ["public", "\"public\"", "none"] {
        let made = state(world.program.execute(&format!("create role {name}")));
        assert_eq!(made.map(|state| state.as_str()), Some("42939"), "{name}");
    }
}

#[test]
fn a_right_on_a_strange_name_is_a_right_on_that_alone() {
    let world = named();
    let mut owner = world.act("owner");
    owner.execute("create table s.\"*\" (a int); create table s.\"t t\" (a int)").unwrap();
    owner.execute("grant select on s.\"*\" to guest; grant select on s.\"t t\" to guest").unwrap();
    let mut guest = world.act("guest");
    guest.execute("select * from s.\"*\"; select * from s.\"t t\"").unwrap();
    refused(&mut guest, "select * from s.t");
    // All tables are those that there are.
    owner.execute("grant select on all tables in schema s to guest").unwrap();
    guest.execute("select * from s.t").unwrap();
    owner.execute("create table s.later (a int)").unwrap();
    refused(&mut guest, "select * from s.later");
    owner.execute("revoke select on s.t from guest").unwrap();
    refused(&mut guest, "select * from s.t");
    for name in ["a.b", "a:b", "a\u{7}b", ""] {
        let text = format!("create table s.\"{name}\" (a int)");
        assert!(owner.execute(&text).is_err(), "{name:?}");
    }
}

#[test]
fn everybodys_rights_are_given_and_taken_like_others() {
    let mut world = named();
    world.run("grant select on s.t to public; grant select on s.t to guest");
    let mut guest = world.act("guest");
    guest.execute("select * from s.t").unwrap();
    world.run("revoke select on s.t from guest");
    guest.execute("select * from s.t").unwrap();
    world.run("revoke select on s.t from public");
    refused(&mut guest, "select * from s.t");
    world.run("grant all on s.t to guest; revoke all on s.t from guest");
    refused(&mut guest, "select * from s.t");
}

#[test]
fn rights_stay_through_every_change_of_a_table() {
    let mut world = named();
    world.run("grant select on s.t to guest");
    let mut guest = world.act("guest");
    for change in [
        "alter table s.t add column c int default 5",
        "alter table s.t alter column a type bigint",
        "alter table s.t rename column c to d",
        "alter table s.t drop column d",
        "vacuum full s.t",
        "truncate s.t",
        "alter table s.t owner to other",
    ] {
        world.run("drop view if exists s.v");
        world.run(change);
        guest.execute("select * from s.t").unwrap();
        refused(&mut guest, "delete from s.t");
    }
    refused(&mut world.act("owner"), "select * from s.t");
}

#[test]
fn the_catalog_tells_what_is_true() {
    let mut world = named();
    world.run("grant select on s.t to guest");
    let mut guest = world.act("guest");
    for (text, wanted) in [
        ("show is_superuser", "off"),
        ("select has_table_privilege('s.t', 'select')", "t"),
        ("select has_table_privilege('s.t', 'insert')", "f"),
        ("select has_table_privilege('guest', 's.t', 'select,insert')", "t"),
        ("select has_table_privilege('other', 's.t', 'select')", "f"),
        ("select has_table_privilege('boss', 's.t', 'delete')", "t"),
        ("select has_schema_privilege('s', 'create')", "f"),
        ("select has_schema_privilege('g', 'create')", "t"),
        ("select has_sequence_privilege('s.q', 'usage')", "f"),
        ("select rolsuper from pg_roles where rolname = 'guest'", "f"),
        ("select rolsuper from pg_roles where rolname = 'boss'", "t"),
        ("select count(*) from pg_authid where rolpassword like 'SCRAM%'", "0"),
    ] {
        assert_eq!(values(&mut guest, text), [wanted], "{text}");
    }
    assert_eq!(values(&mut world.act("boss"), "show is_superuser"), ["on"]);
    for text in [
        "delete from pg_catalog.pg_class",
        "insert into information_schema.tables values (1)",
        "create table pg_catalog.x (a int)",
        "create table sql.x (a int)",
        "select * from sql.objects",
        "select * from sql.grants",
        "create schema sql",
        "create schema pg_catalog",
    ] {
        fails(&mut guest, text);
        fails(&mut world.act("boss"), text);
    }
}

#[test]
fn a_role_that_was_dropped_leaves_its_sessions_nothing() {
    let mut world = named();
    world.run("grant select, insert on s.t to public");
    let mut guest = world.act("guest");
    guest.execute("select * from s.t; begin; insert into s.t values (3, 'x')").unwrap();
    guest.execute("rollback").unwrap();
    world.run("drop schema g cascade; drop role guest");
    for text in [
        "select * from s.t",
        "insert into s.t values (4)",
        "create table x (a int)",
        "select b from s.t where a = 1",
        "alter role guest password 'x'",
    ] {
        refused(&mut guest, text);
    }
    world.run("create role guest superuser");
    refused(&mut guest, "select * from s.t");
    assert_eq!(values(&mut guest, "select current_setting('is_superuser')"), ["off"]);
}

#[test]
fn a_schema_goes_with_what_others_made_in_it() {
    let mut world = named();
    world.run("grant create on schema s to guest");
    let made = "create table s.x (a int); create view s.y as select 1 as a; create sequence s.z";
    world.act("guest").execute(made).unwrap();
    refused(&mut world.act("guest"), "drop schema s cascade");
    world.act("owner").execute("drop schema s cascade").unwrap();
}

#[test]
fn batches_and_copies_are_checked_as_statements_are() {
    let world = named();
    let mut guest = world.act("guest");
    guest.execute("set search_path = s").unwrap();
    let copy = Statement::parse("copy t from stdin").unwrap();
    assert_eq!(Kind::of(&copy), Some(Kind::CopyFrom));
    assert_eq!(state(guest.copy_in(&copy.copy().unwrap())), Some(SqlState::NO_PRIVILEGE));
    let rows = datafusion::arrow::array::RecordBatch::new_empty(std::sync::Arc::new(
        datafusion::arrow::datatypes::Schema::empty(),
    ));
    assert_eq!(state(guest.insert_batch("t", &rows)), Some(SqlState::NO_PRIVILEGE));
    assert_eq!(state(guest.insert_frozen_batch("t", &rows)), Some(SqlState::NO_PRIVILEGE));
}
