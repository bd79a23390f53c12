//! Tables and indexes that are made and dropped in a transaction, with its rows: all or nothing,
//! for others at once, beside readers that began before, in memory and after opening again.

#[path = "durability/temp_folder.rs"]
mod temp_folder;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use remanent_engine::schema::*;
use remanent_engine::{
    Database, Durability, ErrorKind, Folder, MemoryUse, Options, OwnedTransaction, ReadTransaction,
    Result, Table, TransactionOptions, WriteTransaction,
};
use temp_folder::TempFolder;

fn options() -> Options {
    Options::new().budget(64 << 20).log_file_size(16 << 10).durability(Durability::Os)
}

fn schema(name: &str) -> TableSchema {
    TableSchema::new(name)
        .column("id", ColumnType::U64)
        .column("n", ColumnType::U64)
        .column("text", ColumnType::STRING)
        .index(IndexSchema::new("primary", ["id"]).unique())
        .index(IndexSchema::new("by_n", ["n"]).hash())
}

fn insert(tx: &WriteTransaction<'_>, table: &Table, id: u64, n: u64) -> Result<()> {
    let text = format!("row {id} of {n}");
    let values = [Some(id.into()), Some(n.into()), Some(text.as_str().into())];
    tx.insert_values(table, &values).map(|_| ())
}

fn filled(db: &Database, name: &str, ids: std::ops::Range<u64>, n: u64) -> Result<Table> {
    let table = db.create_table(schema(name))?;
    db.write(|tx| ids.clone().try_for_each(|id| insert(tx, &table, id, n)))?;
    Ok(table)
}

/// The rows that a transaction sees, by id, as the primary key finds them too.
fn rows(tx: &ReadTransaction<'_>, table: &Table) -> Result<Vec<(u64, u64)>> {
    let (id, n) = (table.column("id")?, table.column("n")?);
    let mut rows = Vec::new();
    for row in tx.scan(table)? {
        rows.push((row.get(id).expect("an id"), row.get(n).expect("an n")));
    }
    rows.sort_unstable();
    Ok(rows)
}

fn all(db: &Database, name: &str) -> Result<Vec<(u64, u64)>> {
    let tx = db.begin_read()?;
    let table = tx.table(name)?;
    let found = rows(&tx, &table)?;
    for (key, _) in &found {
        assert!(tx.find(&table, table.index("primary")?, &[(*key).into()])?.is_some(), "{key}");
    }
    Ok(found)
}

/// Replaces a table by a copy in which each `n` is one more.
fn replace(tx: &WriteTransaction<'_>, name: &str) -> Result<Table> {
    let old = tx.table(name)?;
    tx.begin_defining()?;
    let copied = rows(tx, &old)?;
    tx.drop_table(&old)?;
    let new = tx.create_table(schema(name))?;
    copied.iter().try_for_each(|&(id, n)| insert(tx, &new, id, n + 1))?;
    Ok(new)
}

fn held(memory: &MemoryUse) -> [u64; 4] {
    [memory.rows, memory.indexes, memory.segments, memory.internal]
}

