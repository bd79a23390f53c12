//! What a database says of itself: counts that are exact whoever counted, memory whose parts make
//! up the whole, and tables that make up the parts.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use remanent_engine::schema::{
    ColumnType, IndexSchema, SetOrder, SetSchema, TableSchema, TableStorage, Value,
};
use remanent_engine::{
    ColumnHandle, Database, Durability, ErrorKind, MemoryUse, Options, Result, RowId, Table,
    TransactionOptions,
};

const THREADS: u64 = 4;
const ROUNDS: u64 = 50;

fn numbers(db: &Database, name: &str) -> Result<(Table, ColumnHandle)> {
    let schema = TableSchema::new(name)
        .column("id", ColumnType::U64)
        .column("value", ColumnType::U64)
        .primary_key(["id"]);
    let table = db.create_table(schema)?;
    let value = table.column("value")?;
    Ok((table, value))
}

fn insert(db: &Database, table: &Table, id: u64) -> Result<RowId> {
    db.write(|tx| tx.insert_values(table, &[Some(id.into()), Some(0_u64.into())]))
}

/// A database that is made in this folder, which vanishes with it.
struct InFolder(std::path::PathBuf);

impl InFolder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("remanent-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&path).ok();
        Self(path)
    }

    fn open(&self) -> Result<Database> {
        Database::open_at(&self.0, Options::new().budget(64 << 20).durability(Durability::Os))
    }
}

impl Drop for InFolder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// Each thread has a row of its own, so nothing happens but what it asks for.
fn history_of_one(db: &Database, table: &Table, value: ColumnHandle, id: u64) -> Result<()> {
    let row = insert(db, table, id)?;
    for round in 0..ROUNDS {
        db.write(|tx| {
            tx.update_values(table, row, &[(value, round.into())])?;
            tx.update_values(table, row, &[(value, (round + 1).into())])
        })?;
        // Three that end without a commit, and one that commits nothing.
        let dropped = db.begin_write()?;
        dropped.update_values(table, row, &[(value, 0_u64.into())])?;
        drop(dropped);
        let taken_back = db.begin_write()?;
        taken_back.delete(table, row)?;
        taken_back.roll_back();
        drop(taken_back);
        drop(db.begin_write()?);
        db.begin_write()?.commit()?;
    }
    Ok(())
}

/// A statement that meets another transaction's row, and an attempt that follows.
fn conflict_and_retry(db: &Database, table: &Table, value: ColumnHandle, row: RowId) -> Result<()> {
    let holder = RefCell::new(Some(db.begin_write()?));
    if let Some(tx) = &*holder.borrow() {
        tx.update_values(table, row, &[(value, 1_u64.into())])?;
    }
    db.write(|tx| {
        let updated = tx.update_values(table, row, &[(value, 2_u64.into())]);
        updated.inspect_err(|_| drop(holder.take()))
    })
}

/// A commit that is refused because what was read has changed.
fn refused_commit(db: &Database, table: &Table, value: ColumnHandle, row: RowId) -> Result<()> {
    let tx = db.begin_write()?;
    tx.row(table, row)?;
    insert(db, table, 1000)?;
    db.write(|other| other.update_values(table, row, &[(value, 3_u64.into())]))?;
    tx.insert_values(table, &[Some(2000_u64.into()), Some(0_u64.into())])?;
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    Ok(())
}

