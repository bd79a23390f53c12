//! Every kind of error, provoked: its kind, and a message that names what was at fault.
//!
//! A statement that is refused has changed nothing, and its transaction goes on: most tests make
//! one refused statement after the other in a transaction that then commits its other changes. The
//! last test checks that no kind was left out.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use remanent_derive::Record;
use remanent_engine::schema::{
    ColumnType, IndexSchema, KeyPart, Record as _, SetOrder, SetSchema, TableSchema, Value,
};
use remanent_engine::{
    CallerMemory, Database, Durability, Error, ErrorKind, Find, Folder, Options, Replica, Result,
    RowId, Storage, StorageFile, Table, TransactionOptions,
};

#[derive(Record, Debug, PartialEq)]
#[record(name = "Item", primary_key(id), unique_hash_index(by_code(code)), index(by_text(text)))]
struct Item<'a> {
    id: u32,
    #[record(max = 8)]
    text: &'a str,
    code: Option<i16>,
    small: u8,
}

/// The same table with another type in a column.
#[derive(Record)]
#[record(name = "Item", primary_key(id), unique_hash_index(by_code(code)), index(by_text(text)))]
struct OtherColumns<'a> {
    id: u64,
    #[record(max = 8)]
    text: &'a str,
    code: Option<i16>,
    small: u8,
}

/// The same table with another index.
#[derive(Record)]
#[record(name = "Item", primary_key(id), hash_index(by_code(code)), index(by_text(text)))]
struct OtherIndexes<'a> {
    id: u32,
    #[record(max = 8)]
    text: &'a str,
    code: Option<i16>,
    small: u8,
}

fn database() -> Database {
    Database::open(Options::new().budget(64 << 20)).expect("64 MiB hold a database")
}

fn table(db: &Database) -> Result<Table> {
    db.create_table(Item::schema())
}

fn values(id: u32, code: i16) -> [Option<Value<'static>>; 4] {
    [Some(Value::U32(id)), Some("text".into()), Some(Value::I16(code)), Some(Value::U8(1))]
}

/// Checks an error's kind and that its message says `about`.
#[track_caller]
fn check<T>(done: Result<T>, kind: ErrorKind, about: &str) {
    let error = done.err().expect("it is refused");
    assert_eq!(error.kind(), kind, "{error}");
    let message = error.to_string();
    assert!(message.contains(about), "{message:?} does not say {about:?}");
    assert!(format!("{error:?}").contains(&format!("{kind:?}")));
}

#[test]
fn values_that_a_column_refuses() -> Result<()> {
    let db = database();
    let table = table(&db)?;
    let (text, code) = (table.column("text")?, table.column("code")?);
    let (small, by_code) = (table.column("small")?, table.index("by_code")?);
    let tx = db.begin_write()?;
    let row = tx.insert_values(&table, &values(1, 1))?;
    let insert = |place: usize, value: Option<Value<'static>>| {
        let mut values = values(2, 2);
        values[place] = value;
        tx.insert_values(&table, &values)
    };
    check(insert(0, Some("one".into())), ErrorKind::WrongType, "id");
    check(insert(1, Some(Value::U8(1))), ErrorKind::WrongType, "text");
    check(insert(1, Some("123456789".into())), ErrorKind::ValueTooLong, "text");
    check(insert(3, Some(Value::U32(256))), ErrorKind::ValueOutOfRange, "small");
    check(insert(3, Some(Value::I8(-1))), ErrorKind::ValueOutOfRange, "small");
    check(insert(0, None), ErrorKind::NullInNotNull, "id");
    check(insert(1, Some(Value::Null)), ErrorKind::NullInNotNull, "text");
    let five = [Some(Value::U8(1)); 5];
    check(tx.insert_values(&table, &five), ErrorKind::WrongType, "5 values");
    let update = |column, value| tx.update_values(&table, row, &[(column, value)]);
    check(update(text, "123456789".into()), ErrorKind::ValueTooLong, "text");
    check(update(text, Value::Null), ErrorKind::NullInNotNull, "text");
    check(update(code, Value::I32(40_000)), ErrorKind::ValueOutOfRange, "code");
    check(update(small, Value::Bool(true)), ErrorKind::WrongType, "small");
    // Nothing of a refused update stays, not even the columns before the one at fault.
    let both = [(small, Value::U8(9)), (text, Value::Null)];
    check(tx.update_values(&table, row, &both), ErrorKind::NullInNotNull, "text");
    update(small, Value::U8(2))?;
    tx.commit()?;
    let tx = db.begin_read()?;
    assert_eq!(tx.scan(&table)?.count(), 1);
    let row = tx.find(&table, by_code, &[Value::I16(1)])?.expect("it was committed");
    assert_eq!((row.get::<u8>(small), row.str(text)), (Some(2), Some("text")));
    Ok(())
}

