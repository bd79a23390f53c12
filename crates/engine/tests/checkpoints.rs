//! Who makes the checkpoints that are due: transactions, or a thread of the program.

use std::path::{Path, PathBuf};

use remanent_engine::schema::{ColumnType, TableSchema};
use remanent_engine::{Database, Durability, Options, Table};

const AFTER: u64 = 64 << 10;

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn open(path: &Path) -> (Database, Table) {
    let options = Options::new().budget(16 << 20).durability(Durability::Os);
    let db = Database::open_at(path, options.checkpoint_after(AFTER)).expect("it opens");
    let schema = TableSchema::new("T").column("data", ColumnType::BLOB);
    let table = db.create_table(schema).expect("there is memory");
    (db, table)
}

/// Logs so many bytes at the least, in one transaction that begins before they are due.
fn log(db: &Database, table: &Table, bytes: u64) {
    let write = db.write(|tx| {
        (0..bytes / 1000).try_for_each(|_| {
            tx.insert_values(table, &[Some(vec![7; 1100].as_slice().into())]).map(|_| ())
        })
    });
    write.expect("there is memory");
}

fn made(db: &Database) -> u64 {
    db.statistics().checkpoints
}

#[test]
fn a_transaction_makes_one_where_nobody_else_does() {
    let path = folder("checkpoints_of_transactions");
    let (db, table) = open(&path);
    log(&db, &table, AFTER);
    assert_eq!(made(&db), 0);
    drop(db.begin_write().expect("there are slots"));
    assert_eq!(made(&db), 1);
    drop(db);
    std::fs::remove_dir_all(&path).expect("it is there");
}

#[test]
fn a_thread_of_the_program_takes_them_from_transactions() {
    let path = folder("checkpoints_of_a_thread");
    let (db, table) = open(&path);
    assert!(matches!(db.checkpoint_if_due(), Ok(None)));
    log(&db, &table, AFTER);
    drop(db.begin_write().expect("there are slots"));
    assert_eq!(made(&db), 0, "it is left to the thread");
    let bytes = db.checkpoint_if_due().expect("the disk works").expect("it is due");
    assert!(bytes > AFTER && made(&db) == 1);
    assert!(matches!(db.checkpoint_if_due(), Ok(None)), "the next one is due later");
    // The thread does not come any more: the log does not grow without end.
    log(&db, &table, 4 * AFTER);
    drop(db.begin_write().expect("there are slots"));
    assert_eq!(made(&db), 2);
    drop(db);
    let (db, table) = {
        let db = Database::open_at(&path, Options::new().budget(16 << 20)).expect("it opens");
        let table = db.table("T").expect("it is there");
        (db, table)
    };
    let rows = db.read(|tx| Ok(tx.scan(&table)?.count())).expect("it is there") as u64;
    assert_eq!(rows, AFTER / 1000 + 4 * AFTER / 1000);
    drop(db);
    std::fs::remove_dir_all(&path).expect("it is there");
}

#[test]
fn there_is_none_in_memory() {
    let db = Database::open(Options::new().budget(1 << 20)).expect("it opens");
    assert!(matches!(db.checkpoint_if_due(), Ok(None)));
}