#[test]
fn counts_are_exact() -> Result<()> {
    let db = Database::open(Options::new().budget(32 << 20))?;
    let (table, value) = numbers(&db, "Number")?;
    // One after the other, and beside each other.
    (0..THREADS).try_for_each(|id| history_of_one(&db, &table, value, id))?;
    std::thread::scope(|scope| -> Result<()> {
        let (db, table) = (&db, &table);
        let history = |id| move || history_of_one(db, table, value, THREADS + id);
        let threads: Vec<_> = (0..THREADS).map(|id| scope.spawn(history(id))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it ended"))
    })?;
    let statistics = db.statistics();
    let histories = 2 * THREADS;
    assert_eq!(statistics.commits, histories * (ROUNDS + 1));
    assert_eq!(statistics.changes, histories * (ROUNDS * 2 + 1));
    assert_eq!(statistics.rollbacks, histories * ROUNDS * 3);
    assert_eq!((statistics.conflicts, statistics.retries), (0, 0));
    assert_eq!((statistics.readers, statistics.writers), (0, 0));
    assert_eq!((statistics.oldest_snapshot, statistics.log), (None, None));

    let row = insert(&db, &table, 100)?;
    conflict_and_retry(&db, &table, value, row)?;
    let after = db.statistics();
    assert_eq!(after.commits, statistics.commits + 2);
    assert_eq!(after.rollbacks, statistics.rollbacks + 2);
    assert_eq!((after.conflicts, after.retries), (1, 1));
    refused_commit(&db, &table, value, row)?;
    let last = db.statistics();
    assert_eq!(last.commits, after.commits + 2);
    assert_eq!(last.rollbacks, after.rollbacks + 1);
    assert_eq!((last.conflicts, last.retries), (2, 1));
    Ok(())
}

#[test]
fn what_is_active_is_said() -> Result<()> {
    let db = Database::open(Options::new().budget(32 << 20))?;
    numbers(&db, "Number")?;
    let report = db.begin_read_with(&TransactionOptions::new().name("report"))?;
    std::thread::sleep(std::time::Duration::from_millis(5));
    let (_reader, _writer) = (db.begin_read()?, db.begin_write()?);
    let statistics = db.statistics();
    assert_eq!((statistics.readers, statistics.writers), (2, 1));
    let oldest = statistics.oldest_snapshot.expect("there are three");
    assert!(oldest.as_millis() >= 5 && oldest <= statistics.uptime);
    drop(report);
    let held = db.snapshots();
    assert_eq!(held.iter().filter(|held| held.writes).count(), 1);
    assert_eq!(held.len(), 2);
    Ok(())
}

#[test]
fn a_log_is_counted_from_opening_on() -> Result<()> {
    let folder = InFolder::new("observed-log");
    let db = folder.open()?;
    let (table, _) = numbers(&db, "Number")?;
    for id in 0..10 {
        insert(&db, &table, id)?;
    }
    db.checkpoint()?;
    insert(&db, &table, 10)?;
    let statistics = db.statistics();
    assert_eq!((statistics.commits, statistics.checkpoints), (11, 1));
    let log = statistics.log.expect("it lies in a folder");
    // The table's as well.
    assert_eq!(log.commits, 12);
    assert!(log.bytes > 0 && log.syncs > 0);
    sums_up(&db.memory());
    drop(db);
    let db = folder.open()?;
    let statistics = db.statistics();
    assert_eq!((statistics.commits, statistics.changes, statistics.checkpoints), (0, 0, 0));
    assert_eq!(db.memory_by_table()?[0].rows, 11);
    sums_up(&db.memory());
    assert!(db.memory().log > 0);
    Ok(())
}

fn sums_up(memory: &MemoryUse) {
    let live = memory.rows + memory.segments + memory.indexes + memory.internal;
    let live = live + memory.columns;
    assert_eq!(live + memory.log + memory.overhead + memory.free, memory.held, "{memory:?}");
    assert!(memory.reclaimable <= memory.rows, "{memory:?}");
    assert!(memory.budget <= memory.reserved && memory.held <= memory.budget, "{memory:?}");
}

/// Tables with every kind of thing that takes memory: long keys, equal keys, rows with several
/// keys, rows that take pages, deletions, sets.
fn populate(db: &Database) -> Result<()> {
    let schema = TableSchema::new("Text")
        .column("text", ColumnType::STRING)
        .column("group", ColumnType::U32)
        .primary_key(["text"])
        .index(IndexSchema::new("group", ["group"]))
        .index(IndexSchema::new("quick", ["text"]).hash())
        .index(IndexSchema::new("crowd", ["group"]).hash());
    let texts = db.create_table(schema)?;
    let (group, start) = (texts.column("group")?, "x".repeat(200));
    let mut rows = Vec::new();
    for number in 0..20_000_u32 {
        // Some share all but the end, most are spread.
        let text = match number % 10 {
            0 => format!("{start}{number}"),
            _ => format!("{:08x}", number.wrapping_mul(0x9e37_79b9)),
        };
        let values = [Some(Value::String(&text)), Some((number % 7).into())];
        rows.push(db.write(|tx| tx.insert_values(&texts, &values))?);
    }
    for (number, row) in rows.iter().enumerate().step_by(3) {
        let moved = (number as u32 % 11).into();
        db.write(|tx| tx.update_values(&texts, *row, &[(group, moved)]))?;
    }
    db.write(|tx| rows.iter().step_by(4).try_for_each(|row| tx.delete(&texts, *row)))?;
    let blobs = db.create_table(TableSchema::new("Blob").column("data", ColumnType::BLOB))?;
    for size in [0, 10, 5_000, 9_000, 100_000] {
        let data = vec![7; size];
        db.write(|tx| tx.insert_values(&blobs, &[Some((&data).into())]))?;
    }
    db.create_set(SetSchema::new("Tree", "Text", SetOrder::Last).member("Blob"))?;
    numbers(db, "Empty").map(|_| ())
}

/// That the tables make up what is live.
fn check_tables(db: &Database) -> Result<()> {
    let (tables, memory) = (db.memory_by_table()?, db.memory());
    let total = |bytes: fn(&remanent_engine::TableMemory) -> u64| tables.iter().map(bytes).sum();
    let (rows, segments): (u64, u64) = (total(|t| t.row_bytes), total(|t| t.segment_bytes));
    let indexes: u64 = total(|table| table.index_bytes());
    assert_eq!((rows, segments), (memory.rows, memory.segments));
    assert_eq!(indexes, memory.indexes);
    assert_eq!(total(|table| table.bytes()), rows + segments + indexes);
    sums_up(&memory);
    Ok(())
}

#[test]
fn tables_make_up_the_whole() -> Result<()> {
    let db = Database::open(Options::new().budget(256 << 20))?;
    sums_up(&db.memory());
    populate(&db)?;
    sums_up(&db.memory());
    db.reclaim();
    check_tables(&db)?;
    let tables = db.memory_by_table()?;
    let names: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["Blob", "Empty", "Text", "Tree"]);
    let counts: Vec<_> = tables.iter().map(|table| (table.rows, table.versions)).collect();
    assert_eq!(counts, [(5, 5), (0, 0), (15_000, 15_000), (0, 0)]);
    let indexes: Vec<_> = tables[2].indexes.iter().map(|index| index.name.as_str()).collect();
    assert_eq!(indexes, ["primary", "group", "quick", "crowd"]);
    assert!(tables[2].indexes.iter().all(|index| index.bytes > 0));
    let texts = db.table("Text")?;
    db.drop_index(&texts, texts.index("quick")?)?;
    check_tables(&db)?;
    db.drop_set(&db.set("Tree")?)?;
    db.drop_table(&texts)?;
    db.reclaim();
    check_tables(&db)
}

