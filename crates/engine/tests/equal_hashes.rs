//! What many rows of one hash cost in a hash index.
//!
//! Rows that share a key, and keys that somebody chose to collide under the hash function as it is
//! published, are inserted, found and deleted in time that grows as their number does. Twice and
//! four times the rows are compared in time of the processor, with room for a busy machine.

use std::time::Instant;

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{Database, Options, RowId};

const ROWS: u64 = if cfg!(debug_assertions) { 6_000 } else { 40_000 };

/// A key whose first half is this has the same hash as all others, if there is no seed: it makes an
/// operand of the multiply zero.
const COLLIDING: u64 = 0x8bb8_4b93_962e_acc9_u64.swap_bytes();

/// Nanoseconds that this thread had a processor so far, or, where nobody says so, that have passed.
fn cpu_ns(since: Instant) -> u64 {
    let shown = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ran = shown.split(' ').next().and_then(|first| first.parse().ok());
    ran.unwrap_or(since.elapsed().as_nanos() as u64)
}

fn database(unique: bool) -> (Database, remanent_engine::Table) {
    let db = Database::open(Options::new().budget(256 << 20)).expect("it opens");
    let schema = TableSchema::new("Item")
        .column("chosen", ColumnType::U64)
        .column("number", ColumnType::U64);
    let schema = if unique {
        schema.unique_hash_index("by_key", ["chosen", "number"])
    } else {
        schema.hash_index("by_key", ["chosen"])
    };
    let table = db.create_table(schema).expect("there is memory");
    (db, table)
}

/// Nanoseconds that inserting and deleting so many rows takes.
fn insert_and_delete(unique: bool, rows: u64) -> u64 {
    let (db, table) = database(unique);
    let since = Instant::now();
    let start = cpu_ns(since);
    let ids: Vec<RowId> = (0..rows)
        .map(|n| {
            let values = [Some(Value::U64(COLLIDING)), Some(Value::U64(n))];
            db.write(|tx| tx.insert_values(&table, &values)).expect("there is memory")
        })
        .collect();
    for &row in ids.iter().rev() {
        db.write(|tx| tx.delete(&table, row)).expect("it is there");
    }
    db.reclaim();
    assert_eq!(db.memory().rows, 0);
    cpu_ns(since) - start
}

fn grows_as_the_rows_do(unique: bool) {
    // The least of five is without most of what else the machine did.
    let best = |rows| (0..5).map(|_| insert_and_delete(unique, rows)).min().unwrap_or(0);
    // What is quadratic takes sixteen times as long each time that it is measured.
    let times = (0..4).map(|_| (best(ROWS), best(ROWS * 4))).map(|(few, many)| many / few.max(1));
    let times: Vec<u64> = times.collect();
    assert!(
        times.iter().any(|times| *times < 11),
        "four times the rows take {times:?} times as long"
    );
}

#[test]
fn equal_keys_are_not_quadratic() {
    grows_as_the_rows_do(false);
}

#[test]
fn keys_chosen_to_collide_are_not_quadratic() {
    grows_as_the_rows_do(true);
}

/// All rows of a key are found, in every state of it.
#[test]
fn equal_keys_are_all_found() {
    let (db, table) = database(false);
    let index = table.index("by_key").expect("it is there");
    let number = table.column("number").expect("it is there");
    let insert = |n: u64| {
        let values = [Some(Value::U64(7)), Some(Value::U64(n))];
        db.write(|tx| tx.insert_values(&table, &values)).expect("there is memory")
    };
    let found = || {
        let mut found = Vec::new();
        let tx = db.begin_read().expect("there are slots");
        let each = tx.each(&table, index, &[Value::U64(7)], |row| {
            found.extend(row.get::<u64>(number));
            Ok(())
        });
        each.expect("the table is there");
        found.sort_unstable();
        found
    };
    let rows: Vec<RowId> = (0..1000).map(insert).collect();
    assert!(found().into_iter().eq(0..1000));
    let before = db.memory_by_table().expect("there are slots");
    for (n, &row) in (0..).zip(&rows) {
        if n % 7 != 0 {
            db.write(|tx| tx.delete(&table, row)).expect("it is there");
        }
    }
    db.reclaim();
    assert!(found().into_iter().eq((0..1000).step_by(7)));
    let after = db.memory_by_table().expect("there are slots");
    let indexes = |tables: &[remanent_engine::TableMemory]| {
        tables[0].indexes.iter().map(|index| index.bytes).sum::<u64>()
    };
    assert!(indexes(&before) > indexes(&after), "what the tree takes is counted");
    assert_eq!(db.memory().indexes, indexes(&after));
}
