//! Bugs that were found once, each as the shortest story that shows it.
//!
//! A test here says what went wrong, for whom, and why; the names are the symptoms. What they have
//! in common: one thread is enough. Races have their tests in `threads.rs`.

use remanent_engine::schema::{ColumnType, IndexSchema, TableSchema, Value};
use remanent_engine::{
    CallerMemory, Database, ErrorKind, Options, Result, Table, WriteTransaction,
};

fn database() -> Database {
    Database::open(Options::new().budget(64 << 20)).expect("64 MiB hold a database")
}

fn numbers(db: &Database) -> Result<Table> {
    let schema = TableSchema::new("T")
        .column("a", ColumnType::U32)
        .column("b", ColumnType::U32)
        .primary_key(["a"])
        .ordered_index("by_b", ["b"]);
    db.create_table(schema)
}

fn pair(a: u32, b: u32) -> [Option<Value<'static>>; 2] {
    [Some(Value::U32(a)), Some(Value::U32(b))]
}

fn delete_all(tx: &WriteTransaction<'_>, table: &Table) -> Result<()> {
    let rows: Vec<_> = tx.scan(table)?.map(|row| row.id()).collect();
    rows.iter().try_for_each(|row| tx.delete(table, *row))
}

/// A program kept the id of a row that was deleted and reclaimed, and tried to update it. It got
/// its `RowNotFound`, but looking at the row had latched and unlatched the free slot, which lost
/// its link in the list of free rows: the next insert searched that list for ever.
#[test]
fn a_stale_row_id_does_not_break_the_list_of_free_rows() -> Result<()> {
    let db = database();
    let table = numbers(&db)?;
    let b = table.column("b")?;
    let stale = db.write(|tx| tx.insert_values(&table, &pair(1, 1)))?;
    db.write(|tx| tx.delete(&table, stale))?;
    db.reclaim();
    let tx = db.begin_write()?;
    let refused = tx.update_values(&table, stale, &[(b, Value::U32(2))]);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::RowNotFound);
    assert_eq!(tx.delete(&table, stale).unwrap_err().kind(), ErrorKind::RowNotFound);
    for i in 0..3 {
        tx.insert_values(&table, &pair(i, i))?;
    }
    tx.commit()?;
    assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count()))?, 3);
    Ok(())
}

/// An update changed the keys of two indexes and was refused as a duplicate by the first. Taking
/// the statement back also "removed" the new key from the second index, where it had not been
/// added yet: the search for it ended at the row's old entry, and that was removed instead.
#[test]
fn a_refused_update_leaves_the_entries_of_later_indexes() -> Result<()> {
    let db = database();
    let table = numbers(&db)?;
    let (a, b, by_b) = (table.column("a")?, table.column("b")?, table.index("by_b")?);
    let row = db.write(|tx| tx.insert_values(&table, &pair(1, 10)))?;
    db.write(|tx| tx.insert_values(&table, &pair(2, 0x0100_0000)))?;
    db.write(|tx| {
        let changes = [(a, Value::U32(2)), (b, Value::U32(11))];
        let refused = tx.update_values(&table, row, &changes);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::DuplicateKey);
        Ok(())
    })?;
    let found = db.read(|tx| Ok(tx.find(&table, by_b, &[Value::U32(10)])?.is_some()))?;
    assert!(found, "the row is still found by its old key");
    Ok(())
}

/// Two rows whose keys share more than a node's prefix hang below a chain of nodes. When both were
/// deleted, the upper nodes of the chain stayed in the index, empty, for good.
#[test]
fn an_emptied_index_gives_back_its_chains_of_nodes() -> Result<()> {
    let db = database();
    let schema = TableSchema::new("T")
        .column("name", ColumnType::String { max: None })
        .primary_key(["name"]);
    let table = db.create_table(schema)?;
    let empty = db.memory().indexes;
    for number in 0..50 {
        let stem = format!("{number:02}").repeat(40);
        db.write(|tx| {
            for end in ["a", "b", "c"] {
                tx.insert_values(&table, &[Some(Value::String(&format!("{stem}{end}")))])?;
            }
            Ok(())
        })?;
    }
    db.write(|tx| delete_all(tx, &table))?;
    db.reclaim();
    assert_eq!(db.memory().indexes, empty);
    Ok(())
}