fn kind<T>(outcome: Result<T>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

#[test]
fn a_commit_makes_all_of_it() -> Result<()> {
    let db = Database::open(options())?;
    let old = filled(&db, "T", 0..100, 1)?;
    let gone = filled(&db, "Gone", 0..10, 1)?;
    let tx = db.begin_write()?;
    tx.drop_table(&gone)?;
    let by_text = tx.create_index(&old, IndexSchema::new("by_text", ["text"]))?;
    tx.drop_index(&old, old.index("by_n")?)?;
    let new = tx.create_table(schema("New"))?;
    insert(&tx, &new, 7, 7)?;
    insert(&tx, &old, 100, 2)?;
    assert_eq!(rows(&tx, &new)?, [(7, 7)]);
    assert!(tx.find(&old, by_text, &["row 100 of 2".into()])?.is_some());
    assert_eq!(kind(tx.table("Gone")), Some(ErrorKind::UnknownTable));
    // Nobody else knows of it.
    assert_eq!(db.table_names(), ["Gone", "T"]);
    let other = db.begin_read()?;
    assert_eq!(kind(other.scan(&new).map(|_| ())), Some(ErrorKind::UnknownTable));
    assert_eq!(kind(other.find(&old, by_text, &["".into()])), Some(ErrorKind::UnknownIndex));
    assert_eq!(kind(old.index("by_text")), Some(ErrorKind::UnknownIndex));
    assert_eq!((rows(&other, &gone)?.len(), rows(&other, &old)?.len()), (10, 100));
    assert!(other.find(&old, old.index("by_n")?, &[1_u64.into()])?.is_some());
    drop(other);
    tx.commit()?;
    assert_eq!(db.table_names(), ["New", "T"]);
    assert_eq!((all(&db, "New")?, all(&db, "T")?.len()), (vec![(7, 7)], 101));
    assert_eq!(old.index("by_text")?, by_text);
    assert_eq!(kind(old.index("by_n")), Some(ErrorKind::UnknownIndex));
    Ok(())
}

#[test]
fn a_rollback_takes_all_of_it_back() -> Result<()> {
    let db = Database::open(options())?;
    let table = filled(&db, "T", 0..500, 1)?;
    // What a slot keeps is there then.
    for _ in 0..2 {
        let tx = db.begin_write()?;
        (0..2000).try_for_each(|id| insert(&tx, &table, 1000 + id, 1))?;
        drop(tx);
        db.reclaim();
    }
    let before = held(&db.memory());
    for end in 0..2 {
        let tx = db.begin_write()?;
        let new = replace(&tx, "T")?;
        (0..2000).try_for_each(|id| insert(&tx, &new, 1000 + id, 1))?;
        tx.create_index(&new, IndexSchema::new("more", ["text"]))?;
        let passing = tx.create_table(schema("Passing"))?;
        insert(&tx, &passing, 1, 1)?;
        tx.drop_table(&passing)?;
        match end {
            0 => drop(tx),
            _ => {
                tx.roll_back();
                drop(tx);
            }
        }
        assert_eq!(db.table_names(), ["T"]);
        assert_eq!(rows(&*db.begin_write()?, &table)?.len(), 500);
        db.reclaim();
        assert_eq!(held(&db.memory()), before, "end {end}");
    }
    // Other writers go on as soon as it is rolled back.
    let tx = db.begin_write()?;
    tx.drop_table(&table)?;
    tx.roll_back();
    db.write(|tx| insert(tx, &table, 500, 1))
}

#[test]
fn savepoints_take_definitions_back() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options());
    let table = filled(&db, "T", 0..50, 1)?;
    let tx = db.begin_write()?;
    insert(&tx, &table, 50, 1)?;
    let first = tx.savepoint();
    let lost = tx.create_table(schema("Lost"))?;
    insert(&tx, &lost, 1, 1)?;
    tx.create_index(&table, IndexSchema::new("lost", ["text"]).unique())?;
    tx.drop_index(&table, table.index("primary")?)?;
    insert(&tx, &table, 50, 2)?;
    let second = tx.savepoint();
    tx.drop_table(&table)?;
    assert_eq!(kind(tx.table("T")), Some(ErrorKind::UnknownTable));
    tx.roll_back_to(second)?;
    assert!(tx.table("T").is_ok() && tx.table("Lost").is_ok());
    tx.roll_back_to(first)?;
    assert_eq!(kind(tx.roll_back_to(second)), Some(ErrorKind::TransactionEnded));
    assert_eq!(kind(tx.table("Lost")), Some(ErrorKind::UnknownTable));
    assert_eq!(kind(insert(&tx, &lost, 2, 1)), Some(ErrorKind::UnknownTable));
    // The primary key holds again, and the name is free.
    assert_eq!(kind(insert(&tx, &table, 50, 3)), Some(ErrorKind::DuplicateKey));
    let kept = tx.create_table(schema("Lost"))?;
    insert(&tx, &kept, 3, 3)?;
    assert_eq!(kind(tx.roll_back_to(second)), Some(ErrorKind::TransactionEnded));
    tx.commit()?;
    let check = |db: &Database| -> Result<()> {
        assert_eq!((all(db, "T")?.len(), all(db, "Lost")?), (51, vec![(3, 3)]));
        assert_eq!(db.table("T")?.indexes().count(), 2);
        Ok(())
    };
    check(&db)?;
    drop(db);
    check(&place.open(options()))
}