#[test]
fn typed_records_that_a_column_refuses() -> Result<()> {
    let db = database();
    let items = db.create_table_of::<Item<'_>>()?;
    let tx = db.begin_write()?;
    let item = Item { id: 1, text: "123456789", code: None, small: 0 };
    check(tx.insert(&items, &item), ErrorKind::ValueTooLong, "text");
    let row = tx.insert(&items, &Item { text: "short", ..item })?;
    let item = Item { id: 1, text: "123456789", code: None, small: 0 };
    check(tx.update(&items, row, &item), ErrorKind::ValueTooLong, "text");
    tx.commit()?;
    let tx = db.begin_read()?;
    let found = tx.get(&items, &ItemPrimary { id: 1 })?;
    assert_eq!(found.map(|item| item.text), Some("short"));
    Ok(())
}

#[test]
fn keys_held_twice() -> Result<()> {
    let db = database();
    let table = table(&db)?;
    let (id, code) = (table.column("id")?, table.column("code")?);
    let tx = db.begin_write()?;
    let first = tx.insert_values(&table, &values(1, 1))?;
    let second = tx.insert_values(&table, &values(2, 2))?;
    let duplicate = ErrorKind::DuplicateKey;
    check(tx.insert_values(&table, &values(1, 3)), duplicate, "`primary` of `Item`");
    check(tx.insert_values(&table, &values(3, 1)), duplicate, "`by_code` of `Item`");
    let update = |row, column, value| tx.update_values(&table, row, &[(column, value)]);
    check(update(first, id, Value::U32(2)), duplicate, "`primary`");
    check(update(second, code, Value::I16(1)), duplicate, "`by_code`");
    // Keys change places by way of a third one, and NULL is never a duplicate.
    update(first, id, Value::U32(3))?;
    update(second, id, Value::U32(1))?;
    update(first, id, Value::U32(2))?;
    update(first, code, Value::Null)?;
    update(second, code, Value::Null)?;
    tx.commit()?;
    db.write(|tx| {
        check(tx.insert_values(&table, &values(1, 9)), duplicate, "`primary`");
        tx.delete(&table, second)?;
        tx.insert_values(&table, &values(1, 9)).map(|_| ())
    })?;
    assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count()))?, 2);
    Ok(())
}

#[test]
fn the_second_to_change_a_row_or_take_a_key() -> Result<()> {
    let db = database();
    let table = table(&db)?;
    let small = table.column("small")?;
    let change = [(small, Value::U8(7))];
    let row = db.write(|tx| tx.insert_values(&table, &values(1, 1)))?;
    let (first, second) = (db.begin_write()?, db.begin_write()?);
    first.update_values(&table, row, &change)?;
    first.insert_values(&table, &values(2, 2))?;
    let conflict = ErrorKind::Conflict;
    check(second.update_values(&table, row, &change), conflict, "id 1 of `Item`");
    check(second.delete(&table, row), conflict, "`Item`");
    check(second.insert_values(&table, &values(2, 5)), conflict, "`primary`");
    check(second.insert_values(&table, &values(5, 2)), conflict, "`by_code`");
    let own = second.insert_values(&table, &values(6, 6))?;
    first.commit()?;
    // Committed or not: this snapshot is older.
    check(second.update_values(&table, row, &change), conflict, "`Item`");
    check(second.insert_values(&table, &values(2, 5)), conflict, "`primary`");
    second.update_values(&table, own, &change)?;
    second.commit()?;
    let error = db.begin_write()?.delete(&table, RowId::from_number(77).expect("it is small"));
    check(error, ErrorKind::RowNotFound, "row 77 of `Item`");
    assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count()))?, 3);
    Ok(())
}

#[test]
fn rows_that_are_not_there() -> Result<()> {
    let db = database();
    let table = table(&db)?;
    let small = table.column("small")?;
    let row = db.write(|tx| tx.insert_values(&table, &values(1, 1)))?;
    let tx = db.begin_write()?;
    tx.delete(&table, row)?;
    let missing = ErrorKind::RowNotFound;
    check(tx.delete(&table, row), missing, "row 0 of `Item`");
    check(tx.update_values(&table, row, &[(small, Value::U8(1))]), missing, "`Item`");
    let never = RowId::from_number(u64::from(u32::MAX)).expect("the last one");
    check(tx.delete(&table, never), missing, "4294967295");
    assert!(tx.row(&table, row)?.is_none() && tx.row(&table, never)?.is_none());
    assert!(RowId::from_number(1 << 32).is_none());
    tx.commit()?;
    db.reclaim();
    check(db.begin_write()?.delete(&table, row), missing, "row 0");
    Ok(())
}

