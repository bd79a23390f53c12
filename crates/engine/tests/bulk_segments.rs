//! Rows that are inserted as columns: who sees them, how they are changed and taken back, and who
//! is refused meanwhile. Databases in folders are for `frozen_folders.rs`.
//!
//! Each table has the rows of its keys, `row number 7` under 7, so what is there can be told from
//! the keys alone. Tables are inspected by scan, by pieces and by key, and have to agree.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use remanent_engine::schema::{ColumnType, ColumnValues, KeyPart, TableSchema, Value};
use remanent_engine::{
    Database, ErrorKind, Isolation, Options, Piece, ReadTransaction, Result, RowId, Table,
    TransactionOptions, WriteTransaction,
};

const SEGMENT: i64 = 1 << 16;

/// Texts by keys.
type Rows = BTreeMap<i64, String>;

/// With a seed that is given: what waits for whom depends on where entries lie.
fn options() -> Options {
    Options::new().budget(256 << 20).hash_seed(0)
}

fn create(db: &Database) -> Result<Table> {
    let schema = TableSchema::new("T")
        .column("key", ColumnType::I64)
        .column("text", ColumnType::STRING)
        .primary_key(["key"])
        .ordered_index("by_text", [KeyPart::asc("text"), KeyPart::asc("key")])
        .hash_index("hashed", ["text"]);
    db.create_table(schema)
}

fn open() -> Result<(Database, Table)> {
    let db = Database::open(options())?;
    let table = create(&db)?;
    Ok((db, table))
}

fn text(key: i64) -> String {
    format!("row number {key}")
}

fn rows(keys: Range<i64>) -> Rows {
    keys.map(|key| (key, text(key))).collect()
}

/// Inserts rows with these keys, whole segments of them as columns.
fn load(tx: &WriteTransaction<'_>, table: &Table, keys: &[i64]) -> Result<()> {
    let texts: Vec<String> = keys.iter().map(|key| text(*key)).collect();
    let text = |row: usize| texts[row].as_str();
    let columns = [ColumnValues::I64(keys), ColumnValues::Text(&text)];
    let inserted = tx.insert_frozen(table, &columns, keys.len())?;
    assert_eq!(inserted, keys.len() as u64);
    Ok(())
}

fn load_range(tx: &WriteTransaction<'_>, table: &Table, keys: Range<i64>) -> Result<()> {
    load(tx, table, &keys.collect::<Vec<_>>())
}

fn find(tx: &ReadTransaction<'_>, table: &Table, key: i64) -> Result<Option<(RowId, String)>> {
    let row = tx.find(table, table.index("primary")?, &[Value::I64(key)])?;
    let text = table.column("text")?;
    Ok(row.map(|row| (row.id(), row.str(text).unwrap_or_default().to_owned())))
}

fn set_text(tx: &WriteTransaction<'_>, table: &Table, key: i64, text: &str) -> Result<()> {
    let (row, _) = find(tx, table, key)?.expect("it is there");
    tx.update_values(table, row, &[(table.column("text")?, text.into())])
}

fn delete(tx: &WriteTransaction<'_>, table: &Table, key: i64) -> Result<()> {
    let (row, _) = find(tx, table, key)?.expect("it is there");
    tx.delete(table, row)
}

/// What a transaction sees: in the order of the primary key, by scan, by pieces, in the order of
/// another index, and counted; all have to agree.
fn seen(tx: &ReadTransaction<'_>, table: &Table) -> Result<Rows> {
    let (key, text) = (table.column("key")?, table.column("text")?);
    let content = |row: remanent_engine::Row<'_>| {
        (row.get::<i64>(key).unwrap_or_default(), row.str(text).unwrap_or_default().to_owned())
    };
    let (mut by_pieces, mut pieces) = (Rows::new(), tx.scan_pieces(table)?);
    while let Some(piece) = pieces.next_piece() {
        match piece {
            Piece::Rows(hot) => by_pieces.extend(hot.iter().map(|row| content(*row))),
            Piece::Frozen(columns) => {
                let (keys, texts) = (columns.column(key)?, columns.column(text)?);
                let sees = |i: &usize| {
                    columns.visible().is_none_or(|bits| bits[i / 64] >> (i % 64) & 1 == 1)
                };
                by_pieces.extend((0..columns.len()).filter(sees).map(|i| {
                    let (mut room, mut other) = (Vec::new(), Vec::new());
                    let key = keys.value(i, &mut room).as_integer().unwrap_or_default() as i64;
                    (key, texts.value(i, &mut other).as_str().unwrap_or_default().to_owned())
                }));
            }
        }
    }
    let mut by_rows = Rows::new();
    tx.each_row(table, |row| {
        by_rows.extend([content(row)]);
        Ok(())
    })?;
    assert!(by_rows == by_pieces, "{} rows, {} by pieces", by_rows.len(), by_pieces.len());
    assert_eq!(tx.scan(table)?.count(), by_rows.len());
    for index in ["primary", "by_text"] {
        let mut cursor = tx.cursor(table, table.index(index)?)?;
        let (mut next, mut count) = (cursor.first(), 0);
        while let Some(row) = next {
            let (key, text) = content(row);
            assert_eq!(by_rows.get(&key), Some(&text), "{index}");
            count += 1;
            next = cursor.next();
        }
        assert_eq!(count, by_rows.len(), "{index}");
    }
    Ok(by_rows)
}

