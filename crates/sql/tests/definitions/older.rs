//! Folders of the version before: statements as text, under names, in tables of the engine.

use remanent_engine::Database;
use remanent_engine::schema::{ColumnType, IndexSchema, TableSchema, Value};

use super::folder::{Folder, is_chosen, rows, run, state, told, value};

/// What an older version wrote of an object: its kind, its schema and name, and its definition.
const OBJECTS: [(&str, &str, &str, &str); 22] = [
    ("schema", "", "shop", ""),
    ("role", "", "reader", "login"),
    ("role", "", "admin", "login superuser"),
    (
        "table",
        "public",
        "parent",
        "CREATE TABLE parent (id INT NOT NULL, \"check\" TEXT, \
        CONSTRAINT parent_pkey PRIMARY KEY (id))",
    ),
    (
        "table",
        "public",
        "child",
        "CREATE TABLE child (id INT NOT NULL GENERATED ALWAYS AS IDENTITY, \
        parent INT DEFAULT 1, CONSTRAINT child_pkey PRIMARY KEY (id), \
        CONSTRAINT child_parent_fkey FOREIGN KEY (parent) REFERENCES public.parent (id), \
        CONSTRAINT positive CHECK (parent > 0))",
    ),
    ("table", "shop", "item", "CREATE TABLE shop.item (name TEXT)"),
    ("table", "public", "broken", "CREATE TABLE broken (check INT, unique INT"),
    ("table", "public", "signs", "CREATE TABLE signs (a INT DEFAULT --1)"),
    ("sequence", "public", "child_id_seq", "CREATE SEQUENCE child_id_seq"),
    ("sequence", "public", "other", "CREATE SEQUENCE other INCREMENT BY 5"),
    ("sequence", "public", "gone", "CREATE SEQUENCE gone INCREMENT BY nothing at all"),
    ("view", "public", "second", "CREATE VIEW second AS SELECT id AS n FROM first"),
    ("view", "public", "first", "CREATE VIEW first (id) AS SELECT id FROM parent"),
    ("view", "public", "unreadable", "CREATE VIEW unreadable AS SELECT --1"),
    ("view", "public", "dangling", "CREATE VIEW dangling AS SELECT * FROM no_table"),
    ("grant", "reader", "public.*", "select"),
    ("grant", "reader", "public.parent", "select,insert"),
    ("grant", "reader", "shop.item", "select,insert,update,delete"),
    ("grant", "nobody", "shop.item", "select"),
    ("comment", "public", "parent", "those referred to"),
    ("comment", "public", "parent.check", "a reserved word"),
    ("comment", "public", "raw", "of another interface"),
];

fn table(name: &str) -> TableSchema {
    TableSchema::new(name)
}

/// The tables of the engine behind the objects, and the objects.
fn written(database: &Database) {
    let parent = table("parent").column("id", ColumnType::I32);
    let parent = parent.nullable_column("check", ColumnType::STRING);
    let key = |name: &str, column: &str| {
        let index = IndexSchema::new(name, [column]).unique();
        IndexSchema { primary: true, ..index }
    };
    let parent = database.create_table(parent.index(key("parent_pkey", "id"))).unwrap();
    let child = table("child").column("id", ColumnType::I32);
    let child = child.nullable_column("parent", ColumnType::I32);
    let child = database.create_table(child.index(key("child_pkey", "id"))).unwrap();
    let item = table("shop:item").nullable_column("name", ColumnType::STRING);
    database.create_table(item).unwrap();
    for (name, columns) in [("broken", ["check", "unique"]), ("signs", ["a", "b"])] {
        let broken = columns
            .iter()
            .fold(table(name), |table, column| table.nullable_column(*column, ColumnType::I32));
        let made = database.create_table(broken).unwrap();
        let row = [Some(Value::I32(1)), Some(Value::I32(2))];
        database.write(|tx| tx.insert_values(&made, &row)).unwrap();
    }
    database.create_table(table("raw").column("a", ColumnType::I32)).unwrap();
    let objects = ["kind", "schema", "name", "definition"].into_iter();
    let objects = objects
        .fold(table("sql:objects"), |table, column| table.column(column, ColumnType::STRING));
    let objects = objects.primary_key(["kind", "schema", "name"]);
    let objects = database.create_table(objects).unwrap();
    let sequences = table("sql:sequences").column("schema", ColumnType::STRING);
    let sequences = sequences.column("name", ColumnType::STRING);
    let sequences = sequences.column("reserved", ColumnType::I64).primary_key(["schema", "name"]);
    let sequences = database.create_table(sequences).unwrap();
    let written = database.write(|tx| {
        for (kind, schema, name, definition) in OBJECTS {
            let row = [kind, schema, name, definition].map(|text| Some(Value::String(text)));
            tx.insert_values(&objects, &row)?;
        }
        for (name, reserved) in [("child_id_seq", 32), ("other", 41), ("nobodys", 7)] {
            let row = [Value::String("public"), Value::String(name), Value::I64(reserved)];
            tx.insert_values(&sequences, &row.map(Some))?;
        }
        let row = [Some(Value::I32(1)), Some(Value::String("x"))];
        tx.insert_values(&parent, &row)?;
        tx.insert_values(&child, &[Some(Value::I32(5)), Some(Value::I32(1))])
    });
    written.unwrap();
}