/// A transaction that began before a key was freed by another one inserted that key and then saw
/// two rows under it in a unique index: the old row of its snapshot and its own.
#[test]
fn a_key_freed_after_the_snapshot_cannot_be_taken() -> Result<()> {
    let db = database();
    let table = numbers(&db)?;
    let a = table.column("a")?;
    let deleted = db.write(|tx| tx.insert_values(&table, &pair(1, 1)))?;
    let moved = db.write(|tx| tx.insert_values(&table, &pair(2, 2)))?;
    let tx = db.begin_write()?;
    // A transaction that has seen nothing yet would move on to a newer snapshot.
    assert_eq!(tx.scan(&table)?.count(), 2);
    db.write(|tx| tx.delete(&table, deleted))?;
    db.write(|tx| tx.update_values(&table, moved, &[(a, Value::U32(3))]))?;
    for key in [1, 2] {
        let refused = tx.insert_values(&table, &pair(key, 0));
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Conflict, "key {key}");
    }
    drop(tx);
    db.write(|tx| tx.insert_values(&table, &pair(1, 0)))?;
    Ok(())
}

/// An index was created while a writer was active. The writers were waited for, but uniqueness was
/// checked under a snapshot from before: two equal keys of that writer went unnoticed.
#[test]
fn a_new_unique_index_sees_what_was_committed_while_it_waited() -> Result<()> {
    let db = database();
    let table = numbers(&db)?;
    let started = std::sync::Barrier::new(2);
    let created = std::thread::scope(|scope| {
        scope.spawn(|| {
            let tx = db.begin_write()?;
            tx.insert_values(&table, &pair(1, 7))?;
            tx.insert_values(&table, &pair(2, 7))?;
            started.wait();
            std::thread::sleep(std::time::Duration::from_millis(100));
            tx.commit()
        });
        started.wait();
        db.create_index(&table, IndexSchema::new("unique_b", ["b"]).unique())
    });
    assert_eq!(created.unwrap_err().kind(), ErrorKind::DuplicateKey);
    Ok(())
}

/// After some rows of a batch had been taken from a scan one by one, asking for the next batch
/// skipped the rest of the one begun.
#[test]
fn a_scan_gives_every_row_however_it_is_asked() -> Result<()> {
    let db = database();
    let table = numbers(&db)?;
    db.write(|tx| (0..600).try_for_each(|i| tx.insert_values(&table, &pair(i, i)).map(|_| ())))?;
    db.read(|tx| {
        let mut scan = tx.scan(&table)?;
        let mut rows: Vec<_> = scan.by_ref().take(3).map(|row| row.id()).collect();
        rows.extend(scan.next_batch().into_iter().flatten().map(|row| row.id()));
        rows.extend(scan.by_ref().take(5).map(|row| row.id()));
        while let Some(batch) = scan.next_batch() {
            rows.extend(batch.iter().map(|row| row.id()));
        }
        assert_eq!(rows.len(), 600);
        assert!(rows.is_sorted());
        Ok(())
    })
}

/// Transactions of two databases can have the same stamp. A savepoint of the one, given to the
/// other, made it panic.
#[test]
fn a_savepoint_of_another_database_is_refused() -> Result<()> {
    let (one, other) = (database(), database());
    let (table, _) = (numbers(&one)?, numbers(&other)?);
    let (tx, foreign) = (one.begin_write()?, other.begin_write()?);
    let start = tx.savepoint();
    tx.insert_values(&table, &pair(1, 1))?;
    let inserted = tx.savepoint();
    tx.roll_back_to(start)?;
    let stale = tx.savepoint();
    for savepoint in [stale, inserted] {
        let refused = foreign.roll_back_to(savepoint);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::TransactionEnded);
    }
    Ok(())
}