#[test]
fn keys_that_do_not_fit_their_index() -> Result<()> {
    let db = database();
    let schema = TableSchema::new("T")
        .column("a", ColumnType::U8)
        .column("b", ColumnType::String { max: None })
        .primary_key(["a", "b"])
        .hash_index("hash", [KeyPart::asc("b"), KeyPart::desc("a")]);
    let table = db.create_table(schema)?;
    let (primary, hash) = (table.index("primary")?, table.index("hash")?);
    let tx = db.begin_write()?;
    let shape = ErrorKind::WrongKeyShape;
    let one = Value::U8(1);
    check(tx.find(&table, primary, &[one]), shape, "`primary` has 2 parts, 1 were given");
    check(tx.find(&table, hash, &["b".into()]), shape, "`hash`");
    check(tx.find(&table, primary, &[one, one]), shape, "`primary`: key part 2");
    check(tx.find(&table, primary, &[Value::Null, one]), shape, "`primary`: key part 1");
    check(tx.each(&table, primary, &[one; 3], |_| Ok(())), shape, "`primary`");
    check(tx.each(&table, hash, &["b".into()], |_| Ok(())), shape, "`hash`");
    let out_of_range = tx.each(&table, primary, &[Value::U16(256)], |_| Ok(()));
    check(out_of_range, ErrorKind::ValueOutOfRange, "`primary`: key part 1");
    let mut cursor = tx.cursor(&table, primary)?;
    check(cursor.find(Find::AtLeast, &["x".into()]), shape, "`primary`");
    check(tx.cursor(&table, hash), ErrorKind::WrongIndexKind, "`hash`");
    // A key of 1024 bytes, its end mark included, is the longest there can be.
    let long = "k".repeat(1022);
    let (fits, too_long) = (Value::String(&long[..1021]), Value::String(&long));
    let row = tx.insert_values(&table, &[Some(one), Some(fits)])?;
    let refused = tx.insert_values(&table, &[Some(one), Some(too_long)]);
    check(refused, ErrorKind::KeyTooLong, "`primary`");
    let refused = tx.update_values(&table, row, &[(table.column("b")?, too_long)]);
    check(refused, ErrorKind::KeyTooLong, "`primary`");
    check(tx.find(&table, primary, &[one, too_long]), ErrorKind::KeyTooLong, "`primary`");
    tx.commit()?;
    assert!(db.begin_read()?.find(&table, primary, &[one, fits])?.is_some());
    assert_eq!(db.begin_read()?.scan(&table)?.count(), 1);
    Ok(())
}

#[test]
fn a_new_index_that_the_rows_do_not_fit() -> Result<()> {
    let db = database();
    let schema = TableSchema::new("T")
        .column("a", ColumnType::U8)
        .column("b", ColumnType::String { max: None });
    let table = db.create_table(schema)?;
    let long = "k".repeat(2000);
    let rows = ["x", "x", &long];
    db.write(|tx| {
        rows.iter().try_for_each(|b| {
            tx.insert_values(&table, &[Some(Value::U8(1)), Some((*b).into())]).map(|_| ())
        })
    })?;
    let before = db.memory().indexes;
    let create = |index: IndexSchema| db.create_index(&table, index);
    check(create(IndexSchema::new("i", ["a"]).unique()), ErrorKind::DuplicateKey, "`i` of `T`");
    check(create(IndexSchema::new("i", ["a"]).hash().unique()), ErrorKind::DuplicateKey, "`i`");
    check(create(IndexSchema::new("i", ["b"])), ErrorKind::KeyTooLong, "`i`");
    check(create(IndexSchema::new("i", ["b"]).hash()), ErrorKind::KeyTooLong, "`i`");
    check(create(IndexSchema::new("i", ["c"])), ErrorKind::InvalidSchema, "c");
    check(create(IndexSchema::new("", ["a"])), ErrorKind::InvalidSchema, "name");
    assert_eq!(db.memory().indexes, before, "nothing is left of them");
    create(IndexSchema::new("i", ["a"]))?;
    check(create(IndexSchema::new("i", ["a"])), ErrorKind::IndexExists, "`i` of `T`");
    Ok(())
}