#[test]
fn unique_keys_hold_from_when_they_are_made() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options());
    let table = filled(&db, "T", 0..20, 1)?;
    let tx = db.begin_write()?;
    // Rows that have one key are deleted first; then it is unique, and then no more.
    let unique = || IndexSchema::new("unique_n", ["n"]).unique();
    assert_eq!(kind(tx.create_index(&table, unique())), Some(ErrorKind::DuplicateKey));
    let ids: Vec<_> = tx.scan(&table)?.map(|row| row.id()).skip(1).collect();
    ids.iter().try_for_each(|&row| tx.delete(&table, row))?;
    let index = tx.create_index(&table, unique())?;
    assert_eq!(kind(tx.create_index(&table, unique())), Some(ErrorKind::IndexExists));
    assert_eq!(kind(insert(&tx, &table, 30, 1)), Some(ErrorKind::DuplicateKey));
    insert(&tx, &table, 30, 2)?;
    tx.drop_index(&table, table.index("primary")?)?;
    insert(&tx, &table, 30, 3)?;
    tx.commit()?;
    assert_eq!(table.index("unique_n")?, index);
    drop(db);
    let db = place.open(options());
    let (table, tx) = (db.table("T")?, db.begin_write()?);
    assert_eq!(rows(&tx, &table)?, [(0, 1), (30, 2), (30, 3)]);
    assert_eq!(kind(insert(&tx, &table, 40, 3)), Some(ErrorKind::DuplicateKey));
    assert_eq!(kind(table.index("primary")), Some(ErrorKind::UnknownIndex));
    Ok(())
}

#[test]
fn old_readers_see_the_old_table_and_new_ones_the_new() -> Result<()> {
    let db = Database::open(options())?;
    let empty = held(&db.memory());
    let mut names = Vec::new();
    filled(&db, "T", 0..300, 0)?;
    let mut readers = Vec::new();
    for n in 0..5 {
        let reader = db.begin_read()?;
        names.push(reader.table("T")?);
        readers.push((n, reader));
        db.write(|tx| replace(tx, "T").map(|_| ()))?;
        // More rows where the old ones were.
        db.write(|tx| insert(tx, &db.table("T")?, 1000 + n, n + 1))?;
    }
    db.reclaim();
    for (n, reader) in &readers {
        let expected: Vec<_> = (0..300).chain(1000..1000 + n).map(|id| (id, *n)).collect();
        assert_eq!(rows(reader, &reader.table("T")?)?, expected);
        assert_eq!(rows(reader, &names[*n as usize])?, expected);
        let newer = names.get(*n as usize + 1);
        assert!(newer.is_none_or(|newer| rows(reader, newer).is_ok_and(|rows| rows.is_empty())));
    }
    assert_eq!(kind(db.begin_read()?.scan(&names[0]).map(|_| ())), Some(ErrorKind::UnknownTable));
    assert_eq!(db.memory_by_table()?.len(), 1);
    // The last reader of a table frees it, and no later one.
    let before = db.memory().rows;
    drop(readers.remove(0));
    db.reclaim();
    assert!(db.memory().rows < before);
    let (_, newest) = readers.pop().expect("there are four");
    drop(readers);
    db.reclaim();
    let two = db.memory().rows;
    drop(newest);
    db.reclaim();
    assert!(db.memory().rows < two);
    db.drop_table(&db.table("T")?)?;
    db.reclaim();
    assert_eq!(held(&db.memory())[..3], empty[..3]);
    Ok(())
}