fn check(db: &Database, table: &Table, expected: &Rows) -> Result<()> {
    let tx = db.begin_read()?;
    let seen = seen(&tx, table)?;
    assert!(seen == *expected, "{} rows instead of {}", seen.len(), expected.len());
    Ok(())
}

#[test]
fn only_its_own_transaction_sees_a_segment_before_the_commit() -> Result<()> {
    let (db, table) = open()?;
    let before = db.begin_read()?;
    let tx = db.begin_write()?;
    load_range(&tx, &table, 0..SEGMENT + 10)?;
    assert_eq!(seen(&tx, &table)?, rows(0..SEGMENT + 10));
    let meanwhile = db.begin_read()?;
    assert_eq!(db.memory_by_table()?[0].frozen_rows, 0, "they are not there for others");
    tx.commit()?;
    for reader in [&before, &meanwhile] {
        assert!(seen(reader, &table)?.is_empty());
        assert!(find(reader, &table, 5)?.is_none());
    }
    check(&db, &table, &rows(0..SEGMENT + 10))?;
    assert_eq!(db.memory_by_table()?[0].frozen_rows, SEGMENT as u64);
    Ok(())
}

#[test]
fn rows_need_not_begin_where_a_segment_does() -> Result<()> {
    let (db, table) = open()?;
    db.write(|tx| load_range(tx, &table, 0..100))?;
    db.write(|tx| load_range(tx, &table, 100..100 + 2 * SEGMENT))?;
    // Free row ids of the first segment are given out.
    let id = db.write(|tx| {
        load_range(tx, &table, -1..0)?;
        Ok(find(tx, &table, -1)?.expect("it is there").0)
    })?;
    assert!(id.number() < SEGMENT as u64, "{id:?}");
    check(&db, &table, &rows(-1..100 + 2 * SEGMENT))?;
    assert_eq!(db.memory_by_table()?[0].frozen_rows, 2 * SEGMENT as u64);
    Ok(())
}

#[test]
fn keys_in_any_order_are_found() -> Result<()> {
    let (db, table) = open()?;
    let mut keys: Vec<i64> = (0..SEGMENT).map(|i| i * 40_503 % SEGMENT).collect();
    db.write(|tx| load(tx, &table, &keys))?;
    keys.iter_mut().for_each(|key| *key += SEGMENT);
    db.write(|tx| load(tx, &table, &keys))?;
    check(&db, &table, &rows(0..2 * SEGMENT))
}

#[test]
fn what_is_rolled_back_is_gone_and_its_place_is_used_again() -> Result<()> {
    let (db, table) = open()?;
    db.write(|tx| load_range(tx, &table, 0..SEGMENT))?;
    let memory = db.memory();
    let mut first_ids = Vec::new();
    for turn in 0..4 {
        let tx = db.begin_write()?;
        load_range(&tx, &table, SEGMENT..3 * SEGMENT)?;
        first_ids.push(find(&tx, &table, SEGMENT)?.expect("it is there").0);
        set_text(&tx, &table, SEGMENT + 7, "changed")?;
        delete(&tx, &table, 2 * SEGMENT + 7)?;
        if turn % 2 == 0 {
            tx.roll_back();
        }
        drop(tx);
        check(&db, &table, &rows(0..SEGMENT))?;
        db.reclaim();
        assert_eq!(db.memory().columns, memory.columns, "turn {turn}");
        assert_eq!(db.memory().rows, memory.rows, "turn {turn}");
    }
    assert!(first_ids.iter().all(|id| *id == first_ids[0]), "{first_ids:?}");
    db.write(|tx| load_range(tx, &table, SEGMENT..3 * SEGMENT))?;
    check(&db, &table, &rows(0..3 * SEGMENT))
}