#[test]
fn names_and_handles_that_mean_nothing() -> Result<()> {
    let (db, other_db) = (database(), database());
    let table = table(&db)?;
    let schema = TableSchema::new("Other").column("a", ColumnType::U8).primary_key(["a"]);
    let other = db.create_table(schema)?;
    let foreign = other_db.create_table(Item::schema())?;
    check(db.table("Nothing"), ErrorKind::UnknownTable, "`Nothing`");
    check(table.column("nothing"), ErrorKind::UnknownColumn, "`nothing` of `Item`");
    check(table.index("nothing"), ErrorKind::UnknownIndex, "`nothing` of `Item`");
    check(db.create_table(Item::schema()), ErrorKind::TableExists, "`Item`");
    let no_columns = db.create_table(TableSchema::new("Empty"));
    check(no_columns, ErrorKind::InvalidSchema, "columns");
    let tx = db.begin_write()?;
    let row = tx.insert_values(&table, &values(1, 1))?;
    let index = other.index("primary")?;
    check(tx.find(&table, index, &[Value::U8(1)]), ErrorKind::UnknownIndex, "`Item`");
    let change = [(other.column("a")?, Value::U8(1))];
    check(tx.update_values(&table, row, &change), ErrorKind::UnknownColumn, "`Item`");
    check(tx.insert_values(&foreign, &values(1, 1)), ErrorKind::UnknownTable, "`Item`");
    check(tx.scan(&foreign).map(|_| ()), ErrorKind::UnknownTable, "another database");
    let primary = foreign.index("primary")?;
    check(tx.find(&foreign, primary, &[Value::U32(1)]), ErrorKind::UnknownTable, "another");
    tx.commit()?;
    check(db.drop_table(&foreign), ErrorKind::UnknownTable, "another database");
    let created = db.create_index(&foreign, IndexSchema::new("i", ["id"]));
    check(created, ErrorKind::UnknownTable, "another database");
    Ok(())
}