/// A database was full, and other transactions held the slots that had filled it. Deleting took a
/// slot that had never written, whose first memory was not from the reserve: nothing could be
/// deleted.
#[test]
fn a_full_database_lets_a_new_slot_delete() -> Result<()> {
    let db = Database::open(Options::new().budget(1 << 20))?;
    let table = numbers(&db)?;
    let mut number = 0;
    while db.write(|tx| tx.insert_values(&table, &pair(number, number))).is_ok() {
        number += 1;
    }
    let _others = (0..6).map(|_| db.begin_write()).collect::<Result<Vec<_>>>()?;
    db.write(|tx| {
        let row = tx.scan(&table)?.next().map(|row| row.id());
        row.map_or(Ok(()), |row| tx.delete(&table, row))
    })
}

/// Reclaiming looked into every slot that it could take. The guard of a slot that could not be
/// taken was made all the same, and dropped, which freed the slot: the next transaction got the
/// slot, the write set and the stamp of one that was still active.
#[test]
fn reclaiming_leaves_active_transactions_their_slots() -> Result<()> {
    let db = Database::open(Options::new().transactions_max(2))?;
    let table = numbers(&db)?;
    let row = db.write(|tx| tx.insert_values(&table, &pair(1, 1)))?;
    let (reader, writer) = (db.begin_read()?, db.begin_write()?);
    writer.delete(&table, row)?;
    db.reclaim();
    let third = db.begin_read().map(|_| ());
    assert_eq!(third.unwrap_err().kind(), ErrorKind::TooManyTransactions);
    writer.commit()?;
    db.reclaim();
    assert_eq!(reader.scan(&table)?.count(), 1);
    Ok(())
}

/// Memory of the caller's was used from the next multiple of 64 bytes on, but a transaction's slot
/// lies at a multiple of 128: half of all addresses were wrong.
#[test]
fn callers_memory_may_lie_anywhere() -> Result<()> {
    for skip in (0..256).step_by(24) {
        let memory = vec![0xff; 1 << 19].leak();
        let memory = CallerMemory::from_static(&mut memory[skip..]);
        let db = Database::open(Options::new().caller_memory(memory))?;
        let table = numbers(&db)?;
        db.write(|tx| tx.insert_values(&table, &pair(1, 1)))?;
    }
    Ok(())
}

/// Equal keys came and went in a hash index. Each time their chain filled a bucket, another bucket
/// was split, which cannot separate equal keys: the index grew for ever.
#[test]
fn equal_keys_that_come_and_go_do_not_grow_a_hash_index() -> Result<()> {
    let db = database();
    let schema = TableSchema::new("T").column("a", ColumnType::U32).hash_index("by_a", ["a"]);
    let table = db.create_table(schema)?;
    let mut sizes = Vec::new();
    for _ in 0..30 {
        db.write(|tx| {
            let rows = [Some(Value::U32(1))].repeat(200);
            rows.iter().try_for_each(|row| tx.insert_values(&table, &[*row]).map(|_| ()))
        })?;
        db.write(|tx| delete_all(tx, &table))?;
        db.reclaim();
        sizes.push(db.memory().indexes);
    }
    assert!(sizes[29] <= sizes[0], "{sizes:?}");
    Ok(())
}

/// A transaction filled the memory and was rolled back. Nodes of 256 children were emptied, but a
/// node became smaller only by a copy, for which there was no memory, and so stayed.
#[test]
fn a_rollback_at_a_full_budget_empties_the_index() -> Result<()> {
    let db = Database::open(Options::new().budget(1 << 20))?;
    let table = numbers(&db)?;
    let empty = db.memory().indexes;
    let tx = db.begin_write()?;
    let full = (0..).find_map(|i| tx.insert_values(&table, &pair(i, i)).err());
    assert_eq!(full.map(|error| error.kind()), Some(ErrorKind::BudgetReached));
    drop(tx);
    db.reclaim();
    assert_eq!(db.memory().indexes, empty);
    Ok(())
}