#[test]
fn savepoints_take_back_what_came_after_them() -> Result<()> {
    let (db, table) = open()?;
    let tx = db.begin_write()?;
    load_range(&tx, &table, 0..SEGMENT)?;
    let first = tx.savepoint();
    load_range(&tx, &table, SEGMENT..2 * SEGMENT)?;
    let second = tx.savepoint();
    set_text(&tx, &table, 3, "three")?;
    set_text(&tx, &table, SEGMENT + 3, "three")?;
    delete(&tx, &table, SEGMENT + 4)?;
    tx.roll_back_to(second)?;
    assert_eq!(seen(&tx, &table)?, rows(0..2 * SEGMENT));
    set_text(&tx, &table, SEGMENT + 5, "five")?;
    tx.roll_back_to(first)?;
    assert_eq!(seen(&tx, &table)?, rows(0..SEGMENT));
    load_range(&tx, &table, SEGMENT..2 * SEGMENT)?;
    tx.commit()?;
    check(&db, &table, &rows(0..2 * SEGMENT))
}

#[test]
fn bulk_inserted_rows_can_be_changed_at_once_and_later() -> Result<()> {
    let (db, table) = open()?;
    let mut expected = rows(0..2 * SEGMENT);
    let tx = db.begin_write()?;
    load_range(&tx, &table, 0..2 * SEGMENT)?;
    for key in (0..2 * SEGMENT).step_by(1000) {
        set_text(&tx, &table, key, "changed")?;
        expected.insert(key, "changed".to_owned());
        delete(&tx, &table, key + 1)?;
        expected.remove(&(key + 1));
    }
    assert_eq!(seen(&tx, &table)?, expected);
    tx.commit()?;
    check(&db, &table, &expected)?;
    for key in (0..2 * SEGMENT).step_by(5000) {
        db.write(|tx| {
            set_text(tx, &table, key, "again")?;
            set_text(tx, &table, key + 2, "again")?;
            delete(tx, &table, key + 3)
        })?;
        expected.insert(key, "again".to_owned());
        expected.insert(key + 2, "again".to_owned());
        expected.remove(&(key + 3));
    }
    db.reclaim();
    check(&db, &table, &expected)?;
    let deleted: Vec<i64> = (0..2 * SEGMENT).step_by(1000).map(|key| key + 1).collect();
    db.write(|tx| load(tx, &table, &deleted))?;
    expected.extend(deleted.iter().map(|key| (*key, text(*key))));
    check(&db, &table, &expected)
}