#[test]
fn tables_and_indexes_that_were_dropped() -> Result<()> {
    let db = database();
    let items = db.create_table_of::<Item<'_>>()?;
    let (id, by_text) = (items.column("id")?, items.index("by_text")?);
    let (primary, by_code) = (items.index("primary")?, items.index("by_code")?);
    let row = db.write(|tx| tx.insert_values(&items, &values(1, 1)))?;
    db.drop_index(&items, by_text)?;
    db.drop_index(&items, by_code)?;
    db.read(|tx| {
        check(tx.find(&items, by_text, &["a".into()]), ErrorKind::UnknownIndex, "`Item`");
        check(tx.cursor(&items, by_text), ErrorKind::UnknownIndex, "`Item`");
        check(tx.get(&items, &ItemByText { text: "a" }), ErrorKind::UnknownIndex, "`Item`");
        let keys = [ItemByCode { code: None }];
        check(tx.get_batch(&items, &keys, |_, _| ()), ErrorKind::UnknownIndex, "`Item`");
        Ok(())
    })?;
    check(db.drop_index(&items, by_text), ErrorKind::UnknownIndex, "`Item`");
    check(items.index("by_text"), ErrorKind::UnknownIndex, "`by_text`");
    check(db.table_of::<Item<'_>>(), ErrorKind::SchemaMismatch, "`Item`");
    db.drop_table(&items)?;
    let gone = ErrorKind::UnknownTable;
    let tx = db.begin_write()?;
    check(tx.insert_values(&items, &values(2, 2)), gone, "`Item`");
    check(tx.update_values(&items, row, &[(id, Value::U32(2))]), gone, "`Item`");
    check(tx.delete(&items, row), gone, "`Item` was dropped");
    check(tx.scan(&items).map(|_| ()), gone, "`Item`");
    check(tx.row(&items, row), gone, "`Item`");
    check(tx.find(&items, primary, &[Value::U32(1)]), gone, "`Item`");
    check(tx.get(&items, &ItemPrimary { id: 1 }), gone, "`Item`");
    tx.commit()?;
    check(db.drop_table(&items), gone, "`Item` was dropped");
    check(db.create_index(&items, IndexSchema::new("i", ["id"])), gone, "`Item`");
    check(db.table("Item"), gone, "`Item`");
    // The name is free again, and the old handle does not mean the new table.
    let again = table(&db)?;
    db.write(|tx| tx.insert_values(&again, &values(1, 1)))?;
    check(db.begin_read()?.scan(&items).map(|_| ()), gone, "`Item`");
    Ok(())
}

#[test]
fn records_that_are_not_the_tables() -> Result<()> {
    let db = database();
    check(db.table_of::<Item<'_>>(), ErrorKind::UnknownTable, "`Item`");
    let table = table(&db)?;
    db.table_of::<Item<'_>>()?;
    check(db.table_of::<OtherColumns<'_>>(), ErrorKind::SchemaMismatch, "`Item`: its columns");
    check(db.table_of::<OtherIndexes<'_>>(), ErrorKind::SchemaMismatch, "`Item`: its indexes");
    // More indexes than the record has do not matter.
    db.create_index(&table, IndexSchema::new("late", ["small"]))?;
    db.table_of::<Item<'_>>().map(|_| ())
}

#[test]
fn transactions_and_savepoints_that_have_ended() -> Result<()> {
    let db = database();
    let table = table(&db)?;
    let small = table.column("small")?;
    let ended = ErrorKind::TransactionEnded;
    let (tx, other) = (db.begin_write()?, db.begin_write()?);
    let start = tx.savepoint();
    tx.insert_values(&table, &values(1, 1))?;
    let one = tx.savepoint();
    tx.insert_values(&table, &values(2, 2))?;
    let two = tx.savepoint();
    check(other.roll_back_to(one), ended, "another transaction");
    tx.roll_back_to(one)?;
    check(tx.roll_back_to(two), ended, "savepoint");
    // As many changes again do not make it good again.
    tx.insert_values(&table, &values(3, 3))?;
    tx.insert_values(&table, &values(4, 4))?;
    check(tx.roll_back_to(two), ended, "savepoint");
    tx.roll_back_to(one)?;
    tx.roll_back_to(one)?;
    tx.roll_back_to(start)?;
    check(tx.roll_back_to(one), ended, "savepoint");
    let row = tx.insert_values(&table, &values(5, 5))?;
    tx.roll_back();
    check(tx.insert_values(&table, &values(6, 6)), ended, "rolled back");
    check(tx.update_values(&table, row, &[(small, Value::U8(1))]), ended, "rolled back");
    check(tx.delete(&table, row), ended, "rolled back");
    check(tx.roll_back_to(start), ended, "rolled back");
    tx.roll_back();
    assert_eq!(tx.scan(&table)?.count(), 0, "reading goes on");
    check(tx.commit(), ended, "rolled back");
    drop(other);
    let rolled_back = db.write(|tx| {
        tx.roll_back();
        Ok(())
    });
    check(rolled_back, ended, "rolled back");
    Ok(())
}

#[test]
fn too_many_transactions() -> Result<()> {
    let db = Database::open(Options::new().transactions_max(2))?;
    let table = table(&db)?;
    let (reader, writer) = (db.begin_read()?, db.begin_write()?);
    let many = ErrorKind::TooManyTransactions;
    check(db.begin_read().map(|_| ()), many, "2");
    check(db.begin_write().map(|_| ()), many, "2");
    check(db.read(|_| Ok(())), many, "2");
    check(db.write(|_| Ok(())), many, "2");
    check(db.create_index(&table, IndexSchema::new("i", ["id"])), many, "2");
    check(db.drop_table(&table), many, "2");
    drop(reader);
    db.read(|_| Ok(()))?;
    writer.commit()?;
    db.drop_table(&table)
}

/// Both waits take five seconds, side by side.
#[test]
fn tables_in_use() -> Result<()> {
    let busy = |hold: fn(&Database, &dyn Fn())| {
        let db = database();
        let table = table(&db).expect("a table");
        let by_text = table.index("by_text").expect("an index");
        hold(&db, &|| check(db.drop_index(&table, by_text), ErrorKind::TableBusy, "5 seconds"));
        // Whoever waited in vain has changed nothing.
        db.write(|tx| tx.insert_values(&table, &values(1, 1))).expect("all goes on");
        let found = db.read(|tx| Ok(tx.find(&table, by_text, &["text".into()])?.is_some()));
        assert!(found.expect("the index is there"));
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            busy(|db, change| {
                let _writer = db.begin_write().expect("a slot");
                change();
            });
        });
        scope.spawn(|| {
            busy(|db, change| {
                let _reader = db.begin_read().expect("a slot");
                change();
            });
        });
    });
    Ok(())
}

#[test]
fn limits_of_the_engine() -> Result<()> {
    let db = database();
    let table = table(&db)?;
    for i in 3..64 {
        db.create_index(&table, IndexSchema::new(format!("i{i}"), ["id"]))?;
    }
    let more = || db.create_index(&table, IndexSchema::new("more", ["id"]));
    check(more(), ErrorKind::LimitReached, "64 indexes");
    db.drop_index(&table, table.index("i7")?)?;
    more()?;
    check(more(), ErrorKind::IndexExists, "`more`");
    let schema = TableSchema::new("Blob").column("b", ColumnType::Blob { max: None });
    let blobs = db.create_table(schema)?;
    // Never touched, so these bytes take no memory.
    let long = vec![0; 1 << 29];
    let refused = db.write(|tx| tx.insert_values(&blobs, &[Some(Value::Bytes(&long[1..]))]));
    check(refused, ErrorKind::RowTooLong, "512 MiB");
    let refused = db.write(|tx| tx.insert_values(&blobs, &[Some(Value::Bytes(&long[..1 << 28]))]));
    check(refused, ErrorKind::BudgetReached, "bytes");
    Ok(())
}

#[test]
fn snapshots_that_have_expired() -> Result<()> {
    let db = database();
    let table = table(&db)?;
    let (primary, expired) = (table.index("primary")?, ErrorKind::SnapshotExpired);
    let row = db.write(|tx| tx.insert_values(&table, &values(1, 1)))?;
    let options = TransactionOptions::new().snapshot_age_max(Duration::from_millis(200));
    let tx = db.begin_read_with(&options)?;
    let mut cursor = tx.cursor(&table, primary)?;
    let text = cursor.first().map(|row| row.id());
    std::thread::sleep(Duration::from_millis(201));
    check(tx.status(), expired, "bytes of old versions");
    check(tx.find(&table, primary, &[1.into()]), expired, "");
    check(tx.row(&table, row), expired, "");
    check(tx.scan(&table), expired, "");
    check(tx.each(&table, primary, &[1.into()], |_| Ok(())), expired, "");
    check(tx.cursor(&table, primary), expired, "");
    check(cursor.find(Find::Equal, &[1.into()]), expired, "");
    assert!(cursor.next().is_none() && text == Some(row));
    let read = db.read_with(&options, |_| {
        std::thread::sleep(Duration::from_millis(201));
        Ok(())
    });
    check(read, expired, "");
    Ok(())
}

#[test]
fn deadlines_that_have_passed() -> Result<()> {
    let db = database();
    let table = table(&db)?;
    let small = [(table.column("small")?, Value::U8(7))];
    let row = db.write(|tx| tx.insert_values(&table, &values(1, 1)))?;
    let soon = || TransactionOptions::new().deadline(Instant::now() + Duration::from_millis(200));
    let reached = ErrorKind::DeadlineReached;
    let tx = db.begin_write_with(&soon())?;
    tx.update_values(&table, row, &small)?;
    let other = soon().wait(Duration::from_secs(60));
    check(db.write_with(&other, |tx| tx.delete(&table, row)), reached, "");
    check(tx.update_values(&table, row, &small), reached, "");
    check(tx.commit(), reached, "");
    let first = db.begin_write()?;
    first.delete(&table, row)?;
    // Who has a deadline goes first, but the other does not come to notice.
    check(db.write_with(&soon(), |tx| tx.delete(&table, row)), reached, "id 1 of `Item`");
    Ok(())
}

#[test]
fn statements_on_sets() -> Result<()> {
    let db = database();
    let table = table(&db)?;
    let set = db.create_set(SetSchema::new("Parts", "Item", SetOrder::Last).member("Item"))?;
    let tx = db.begin_write()?;
    let (whole, part) =
        (tx.insert_values(&table, &values(1, 1))?, tx.insert_values(&table, &values(2, 2))?);
    check(tx.disconnect(&set, &table, part), ErrorKind::NotMember, "`Item` in `Parts`");
    tx.connect(&set, whole, &table, part)?;
    check(tx.connect(&set, whole, &table, part), ErrorKind::AlreadyMember, "`Item` in `Parts`");
    check(tx.delete(&table, whole), ErrorKind::HasMembers, "`Item` in `Parts`");
    check(tx.delete(&table, part), ErrorKind::IsMember, "`Item` in `Parts`");
    let draft = set.relation().draft();
    check(tx.insert_draft(&draft), ErrorKind::RelationOfSet, "connect and disconnect");
    tx.commit()?;
    let relation = ErrorKind::RelationOfSet;
    check(db.drop_table(set.relation()), relation, "`Parts`");
    check(db.create_index(set.relation(), IndexSchema::new("i", ["owner"])), relation, "`Parts`");
    check(db.create_table(set.relation().schema().clone()), relation, "create the set");
    check(db.drop_table(&table), ErrorKind::TableInSet, "`Item` in `Parts`");
    let again = SetSchema::new("Parts", "Item", SetOrder::First).member("Item");
    check(db.create_set(again), ErrorKind::TableExists, "`Parts`");
    let missing = SetSchema::new("Others", "Item", SetOrder::First).member("Nothing");
    check(db.create_set(missing), ErrorKind::UnknownTable, "`Nothing`");
    let of_set = SetSchema::new("Others", "Item", SetOrder::First).member("Parts");
    check(db.create_set(of_set), relation, "`Parts`");
    db.drop_set(&set)?;
    check(db.drop_set(&set), ErrorKind::UnknownTable, "dropped");
    db.write(|tx| tx.delete(&table, whole))
}

#[test]
fn images_that_are_none() -> Result<()> {
    struct Broken;
    impl std::io::Write for Broken {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the cable is out"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the cable is out"))
        }
    }
    check(database().save(&mut Broken), ErrorKind::StreamFailed, "the cable is out");
    let loaded = Database::load(Options::new(), &mut Broken);
    check(loaded, ErrorKind::StreamFailed, "the cable is out");
    let empty = Database::load(Options::new(), &mut &b""[..]);
    check(empty, ErrorKind::DamagedImage, "it ends early");
    Ok(())
}

