//! Bursts: transactions of very many rows, which are committed, stamped, taken back and cleared
//! away in other ways than small ones.
//!
//! A commit of more than 16,384 changes leaves its versions to be stamped by others, who may change
//! the same rows, drop the table, or need the slot. A run of rows inserted one behind the other is
//! taken back as one, whatever was done to them meanwhile and whoever looks on. Each test compares
//! with what plain reasoning says must be there, and the memory with what was there before.

use std::sync::atomic::{AtomicBool, Ordering};

use remanent_engine::schema::{ColumnType, IndexSchema, KeyPart, TableSchema};
use remanent_engine::{
    Database, ErrorKind, Options, ReadTransaction, Result, RowId, Table, WriteTransaction,
};

/// More changes than a commit stamps itself.
const MANY: u32 = 40_000;

/// Rows whose texts may be long, too long for the key of an index.
fn schema() -> TableSchema {
    TableSchema::new("T")
        .column("key", ColumnType::U32)
        .column("text", ColumnType::STRING)
        .primary_key(["key"])
        .ordered_index("by_key", [KeyPart::desc("key")])
        .hash_index("hashed", ["key"])
}

/// A text; every 5,000th takes pages of its own.
fn text(key: u32) -> String {
    let stem = if key % 5000 == 4999 { 20_000 } else { 20 };
    format!("{}{}", "t".repeat(stem), key % 101)
}

fn insert(tx: &WriteTransaction<'_>, table: &Table, key: u32) -> Result<RowId> {
    tx.insert_values(table, &[Some(key.into()), Some(text(key).as_str().into())])
}

/// The keys that a transaction sees, by scan; each is found by its key, and in the order of it.
fn keys(tx: &ReadTransaction<'_>, table: &Table) -> Result<Vec<u32>> {
    let (key, index) = (table.column("key")?, table.index("primary")?);
    let mut keys: Vec<u32> = tx.scan(table)?.filter_map(|row| row.get::<u32>(key)).collect();
    keys.sort_unstable();
    let mut cursor = tx.cursor(table, index)?;
    let mut next = cursor.first();
    for &wanted in &keys {
        assert_eq!(next.and_then(|row| row.get::<u32>(key)), Some(wanted));
        next = cursor.next();
    }
    assert!(next.is_none(), "an index has no more than the rows");
    Ok(keys)
}

/// With a seed that is given: how many blocks the buckets of an index take depends on it.
fn open() -> Result<(Database, Table)> {
    let db = Database::open(Options::new().budget(256 << 20).hash_seed(0))?;
    let table = db.create_table(schema())?;
    Ok((db, table))
}

/// What is live in a database, without what directory and buckets keep for the next rows.
fn live(db: &Database) -> (u64, u64) {
    db.reclaim();
    let memory = db.memory();
    (memory.rows, memory.internal)
}

#[test]
fn a_large_commit_is_seen_at_once_and_whole() -> Result<()> {
    let (db, table) = open()?;
    let before = db.begin_read()?;
    db.write(|tx| (0..MANY).try_for_each(|key| insert(tx, &table, key).map(|_| ())))?;
    let after = db.begin_read()?;
    assert_eq!(keys(&before, &table)?, []);
    assert_eq!(keys(&after, &table)?, (0..MANY).collect::<Vec<_>>());
    // While others stamp, a few with each small commit.
    let text = table.column("text")?;
    let row = after.scan(&table)?.next().map(|row| row.id()).expect("there are rows");
    for i in 0..300 {
        let content = format!("changed {i}");
        db.write(|tx| tx.update_values(&table, row, &[(text, content.as_str().into())]))?;
        assert_eq!(before.scan(&table)?.count(), 0);
        assert_eq!(after.scan(&table)?.count(), MANY as usize);
    }
    assert_eq!(keys(&db.begin_read()?, &table)?, keys(&after, &table)?);
    Ok(())
}

