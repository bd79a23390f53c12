//! Databases in folders: what was committed is there again after they are opened anew.
//!
//! Each test works in a folder of its own, through the real file system. What the file system may
//! do when the machine stops is tried by the simulator.

#[path = "durability/temp_folder.rs"]
mod temp_folder;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use remanent_engine::schema::*;
use remanent_engine::{
    Batch, Database, Durability, ErrorKind, Find, Options, RecoverUntil, RowId, Set, Storage,
    Table, TransactionOptions,
};
use temp_folder::TempFolder;

fn numbers() -> TableSchema {
    TableSchema::new("Number")
        .column("n", ColumnType::U64)
        .column("text", ColumnType::STRING)
        .primary_key(["n"])
}

fn insert(db: &Database, table: &Table, n: u64, text: &str) -> RowId {
    db.write(|tx| tx.insert_values(table, &[Some(n.into()), Some(text.into())])).unwrap()
}

fn names_in(place: &TempFolder) -> Vec<String> {
    let mut names = place.folder().names().unwrap();
    names.sort();
    names
}

/// All rows in the order of the primary key, which the index has to know, and those of a scan.
fn content(db: &Database) -> Vec<(u64, String)> {
    let table = db.table("Number").unwrap();
    let (n, text) = (table.column("n").unwrap(), table.column("text").unwrap());
    let tx = db.begin_read().unwrap();
    let mut cursor = tx.cursor(&table, table.index("primary").unwrap()).unwrap();
    let mut rows = Vec::new();
    let mut found = cursor.first();
    while let Some(row) = found {
        rows.push((row.get(n).unwrap(), row.str(text).unwrap().to_owned()));
        found = cursor.next();
    }
    assert_eq!(tx.scan(&table).unwrap().count(), rows.len());
    rows
}

#[test]
fn commits_are_there_again_at_every_durability_level() {
    for durability in Durability::LOCAL {
        let place = TempFolder::new();
        let options = || Options::new().budget(64 << 20).durability(durability);
        let db = place.open(options());
        let table = db.create_table(numbers()).unwrap();
        for n in 0..100 {
            insert(&db, &table, n, "first");
        }
        let row = insert(&db, &table, 1000, "to be deleted");
        db.write(|tx| tx.delete(&table, row)).unwrap();
        let text = table.column("text").unwrap();
        let primary = table.index("primary").unwrap();
        db.write(|tx| {
            let row = tx.find(&table, primary, &[7.into()])?.unwrap().id();
            tx.update_values(&table, row, &[(text, "changed".into())])
        })
        .unwrap();
        let before = content(&db);
        let clock = db.begin_read().unwrap().timestamp();
        drop((table, db));

        let db = place.open(options());
        assert_eq!(content(&db), before);
        assert_eq!(before[7], (7, "changed".to_owned()));
        assert!(db.begin_read().unwrap().timestamp() >= clock);
        assert!(db.damage().is_none());
    }
}

#[test]
fn opened_many_times() {
    let place = TempFolder::new();
    for round in 0..20_u64 {
        let db = place.open(Options::new().budget(64 << 20).durability(Durability::Buffered));
        let table = db.table("Number").or_else(|_| db.create_table(numbers())).unwrap();
        assert_eq!(content(&db).len() as u64, round * 3);
        for n in 0..3 {
            insert(&db, &table, round * 3 + n, "row");
        }
        if round % 5 == 4 {
            db.checkpoint().unwrap();
        }
    }
}

#[test]
fn a_transaction_larger_than_buffer_and_file() {
    let place = TempFolder::new();
    let options =
        || Options::new().budget(256 << 20).log_file_size(256 << 10).log_buffer_size(128 << 10);
    let db = place.open(options());
    let table = db.create_table(numbers()).unwrap();
    let long = "x".repeat(200_000);
    db.write(|tx| {
        for n in 0..20_000 {
            tx.insert_values(&table, &[Some(Value::U64(n)), Some("a row of many".into())])?;
        }
        tx.insert_values(&table, &[Some(Value::U64(50_000)), Some(long.as_str().into())])
    })
    .unwrap();
    insert(&db, &table, 60_000, "after it");
    let before = content(&db);
    drop((table, db));
    assert!(names_in(&place).iter().filter(|name| name.starts_with("log-")).count() > 3);
    let db = place.open(options());
    assert!(content(&db) == before && before.len() == 20_002);
}