/// Writers add rows to a table that is replaced again and again: none of those that were committed
/// is lost, and at no moment is the name missing or the table half full.
#[test]
fn writers_beside_a_replacement_lose_nothing() -> Result<()> {
    let db = Database::open(options())?;
    filled(&db, "T", 0..200, 0)?;
    let (stop, committed) = (AtomicBool::new(false), AtomicU64::new(0));
    let write = |number: u64| -> Result<u64> {
        let mut count = 0;
        while !stop.load(Ordering::Relaxed) {
            db.write(|tx| insert(tx, &tx.table("T")?, (number << 32) + count, 0))?;
            count += 1;
            committed.fetch_add(1, Ordering::SeqCst);
        }
        Ok(count)
    };
    let read = || -> Result<()> {
        while !stop.load(Ordering::Relaxed) {
            let least = 200 + committed.load(Ordering::SeqCst);
            assert!(db.table("T").is_ok());
            let tx = db.begin_read()?;
            let table = tx.table("T")?;
            let found = tx.scan(&table)?.count() as u64;
            assert!(found >= least, "{found} of {least}");
            assert_eq!(tx.scan(&table)?.count() as u64, found);
        }
        Ok(())
    };
    let counts = std::thread::scope(|scope| -> Result<u64> {
        let writers = [scope.spawn(|| write(1)), scope.spawn(|| write(2))];
        let reader = scope.spawn(read);
        let replaced: Result<()> =
            (0..20).try_for_each(|_| db.write(|tx| replace(tx, "T").map(|_| ())));
        stop.store(true, Ordering::Relaxed);
        reader.join().expect("it ended")?;
        let mut sum = 0;
        for writer in writers {
            sum += writer.join().expect("it ended")?;
        }
        replaced.map(|()| sum)
    })?;
    assert_eq!(all(&db, "T")?.len() as u64, 200 + counts);
    Ok(())
}

/// A session keeps its transaction for long, and another thread may be the one that ends it.
#[test]
fn a_transaction_that_defines_ends_on_another_thread() -> Result<()> {
    fn moved<T: Send>(it: T) -> T {
        it
    }
    let db = Database::open(options())?;
    for (name, commits) in [("Made", true), ("Not", false)] {
        let tx = moved(db.begin_write()?);
        insert(&tx, &tx.create_table(schema(name))?, 1, 1)?;
        std::thread::scope(|scope| -> Result<()> {
            let end = move || match commits {
                true => tx.commit().map(|_| ()),
                false => {
                    drop(tx);
                    Ok(())
                }
            };
            scope.spawn(end).join().expect("it ended")
        })?;
        assert_eq!(db.table(name).is_ok(), commits);
        // The turn and the gate are free again.
        db.drop_table(&filled(&db, "Other", 0..3, 1)?)?;
    }
    Ok(())
}

/// Two threads define at the same time, one in a transaction that has begun before the other's.
#[test]
fn definitions_follow_one_another() -> Result<()> {
    let db = Database::open(options())?;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = &db;
            scope.spawn(move || {
                for i in 0..10 {
                    let name = format!("T{thread}_{i}");
                    db.write(|tx| insert(tx, &tx.create_table(schema(&name))?, 1, 1))
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                }
            });
        }
    });
    assert_eq!(db.table_names().len(), 40);
    Ok(())
}