#[test]
fn what_an_old_writer_holds_back_can_be_reclaimed() -> Result<()> {
    let db = Database::open(Options::new().budget(64 << 20))?;
    let (table, value) = numbers(&db, "Number")?;
    let row = insert(&db, &table, 1)?;
    db.reclaim();
    assert_eq!((db.memory().reclaimable, db.statistics().backlog), (0, 0));
    let old = db.begin_write()?;
    for number in 0..50_u64 {
        db.write(|tx| tx.update_values(&table, row, &[(value, number.into())]))?;
    }
    let (memory, statistics) = (db.memory(), db.statistics());
    assert!(memory.reclaimable > 0 && statistics.backlog >= 50, "{memory:?} {statistics:?}");
    sums_up(&memory);
    assert_eq!(db.memory_by_table()?[0].versions, 51);
    drop(old);
    db.reclaim();
    assert_eq!((db.memory().reclaimable, db.statistics().backlog), (0, 0));
    assert_eq!(db.memory_by_table()?[0].versions, 1);
    check_tables(&db)
}

#[test]
fn an_old_reader_pins_rows() -> Result<()> {
    let db = Database::open(Options::new().budget(8 << 20))?;
    let (table, value) = numbers(&db, "Number")?;
    let row = insert(&db, &table, 1)?;
    let old = db.begin_read()?;
    for number in 0..20_000_u64 {
        db.write(|tx| tx.update_values(&table, row, &[(value, number.into())]))?;
    }
    let statistics = db.statistics();
    assert!(statistics.pinned_rows > 0, "{statistics:?}");
    assert!(db.snapshots()[0].pinned_bytes > 0);
    drop(old);
    db.reclaim();
    assert_eq!(db.statistics().pinned_rows, 0);
    check_tables(&db)
}