#[test]
fn tables_indexes_and_sets_are_there_again() {
    let place = TempFolder::new();
    let options = || Options::new().budget(64 << 20);
    let db = place.open(options());
    let gone = db.create_table(TableSchema::new("Gone").column("a", ColumnType::I32)).unwrap();
    db.write(|tx| tx.insert_values(&gone, &[Some(1.into())])).unwrap();
    let table = db.create_table(numbers()).unwrap();
    let rows: Vec<_> = (0..10).map(|n| insert(&db, &table, n, "row")).collect();
    db.drop_table(&gone).unwrap();
    db.create_index(&table, IndexSchema::new("by_text", ["text", "n"])).unwrap();
    let wrong = db.create_index(&table, IndexSchema::new("wrong", ["text"])).unwrap();
    db.drop_index(&table, wrong).unwrap();
    let set = SetSchema::new("Follows", "Number", SetOrder::Last).member("Number");
    let set = db.create_set(set).unwrap();
    let connect = |db: &Database, set: &Set, table: &Table, member: RowId| {
        db.write(|tx| tx.connect(set, rows[0], table, member)).unwrap();
    };
    connect(&db, &set, &table, rows[3]);
    connect(&db, &set, &table, rows[2]);
    drop((gone, table, set, db));

    let db = place.open(options());
    assert_eq!(db.table_names(), ["Follows", "Number"]);
    let (table, set) = (db.table("Number").unwrap(), db.set("Follows").unwrap());
    assert!(table.index("by_text").is_ok() && table.index("wrong").is_err());
    connect(&db, &set, &table, rows[1]);
    let order = |db: &Database| -> Vec<RowId> {
        let (table, set) = (db.table("Number").unwrap(), db.set("Follows").unwrap());
        let tx = db.begin_read().unwrap();
        let _ = &table;
        let mut members = tx.members(&set, rows[0]).unwrap();
        std::iter::from_fn(|| members.next().unwrap().map(|member| member.row().id())).collect()
    };
    assert_eq!(order(&db), [rows[3], rows[2], rows[1]]);
    // The number of a table that was dropped is not given out again, by log or image.
    db.checkpoint().unwrap();
    db.create_table(TableSchema::new("Later").column("a", ColumnType::I32)).unwrap();
    drop((table, set, db));
    let db = place.open(options());
    assert_eq!(db.table_names(), ["Follows", "Later", "Number"]);
    assert_eq!(order(&db), [rows[3], rows[2], rows[1]]);
}

#[test]
fn row_ids_are_used_again_before_and_after() {
    let place = TempFolder::new();
    let options = || Options::new().budget(64 << 20).durability(Durability::Buffered);
    let db = place.open(options());
    let table = db.create_table(numbers()).unwrap();
    let mut highest = 0_u64;
    for n in 0..2000 {
        let row = insert(&db, &table, n, "short lived");
        highest = highest.max(row.number());
        if n % 3 != 0 {
            db.write(|tx| tx.delete(&table, row)).unwrap();
        }
    }
    let before = content(&db);
    drop((table, db));
    let db = place.open(options());
    assert_eq!(content(&db), before);
    let table = db.table("Number").unwrap();
    let free = highest + 1 - before.len() as u64;
    for n in 0..free {
        let row = insert(&db, &table, 10_000 + n, "fills a gap");
        assert!(row.number() <= highest, "a free row id was not used");
    }
}