#[test]
fn a_snapshot_that_is_too_old_defines_nothing() -> Result<()> {
    let db = Database::open(options())?;
    let table = filled(&db, "T", 0..3, 1)?;
    let mut tx = db.begin_write()?;
    insert(&tx, &table, 10, 1)?;
    db.write(|tx| insert(tx, &table, 11, 1))?;
    assert_eq!(kind(tx.create_table(schema("New"))), Some(ErrorKind::Conflict));
    // It keeps nobody out then.
    db.write(|tx| insert(tx, &table, 12, 1))?;
    tx.begin_defining_at_newest()?;
    let new = tx.create_table(schema("New"))?;
    for (id, n) in rows(&tx, &table)? {
        insert(&tx, &new, id, n)?;
    }
    tx.commit()?;
    assert_eq!(all(&db, "New")?.len(), 6);
    // One that has done nothing yet goes on with what there is now.
    let tx = db.begin_write()?;
    db.write(|tx| insert(tx, &table, 13, 1))?;
    tx.drop_table(&new)?;
    tx.create_index(&table, IndexSchema::new("by_text", ["text"]))?;
    tx.commit().map(|_| ())
}

#[test]
fn whoever_commits_is_told_before_others_write() -> Result<()> {
    let db = Arc::new(Database::open(options())?);
    let table = filled(&db, "T", 0..3, 1)?;
    let (told, begun) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| -> Result<()> {
        let tx = OwnedTransaction::begin_write(&db, &TransactionOptions::new())?;
        let new = replace(&*tx.write()?, "T")?;
        let writer = scope.spawn(|| {
            begun.store(true, Ordering::SeqCst);
            db.write(|tx| {
                assert!(told.load(Ordering::SeqCst), "the gate was still closed");
                insert(tx, &tx.table("T")?, 100, 1)
            })
        });
        while !begun.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut at = 0;
        let ticket = tx.commit_with(|timestamp| {
            at = timestamp;
            // Everybody sees it.
            let seen = db.table("T").and_then(|table| db.begin_read()?.scan(&table).map(|_| ()));
            assert!(seen.is_ok() && db.begin_read().is_ok_and(|tx| tx.timestamp() >= timestamp));
            std::thread::sleep(std::time::Duration::from_millis(20));
            told.store(true, Ordering::SeqCst);
        })?;
        let ticket = ticket.expect("it wrote");
        assert_eq!((ticket.timestamp(), new.name()), (at, "T"));
        drop(tx);
        writer.join().expect("it ended")
    })?;
    assert_eq!(kind(db.begin_read()?.scan(&table).map(|_| ())), Some(ErrorKind::UnknownTable));
    assert_eq!(all(&db, "T")?.len(), 4);
    Ok(())
}

#[test]
fn an_index_can_come_and_go_for_ever() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options());
    let table = filled(&db, "T", 0..20, 1)?;
    let mut old = Vec::new();
    for i in 0..200 {
        let index = db.create_index(&table, IndexSchema::new("more", ["n", "id"]))?;
        assert!(db.begin_read()?.find(&table, index, &[1_u64.into(), 7_u64.into()])?.is_some());
        for &gone in &old {
            assert_ne!(gone, index);
            let tx = db.begin_read()?;
            let found = tx.find(&table, gone, &[1_u64.into(), 7_u64.into()]);
            assert_eq!(kind(found), Some(ErrorKind::UnknownIndex));
        }
        if i % 40 == 0 {
            old.push(index);
        }
        if i < 199 {
            db.drop_index(&table, index)?;
        }
    }
    assert_eq!(table.index_at(2)?, table.index("more")?);
    drop(db);
    let db = place.open(options());
    assert_eq!(db.table("T")?.indexes().count(), 3);
    assert_eq!(all(&db, "T")?.len(), 20);
    Ok(())
}