#[test]
fn others_go_on_while_tables_are_measured() -> Result<()> {
    let db = Database::open(Options::new().budget(256 << 20))?;
    populate(&db)?;
    let (texts, stop) = (db.table("Text")?, AtomicBool::new(false));
    let group = texts.column("group")?;
    let write = |from: u32| -> Result<()> {
        let mut number = from;
        while !stop.load(Ordering::Relaxed) {
            number += 2;
            let text = format!("{:09x}", number.wrapping_mul(0x9e37_79b9));
            let values = [Some(Value::String(&text)), Some(1_u32.into())];
            let row = db.write(|tx| tx.insert_values(&texts, &values))?;
            db.write(|tx| tx.update_values(&texts, row, &[(group, number.into())]))?;
            if !number.is_multiple_of(3) {
                db.write(|tx| tx.delete(&texts, row))?;
            }
        }
        Ok(())
    };
    let define = || -> Result<()> {
        while !stop.load(Ordering::Relaxed) {
            let index = db.create_index(&texts, IndexSchema::new("more", ["group", "text"]))?;
            db.drop_index(&texts, index)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let (first, second) = (scope.spawn(|| write(0)), scope.spawn(|| write(1)));
        let third = scope.spawn(define);
        let measured: Result<()> = (0..200).try_for_each(|_| {
            let tables = db.memory_by_table()?;
            assert!(tables[2].rows >= 15_000, "{tables:?}");
            assert!(db.statistics().writers <= 4);
            Ok(())
        });
        stop.store(true, Ordering::Relaxed);
        for thread in [first, second, third] {
            thread.join().expect("it ended")?;
        }
        measured
    })?;
    db.reclaim();
    check_tables(&db)
}

/// Indexes stay in memory: docs/paged-tables.md says how much that is, and so does the database.
#[test]
fn what_indexes_take_is_shown() {
    const MANY: u64 = 1 << 18;
    let db = Database::open(Options::new().budget(256 << 20)).expect("it opens");
    let schema = TableSchema::new("T").column("id", ColumnType::I64);
    let schema = schema.column("other", ColumnType::I64).primary_key(["id"]);
    let schema = schema.ordered_index("pair", ["other", "id"]).hash_index("hash", ["id"]);
    let table = db.create_table(schema.storage(TableStorage::Paged)).expect("it is new");
    let mixed = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2) as i64;
    let rows = (0..MANY).map(|i| [mixed(i), i as i64 % 1000].map(|it| Some(Value::I64(it))));
    db.write(|tx| tx.insert_all_values(&table, rows.clone())).expect("there is room");
    db.freeze_all(&table).expect("they are frozen");
    let of_table = &db.memory_by_table().expect("there are slots")[0];
    let by_row = of_table.indexes.iter().map(|index| index.bytes as f64 / MANY as f64);
    let by_row: Vec<_> = by_row.collect();
    let expected = [8.0..15.0, 14.0..22.0, 30.0..40.0];
    assert_eq!(by_row.len(), expected.len());
    for (bytes, expected) in by_row.iter().zip(&expected) {
        assert!(expected.contains(bytes), "{by_row:?} bytes a row");
    }
    assert_eq!(of_table.index_bytes(), db.memory().indexes);
}