/// A reader pinned all that others deleted until the reserve too was used up. When it had ended,
/// reclaiming needed memory for its own queue, which nobody could free any more.
#[test]
fn reclaiming_needs_no_memory() -> Result<()> {
    let db = Database::open(Options::new().budget(1 << 20))?;
    let table = numbers(&db)?;
    let mut rows = Vec::new();
    while let Ok(row) = db.write(|tx| tx.insert_values(&table, &pair(rows.len() as u32, 0))) {
        rows.push(row);
    }
    let reader = db.begin_read()?;
    let deleted = rows.iter().take_while(|row| db.write(|tx| tx.delete(&table, **row)).is_ok());
    let deleted = deleted.count();
    assert!((100..rows.len()).contains(&deleted));
    drop(reader);
    db.reclaim();
    rows[deleted..].iter().try_for_each(|row| db.write(|tx| tx.delete(&table, *row)))?;
    db.reclaim();
    assert_eq!(db.memory().rows, 0);
    Ok(())
}

/// A cursor stood at the only key that begins with `a`; its transaction inserted `a` and a zero,
/// which turned the leaf into a node with both under it, and the next step passed over all of it.
#[test]
fn a_cursor_finds_what_its_transaction_puts_beside_it() {
    let db = Database::open(Options::new()).unwrap();
    let schema = TableSchema::new("T").column("key", ColumnType::BLOB).primary_key(["key"]);
    let table = db.create_table(schema).unwrap();
    let (key, primary) = (table.column("key").unwrap(), table.index("primary").unwrap());
    let tx = db.begin_write().unwrap();
    let insert = |key: &[u8]| tx.insert_values(&table, &[Some(Value::Bytes(key))]).unwrap();
    insert(b"a");
    let mut cursor = tx.cursor(&table, primary).unwrap();
    assert!(cursor.first().is_some());
    insert(b"a\0");
    assert_eq!(cursor.next().and_then(|row| row.blob(key)), Some(&b"a\0"[..]));
    insert(b"a\0\0");
    insert(b"a\x01");
    assert_eq!(cursor.next().and_then(|row| row.blob(key)), Some(&b"a\0\0"[..]));
    assert_eq!(cursor.next().and_then(|row| row.blob(key)), Some(&b"a\x01"[..]));
    assert!(cursor.next().is_none());
}

/// A rollback to a savepoint went through all that the transaction had changed before, to remember
/// what it had been told since: with a rollback now and then, as after each statement that fails, a
/// large transaction took time with the square of its changes.
#[test]
fn a_rollback_to_a_savepoint_takes_as_long_as_what_it_takes_back() -> Result<()> {
    let db = database();
    let table = numbers(&db)?;
    let b = table.column("b")?;
    let rows = db.write(|tx| {
        (0..40_000).map(|i| tx.insert_values(&table, &pair(i, i))).collect::<Result<Vec<_>>>()
    })?;
    let tx = db.begin_write()?;
    let rollbacks = |number: u32| -> Result<_> {
        let started = std::time::Instant::now();
        for _ in 0..200 {
            let before = tx.savepoint();
            tx.update_values(&table, rows[0], &[(b, Value::U32(number))])?;
            tx.roll_back_to(before)?;
        }
        Ok(started.elapsed())
    };
    let few = rollbacks(1 << 20)?;
    for row in &rows[1..] {
        tx.update_values(&table, *row, &[(b, Value::U32(1 << 24 | row.number() as u32))])?;
    }
    let many = rollbacks(1 << 21)?;
    let limit = few * 20 + std::time::Duration::from_millis(100);
    assert!(many < limit, "{many:?} behind 40,000 changes, {few:?} behind none");
    Ok(())
}
