//! Rows of the catalogue that cannot be read: of a later version, or damaged.

use remanent_engine::Database;
use remanent_engine::schema::Value;

use super::folder::{Folder, is_chosen, run, state, value};

const MADE: &str = "create schema s; create role reader; create sequence q; \
     create table parent (id int generated always as identity primary key, a int check (a > 0)); \
     create table child (p int references parent, b text default 'x'); \
     create view v as select a from parent; create view w as select a from v; \
     insert into parent (a) values (1); insert into child values (1); \
     grant select on parent to reader; comment on table parent is 'rows'";

/// What a definition may have become.
const BROKEN: [&str; 12] = [
    "",
    "{",
    "null",
    "[]",
    "{}",
    "\"text\"",
    "CREATE TABLE x (a INT)",
    r#"{"columns":[],"keys":[],"checks":[],"references":[],"later":1}"#,
    "{\"columns\":[{\"name\":\"a\",\"type\":\"int\",\"not_null\":false,\"default\":\"- -\"}],\
     \"keys\":[],\"checks\":[],\"references\":[]}",
    "{\"columns\":[{\"name\":\"nothing\",\"type\":\"int\",\"not_null\":true}],\
     \"keys\":[],\"checks\":[],\"references\":[]}",
    "{\"columns\":[{\"name\":\"p\",\"type\":\"int\",\"not_null\":false}],\
     \"keys\":[],\"checks\":[],\"references\":[{\"name\":\"r\",\"columns\":[\"p\"],\
     \"table\":9999,\"to\":[\"id\"],\"on_delete\":\"NO ACTION\",\"on_update\":\"NO ACTION\"}]}",
    "{\"columns\":[{\"name\":\"a\",\"source\":\"a\",\"type\":\"int\"}],\
     \"query\":\"SELECT a FROM x\",\"names\":[{\"name\":\"x\",\"object\":9999}]}",
];

/// Gives the object of this kind and name another definition.
fn rewrite(database: &Database, (kind, name): (&str, &str), definition: &str) {
    let objects = database.table("sql:catalog").unwrap();
    let tx = database.begin_write().unwrap();
    let column = |name: &str| objects.column(name).unwrap();
    let found = tx
        .scan(&objects)
        .unwrap()
        .find(|row| row.str(column("kind")) == Some(kind) && row.str(column("name")) == Some(name));
    let row = found.unwrap_or_else(|| panic!("no {kind} {name}")).id();
    let change = (column("definition"), Value::String(definition));
    tx.update_values(&objects, row, &[change]).unwrap();
    tx.commit().unwrap();
}

#[test]
fn a_definition_that_cannot_be_read_hinders_nothing() {
    for (kind, name) in [
        ("table", "parent"),
        ("table", "child"),
        ("view", "v"),
        ("view", "w"),
        ("sequence", "q"),
        ("sequence", "parent_id_seq"),
        ("role", "reader"),
        ("schema", "s"),
    ] {
        for (number, definition) in BROKEN.into_iter().enumerate() {
            if !is_chosen(number + name.len(), 3) {
                continue;
            }
            let folder = Folder::new();
            run(&mut folder.session(), MADE);
            let folder = folder.changed_by(|database| rewrite(database, (kind, name), definition));
            let what = format!("{kind} {name} as {definition:?}");
            check(&folder, (kind, name), definition, &what);
        }
    }
}

fn check(folder: &Folder, (kind, name): (&str, &str), definition: &str, what: &str) {
    let mut session = folder.session();
    // Its rows are there, and so is the rest.
    assert_eq!(value(&mut session, "select count(*) from parent"), "1", "{what}");
    assert_eq!(value(&mut session, "select count(*) from child"), "1", "{what}");
    run(
        &mut session,
        "create table later (a serial primary key); create view x as select 1 as a; \
         insert into later default values; create role writer; grant select on later to writer",
    );
    let aside = folder.database.set_aside();
    // A table without a definition is one of another interface; schemas have none.
    let is_plain = kind == "schema" || kind == "table" && definition.is_empty();
    let is_told = aside.iter().any(|aside| aside.kind == kind && aside.name == name);
    assert_eq!(is_told, !is_plain, "{what}: {aside:?}");
    if kind == "table" && !is_plain {
        let column = if name == "parent" { "a" } else { "p" };
        let changed = state(&mut session, &format!("update {name} set {column} = {column}"));
        assert!(changed.is_some(), "{what}: rows are changed by rules that nobody knows");
    }
    for query in [
        "select count(*) from information_schema.columns",
        "select count(*) from pg_class",
        "select count(*) from pg_constraint",
        "select count(*) from pg_views",
        "select count(*) from pg_roles",
        "select count(*) from information_schema.sequences",
    ] {
        assert!(session.query(query, &[]).is_ok(), "{what}: {query}");
    }
    let cascade = ["table", "view", "schema"].contains(&kind);
    let cascade = if cascade { "cascade" } else { "" };
    let dropped = state(&mut session, &format!("drop {kind} {name} {cascade}"));
    let belongs = name == "parent_id_seq";
    assert!(dropped.is_none() || belongs, "{what}: it cannot be dropped: {dropped:?}");
    if belongs && dropped.is_some() {
        run(&mut session, "drop table parent cascade");
    }
    assert_eq!(folder.database.set_aside(), [], "{what}");
    let killed = folder.killed();
    assert_eq!(killed.database.set_aside(), [], "{what}");
    run(&mut killed.session(), "insert into later default values; drop table later");
}