/// A commit of many rows comes in parts; it is opened again from the log and from an image.
#[test]
fn what_was_committed_is_opened_again() -> Result<()> {
    for (count, checkpoint) in [(3, false), (3000, false), (3000, true)] {
        let place = TempFolder::new();
        let db = place.open(options());
        filled(&db, "T", 0..count, 1)?;
        let near = SetSchema::new("Near", "Other", SetOrder::Last).member("Other");
        filled(&db, "Other", 0..5, 1)?;
        let set = db.create_set(near)?;
        let tx = db.begin_write()?;
        let new = replace(&tx, "T")?;
        tx.create_index(&new, IndexSchema::new("by_text", ["text"]))?;
        let passing = tx.create_table(schema("Passing"))?;
        insert(&tx, &passing, 1, 1)?;
        tx.drop_table(&passing)?;
        let other = tx.table("Other")?;
        assert_eq!(kind(tx.drop_table(&other)), Some(ErrorKind::TableInSet));
        assert_eq!(kind(tx.drop_table(set.relation())), Some(ErrorKind::RelationOfSet));
        insert(&tx, &other, 5, 5)?;
        tx.commit()?;
        if checkpoint {
            db.checkpoint()?;
        }
        db.write(|tx| insert(tx, &db.table("T")?, count, 2))?;
        let expected: Vec<_> = (0..=count).map(|id| (id, 2)).collect();
        assert_eq!(all(&db, "T")?, expected);
        drop(db);
        let (salvaged, done) = Database::salvage(&*place.folder(), options())?;
        assert!(!done.is_less_than_all(), "{done:?}");
        assert_eq!(all(&salvaged, "T")?, expected);
        check_log(&place)?;
        for _ in 0..2 {
            let db = place.open(options());
            assert_eq!(db.table_names(), ["Near", "Other", "T"]);
            assert_eq!(all(&db, "T")?, expected);
            assert_eq!(all(&db, "Other")?.len(), 6);
            let names: Vec<_> = db.table("T")?.indexes().map(|(name, _)| name.to_owned()).collect();
            assert_eq!(names, ["primary", "by_n", "by_text"]);
            db.drop_table(&db.create_table(schema("Later"))?)?;
        }
    }
    Ok(())
}

/// The log says what was replaced, and nothing of what passed.
fn check_log(place: &TempFolder) -> Result<()> {
    let mut words = Vec::new();
    let damage = Database::read_log(&*place.folder(), &mut |entry| {
        let operations: Vec<_> = entry.operations().map(|it| it.expect("it can be read")).collect();
        let defined = operations.iter().filter_map(|it| it.definition()).map(|it| it.2);
        words.push(defined.collect::<Vec<_>>().join("; "));
        std::ops::ControlFlow::Continue(())
    })?;
    assert_eq!(damage, None);
    let whole = "drop the table; create table T; create index by_text of T";
    // Behind a checkpoint it is not there any more.
    assert!(words.iter().any(|it| it == whole) || !words.iter().any(|it| it.contains('T')));
    assert!(!words.iter().any(|it| it.contains("Passing")));
    Ok(())
}

/// Images, backups, checkpoints and what cleans up neither wait for a transaction that defines, on
/// the same thread, nor see a part of it.
#[test]
fn maintenance_beside_a_transaction_that_defines() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options().freeze_at_checkpoint(true));
    filled(&db, "T", 0..400, 1)?;
    let before = std::time::Instant::now();
    let tx = db.begin_write()?;
    let new = replace(&tx, "T")?;
    tx.create_index(&db.table("T")?, IndexSchema::new("hidden", ["text"])).map(|_| ()).unwrap_err();
    tx.create_index(&new, IndexSchema::new("by_text", ["text"]))?;
    db.checkpoint()?;
    let mut image = Vec::new();
    db.save(&mut image)?;
    db.backup(&Folder::create(place.path().join("copy")).expect("a folder"))?;
    db.reclaim();
    db.release_memory();
    assert_eq!((db.memory_by_table()?.len(), db.statistics().writers), (1, 1));
    tx.commit()?;
    assert!(before.elapsed() < std::time::Duration::from_secs(4), "nobody has waited");
    let copy = Database::load(options(), &mut image.as_slice())?;
    assert!(all(&copy, "T")?.iter().all(|&(_, n)| n == 1));
    let copy = Database::open_at(place.path().join("copy"), options())?;
    assert!(all(&copy, "T")?.iter().all(|&(_, n)| n == 1));
    drop(db);
    let db = place.open(options());
    assert!(all(&db, "T")?.iter().all(|&(_, n)| n == 2));
    assert_eq!(all(&db, "T")?.len(), 400);
    Ok(())
}