#[test]
fn folders_of_the_version_before_open() {
    let folder = Folder::made_by(written);
    let mut session = folder.session();
    assert_eq!(rows(&mut session, "select \"check\" from parent"), [["x"]]);
    assert_eq!(rows(&mut session, "select n from second"), [["1"]]);
    run(&mut session, "insert into child (parent) values (1)");
    let last = "select max(id) from child";
    assert_eq!(value(&mut session, last), "33");
    assert_eq!(value(&mut session, "select nextval('other')"), "46");
    assert_eq!(state(&mut session, "insert into child (parent) values (2)"), Some("23503"));
    assert_eq!(state(&mut session, "insert into child (parent) values (-1)"), Some("23514"));
    assert_eq!(state(&mut session, "delete from parent"), Some("23503"));
    let aside = folder.database.set_aside();
    let names: Vec<&str> = aside.iter().map(|aside| aside.name.as_str()).collect();
    for name in ["broken", "signs", "gone", "unreadable", "dangling"] {
        assert!(names.contains(&name), "{name} is not among {aside:?}");
    }
    assert_eq!(names.len(), 5, "{aside:?}");
    // Rows of what cannot be read are there, and are not changed.
    assert_eq!(rows(&mut session, "select \"check\", \"unique\" from broken"), [["1", "2"]]);
    assert!(state(&mut session, "insert into signs (b) values (1)").is_some());
    let all = told(&mut session);
    let has = |parts: &[&str]| all.iter().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(has(&["relation", "parent", "those referred to"]), "{all:#?}");
    assert!(has(&["relation", "raw", "of another interface"]), "{all:#?}");
    assert!(has(&["right", "reader", "parent", "INSERT"]), "{all:#?}");
    assert!(has(&["right", "reader", "child", "SELECT"]), "{all:#?}");
    assert!(has(&["right", "reader", "item", "DELETE"]), "{all:#?}");
    assert!(!has(&["right", "reader", "child", "INSERT"]), "{all:#?}");
    // Taken over once: what is dropped stays dropped, and numbers go on.
    for drop in [
        "drop table broken",
        "drop table signs",
        "drop sequence gone",
        "drop view unreadable",
        "drop view dangling",
    ] {
        run(&mut session, drop);
    }
    assert!(folder.database.set_aside().is_empty());
    run(
        &mut session,
        "alter table parent rename to parents; create table parent (a int); \
         create view dangling as select 1 as one; grant select on dangling to reader",
    );
    let before = told(&mut session);
    let killed = folder.killed();
    let mut session = killed.session();
    assert_eq!(told(&mut session), before);
    assert!(killed.database.set_aside().is_empty());
    run(&mut session, "insert into child (parent) values (1)");
    let next: i64 = value(&mut session, last).parse().unwrap();
    assert!(next > 33, "{next}");
    assert_eq!(rows(&mut session, "select n from second"), [["1"]]);
    run(&mut session, "drop table parents cascade; drop role reader; drop schema shop cascade");
}

/// Every prefix of every definition: none keeps the others from being read.
#[test]
fn no_definition_of_the_version_before_hinders_the_others() {
    for (number, (kind, _, name, definition)) in OBJECTS.iter().enumerate() {
        if !is_chosen(number, 3) {
            continue;
        }
        for cut in [0, 1, definition.len() / 3, definition.len() / 2, definition.len()] {
            let mut cut = cut.min(definition.len());
            while !definition.is_char_boundary(cut) {
                cut -= 1;
            }
            let folder = Folder::made_by(|database| {
                written(database);
                let objects = database.table("sql:objects").unwrap();
                let tx = database.begin_write().unwrap();
                let (_, schema, name, _) = OBJECTS[number];
                let key = [*kind, schema, name].map(Value::String);
                let index = objects.index("primary").unwrap();
                let row = tx.find(&objects, index, &key).unwrap().unwrap().id();
                let column = objects.column("definition").unwrap();
                let text = Value::String(&definition[..cut]);
                tx.update_values(&objects, row, &[(column, text)]).unwrap();
                tx.commit().unwrap();
            });
            let mut session = folder.session();
            let what = format!("{kind} {name} cut at {cut}");
            assert_eq!(value(&mut session, "select count(*) from parent"), "1", "{what}");
            assert_eq!(value(&mut session, "select count(*) from child"), "1", "{what}");
            run(&mut session, "create table later (a int primary key); drop table later");
            if ["table", "view", "sequence"].contains(kind) {
                let schema = if *name == "item" { "shop." } else { "" };
                let cascade = if *kind == "sequence" { "" } else { "cascade" };
                let text = format!("drop {kind} {schema}{name} {cascade}");
                let dropped = state(&mut session, &text);
                assert!(matches!(dropped, None | Some("2BP01")), "{what}: {text}: {dropped:?}");
            }
        }
    }
}
