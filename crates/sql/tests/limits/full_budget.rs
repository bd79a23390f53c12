//! A full database can be emptied: DELETE, TRUNCATE and DROP work when nothing else does.
//!
//! A table is filled until an INSERT is told that the budget is reached (53200), in tables of
//! different shapes. Then a third or all of it is deleted in one statement, beside nobody, beside a
//! block that has read and does not end, or after the database was opened again; and what was freed
//! has room for rows.

use std::sync::Arc;

use remanent_engine::{Database, Options};
use remanent_sql::{Session, SqlDatabase};

const BUDGET: u64 = 3 << 19;

/// A table, and the values of a row after the number.
struct Shape {
    name: &'static str,
    table: &'static str,
    row: &'static str,
}

const SHAPES: &[Shape] = &[
    Shape { name: "plain", table: "create table t (i int, a text)", row: "'x'" },
    Shape { name: "keyed", table: "create table t (i int primary key, a text)", row: "'x'" },
    Shape {
        name: "wide",
        table: "create table t (i int primary key, a text)",
        row: "repeat('x', 2000)",
    },
    Shape {
        name: "many indexes",
        table: "create table t (i int primary key, a text); create index on t (a); \
                create index on t (a, i); create unique index on t (i, a)",
        row: "'x' || i % 100",
    },
    Shape {
        name: "hash",
        table: "create table t (i int primary key, a text); create index on t using hash (a)",
        row: "'x' || i",
    },
    Shape {
        name: "referenced",
        table: "create table t (i int primary key, a text); \
                create table c (i int references t on delete cascade)",
        row: "'x'",
    },
];

fn state(session: &mut Session, text: &str) -> String {
    match session.execute(text) {
        Ok(_) => String::new(),
        Err(error) => error.state().as_str().to_owned(),
    }
}

/// Inserts fewer and fewer rows at a time until there is no room for one.
fn fill(session: &mut Session, shape: &Shape) -> i64 {
    let (mut rows, mut next) = (1024, 1);
    while rows > 0 {
        let last = next + rows - 1;
        let text = format!(
            "insert into t select i, {} from generate_series({next}, {last}) s(i)",
            shape.row
        );
        match state(session, &text).as_str() {
            "" => next += rows,
            "53200" => rows /= 2,
            other => panic!("{}: {other}", shape.name),
        }
    }
    next - 1
}

fn count(session: &mut Session) -> i64 {
    session.query("select count(*) from t", &[]).unwrap().rows[0][0].as_i64().unwrap()
}

fn opened(engine: Database) -> Arc<SqlDatabase> {
    SqlDatabase::new(Arc::new(engine)).unwrap()
}

#[test]
fn a_full_table_is_emptied_beside_nobody() {
    empty_full_tables("nobody");
}

#[test]
fn a_full_table_is_emptied_beside_a_reader() {
    empty_full_tables("a reader");
}

#[test]
fn a_full_table_is_emptied_at_the_second_attempt() {
    empty_full_tables("tried twice");
}

/// All shapes at the same time: whoever is refused has waited, and the processor was idle.
fn empty_full_tables(beside: &str) {
    let failures: Vec<String> = std::thread::scope(|scope| {
        let of_shapes = SHAPES.iter().map(|shape| scope.spawn(|| empty_full_table(shape, beside)));
        let of_shapes: Vec<_> = of_shapes.collect();
        of_shapes.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

fn empty_full_table(shape: &Shape, beside: &str) -> Vec<String> {
    let mut failures = Vec::new();
    for (what, left) in [
        ("delete from t where i % 3 = 0", true),
        ("delete from t", false),
        ("truncate t cascade", false),
        ("drop table t cascade", false),
    ] {
        let db = opened(Database::open(Options::new().budget(BUDGET)).unwrap());
        let (mut session, mut reader) = (db.session(), db.session());
        session.execute(shape.table).unwrap();
        if beside != "nobody" {
            session.execute("insert into t values (0, 'x')").unwrap();
            reader.execute("begin; select count(*) from t").unwrap();
        }
        let rows = fill(&mut session, shape);
        let case = format!("{}, {what}, beside {beside}, {rows} rows", shape.name);
        let mut found = state(&mut session, what);
        if beside == "tried twice" && !found.is_empty() {
            found = state(&mut session, what);
        }
        // Whoever has read a table keeps it.
        if beside != "nobody" && what.starts_with("drop") {
            assert_eq!(found, "55006", "{case}");
            continue;
        }
        if !found.is_empty() {
            failures.push(format!("{case}: {found}"));
            continue;
        }
        if left && rows > 0 {
            assert!(count(&mut session) >= rows / 2, "{case}");
        }
        reader.execute("rollback").unwrap();
        let again = match what.starts_with("drop") {
            true => shape.table.replace("create table c", "create table d"),
            false => format!(
                "insert into t select 1000000 + i, {} from \
                              generate_series(1, 50) s(i)",
                shape.row
            ),
        };
        if let Err(error) = session.execute(&again) {
            let memory = db.engine().memory();
            failures.push(format!("{case}: again {error:?}, {memory:?}"));
        }
    }
    failures
}

#[test]
fn a_full_table_is_emptied_after_it_was_opened_again() {
    for shape in SHAPES {
        for what in ["delete from t where i % 3 = 0", "delete from t", "truncate t cascade"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("db");
            let options = || Options::new().budget(BUDGET);
            let db = opened(Database::open_at(&path, options()).unwrap());
            let mut session = db.session();
            session.execute(shape.table).unwrap();
            let rows = fill(&mut session, shape);
            drop((session, db));
            let db = opened(Database::open_at(&path, options()).unwrap());
            let mut session = db.session();
            let case = format!("{}, {what}, {rows} rows", shape.name);
            assert_eq!(state(&mut session, what), "", "{case}");
            assert_eq!(state(&mut session, "insert into t values (1000000, 'x')"), "", "{case}");
        }
    }
}

/// One block that has read, and one large DELETE tried twice: others still delete, and insert when
/// the block has ended.
#[test]
fn a_failed_deletion_leaves_room_for_others() {
    for shape in SHAPES {
        let db = opened(Database::open(Options::new().budget(BUDGET)).unwrap());
        let (mut session, mut reader) = (db.session(), db.session());
        session.execute(shape.table).unwrap();
        fill(&mut session, shape);
        reader.execute("begin; select count(*) from t").unwrap();
        for _ in 0..2 {
            let ran = state(&mut session, "begin; delete from t; rollback");
            assert!(ran.is_empty() || ran == "53200", "{}: {ran}", shape.name);
            let _ = session.execute("rollback");
        }
        for i in [5, 6, 7] {
            let text = format!("delete from t where i = {i}");
            assert_eq!(state(&mut session, &text), "", "{}", shape.name);
        }
        reader.execute("rollback").unwrap();
        assert_eq!(state(&mut session, "delete from t where i % 4 = 1"), "", "{}", shape.name);
        assert_eq!(state(&mut session, "insert into t values (5, 'x')"), "", "{}", shape.name);
    }
}