/// A folder whose files take no more bytes when it is told so.
#[derive(Debug)]
struct Full(Folder, Arc<AtomicBool>);

#[derive(Debug)]
struct FullFile(Box<dyn StorageFile>, Arc<AtomicBool>);

impl Full {
    fn check(full: &AtomicBool) -> std::io::Result<()> {
        match full.load(Ordering::Relaxed) {
            true => Err(std::io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}

impl Storage for Full {
    fn names(&self) -> std::io::Result<Vec<String>> {
        self.0.names()
    }
    fn create(&self, name: &str) -> std::io::Result<Box<dyn StorageFile>> {
        Self::check(&self.1)?;
        Ok(Box::new(FullFile(self.0.create(name)?, Arc::clone(&self.1))))
    }
    fn open(&self, name: &str) -> std::io::Result<Box<dyn StorageFile>> {
        self.0.open(name)
    }
    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &str) -> std::io::Result<()> {
        self.0.remove(name)
    }
    fn sync_names(&self) -> std::io::Result<()> {
        self.0.sync_names()
    }
    fn lock(&self) -> std::io::Result<Box<dyn std::fmt::Debug + Send + Sync>> {
        self.0.lock()
    }
}

impl StorageFile for FullFile {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }
    fn read_at(&self, at: u64, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.read_at(at, bytes)
    }
    fn write_at(&self, at: u64, bytes: &[u8]) -> std::io::Result<usize> {
        Full::check(&self.1)?;
        self.0.write_at(at, bytes)
    }
    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }
    fn sync(&self) -> std::io::Result<()> {
        self.0.sync()
    }
}