#[test]
fn a_key_that_is_there_refuses_all_rows() -> Result<()> {
    let (db, table) = open()?;
    db.write(|tx| load_range(tx, &table, 50_000..50_001))?;
    let free = db.memory();
    let error = db.write(|tx| load_range(tx, &table, 0..2 * SEGMENT)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
    let mut keys: Vec<i64> = (100_000..100_000 + SEGMENT).collect();
    keys[SEGMENT as usize - 1] = 100_000;
    let error = db.write(|tx| load(tx, &table, &keys)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey, "twice among themselves: {error}");
    check(&db, &table, &rows(50_000..50_001))?;
    db.reclaim();
    assert_eq!(db.memory().columns, free.columns);
    // A row of a bulk segment has its key as any other.
    db.write(|tx| load_range(tx, &table, 100_000..100_000 + SEGMENT))?;
    let error = db.write(|tx| load_range(tx, &table, 100_007..100_008)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
    // In one transaction, whose earlier statements stay.
    let tx = db.begin_write()?;
    load_range(&tx, &table, 0..1)?;
    let error = load_range(&tx, &table, 50_000 - SEGMENT..50_001).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
    load_range(&tx, &table, -SEGMENT..0)?;
    let error = load_range(&tx, &table, -5..-4).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
    tx.commit()?;
    let mut expected = rows(-SEGMENT..1);
    expected.extend(rows(50_000..50_001));
    expected.extend(rows(100_000..100_000 + SEGMENT));
    check(&db, &table, &expected)
}

#[test]
fn others_are_refused_while_it_is_not_decided() -> Result<()> {
    let (db, table) = open()?;
    let (loading, old) = (db.begin_write()?, db.begin_write()?);
    assert!(find(&old, &table, 1)?.is_none());
    load_range(&loading, &table, 0..SEGMENT)?;
    let row = find(&loading, &table, 7)?.expect("it is there").0;
    let other = db.begin_write()?;
    let kind = |done: Result<()>| done.unwrap_err().kind();
    assert_eq!(kind(load_range(&other, &table, 7..8)), ErrorKind::Conflict);
    assert_eq!(kind(other.delete(&table, row)), ErrorKind::Conflict);
    let changes = [(table.column("text")?, "no".into())];
    assert_eq!(kind(other.update_values(&table, row, &changes)), ErrorKind::Conflict);
    loading.commit()?;
    // Committed, but not seen by those that began before.
    assert_eq!(kind(load_range(&old, &table, 7..8)), ErrorKind::Conflict);
    assert_eq!(kind(old.delete(&table, row)), ErrorKind::Conflict);
    drop((old, other));
    check(&db, &table, &rows(0..SEGMENT))?;
    // What was rolled back is in nobody's way.
    let loading = db.begin_write()?;
    load_range(&loading, &table, SEGMENT..2 * SEGMENT)?;
    let row = find(&loading, &table, SEGMENT)?.expect("it is there").0;
    let other = db.begin_write()?;
    assert_eq!(kind(load_range(&other, &table, SEGMENT..SEGMENT + 1)), ErrorKind::Conflict);
    loading.roll_back();
    assert_eq!(kind(other.delete(&table, row)), ErrorKind::RowNotFound);
    load_range(&other, &table, SEGMENT..SEGMENT + 1)?;
    other.commit()?;
    check(&db, &table, &rows(0..SEGMENT + 1))
}

#[test]
fn who_does_not_see_a_segment_sees_its_own_row_in_it() -> Result<()> {
    let (db, table) = open()?;
    let old = db.begin_write_with(&TransactionOptions::new().isolation(Isolation::Snapshot))?;
    assert_eq!(old.scan(&table)?.count(), 0);
    db.write(|tx| load_range(tx, &table, 0..SEGMENT))?;
    // A row with several versions gives its id back at once; any other waits for this writer.
    db.write(|tx| set_text(tx, &table, 5, "five").and_then(|()| delete(tx, &table, 5)))?;
    db.reclaim();
    load_range(&old, &table, -1..0)?;
    let row = find(&old, &table, -1)?.expect("it is there").0;
    assert_eq!(row.number(), 5, "the id of the row that was deleted");
    assert_eq!(seen(&old, &table)?, rows(-1..0));
    old.commit()?;
    let mut expected = rows(-1..SEGMENT);
    expected.remove(&5);
    check(&db, &table, &expected)
}

#[test]
fn a_serializable_transaction_notices_segments_in_what_it_has_read() -> Result<()> {
    let (db, table) = open()?;
    db.write(|tx| load_range(tx, &table, 0..10))?;
    let serializable = TransactionOptions::new().isolation(Isolation::Serializable);
    let whole = db.begin_write_with(&serializable)?;
    assert_eq!(whole.scan(&table)?.count(), 10);
    let missing = db.begin_write_with(&serializable)?;
    assert!(find(&missing, &table, 500)?.is_none());
    let elsewhere = db.begin_write_with(&serializable)?;
    assert!(find(&elsewhere, &table, -500)?.is_none());
    assert!(find(&elsewhere, &table, 5)?.is_some());
    db.write(|tx| load_range(tx, &table, 10..10 + SEGMENT))?;
    for (tx, own) in [(&whole, -1), (&missing, -2), (&elsewhere, -3)] {
        load_range(tx, &table, own..own + 1)?;
    }
    assert_eq!(whole.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(missing.commit().unwrap_err().kind(), ErrorKind::Conflict);
    elsewhere.commit()?;
    // What is taken back in part has been read all the same: the key was free.
    let tx = db.begin_write_with(&serializable)?;
    let before = tx.savepoint();
    load_range(&tx, &table, 1_000_000..1_000_000 + SEGMENT)?;
    tx.roll_back_to(before)?;
    db.write(|tx| load_range(tx, &table, 1_000_005..1_000_006))?;
    load_range(&tx, &table, -4..-3)?;
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    Ok(())
}

/// The allocations of a load that fail in turn: each of the first, then fewer and fewer.
fn failing() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(1), |nth| Some(nth + (nth / 4).max(1)))
}

#[test]
fn wherever_memory_runs_out_nothing_is_left_of_the_rows() -> Result<()> {
    let (db, table) = open()?;
    db.write(|tx| load_range(tx, &table, 0..100))?;
    let mut failures = 0;
    let loaded = failing().take(60).find(|nth| {
        db.fail_allocations_from(*nth);
        let loaded = db.write(|tx| load_range(tx, &table, 100..100 + SEGMENT));
        db.fail_allocations_from(0);
        if let Err(error) = &loaded {
            assert_eq!(error.kind(), ErrorKind::BudgetReached, "{error}");
            failures += 1;
            // Looking at everything each time would take minutes.
            if failures % 8 == 1 {
                check(&db, &table, &rows(0..100)).expect("it can be read");
            }
            db.reclaim();
            assert_eq!(db.memory().columns, 0);
        }
        loaded.is_ok()
    });
    assert!(failures > 10 && loaded.is_some(), "{failures} failures, then {loaded:?}");
    check(&db, &table, &rows(0..100 + SEGMENT))?;
    db.drop_table(&table)?;
    db.reclaim();
    let memory = db.memory();
    assert_eq!((memory.rows, memory.columns, memory.indexes), (0, 0, 0), "{memory:?}");
    Ok(())
}

/// Loads and rollbacks of the test with threads.
const TURNS: i64 = 12;

#[test]
fn readers_beside_a_load_see_all_of_it_or_nothing() -> Result<()> {
    let (db, table) = open()?;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| -> Result<usize> {
                    let (mut looks, mut last) = (0, 0);
                    while !done.load(Ordering::Relaxed) {
                        let tx = db.begin_read()?;
                        let count = tx.scan(&table)?.count() as i64;
                        assert!(count % SEGMENT == 0 && count >= last, "{count} after {last}");
                        last = count;
                        // The first and the last key of the newest segment, and what is behind it.
                        for (key, is_there) in
                            [(count - SEGMENT, true), (count - 1, true), (count, false)]
                        {
                            let found = find(&tx, &table, key)?.map(|(_, text)| text);
                            assert_eq!(found, (is_there && key >= 0).then(|| text(key)));
                        }
                        looks += 1;
                    }
                    Ok(looks)
                })
            })
            .collect();
        for turn in 0..TURNS {
            let tx = db.begin_write()?;
            let next = turn / 2 * SEGMENT;
            load_range(&tx, &table, next..next + SEGMENT)?;
            match turn % 2 {
                0 => tx.roll_back(),
                _ => drop(tx.commit()?),
            }
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().expect("it has not panicked")? > 0);
        }
        Ok::<(), remanent_engine::Error>(())
    })?;
    check(&db, &table, &rows(0..TURNS / 2 * SEGMENT))
}