/// Rows that a large commit changed are changed again and deleted before their versions are
/// stamped.
#[test]
fn rows_are_changed_again_before_they_are_stamped() -> Result<()> {
    let (db, table) = open()?;
    let key = table.column("key")?;
    let rows: Vec<RowId> = db.write(|tx| (0..MANY).map(|key| insert(tx, &table, key)).collect())?;
    // Another large commit, over versions that are not stamped: updates and deletions.
    db.write(|tx| {
        for (number, &row) in (0..MANY).zip(&rows) {
            match number % 4 {
                0 => tx.delete(&table, row)?,
                1 => tx.update_values(&table, row, &[(key, (number + MANY).into())])?,
                _ => {}
            }
        }
        Ok(())
    })?;
    let expected = |number: u32| match number % 4 {
        0 => None,
        1 => Some(number + MANY),
        _ => Some(number),
    };
    let mut wanted: Vec<u32> = (0..MANY).filter_map(expected).collect();
    wanted.sort_unstable();
    assert_eq!(keys(&db.begin_read()?, &table)?, wanted);
    // Conflicts are those of any commit, stamped or not.
    let old = db.begin_write()?;
    assert!(old.row(&table, rows[2])?.is_some());
    db.write(|tx| tx.update_values(&table, rows[2], &[(key, (3 * MANY).into())]))?;
    let error = old.update_values(&table, rows[2], &[(key, 1.into())]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    drop(old);
    assert_eq!(insert_error(&db, &table, 3 * MANY), ErrorKind::DuplicateKey);
    Ok(())
}

fn insert_error(db: &Database, table: &Table, key: u32) -> ErrorKind {
    db.write(|tx| insert(tx, table, key)).map(|_| ()).unwrap_err().kind()
}

/// With one slot, the next transaction needs that of the large one, and finds it.
#[test]
fn a_slot_left_unstamped_is_made_free_when_it_is_needed() -> Result<()> {
    let options = Options::new().budget(64 << 20).transactions_max(1);
    let db = Database::open(options)?;
    let table = db.create_table(schema())?;
    for round in 0..3 {
        let first = round * MANY;
        db.write(|tx| {
            (first..first + MANY).try_for_each(|key| insert(tx, &table, key).map(|_| ()))
        })?;
        assert!(db.snapshots().is_empty(), "what is left to stamp holds no snapshot");
        let tx = db.begin_read()?;
        assert_eq!(tx.scan(&table)?.count(), (first + MANY) as usize);
    }
    db.write(|tx| insert(tx, &table, u32::MAX).map(|_| ()))?;
    Ok(())
}

/// Tables and indexes change while slots are left unstamped.
#[test]
fn tables_are_dropped_and_indexed_before_their_rows_are_stamped() -> Result<()> {
    let (db, table) = open()?;
    let other = db.create_table(TableSchema::new("Other").column("a", ColumnType::U32))?;
    let fill = |first: u32| {
        db.write(|tx| {
            tx.insert_values(&other, &[Some(first.into())])?;
            (first..first + MANY).try_for_each(|key| insert(tx, &table, key).map(|_| ()))
        })
    };
    fill(0)?;
    let late = db.create_index(&table, IndexSchema::new("late", ["key"]))?;
    let met = db.read(|tx| {
        let mut cursor = tx.cursor(&table, late)?;
        let mut met = u32::from(cursor.first().is_some());
        while cursor.next().is_some() {
            met += 1;
        }
        Ok(met)
    })?;
    assert_eq!(met, MANY);
    fill(MANY)?;
    db.drop_table(&table)?;
    for i in 0..500 {
        db.write(|tx| tx.insert_values(&other, &[Some(i.into())]))?;
    }
    assert_eq!(db.read(|tx| Ok(tx.scan(&other)?.count()))?, 502);
    db.drop_table(&other)?;
    assert_eq!(live(&db).0, 0);
    Ok(())
}

/// A burst among other rows is taken back: by savepoint, then all of it, with updates and deletions
/// of its rows in between. The others' rows stay, and the memory is what it was.
#[test]
fn a_burst_is_taken_back_and_leaves_nothing() -> Result<()> {
    let db = Database::open(Options::new().budget(256 << 20))?;
    let by_text = [KeyPart::desc("text"), KeyPart::asc("key")];
    let table = db.create_table(schema().ordered_index("by_text", by_text))?;
    // Texts that share more than a node's prefix.
    let text = |key: u32| format!("{}{}", "t".repeat(20), key % 101);
    let insert = |tx: &WriteTransaction<'_>, key: u32| {
        tx.insert_values(&table, &[Some(key.into()), Some(text(key).as_str().into())])
    };
    let old = db.write(|tx| insert(tx, 0))?;
    db.write(|tx| (2..2000).step_by(2).try_for_each(|key| insert(tx, key).map(|_| ())))?;
    let before = keys(&db.begin_read()?, &table)?;
    let first = live(&db);
    let (key, content) = (table.column("key")?, table.column("text")?);
    for reader_stays in [false, true] {
        let reader = db.begin_read()?;
        let tx = db.begin_write()?;
        let rows: Vec<RowId> = (0..1000).map(|i| insert(&tx, 2 * i + 1)).collect::<Result<_>>()?;
        let savepoint = tx.savepoint();
        let more: Vec<RowId> = (0..MANY).map(|i| insert(&tx, 10_000 + i)).collect::<Result<_>>()?;
        tx.update_values(&table, more[7], &[(key, 5_000_000.into())])?;
        tx.delete(&table, more[8])?;
        tx.update_values(&table, rows[3], &[(content, "other".into())])?;
        tx.roll_back_to(savepoint)?;
        assert_eq!(tx.scan(&table)?.count(), 2000);
        assert_eq!(tx.delete(&table, more[9]).unwrap_err().kind(), ErrorKind::RowNotFound);
        let again: Vec<RowId> =
            (0..MANY).map(|i| insert(&tx, 10_000 + i)).collect::<Result<_>>()?;
        assert_eq!(again.len(), MANY as usize);
        assert_eq!(keys(&reader, &table)?, before);
        if !reader_stays {
            drop(reader);
            drop(tx);
        } else {
            drop(tx);
            // Beside a reader, the next commit clears the rest away.
            db.write(|tx| tx.update_values(&table, old, &[(content, "t".into())]))?;
            assert_eq!(keys(&reader, &table)?, before);
        }
        assert_eq!(keys(&db.begin_read()?, &table)?, before);
        let left = live(&db).0;
        assert!(left <= first.0 + 100, "all versions are freed: {left} of {}", first.0);
    }
    // The row ids are given out again.
    db.write(|tx| (0..MANY).try_for_each(|i| insert(tx, 10_000 + i).map(|_| ())))?;
    assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count()))?, 1000 + MANY as usize);
    Ok(())
}

