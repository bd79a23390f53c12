//! How much is inspected under the commit latch.

use super::*;
use crate::schema::{ColumnType, TableSchema};
use crate::{Database, Options, Table, WriteTransaction};

fn database() -> (Database, Table, Table) {
    let db = Database::open(Options::new().budget(16 << 20)).expect("it opens");
    let make = |name: &str| {
        let schema = TableSchema::new(name).column("a", ColumnType::U64);
        db.create_table(schema).expect("there is memory")
    };
    let (read, other) = (make("Read"), make("Other"));
    (db, read, other)
}

fn insert(db: &Database, table: &Table, rows: u64) {
    for n in 0..rows {
        db.write(|tx| tx.insert_values(table, &[Some(n.into())])).expect("there is memory");
    }
}

fn reader<'db>(db: &'db Database, table: &Table) -> WriteTransaction<'db> {
    let tx = db.begin_write().expect("there are slots");
    assert_eq!(tx.scan(table).expect("it is there").count(), 10);
    tx
}

fn under_latch(tx: &WriteTransaction<'_>, latched: Latched) -> Result<Validated> {
    let reading: &ReadTransaction<'_> = tx;
    validate(reading, tx.alloc, reading.snapshot.get().timestamp, latched)
}

#[test]
fn a_little_is_compared_under_the_latch_and_much_is_not() {
    let (db, read, other) = database();
    insert(&db, &read, 10);
    let tx = reader(&db, &read);
    insert(&db, &other, 100);
    let newest = db.begin_read().expect("there are slots").timestamp();
    let done = Validated::UpTo(newest);
    assert_eq!(under_latch(&tx, Latched::Commit).ok(), Some(done));
    // So much that the ring has it and it would take long; then more than the ring has.
    for more in [LATCHED_MAX, 20_000] {
        insert(&db, &other, more);
        let newest = db.begin_read().expect("there are slots").timestamp();
        let done = Validated::UpTo(newest);
        assert_eq!(under_latch(&tx, Latched::Commit).ok(), Some(Validated::NotUnderLatch));
        assert_eq!(under_latch(&tx, Latched::Whatever).ok(), Some(done));
        assert_eq!(under_latch(&tx, Latched::No).ok(), Some(done));
    }
    tx.insert_values(&other, &[Some(1u64.into())]).expect("there is memory");
    tx.commit().expect("nobody changed what it has read");
    let tx = reader(&db, &read);
    insert(&db, &other, LATCHED_MAX);
    insert(&db, &read, 1);
    assert!(under_latch(&tx, Latched::Commit).is_err(), "the newest commit is a conflict");
}
