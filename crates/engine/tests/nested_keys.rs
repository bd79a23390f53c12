//! Keys that are nested in each other: each is the one before and a byte more, up to the longest
//! there is. The tree is as deep as they are long, and whatever goes through it does so in a thread
//! with a small stack.

use remanent_engine::schema::{ColumnType, IndexSchema, TableSchema};
use remanent_engine::{Database, Find, Options, Table};

/// A recursion of two frames for each byte of a key needs several times as much.
const STACK_SIZE: usize = if cfg!(debug_assertions) { 192 << 10 } else { 96 << 10 };
const LONGEST: usize = 1000;

fn key(len: usize) -> String {
    "a".repeat(len)
}

fn database() -> (Database, Table) {
    let db = Database::open(Options::new().budget(64 << 20)).expect("it opens");
    let schema = TableSchema::new("Nested")
        .column("key", ColumnType::String { max: Some(1000) })
        .ordered_index("by_key", ["key"]);
    let table = db.create_table(schema).expect("there is memory");
    (db, table)
}

fn insert_all(db: &Database, table: &Table) {
    for len in 1..=LONGEST {
        let key = key(len);
        db.write(|tx| tx.insert_values(table, &[Some(key.as_str().into())]))
            .expect("there is room");
    }
}

fn in_a_small_stack(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
        thread.spawn_scoped(scope, work).expect("there are threads").join().expect("it ends");
    });
}

#[test]
fn a_cursor_goes_over_nested_keys() {
    let (db, table) = database();
    insert_all(&db, &table);
    let index = table.index("by_key").expect("it is there");
    let column = table.column("key").expect("it is there");
    in_a_small_stack(|| {
        let tx = db.begin_read().expect("there are slots");
        let mut cursor = tx.cursor(&table, index).expect("it is ordered");
        let length = |row: Option<remanent_engine::Row<'_>>| {
            row.and_then(|row| row.str(column)).map_or(0, str::len)
        };
        assert_eq!((length(cursor.first()), length(cursor.last())), (1, LONGEST));
        for len in (1..LONGEST).rev() {
            assert_eq!(length(cursor.previous()), len);
        }
        assert_eq!(length(cursor.previous()), 0);
        assert_eq!(length(cursor.first()), 1);
        for len in 2..=LONGEST {
            assert_eq!(length(cursor.next()), len);
        }
        assert_eq!(length(cursor.next()), 0);
        for len in [1, 2, 17, 500, LONGEST - 1, LONGEST] {
            let at = key(len);
            let beside = format!("{}b", key(len - 1));
            let mut find = |way, key: &str| length(cursor.find(way, &[key.into()]).expect("a key"));
            assert_eq!(find(Find::Equal, &at), len);
            assert_eq!(find(Find::Above, &at), if len == LONGEST { 0 } else { len + 1 });
            assert_eq!(find(Find::Below, &at), len - 1);
            assert_eq!(find(Find::AtLeast, &beside), 0);
            assert_eq!(find(Find::AtMost, &beside), LONGEST);
        }
    });
}

/// What follows a key deep in the tree may hang at its top.
#[test]
fn what_is_far_above_is_found() {
    let (db, table) = database();
    insert_all(&db, &table);
    db.write(|tx| tx.insert_values(&table, &[Some("b".into())])).expect("there is room");
    let index = table.index("by_key").expect("it is there");
    let column = table.column("key").expect("it is there");
    in_a_small_stack(|| {
        let tx = db.begin_read().expect("there are slots");
        let mut cursor = tx.cursor(&table, index).expect("it is ordered");
        for len in [1, 5, 9, 17, 100, LONGEST - 1] {
            let beside = format!("{}b", key(len));
            let found = cursor.find(Find::AtLeast, &[beside.as_str().into()]).expect("a key");
            assert_eq!(found.and_then(|row| row.str(column)), Some("b"), "beside {len}");
            assert_eq!(
                cursor.previous().and_then(|row| row.str(column)).map(str::len),
                Some(LONGEST)
            );
            assert_eq!(cursor.next().and_then(|row| row.str(column)), Some("b"));
        }
    });
}

#[test]
fn nested_keys_are_built_measured_and_freed() {
    let (db, table) = database();
    insert_all(&db, &table);
    in_a_small_stack(|| {
        let made = db.create_index(&table, IndexSchema::new("again", ["key"]));
        let made = made.expect("there is memory");
        let tables = db.memory_by_table().expect("there are slots");
        let indexes = tables[0].indexes.iter().map(|index| index.bytes).sum::<u64>();
        assert_eq!(db.memory().indexes, indexes);
        db.drop_index(&table, made).expect("it is there");
        db.drop_table(&table).expect("it is there");
        db.reclaim();
        assert_eq!(db.memory().indexes, 0);
    });
}