/// A log that cannot be written ends all writing and no reading; so does one that is damaged.
#[test]
fn databases_in_folders() -> Result<()> {
    let path = std::env::temp_dir().join(format!("remanent-errors-{}", std::process::id()));
    let full = Arc::new(AtomicBool::new(false));
    let folder = || Folder::create(&path).expect("a folder");
    let options = || Options::new().budget(64 << 20).log_file_size(64 << 10);
    let storage = Arc::new(Full(folder(), Arc::clone(&full)));
    let db = Database::open_in(storage, options())?;
    let table = table(&db)?;
    let insert = |id: u32| db.write(|tx| tx.insert_values(&table, &values(id, id as i16)));
    (0..1000).try_for_each(|id| insert(id).map(|_| ()))?;
    check(Database::open_at(&path, options()), ErrorKind::DatabaseInUse, "open");
    full.store(true, Ordering::Relaxed);
    check(db.checkpoint(), ErrorKind::LogFailed, "storage space");
    check(insert(1000), ErrorKind::LogFailed, "storage space");
    check(db.create_index(&table, IndexSchema::new("b", ["small"])), ErrorKind::LogFailed, "");
    full.store(false, Ordering::Relaxed);
    check(insert(1001), ErrorKind::LogFailed, "storage space");
    assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count()))?, 1000);
    check(db.log_feed(1).map(|_| ()), ErrorKind::InvalidOptions, "position 1 ");
    drop((table, db));
    positions_that_are_gone(&path.join("followed"))?;

    let first = path.join("log-0000000000000001");
    let mut bytes = std::fs::read(&first).expect("the log");
    let at = 10_000;
    bytes[at] ^= 1;
    std::fs::write(&first, &bytes).expect("to be written");
    let db = Database::open_at(&path, options())?;
    assert!(db.damage().is_some_and(|damage| damage.commits_behind > 0));
    check(db.begin_write().map(|_| ()), ErrorKind::DatabaseReadOnly, "log-0000000000000001");
    let good = db.table("Item")?;
    let rows = db.read(|tx| Ok(tx.scan(&good)?.count()))?;
    assert!((1..1000).contains(&rows));
    drop((good, db));

    // Whose log the first file is the head alone can tell, then nobody, then it is another's.
    (bytes[20], bytes[4116]) = (bytes[20] ^ 1, bytes[4116] ^ 1);
    std::fs::write(&first, &bytes).expect("to be written");
    let db = Database::open_at(&path, options())?;
    assert!(db.damage().is_some_and(|damage| damage.commits_behind > 0));
    drop(db);
    std::fs::remove_file(path.join("log-head")).expect("to be removed");
    check(Database::open_at(&path, options()), ErrorKind::DamagedLog, "missing");
    (bytes[20], bytes[4116]) = (bytes[20] ^ 1, bytes[4116] ^ 1);
    std::fs::write(&first, &bytes).expect("to be written");
    let (other, second) = (path.join("other"), "log-0000000000000002");
    drop(Database::open_at(&other, options())?);
    drop(Database::open_at(&other, options())?);
    std::fs::copy(other.join(second), path.join(second)).expect("to be copied");
    check(Database::open_at(&path, options()), ErrorKind::DamagedLog, "another database");
    check(Database::open_at(path.join(second), options()), ErrorKind::StorageFailed, "");
    std::fs::remove_dir_all(&path).expect("to be removed");
    Ok(())
}

