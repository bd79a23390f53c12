//! Transactions of programs with locks of their own, some of which they take late: `refresh`.
//!
//! Who waited for a lock has to see what its last holder committed, though its own transaction
//! began before that; and what it read before must still hold, or it must not commit.

use std::sync::Mutex;

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{
    ColumnHandle, Database, ErrorKind, Find, Isolation, Options, Result, RowId, Table,
    TransactionOptions, WriteTransaction,
};

struct World {
    db: Database,
    table: Table,
    number: ColumnHandle,
}

impl World {
    fn new() -> World {
        let db = Database::open(Options::new()).expect("memory");
        let schema =
            TableSchema::new("T").column("number", ColumnType::I64).primary_key(["number"]);
        let table = db.create_table(schema).expect("a table");
        let number = table.column("number").expect("a column");
        World { db, table, number }
    }

    fn insert(&self, number: i64) -> RowId {
        let values = [Some(Value::I64(number))];
        self.db.write(|tx| tx.insert_values(&self.table, &values)).expect("a commit")
    }

    fn set(&self, tx: &WriteTransaction<'_>, row: RowId, number: i64) -> Result<()> {
        tx.update_values(&self.table, row, &[(self.number, Value::I64(number))])
    }

    fn get(&self, tx: &WriteTransaction<'_>, row: RowId) -> Option<i64> {
        tx.row(&self.table, row).expect("a read").and_then(|row| row.get(self.number))
    }
}

fn snapshot() -> TransactionOptions {
    TransactionOptions::new().isolation(Isolation::Snapshot)
}

#[test]
fn what_others_committed_is_seen_and_can_be_changed() -> Result<()> {
    let world = World::new();
    let (mine, theirs) = (world.insert(1), world.insert(2));
    let mut tx = world.db.begin_write_with(&snapshot())?;
    world.set(&tx, mine, 10)?;
    world.db.write(|other| world.set(other, theirs, 20))?;
    assert_eq!(world.set(&tx, theirs, 30).unwrap_err().kind(), ErrorKind::Conflict);
    tx.refresh()?;
    assert_eq!((world.get(&tx, mine), world.get(&tx, theirs)), (Some(10), Some(20)));
    world.set(&tx, theirs, 30)?;
    tx.commit()?;
    assert_eq!(world.get(&world.db.begin_write()?, theirs), Some(30));
    Ok(())
}

#[test]
fn what_was_read_and_changed_is_a_conflict() -> Result<()> {
    let world = World::new();
    let (read, written) = (world.insert(1), world.insert(2));
    let mut tx = world.db.begin_write()?;
    assert_eq!(world.get(&tx, read), Some(1));
    world.set(&tx, written, 3)?;
    world.db.write(|other| world.set(other, read, 10))?;
    assert_eq!(tx.refresh().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(world.get(&tx, read), Some(1), "it goes on with what it saw");
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    Ok(())
}

/// Ranges that were read end in row versions. Those must still be there when a commit after a
/// refresh compares with them, however many versions others made and cleared away meanwhile.
#[test]
fn ranges_read_before_hold_after() -> Result<()> {
    let world = World::new();
    let rows: Vec<RowId> = (0..100).map(|number| world.insert(number * 10)).collect();
    let primary = world.table.index("primary")?;
    for meets in [false, true] {
        let mut tx = world.db.begin_write()?;
        let mut cursor = tx.cursor(&world.table, primary)?;
        cursor.find(Find::AtLeast, &[Value::I64(200)])?;
        for _ in 0..10 {
            cursor.next();
        }
        drop(cursor);
        world.set(&tx, rows[0], -1)?;
        for round in 0..200_i64 {
            world.db.write(|other| world.set(other, rows[90], 2000 + round))?;
        }
        tx.refresh()?;
        for round in 0..200_i64 {
            world.db.write(|other| world.set(other, rows[91], 3000 + round))?;
        }
        if meets {
            world.insert(255);
        }
        assert_eq!(tx.commit().is_ok(), !meets);
    }
    Ok(())
}

#[test]
fn a_lock_taken_late_loses_no_update() {
    const ROUNDS: i64 = 2000;
    let world = World::new();
    let mine: Vec<RowId> = (0..3).map(|number| world.insert(-1 - number)).collect();
    let shared = world.insert(0);
    let lock = Mutex::new(());
    std::thread::scope(|scope| {
        for (thread, mine) in mine.iter().enumerate() {
            let (world, lock) = (&world, &lock);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let mut tx = world.db.begin_write_with(&snapshot()).expect("a slot");
                    let own = -1000 - round * 3 - thread as i64;
                    world.set(&tx, *mine, own).expect("nobody else's row");
                    let _locked = lock.lock().expect("no panic");
                    tx.refresh().expect("nothing read has to hold");
                    let before = world.get(&tx, shared).expect("it is there");
                    world.set(&tx, shared, before + 1).expect("the lock is held");
                    assert_eq!(world.get(&tx, *mine), Some(own));
                    tx.commit().expect("the lock is held");
                }
            });
        }
    });
    let tx = world.db.begin_write().expect("a slot");
    assert_eq!(world.get(&tx, shared), Some(3 * ROUNDS));
}

/// A range that was read ends in versions of rows. Moved elsewhere by another, their old place was
/// given to other rows as soon as the transaction had a newer snapshot, and its commit compared
/// with those.
#[test]
fn ranges_read_before_hold_after_rows_were_moved() -> Result<()> {
    for meets in [false, true] {
        let world = World::new();
        let rows: Vec<RowId> = (0..4000).map(|number| world.insert(number * 10)).collect();
        world.db.write(|other| {
            let gone = rows.iter().enumerate().filter(|(i, _)| i % 4 != 0);
            gone.into_iter().try_for_each(|(_, row)| other.delete(&world.table, *row))
        })?;
        world.db.reclaim();
        let primary = world.table.index("primary")?;
        let mut tx = world.db.begin_write()?;
        let mut cursor = tx.cursor(&world.table, primary)?;
        cursor.find(Find::AtLeast, &[Value::I64(200)])?;
        for _ in 0..10 {
            cursor.next();
        }
        drop(cursor);
        assert!(world.db.compact()? > 0, "rows are moved");
        world.insert(-2);
        // Something is written, so that the commit has to hold what was read.
        tx.insert_values(&world.table, &[Some(Value::I64(-1))])?;
        tx.refresh()?;
        world.db.reclaim();
        for number in 100_000..104_000 {
            world.insert(number);
        }
        world.insert(if meets { 333 } else { 1_000_333 });
        assert_eq!(tx.commit().is_err(), meets, "a row in the range: {meets}");
    }
    Ok(())
}