/// Long rows, which take pages of their own, among short ones.
#[test]
fn a_burst_of_rows_of_all_lengths_is_taken_back() -> Result<()> {
    let (db, table) = open()?;
    let first = live(&db);
    let mut kept = None;
    for round in 0..4 {
        let tx = db.begin_write()?;
        for key in round * MANY..(round + 1) * MANY {
            insert(&tx, &table, key)?;
        }
        drop(tx);
        assert_eq!(live(&db).0, first.0);
        assert_eq!(keys(&db.begin_read()?, &table)?, []);
        // Directory and buckets stay for the next rows, and serve them: no entry is left in any
        // index, and row ids are given out again.
        let memory = db.memory();
        let (segments, indexes) = *kept.get_or_insert((memory.segments, memory.indexes));
        assert_eq!(memory.segments, segments, "round {round}");
        assert!(memory.indexes <= indexes + (64 << 10), "round {round}: {}", memory.indexes);
    }
    Ok(())
}

/// Bursts are taken back while other threads insert into the same nodes of the same indexes, delete
/// and read: what the others committed is there, and nothing else.
#[test]
fn bursts_are_taken_back_beside_others() -> Result<()> {
    let (db, table) = open()?;
    let done = AtomicBool::new(false);
    let committed = std::thread::scope(|scope| -> Result<u32> {
        let other = scope.spawn(|| -> Result<u32> {
            let mut number = 0;
            while !done.load(Ordering::Relaxed) && number < MANY * 3 {
                // Between the keys of the bursts, and at both ends of them.
                let key = number * 7919 % (MANY * 3) * 2 + 1;
                db.write(|tx| insert(tx, &table, key).map(|_| ()))?;
                number += 1;
            }
            Ok(number)
        });
        let reader = scope.spawn(|| -> Result<()> {
            let key = table.column("key")?;
            while !done.load(Ordering::Relaxed) {
                let tx = db.begin_read()?;
                let even = tx.scan(&table)?.filter_map(|row| row.get::<u32>(key));
                assert!(even.into_iter().all(|key| key % 2 == 1), "nothing of a burst is seen");
            }
            Ok(())
        });
        for _ in 0..6 {
            let tx = db.begin_write()?;
            for key in 0..MANY {
                insert(&tx, &table, key * 2)?;
            }
            drop(tx);
        }
        done.store(true, Ordering::Relaxed);
        reader.join().expect("it found nothing wrong")?;
        other.join().expect("it ran to its end")
    })?;
    let keys = keys(&db.begin_read()?, &table)?;
    assert_eq!(keys.len(), committed as usize);
    assert!(keys.iter().all(|key| key % 2 == 1));
    Ok(())
}