fn positions_that_are_gone(path: &Path) -> Result<()> {
    let db = Database::open_at(path, Options::new().log_file_size(64 << 10))?;
    let table = table(&db)?;
    (0..1000).try_for_each(|id| {
        db.write(|tx| tx.insert_values(&table, &values(id, id as i16)).map(|_| ()))
    })?;
    assert!(db.log_feed(0)?.next().is_some_and(|commit| commit.is_ok()));
    db.checkpoint()?;
    check(db.log_feed(0).map(|_| ()), ErrorKind::LogPositionGone, "position 0");
    Ok(())
}

#[test]
fn options_that_are_out_of_range() {
    let open = |options: Options| Database::open(options).map(|_| ());
    let invalid = ErrorKind::InvalidOptions;
    check(open(Options::new().budget(1000)), invalid, "128 KiB");
    check(open(Options::new().budget(u64::MAX)), invalid, "16 TiB");
    check(open(Options::new().transactions_max(0)), invalid, "transactions_max");
    check(open(Options::new().transactions_max(1 << 20)), invalid, "transactions_max");
    check(open(Options::new().budget(1 << 20).commit_ahead(1 << 21)), invalid, "commit_ahead");
    for size in [0, 1, 100, 10_000, 30_000] {
        let memory = CallerMemory::from_vec(vec![0; size]);
        let small = open(Options::new().caller_memory(memory));
        check(small, ErrorKind::BudgetReached, "");
    }
}

/// Codes are stable and different, and every kind but the one that only the system can provoke has
/// a test above.
#[test]
fn what_a_replica_refuses() -> Result<()> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("errors-replica");
    let _ = std::fs::remove_dir_all(&path);
    let folder = Arc::new(Folder::create(&path).expect("a folder"));
    let replicated = || Options::new().durability(Durability::Replicated);
    check(Database::open_in(folder.clone(), replicated()), ErrorKind::InvalidOptions, "group");
    Replica::found(folder.clone(), Options::new(), b"")?;
    let db = Database::open_replica(folder, replicated(), None)?;
    check(db.begin_write(), ErrorKind::NotLeader, "another replica");
    check(db.create_table(TableSchema::new("T")), ErrorKind::NotLeader, "another replica");
    Replica::of(&db)?.lead(1)?;
    let schema = TableSchema::new("T").column("a", ColumnType::I32);
    std::thread::scope(|scope| {
        let created = scope.spawn(|| db.create_table(schema).map(|_| ()));
        while Replica::of(&db)?.last().index == 0 {
            std::thread::yield_now();
        }
        Replica::of(&db)?.follow()?;
        let created = created.join().expect("a thread");
        check(created, ErrorKind::NotReplicated, "may or may not");
        Ok(())
    })
}

#[test]
fn every_kind_is_known() {
    let tests = include_str!("errors.rs");
    let mut codes = BTreeSet::new();
    for kind in ErrorKind::ALL {
        assert!(codes.insert(kind.code()), "{kind:?}");
        assert_eq!(kind.sqlstate().len(), 5);
        let tested = tests.contains(&format!("ErrorKind::{kind:?}"));
        assert!(tested || *kind == ErrorKind::OutOfMachineMemory, "{kind:?} has no test");
    }
    let error: &dyn std::error::Error = &database().table("x").map(|_| ()).unwrap_err();
    assert!(error.source().is_none());
    assert!(!error.downcast_ref::<Error>().is_some_and(Error::is_conflict));
}