#[test]
fn a_checkpoint_lets_older_files_go() {
    let place = TempFolder::new();
    let options = || {
        Options::new()
            .budget(64 << 20)
            .durability(Durability::Os)
            .log_file_size(256 << 10)
            .checkpoint_after(256 << 10)
    };
    let db = place.open(options());
    let table = db.create_table(numbers()).unwrap();
    for n in 0..20_000 {
        insert(&db, &table, n % 50 + n / 10_000 * 50, &format!("row {n}"));
        db.write(|tx| {
            let row =
                tx.find(&table, table.index("primary")?, &[(n % 50 + n / 10_000 * 50).into()])?;
            tx.delete(&table, row.unwrap().id())
        })
        .unwrap();
    }
    insert(&db, &table, 7, "stays");
    let names = names_in(&place);
    assert!(names.iter().filter(|name| name.starts_with("image-")).count() == 1, "{names:?}");
    assert!(names.iter().filter(|name| name.starts_with("log-")).count() <= 8, "{names:?}");
    let before = content(&db);
    drop((table, db));
    let db = place.open(options());
    assert_eq!(content(&db), before);
}

#[test]
fn a_copy_made_while_it_is_open_and_an_earlier_moment() {
    let (place, copy) = (TempFolder::new(), TempFolder::new());
    let options = || Options::new().budget(64 << 20).keep_history(true);
    let db = place.open(options());
    let table = db.create_table(numbers()).unwrap();
    insert(&db, &table, 1, "one");
    db.checkpoint().unwrap();
    let (_, ticket) = db
        .write_with_ticket(|tx| tx.insert_values(&table, &[Some(2.into()), Some("two".into())]))
        .unwrap();
    insert(&db, &table, 3, "three");
    db.backup(&*copy.folder()).unwrap();
    insert(&db, &table, 4, "four");
    assert_eq!(db.backup(&*copy.folder()).unwrap_err().kind(), ErrorKind::InvalidOptions);
    drop((table, db));

    let db = copy.open(options());
    assert_eq!(content(&db).len(), 3);
    let until = |until| content(&Database::recover(&*place.folder(), options(), until).unwrap());
    assert_eq!(until(RecoverUntil::Timestamp(ticket.timestamp())).len(), 2);
    assert_eq!(until(RecoverUntil::Timestamp(ticket.timestamp() - 1)).len(), 1);
    assert_eq!(until(RecoverUntil::End).len(), 4);
    assert_eq!(until(RecoverUntil::TimeUs(u64::MAX)).len(), 4);
}

#[test]
fn one_opener_at_a_time() {
    let place = TempFolder::new();
    let db = place.open(Options::new().budget(64 << 20));
    let error = Database::open_at(place.path(), Options::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DatabaseInUse);
    drop(db);
    Database::open_at(place.path(), Options::new().budget(64 << 20)).unwrap();
}

#[test]
fn a_ticket_is_made_more_durable_later() {
    let place = TempFolder::new();
    let db = place.open(Options::new().budget(64 << 20).durability(Durability::Buffered));
    let table = db.create_table(numbers()).unwrap();
    let row = [Some(Value::U64(1)), Some("one".into())];
    let (_, ticket) = db.write_with_ticket(|tx| tx.insert_values(&table, &row)).unwrap();
    assert_eq!(db.durability_of(&ticket), Durability::Buffered);
    db.wait_for(&ticket, Durability::Os).unwrap();
    assert_eq!(db.durability_of(&ticket), Durability::Os);
    db.wait_for(&ticket, Durability::Disk).unwrap();
    assert_eq!(db.durability_of(&ticket), Durability::Disk);

    let options = TransactionOptions::new().durability(Durability::Os);
    let tx = db.begin_write_with(&options).unwrap();
    tx.insert_values(&table, &[Some(Value::U64(2)), Some("two".into())]).unwrap();
    assert_eq!(db.durability_of(&tx.commit().unwrap()), Durability::Os);
}