/// Texts that columns cannot make smaller.
fn incompressible(row: u64) -> String {
    let words = (0..12_u64).map(|word| {
        let mut x = (row * 16 + word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        format!("{:016x}", x ^ x >> 31)
    });
    words.collect()
}

#[test]
fn where_columns_find_no_room_rows_may() -> Result<()> {
    let db = Database::open(Options::new().budget(40 << 20))?;
    let schema = TableSchema::new("T").column("key", ColumnType::I64);
    let table = db.create_table(schema.column("text", ColumnType::STRING))?;
    let texts: Vec<String> = (0..SEGMENT as u64).map(incompressible).collect();
    let text = |row: usize| texts[row].as_str();
    let keys: Vec<i64> = (0..SEGMENT).collect();
    let columns = [ColumnValues::I64(&keys), ColumnValues::Text(&text)];
    // Rows take all that there is; what is free then lies in pieces as large as rows.
    let mut rows = Vec::new();
    while let Ok(row) = db.write(|tx| {
        let key = Value::I64(0);
        tx.insert_values(&table, &[Some(key), Some(texts[0].as_str().into())])
    }) {
        rows.push(row);
    }
    let tx = db.begin_write()?;
    let stays = |i: &usize| *i > rows.len() / 8 && i.is_multiple_of(4);
    for gone in (0..rows.len()).filter(|i| !stays(i)) {
        tx.delete(&table, rows[gone])?;
    }
    tx.commit()?;
    db.reclaim();
    let count = SEGMENT as usize;
    let left = (0..rows.len()).filter(stays).count();
    assert_eq!(db.write(|tx| tx.insert_frozen(&table, &columns, count))?, SEGMENT as u64);
    let memory = &db.memory_by_table()?[0];
    assert_eq!((memory.rows, memory.frozen_rows), ((left + count) as u64, 0));
    Ok(())
}