/// Every allocation of a replacement fails, and all after it: it is as if it had not been tried.
#[test]
fn a_replacement_that_memory_fails_leaves_nothing() -> Result<()> {
    let db = Database::open(options())?;
    let table = filled(&db, "T", 0..60, 1)?;
    let attempt = || -> Result<()> {
        let tx = db.begin_write()?;
        let new = replace(&tx, "T")?;
        tx.create_index(&new, IndexSchema::new("by_text", ["text"]))?;
        tx.commit().map(|_| ())
    };
    // What slots keep is there then.
    let tx = db.begin_write()?;
    replace(&tx, "T")?;
    drop(tx);
    db.reclaim();
    let before = held(&db.memory());
    for n in 1.. {
        db.fail_allocations_from(n);
        let done = attempt();
        db.fail_allocations_from(0);
        if done.is_ok() {
            assert!(n > 10, "something was allocated: {n}");
            assert!(all(&db, "T")?.iter().all(|&(_, n)| n == 2));
            return Ok(());
        }
        assert!(done.is_err_and(|error| error.is_out_of_memory()), "{n}");
        assert_eq!(rows(&*db.begin_write()?, &table)?.len(), 60);
        db.reclaim();
        assert_eq!(held(&db.memory()), before, "{n}");
        assert_eq!(db.table_names(), ["T"]);
    }
    Ok(())
}

/// A table that many rows were taken back of is dropped in the same transaction, and so on: what is
/// left behind of it in the queues is of no table any more.
#[test]
fn rows_of_tables_that_passed_are_cleaned_up() -> Result<()> {
    let db = Database::open(options())?;
    let empty = held(&db.memory());
    let keeper = db.create_table(schema("Keeper"))?;
    for round in 0..3 {
        let tx = db.begin_write()?;
        let table = tx.create_table(schema("T"))?;
        (0..5000).try_for_each(|id| insert(&tx, &table, id, round))?;
        let before = tx.savepoint();
        (5000..9000).try_for_each(|id| insert(&tx, &table, id, round))?;
        tx.roll_back_to(before)?;
        insert(&tx, &keeper, round, round)?;
        tx.commit()?;
        let table = db.table("T")?;
        db.write(|tx| {
            let ids: Vec<_> = tx.scan(&table)?.map(|row| row.id()).take(1000).collect();
            ids.iter().try_for_each(|&id| tx.delete(&table, id))?;
            tx.drop_table(&table)
        })?;
        assert_eq!(db.table_names(), ["Keeper"]);
    }
    assert_eq!(all(&db, "Keeper")?.len(), 3);
    db.drop_table(&keeper)?;
    db.reclaim();
    assert_eq!(held(&db.memory())[..3], empty[..3]);
    Ok(())
}

/// Serializable work that is repeated so often that it runs in exclusive mode may define as well.
#[test]
fn exclusive_work_defines() -> Result<()> {
    let db = Database::open(options())?;
    filled(&db, "T", 0..5, 1)?;
    let mut attempts = 0;
    db.write(|tx| {
        attempts += 1;
        if attempts < 16 {
            return Err(conflict());
        }
        replace(tx, "T").map(|_| ())
    })?;
    assert!(all(&db, "T")?.iter().all(|&(_, n)| n == 2));
    db.write(|tx| insert(tx, &db.table("T")?, 9, 2))
}

/// A conflict as the engine itself says it.
fn conflict() -> remanent_engine::Error {
    let db = Database::open(options()).expect("a database");
    let table = filled(&db, "T", 0..1, 1).expect("a table");
    let row =
        db.read(|tx| Ok(tx.scan(&table)?.map(|row| row.id()).next())).expect("it can be read");
    let row = row.expect("a row");
    let (first, second) = (db.begin_write().expect("a slot"), db.begin_write().expect("a slot"));
    first.delete(&table, row).expect("nobody else has it");
    second.delete(&table, row).expect_err("the first has it")
}