#[test]
fn many_threads_share_syncs() {
    let place = TempFolder::new();
    let db = place.open(Options::new().budget(64 << 20));
    let table = db.create_table(numbers()).unwrap();
    let before = db.log_statistics().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (db, table) = (&db, &table);
            scope.spawn(move || {
                for n in 0..50 {
                    insert(db, table, thread * 1000 + n, "row");
                }
            });
        }
    });
    let after = db.log_statistics().unwrap();
    assert_eq!(after.commits - before.commits, 800);
    assert!(after.syncs - before.syncs <= 800);
    drop((table, db));
    assert_eq!(content(&place.open(Options::new().budget(64 << 20))).len(), 800);
}

#[test]
fn small_updates_log_what_differs() {
    let place = TempFolder::new();
    let db = place.open(Options::new().budget(64 << 20).durability(Durability::Buffered));
    let table = db.create_table(numbers()).unwrap();
    let text = "a long text that does not change ".repeat(30);
    let row = insert(&db, &table, 1, &text);
    let before = db.log_statistics().unwrap().bytes;
    let n = table.column("n").unwrap();
    for number in 2..102_u64 {
        db.write(|tx| tx.update_values(&table, row, &[(n, number.into())])).unwrap();
    }
    let each = (db.log_statistics().unwrap().bytes - before) / 100;
    assert!(each < 40, "{each} bytes");
    drop((table, db));
    let db = place.open(Options::new().budget(64 << 20));
    assert_eq!(content(&db), [(101, text)]);
    let table = db.table("Number").unwrap();
    let tx = db.begin_read().unwrap();
    let mut cursor = tx.cursor(&table, table.index("primary").unwrap()).unwrap();
    assert!(cursor.find(Find::Equal, &[5.into()]).unwrap().is_none());
}

#[test]
fn a_sync_waits_for_others_when_it_is_told_to() {
    let place = TempFolder::new();
    let batch = Batch { commits: 4, time: Duration::from_secs(2), ..Batch::NEVER };
    let db = place.open(Options::new().budget(64 << 20).group_commits(batch));
    let begin = Instant::now();
    let table = db.create_table(numbers()).unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(2), "nobody else came");
    let before = db.log_statistics().unwrap().syncs;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (db, table) = (&db, &table);
            scope.spawn(move || insert(db, table, thread, "row"));
        }
    });
    assert!(db.log_statistics().unwrap().syncs - before <= 2);
    // Closing waits for nobody.
    let begin = Instant::now();
    drop(db);
    assert!(begin.elapsed() < Duration::from_millis(1900));
    let error = Database::open_at(
        place.path().join("other"),
        Options::new().group_commits(Batch { time: Duration::from_secs(11), ..batch }),
    );
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidOptions);
}

#[test]
fn what_is_not_synced_is_bounded_when_it_is_told_to() {
    let options = || Options::new().budget(64 << 20).durability(Durability::Buffered);
    for batch in [
        Batch { commits: 5, ..Batch::NEVER },
        Batch { bytes: 5000, ..Batch::NEVER },
        Batch { time: Duration::from_millis(20), ..Batch::NEVER },
    ] {
        let place = TempFolder::new();
        let db = place.open(options().sync_after(batch));
        let table = db.create_table(numbers()).unwrap();
        let (mut synced, text) = (0, "row ".repeat(250));
        for n in 0..20 {
            let row = [Some(Value::U64(n)), Some(text.as_str().into())];
            let (_, ticket) = db.write_with_ticket(|tx| tx.insert_values(&table, &row)).unwrap();
            synced += u64::from(db.durability_of(&ticket) == Durability::Disk);
            std::thread::sleep(Duration::from_millis(u64::from(batch.time < Duration::MAX) * 5));
        }
        // A thread that has to wait for its turn lets more time pass than it was told to.
        let most = if batch.time < Duration::MAX { 20 } else { 10 };
        assert!((2..=most).contains(&synced), "{batch:?}: {synced} of 20");
    }
}

/// Small rows, one a transaction: what the log adds to them is a few bytes.
#[test]
fn the_log_is_little_more_than_the_rows() {
    let place = TempFolder::new();
    let db = place.open(Options::new().budget(64 << 20).durability(Durability::Buffered));
    let schema = TableSchema::new("Pair")
        .column("key", ColumnType::BLOB)
        .column("value", ColumnType::BLOB)
        .primary_key(["key"]);
    let table = db.create_table(schema).unwrap();
    let before = db.log_statistics().unwrap();
    let mut rows = 0;
    for n in 0..20_000_u64 {
        let key = n.to_be_bytes();
        let pair = [Some(Value::Bytes(&key)), Some(Value::Bytes(&[7; 32]))];
        db.write(|tx| {
            let row = tx.insert_values(&table, &pair)?;
            rows += tx.row(&table, row)?.map_or(0, |row| row.bytes().len());
            Ok(())
        })
        .unwrap();
    }
    let after = db.log_statistics().unwrap();
    assert_eq!(after.commits - before.commits, 20_000);
    let ratio = (after.bytes - before.bytes) as f64 / rows as f64;
    assert!(ratio <= 1.3, "{ratio} bytes of log for a byte of rows");
}

#[test]
fn what_opening_reads_and_takes_is_told() {
    let place = TempFolder::new();
    let options = || Options::new().budget(64 << 20).durability(Durability::Buffered);
    let db = place.open(options());
    let table = db.create_table(numbers()).unwrap();
    for n in 0..80 {
        if n == 50 {
            db.checkpoint().unwrap();
        }
        insert(&db, &table, n, "in the image, or in the log");
    }
    drop((table, db));
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let db = place.open(options().progress(move |progress| seen.lock().unwrap().push(*progress)));
    let told = told.lock().unwrap();
    let last = told.last().unwrap();
    assert_eq!((last.rows, last.commits, last.changes), (50, 30, 30));
    assert!(last.bytes > 3000 && last.bytes_done == last.bytes, "{last:?}");
    assert!(told.is_sorted_by_key(|progress| progress.bytes_done));
    // The log's buffers are part of the budget.
    let (memory, alone) = (db.memory(), Database::open(Options::new().budget(64 << 20)).unwrap());
    assert!(memory.log > 0 && alone.memory().log == 0);
    assert!(memory.held > memory.log + alone.memory().held);
}

fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    now.as_micros() as u64
}

#[test]
fn what_was_committed_after_a_moment_is_not_there() {
    let place = TempFolder::new();
    let options = || Options::new().budget(64 << 20).keep_history(true);
    let before = now_us();
    let db = place.open(options());
    let table = db.create_table(numbers()).unwrap();
    insert(&db, &table, 1, &"before".repeat(1000));
    std::thread::sleep(Duration::from_millis(20));
    let moment = now_us();
    std::thread::sleep(Duration::from_millis(1100));
    insert(&db, &table, 2, "after");
    drop((table, db));
    let until = |time| Database::recover(&*place.folder(), options(), RecoverUntil::TimeUs(time));
    assert_eq!(content(&until(moment).unwrap()).len(), 1);
    assert_eq!(content(&until(now_us()).unwrap()).len(), 2);
    assert!(until(before - 1).unwrap().table_names().is_empty());
}

#[test]
fn a_moment_before_the_oldest_image_is_refused() {
    let place = TempFolder::new();
    let moment = now_us() - 1;
    let options = || Options::new().budget(64 << 20);
    let db = place.open(options());
    let table = db.create_table(numbers()).unwrap();
    insert(&db, &table, 1, "one");
    db.checkpoint().unwrap();
    drop((table, db));
    let until = |time| Database::recover(&*place.folder(), options(), RecoverUntil::TimeUs(time));
    assert_eq!(until(moment).unwrap_err().kind(), ErrorKind::InvalidOptions);
    assert_eq!(content(&until(now_us()).unwrap()).len(), 1);
}
